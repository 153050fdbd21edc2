/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/index.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "compiler/verdict.h"

/* Collects names, and what was wrong with one. */
struct collector {
	struct index_names names;
	const char *why;
};

static size_t find_name(const struct index_names *names, const char *name)
{
	size_t i = 0;

	while (i < names->count && strcmp(names->names[i], name) != 0)
		i++;
	return i;
}

static void add_name(struct collector *c, const char *path, bool described)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t i;

	if (!*name || strlen(name) > NAME_MAX || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0) {
		c->why = "a record names no file";
		return;
	}
	i = find_name(&c->names, name);
	if (i < c->names.count) {
		c->names.described[i] &= described;
		return;
	}
	if (i == INDEX_NAMES_MAX) {
		c->why = "too many files are named";
		return;
	}
	c->names.names[i] = strdup(name);
	c->names.described[i] = described;
	if (c->names.names[i])
		c->names.count++;
	else
		c->why = "out of memory";
}

static void read_record(struct collector *c, const json_t *record)
{
	const json_t *file = json_object_get(record, "cache_file_name");
	const json_t *var = json_object_get(record, "var_desc_file_name");

	if (!json_is_object(record))
		c->why = "a record is not an object";
	else if (!json_is_string(file))
		c->why = "a record names no file";
	else if (var && !json_is_string(var))
		c->why = "a record's var_desc_file_name is not a string";
	else
		add_name(c, json_string_value(file), false);
	if (!c->why && var && *json_string_value(var))
		add_name(c, json_string_value(var), true);
}

static void read_records(struct collector *c, const json_t *root)
{
	const json_t *list = json_object_get(root, "cache_file_list");
	const json_t *record;
	size_t i;

	if (!json_array_size(list)) {
		c->why = "there is no cache_file_list with records";
		return;
	}
	c->names.names = calloc(INDEX_NAMES_MAX, sizeof(*c->names.names));
	c->names.described =
		calloc(INDEX_NAMES_MAX, sizeof(*c->names.described));
	if (!c->names.names || !c->names.described) {
		c->why = "out of memory";
		return;
	}
	json_array_foreach(list, i, record)
	{
		read_record(c, record);
		if (c->why)
			break;
	}
}

void index_names_free(struct index_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	free(names->described);
	*names = (struct index_names){ NULL, NULL, 0 };
}

static void judge_records(const json_t *root, struct verdict *verdict,
			  struct index_names *names)
{
	struct collector c = { .why = NULL };

	read_records(&c, root);
	if (c.why)
		verdict_set(verdict, UNSOUND, 0, "%s", c.why);
	else
		verdict_sound(verdict);
	if (c.why || !names)
		index_names_free(&c.names);
	else
		*names = c.names;
}

/*
 * Others use the name, too: git's pack indexes begin with 0xff. Zeros are what
 * is left of a torn .idx.
 */
static bool is_foreign(const uint8_t *bytes, size_t size)
{
	size_t i = 0;

	while (i < size && strchr(" \t\r\n", bytes[i]))
		i++;
	return i < size && bytes[i] != '{';
}

void index_read(const void *bytes, size_t size, struct verdict *verdict,
		struct index_names *names)
{
	json_error_t error;
	json_t *root;

	if (names)
		*names = (struct index_names){ NULL, NULL, 0 };
	if (is_foreign(bytes, size)) {
		verdict_set(verdict, FOREIGN, 0, "not a graph engine's .idx");
		return;
	}
	if (!size || size > INDEX_SIZE_MAX) {
		verdict_set(verdict, UNSOUND, 0,
			    size ? "the file is too large"
				 : "the file is empty");
		return;
	}
	root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
	if (!root) {
		verdict_set(verdict, UNSOUND,
			    error.position < 0 ? 0 : (size_t)error.position,
			    "not JSON: %s", error.text);
		return;
	}
	judge_records(root, verdict, names);
	json_decref(root);
}
