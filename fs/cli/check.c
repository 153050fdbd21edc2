/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/cli/check.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "compiler/compiled_module.h"
#include "compiler/show.h"
#include "fs/cli/cli.h"
#include "fs/cli/json_text.h"

int check_status(enum soundness soundness)
{
	switch (soundness) {
	case SOUND:
		return CHECK_SOUND;
	case FOREIGN:
		return CHECK_FOREIGN;
	case UNSOUND:
		break;
	}
	return CHECK_BROKEN;
}

static const char *soundness_text(enum soundness soundness)
{
	switch (soundness) {
	case SOUND:
		return "sound";
	case FOREIGN:
		return "foreign";
	case UNSOUND:
		break;
	}
	return "broken";
}

static int add_sound(json_t *object, const void *bytes, size_t size)
{
	struct compiled_module module;
	const struct python *python;
	struct fault fault;
	int err;

	if (compiled_module_read(bytes, size, &module, &fault) ||
	    show_detect(bytes, size, &python, &fault))
		return -ENOMEM;
	err = json_object_set_new(object, "python", json_string(python->name));
	err |= json_object_set_new(
		object, "version",
		json_text(module.version.bytes, module.version.size));
	err |= json_object_set_new(object, "module",
				   json_string(module.module));
	return err ? -ENOMEM : 0;
}

static int add_reason(json_t *object, const struct verdict *verdict)
{
	int err = json_object_set_new(object, "offset",
				      json_integer((json_int_t)verdict->where));

	err |= json_object_set_new(
		object, "reason",
		json_text(verdict->reason, strlen(verdict->reason)));
	return err ? -ENOMEM : 0;
}

static int print_json(const char *path, const void *bytes, size_t size,
		      const struct verdict *verdict)
{
	json_t *object = json_object();
	int err = json_object_set_new(object, "file",
				      json_text(path, strlen(path)));

	err |= json_object_set_new(
		object, "verdict",
		json_string(soundness_text(verdict->soundness)));
	if (!err)
		err = verdict->soundness == SOUND
			      ? add_sound(object, bytes, size)
			      : add_reason(object, verdict);
	if (!err) {
		json_dumpf(object, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(object);
	return err ? -ENOMEM : 0;
}

int check_print(const char *path, const void *bytes, size_t size, bool json)
{
	struct verdict verdict;
	int err = 0;

	artifact_judge(ARTIFACT_COMPILED_MODULE, bytes, size, &verdict);
	if (json)
		err = print_json(path, bytes, size, &verdict);
	else if (verdict.soundness == SOUND)
		printf("%s: sound\n", path);
	else
		printf("%s: %s at byte %zu: %s\n", path,
		       soundness_text(verdict.soundness), verdict.where,
		       verdict.reason);
	if (err) {
		cli_fail("show", path, err);
		return CHECK_TROUBLE;
	}
	return cli_end_output("show") == CLI_OK
		       ? check_status(verdict.soundness)
		       : CHECK_TROUBLE;
}
