# SPDX-License-Identifier: Apache-2.0
tacfs_fuzz_target(fuzz_format SOURCES fuzz_format.c CORPUS format LINK fs)
tacfs_fuzz_target(fuzz_report SOURCES fuzz_report.c CORPUS report LINK fs)
tacfs_fuzz_target(fuzz_settings SOURCES fuzz_settings.c CORPUS settings LINK fs)
