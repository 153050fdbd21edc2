/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/fingerprint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "fs/host.h"
#include "fs/host_python.h"
#include "fs/own.h"

static const struct {
	const char *name;
	const char *prefix; /* in the fingerprint's name */
} keys[FINGERPRINT_COUNT] = {
	[FINGERPRINT_CANN] = { "cann", "cann" },
	[FINGERPRINT_PYTHON] = { "python", "py" },
	[FINGERPRINT_TORCH] = { "torch", "torch" },
	[FINGERPRINT_TORCH_NPU] = { "torch_npu", "torch_npu" },
	[FINGERPRINT_TORCHAIR] = { "torchair", "torchair" },
	[FINGERPRINT_NPUGRAPH_EX] = { "npugraph_ex", "npugraph_ex" },
	[FINGERPRINT_MACHINE] = { "machine", "" },
};

/*
 * Where CANN says its version, best first: the name of the release, and only
 * then the number of a component. %m stands for the machine.
 */
static const struct {
	const char *file;
	const char *key;
} cann_files[] = {
	{ "version.cfg", "toolkit_running_version" },
	{ "version.cfg", "compiler_running_version" },
	{ "version.cfg", "runtime_running_version" },
	{ "version.info", "version_dir" },
	{ "compiler/version.info", "version_dir" },
	{ "%m-linux/ascend_toolkit_install.info", "version" },
	{ "aarch64-linux/ascend_toolkit_install.info", "version" },
	{ "x86_64-linux/ascend_toolkit_install.info", "version" },
	{ "version.info", "Version" },
	{ "compiler/version.info", "Version" },
};

/* What the environment says comes before where CANN is usually installed. */
static const struct {
	const char *variable; /* or NULL */
	const char *path;     /* below it, or absolute */
} cann_places[] = {
	{ "ASCEND_HOME_PATH", "" },
	{ "ASCEND_TOOLKIT_HOME", "" },
	{ NULL, "/usr/local/Ascend/ascend-toolkit/latest" },
	{ NULL, "/usr/local/Ascend/cann" },
	{ NULL, "/usr/local/Ascend/latest" },
	{ "HOME", "/Ascend/ascend-toolkit/latest" },
	{ "HOME", "/Ascend/cann" },
};

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '+';
}

/* Takes a version over as far as it may be part of a name. */
static void set_value(struct fingerprint_part *part, const char *value)
{
	size_t size = 0;

	for (; value[size] && size < sizeof(part->value) - 1; size++)
		if (is_plain(value[size]))
			part->value[size] = value[size];
		else
			part->value[size] = '_';
	part->value[size] = '\0';
}

static int set_part(struct fingerprint_part *part, const struct host *host,
		    const char *value, const char *path)
{
	part->place = host_outer_path(host, path);
	if (!part->place)
		return -ENOMEM;
	set_value(part, value);
	return 0;
}

/* "[7.7.0.1.238:8.1.RC1]" is 8.1.RC1: what stands there is cut to it. */
static char *release_in(char *value)
{
	char *colon;

	if (*value != '[')
		return value;
	value[strcspn(value, "]")] = '\0';
	colon = strchr(value, ':');
	return colon ? colon + 1 : value + 1;
}

/* The directory that one of cann_places means; the caller frees it. */
static char *cann_place(size_t i)
{
	const char *variable = cann_places[i].variable;
	const char *start = variable ? getenv(variable) : "";
	char *path;

	if (!start || (variable && *start != '/'))
		return NULL;
	if (asprintf(&path, "%s%s", start, cann_places[i].path) < 0)
		return NULL;
	return path;
}

static char *cann_file(const char *place, size_t i, const char *machine)
{
	const char *file = cann_files[i].file;
	bool by_machine = strncmp(file, "%m", 2) == 0;
	char *path;

	if (asprintf(&path, "%s/%s%s", place, by_machine ? machine : "",
		     by_machine ? file + 2 : file) < 0)
		return NULL;
	return path;
}

static int find_cann_in(const struct host *host, const char *place,
			const char *machine, struct fingerprint_part *part)
{
	for (size_t i = 0; i < sizeof(cann_files) / sizeof(*cann_files); i++) {
		AUTO_FREE char *path = cann_file(place, i, machine);
		AUTO_FREE char *value = NULL;

		if (!path)
			return -ENOMEM;
		value = host_value_of(host, path, cann_files[i].key);
		if (value && *release_in(value))
			return set_part(part, host, release_in(value), path);
	}
	return 0;
}

static int find_cann(const struct host *host, const char *machine,
		     struct fingerprint_part *part)
{
	size_t count = sizeof(cann_places) / sizeof(*cann_places);
	int err = 0;

	for (size_t i = 0; i < count && !err && !part->value[0]; i++) {
		AUTO_FREE char *place = cann_place(i);

		if (place)
			err = find_cann_in(host, place, machine, part);
	}
	return err;
}

/* The packages of one directory; those known already came from one before. */
static int add_packages(struct fingerprint *f, const struct host *host,
			const char *directory)
{
	for (int key = FINGERPRINT_TORCH; key <= FINGERPRINT_NPUGRAPH_EX;
	     key++) {
		struct fingerprint_part *part = &f->parts[key];
		AUTO_FREE char *version = NULL;
		AUTO_FREE char *place = NULL;
		int err;

		if (part->value[0])
			continue;
		err = host_package_in(host, directory, keys[key].name, &version,
				      &place);
		if (!err && version)
			err = set_part(part, host, version, place);
		if (err)
			return err;
	}
	return 0;
}

static int find_python(struct fingerprint *f, const struct host *host)
{
	struct host_python python;
	int err = host_python_find(host, &python);

	if (err)
		return err == -ENOENT ? 0 : err;
	err = set_part(&f->parts[FINGERPRINT_PYTHON], host, python.version,
		       python.program);
	for (size_t i = 0; !err && python.sites[i]; i++)
		err = add_packages(f, host, python.sites[i]);
	host_python_free(&python);
	return err;
}

int fingerprint_find(const char *root, struct fingerprint *f)
{
	struct utsname name;
	struct host host;
	int err = host_open(root, &host);

	if (err)
		return err;
	*f = (struct fingerprint){ 0 };
	if (uname(&name) == 0)
		set_value(&f->parts[FINGERPRINT_MACHINE], name.machine);
	err = find_cann(&host, f->parts[FINGERPRINT_MACHINE].value,
			&f->parts[FINGERPRINT_CANN]);
	if (!err)
		err = find_python(f, &host);
	if (err)
		fingerprint_free(f);
	host_close(&host);
	return err;
}

void fingerprint_free(struct fingerprint *f)
{
	for (int key = 0; key < FINGERPRINT_COUNT; key++) {
		free(f->parts[key].place);
		f->parts[key].place = NULL;
	}
}

const char *fingerprint_key_name(enum fingerprint_key key)
{
	return keys[key].name;
}

void fingerprint_name(const struct fingerprint *f,
		      char name[FINGERPRINT_NAME_SIZE])
{
	size_t size = 0;

	*name = '\0';
	for (int key = 0; key < FINGERPRINT_COUNT; key++) {
		const char *value = f->parts[key].value;

		if (!*value)
			continue;
		snprintf(name + size, FINGERPRINT_NAME_SIZE - size, "%s%s%s",
			 size ? "-" : "", keys[key].prefix, value);
		size += strlen(name + size);
	}
}
