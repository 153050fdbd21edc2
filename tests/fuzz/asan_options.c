/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With libFuzzer only. A decoder's arenas are megabytes at every input, and to
 * keep 256 MiB of what was freed, as is usual, takes most of the time. This is
 * still some inputs' worth. ASAN_OPTIONS overrides it.
 */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "quarantine_size_mb=16";
}
