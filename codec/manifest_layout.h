/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_CODEC_MANIFEST_LAYOUT_H
#define TACFS_CODEC_MANIFEST_LAYOUT_H

/* What the writer and the reader of manifests have in common. */

#include "codec/manifest.h"

enum {
	MANIFEST_MAGIC_SIZE = 8,
	MANIFEST_HEADER_SIZE = 32,
	MANIFEST_FILE_SIZE_AT = 16, /* in the header */
	MANIFEST_META_SIZE = 104,
	MANIFEST_BLOCK_SIZE = 36, /* an entry of BLKS */
	MANIFEST_STAT_SIZE = 20,
	MANIFEST_CRITICAL = 1 /* a section's flag */
};

#define MANIFEST_MAGIC "TACFSMAN"

#define MANIFEST_TAG(a, b, c, d) ((a) | (b) << 8 | (c) << 16 | (d) << 24)

/* In the order in which sections stand: ascending, as numbers. */
enum manifest_tag {
	MANIFEST_DATA = MANIFEST_TAG('D', 'A', 'T', 'A'),
	MANIFEST_META = MANIFEST_TAG('M', 'E', 'T', 'A'),
	MANIFEST_NAME = MANIFEST_TAG('N', 'A', 'M', 'E'),
	MANIFEST_PACK = MANIFEST_TAG('P', 'A', 'C', 'K'),
	MANIFEST_XATR = MANIFEST_TAG('X', 'A', 'T', 'R'),
	MANIFEST_BLKS = MANIFEST_TAG('B', 'L', 'K', 'S'),
	MANIFEST_STAT = MANIFEST_TAG('S', 'T', 'A', 'T')
};

/* The rule that `m` breaks, of those that hold for both; or NULL. */
const char *manifest_fault(const struct manifest *m);

#endif
