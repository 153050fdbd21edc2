/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_TESTS_UNIT_RESEAL_H
#define TACFS_TESTS_UNIT_RESEAL_H

/*
 * Makes the checksums of a changed file right again, so that a test, or a
 * fuzzer, reaches what is behind them. Does nothing to a file that is too short
 * to have any.
 */

#include <stddef.h>
#include <stdint.h>

/* Sets the file size in the header as well. */
void reseal_manifest(uint8_t *bytes, size_t size);

/*
 * The header, the trailer, and the table where the trailer says it is; from
 * there it is made to reach to the trailer.
 */
void reseal_pack(uint8_t *bytes, size_t size);

/* The header or the trailer of a pack alone. */
void reseal_frame(uint8_t *bytes, size_t size);

#endif
