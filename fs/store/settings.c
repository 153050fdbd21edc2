/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/size.h"
#include "fs/store/lines.h"

static uint64_t read_number(struct lines *lines, const char *key)
{
	char value[LINES_VALUE_SIZE];
	char again[LINES_VALUE_SIZE];
	uint64_t number = 0;

	lines_take(lines, key, value);
	if (!lines->err)
		(void)size_parse(value, &number);
	snprintf(again, sizeof(again), "%" PRIu64, number);
	if (strcmp(value, again) != 0)
		lines_refuse(lines, -EBADMSG, "has a malformed '%s:'", key);
	return number;
}

int settings_parse(const void *bytes, size_t size, struct settings *out,
		   char *why, size_t why_size)
{
	struct lines lines = { .name = "settings",
			       .pos = bytes,
			       .end = (const char *)bytes + size,
			       .why = why,
			       .why_size = why_size };
	struct settings settings = { .max_bytes = 0 };

	if (size > LINES_SIZE_MAX)
		lines_refuse(&lines, -EBADMSG, "is too long");
	lines_version(&lines, "tacfs-settings", SETTINGS_VERSION);
	if (!lines.err)
		lines_check(&lines, bytes, size);
	settings.max_bytes = read_number(&lines, "max-bytes");
	if (lines.pos != lines.end)
		lines_refuse(&lines, -EBADMSG, "has lines too many");
	if (!lines.err)
		*out = settings;
	return lines.err;
}

void settings_write(const struct settings *settings, struct writer *out)
{
	size_t start = out->size;

	writer_printf(out, "tacfs-settings: %d\n", SETTINGS_VERSION);
	writer_printf(out, "max-bytes: %" PRIu64 "\n", settings->max_bytes);
	lines_end(out, start);
}

int settings_load(int root, struct settings *out, uid_t *owner, char *why,
		  size_t why_size)
{
	char bytes[LINES_SIZE_MAX];
	size_t size = 0;
	int err = lines_load(root, "settings", bytes, &size, owner);

	if (err == -EFBIG) {
		snprintf(why, why_size, "settings is not a small regular file");
		return -EBADMSG;
	}
	if (err) {
		snprintf(why, why_size, "cannot read settings: %s",
			 strerror(-err));
		return err;
	}
	return settings_parse(bytes, size, out, why, why_size);
}

int settings_save(int root, int tmp, mode_t mode,
		  const struct settings *settings)
{
	struct writer text = writer_upto(LINES_SIZE_MAX);
	struct fd_draft draft;
	int err = fd_draft_open(tmp, mode, &draft);

	if (err)
		return err;
	settings_write(settings, &text);
	err = text.err;
	if (!err)
		err = fd_write_at(draft.fd, text.bytes, text.size, 0);
	if (!err && fsync(draft.fd) < 0)
		err = -errno;
	if (!err)
		err = fd_draft_replace(&draft, root, "settings");
	fd_draft_close(&draft);
	writer_free(&text);
	return err;
}
