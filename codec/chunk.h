/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_CODEC_CHUNK_H
#define TACFS_CODEC_CHUNK_H

/*
 * Content-defined chunking: a Gear rolling hash with normalised cut points, as
 * in FastCDC. The parameters are part of the store's format (docs/format.md):
 * two programs that cut differently share nothing.
 */

#include <stddef.h>
#include <stdint.h>

enum { CHUNK_MIN = 4 * 1024, CHUNK_AVERAGE = 16 * 1024, CHUNK_MAX = 64 * 1024 };

/*
 * The size of the first chunk of `bytes`: 0 when size is 0, at most CHUNK_MAX.
 * The cut depends on at most the first CHUNK_MAX bytes; unless `bytes` is the
 * end of the file, pass at least that many.
 */
size_t chunk_first(const uint8_t *bytes, size_t size);

#endif
