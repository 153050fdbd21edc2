/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/artifact.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "compiler/compiled_module.h"
#include "compiler/index.h"
#include "compiler/om.h"
#include "compiler/verdict.h"

static bool ends_with(const char *name, const char *suffix)
{
	size_t size = strlen(name), end = strlen(suffix);

	return size > end && strcmp(name + size - end, suffix) == 0;
}

enum artifact_kind artifact_kind_of(const char *name)
{
	if (strcmp(name, "compiled_module") == 0)
		return ARTIFACT_COMPILED_MODULE;
	if (ends_with(name, ".om"))
		return ARTIFACT_OM;
	if (ends_with(name, ".idx"))
		return ARTIFACT_INDEX;
	return ARTIFACT_NONE;
}

const char *artifact_kind_text(enum artifact_kind kind)
{
	switch (kind) {
	case ARTIFACT_NONE:
		break;
	case ARTIFACT_COMPILED_MODULE:
		return "compiled_module";
	case ARTIFACT_OM:
		return "om";
	case ARTIFACT_INDEX:
		return "index";
	}
	return "plain";
}

void artifact_judge(enum artifact_kind kind, const void *bytes, size_t size,
		    struct verdict *verdict)
{
	switch (kind) {
	case ARTIFACT_NONE:
		verdict_sound(verdict);
		break;
	case ARTIFACT_COMPILED_MODULE:
		compiled_module_judge(bytes, size, verdict);
		break;
	case ARTIFACT_OM:
		om_judge(bytes, size, verdict);
		break;
	case ARTIFACT_INDEX:
		index_read(bytes, size, verdict, NULL);
		break;
	}
}

void verdict_sound(struct verdict *verdict)
{
	*verdict = (struct verdict){ .soundness = SOUND };
}

void verdict_set(struct verdict *verdict, enum soundness soundness,
		 size_t where, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	*verdict = (struct verdict){ .soundness = soundness, .where = where };
	vsnprintf(verdict->reason, sizeof(verdict->reason), format, args);
	va_end(args);
	for (char *at = verdict->reason; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
}
