/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/mounted_at.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/own.h"

/* A stream that is closed when its scope ends. */
static void close_stream(FILE **stream)
{
	if (*stream)
		fclose(*stream);
}

#define AUTO_FCLOSE __attribute__((cleanup(close_stream)))

static bool mount_id_of(int fd, long *id)
{
	AUTO_FCLOSE FILE *info = NULL;
	char line[128];
	char path[48];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = fopen(path, "re");
	while (info && fgets(line, sizeof(line), info))
		if (strncmp(line, "mnt_id:", 7) == 0) {
			*id = strtol(line + 7, NULL, 10);
			return true;
		}
	return false;
}

static bool is_octal(const char *digits)
{
	return digits[0] >= '0' && digits[0] <= '3' && digits[1] >= '0' &&
	       digits[1] <= '7' && digits[2] >= '0' && digits[2] <= '7';
}

/* A copy in which each \ooo is the byte again. */
static char *unescaped(const char *field)
{
	char *text = strdup(field);
	char *to = text;

	for (const char *at = text; to && *at; to++)
		if (*at == '\\' && is_octal(at + 1)) {
			*to = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 +
				     (at[3] - '0'));
			at += 4;
		} else {
			*to = *at++;
		}
	if (to)
		*to = '\0';
	return text;
}

/* The field `number` behind `line`, whose fields are ended by this. */
static char *take_field(char **line)
{
	char *field = *line;
	size_t size = strcspn(field, " \n");

	*line = field + size;
	if (**line)
		*(*line)++ = '\0';
	return field;
}

/* ID PARENT DEVICE ROOT PATH OPTIONS [TAG...] - TYPE SOURCE OPTIONS */
static int parse(char *line, struct mounted_at *found)
{
	const char *path = "";

	for (int i = 0; i < 5; i++)
		path = take_field(&line);
	while (*line && strcmp(take_field(&line), "-") != 0)
		continue;
	found->path = unescaped(path);
	found->type = unescaped(take_field(&line));
	found->source = unescaped(take_field(&line));
	if (found->path && found->type && found->source)
		return 0;
	mounted_at_free(found);
	return -ENOMEM;
}

static int find_in(FILE *table, long id, struct mounted_at *found)
{
	char *line = NULL;
	size_t size = 0;
	int err = -ENOENT;

	while (err == -ENOENT && getline(&line, &size, table) > 0)
		if (strtol(line, NULL, 10) == id)
			err = parse(line, found);
	free(line);
	return err;
}

int mounted_at_find(int fd, struct mounted_at *found)
{
	AUTO_FCLOSE FILE *table = NULL;
	long id;

	*found = (struct mounted_at){ 0 };
	if (!mount_id_of(fd, &id))
		return -ENOENT;
	found->id = id;
	table = fopen("/proc/self/mountinfo", "re");
	return table ? find_in(table, id, found) : -ENOENT;
}

void mounted_at_free(struct mounted_at *found)
{
	free(found->path);
	free(found->type);
	free(found->source);
	*found = (struct mounted_at){ 0 };
}
