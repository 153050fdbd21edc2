/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_TESTS_UNIT_SAMPLES_H
#define TACFS_TESTS_UNIT_SAMPLES_H

/* A pack and manifests that use all that the format has. */

#include "codec/manifest.h"
#include "codec/pack.h"

enum {
	SAMPLE_SEED = 11,
	SAMPLE_BLOCK_SIZE = 600,
	SAMPLE_BLOCKS = 4,
	SAMPLE_REFERENCES = 2
};

/* Bytes that neither compress nor repeat. */
void sample_fill(uint8_t *bytes, size_t size, uint32_t seed);

/*
 * Block 0 is raw, 1 LZ4, 2 refers to block 0, and 3 to a block of another pack,
 * `foreign`.
 */
struct sample_pack {
	uint8_t raw[SAMPLE_BLOCKS][SAMPLE_BLOCK_SIZE];
	uint8_t foreign[SAMPLE_BLOCK_SIZE];
	struct pack_block blocks[SAMPLE_BLOCKS];
	struct pack_reference references[SAMPLE_REFERENCES];
	struct pack_table table;
	uint64_t table_offset;
	struct writer file; /* the whole pack */
};

void sample_pack_make(struct sample_pack *p);
void sample_pack_free(struct sample_pack *p);

/*
 * What the store does with a pack that it has all of: each part is read and
 * checked, from outside in.
 */
int sample_pack_parse(const uint8_t *file, size_t size, struct arena *arena,
		      struct pack_table *table);

/* user.colour is "red", user.empty is empty; the last byte is C's. */
#define SAMPLE_XATTRS                                                          \
	"user.colour\0\3\0\0\0red"                                             \
	"user.empty\0\0\0\0"

/* What the sample's manifests point to. */
struct sample_manifest {
	struct digest packs[2];
	struct manifest_block blocks[3];
	const char *names[2];
	struct manifest m;
};

void sample_manifest_blocks(struct sample_manifest *s);
/* The same with attributes: SAMPLE_XATTRS. */
void sample_manifest_xattrs(struct sample_manifest *s);
void sample_manifest_inline(struct sample_manifest *s);

#endif
