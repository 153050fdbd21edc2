/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_OM_H
#define TACFS_COMPILER_OM_H

/*
 * An .om: a model as CANN's graph engine stores it. A header of 256 bytes, then
 * for each model a table of its partitions and the partitions, back to back.
 * (GE: inc/framework/common/types.h, base/common/helper/om_file_helper.cc.)
 */

#include <stddef.h>

#include "codec/le.h"
#include "compiler/artifact.h"

enum {
	OM_HEADER_SIZE = 256,
	OM_MODELS_MAX = 65536,
	OM_PARTITIONS_MAX = 4096 /* of one model; GE's own limit */
};

struct om_header {
	uint8_t magic[4]; /* "IMOD" */
	le32 header_size;
	le32 version;
	uint8_t checksum[64];
	le32 length; /* of what follows, in files from before model_length */
	uint8_t is_encrypted;
	uint8_t is_checksum;
	uint8_t model_type;
	uint8_t generation;
	uint8_t name[32];
	le32 operators;
	uint8_t user_info[32];
	le32 ir_version;
	le32 model_count;
	uint8_t platform_version[20];
	uint8_t platform_type;
	uint8_t padding[3];
	le64 model_length; /* of what follows */
	uint8_t checks_cpu;
	uint8_t is_dynamic;
	uint8_t reserved[62];
};

/* Judges an .om. Looks at nothing but the header and the tables. */
void om_judge(const void *bytes, size_t size, struct verdict *verdict);

#endif
