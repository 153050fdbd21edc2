/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fs/host_python.h"
#include "fs/own.h"

/*
 * The version in PACKAGE-VERSION.dist-info or PACKAGE-VERSION[-pyX.Y].egg-info;
 * NULL for other names. The caller frees it.
 */
static char *version_in(const char *name, const char *package)
{
	size_t size = strlen(package);
	const char *end = strrchr(name, '.');
	const char *python;

	if (strncasecmp(name, package, size) != 0 || name[size] != '-' || !end)
		return NULL;
	if (strcmp(end, ".dist-info") != 0 && strcmp(end, ".egg-info") != 0)
		return NULL;
	name += size + 1;
	python = strstr(name, "-py");
	if (python && python < end)
		end = python;
	return end > name ? strndup(name, (size_t)(end - name)) : NULL;
}

static int keep_higher(char **version, char **place, char *found,
		       const char *directory, const char *name)
{
	char *path;

	if (*version && strverscmp(*version, found) >= 0) {
		free(found);
		return 0;
	}
	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		free(found);
		return -ENOMEM;
	}
	free(*version);
	free(*place);
	*version = found;
	*place = path;
	return 0;
}

int host_package_in(const struct host *host, const char *directory,
		    const char *package, char **version, char **place)
{
	AUTO_CLOSEDIR DIR *dir = NULL;
	struct dirent *entry;
	int fd = host_open_file(host, directory, O_RDONLY | O_DIRECTORY);
	int err = 0;

	*version = NULL;
	*place = NULL;
	if (fd < 0)
		return 0;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!err && (entry = readdir(dir))) {
		char *found = version_in(entry->d_name, package);

		if (found)
			err = keep_higher(version, place, found, directory,
					  entry->d_name);
	}
	return err;
}
