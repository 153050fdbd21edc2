/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "fs/fd.h"
#include "fs/own.h"

int host_open(const char *root, struct host *host)
{
	AUTO_FREE char *prefix = root ? realpath(root, NULL) : strdup("");
	int fd;

	if (!prefix)
		return -errno;
	if (strcmp(prefix, "/") == 0)
		prefix[0] = '\0';
	fd = open(*prefix ? prefix : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	host->root = fd;
	host->prefix = take_memory((void **)&prefix);
	return 0;
}

void host_close(struct host *host)
{
	own_close(&host->root);
	free(host->prefix);
}

int host_open_file(const struct host *host, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT,
	};
	long fd = syscall(SYS_openat2, host->root, path, &how, sizeof(how));

	/* Older kernels, and sandboxes that do not know the call. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = fd_open(host->root, path + strspn(path, "/"), flags, 0);
	return fd < 0 ? -errno : (int)fd;
}

char *host_path_of(const struct host *host, int fd)
{
	size_t prefix = strlen(host->prefix);
	char path[PATH_MAX];

	if (fd_path(fd, path) != 0)
		return NULL;
	if (strncmp(path, host->prefix, prefix) != 0 || path[prefix] != '/')
		return NULL;
	return strdup(path + prefix);
}

char *host_outer_path(const struct host *host, const char *path)
{
	char *outer;

	return asprintf(&outer, "%s%s", host->prefix, path) < 0 ? NULL : outer;
}

/* The start of a file, with a NUL behind it; the caller frees it. */
static char *read_start(int fd)
{
	char *text = calloc(1, HOST_TEXT_MAX + 1);
	size_t size = 0;
	ssize_t got = 1;

	while (text && got > 0 && size < HOST_TEXT_MAX) {
		got = read(fd, text + size, HOST_TEXT_MAX - size);
		if (got > 0)
			size += (size_t)got;
	}
	return text;
}

/* The value when the line has this key. Cuts the line. */
static const char *value_in(char *line, const char *key)
{
	size_t size = strlen(key);
	size_t end;

	line += strspn(line, " \t");
	if (strncmp(line, key, size) != 0)
		return NULL;
	line += size;
	line += strspn(line, " \t");
	if (*line != '=')
		return NULL;
	line++;
	line += strspn(line, " \t");
	end = strlen(line);
	while (end && strchr(" \t\r", line[end - 1]))
		end--;
	line[end] = '\0';
	return end ? line : NULL;
}

char *host_value_of(const struct host *host, const char *path, const char *key)
{
	AUTO_CLOSE int fd =
		host_open_file(host, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	AUTO_FREE char *text = fd < 0 ? NULL : read_start(fd);
	char *rest = NULL;
	char *line;

	if (!text)
		return NULL;
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		const char *value = value_in(line, key);

		if (value)
			return strdup(value);
	}
	return NULL;
}
