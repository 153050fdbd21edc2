/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "codec/chunk.h"
#include "fs/fd.h"
#include "fs/random.h"
#include "fs/store/lines.h"

enum { UUID_BYTES = 16, CLAIM_LOOKS = 1000, CLAIM_NSEC = 1000000 };

static const char hash_name[] = "xxh3-128";

static const struct feature {
	const char *name;
	unsigned bit;
} known_features[] = {
	{ "collect", FORMAT_COLLECT },
	{ "shared", FORMAT_SHARED },
};

static void read_uuid(struct lines *lines, char uuid[FORMAT_UUID_SIZE])
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	char value[LINES_VALUE_SIZE];
	bool good;

	lines_take(lines, "uuid", value);
	good = strlen(value) == sizeof(shape) - 1;
	for (size_t i = 0; good && shape[i]; i++)
		good = shape[i] == '-' ? value[i] == '-'
				       : value[i] && strchr("0123456789abcdef",
							    value[i]);
	if (good)
		memcpy(uuid, value, FORMAT_UUID_SIZE);
	else
		lines_refuse(lines, -EBADMSG, "has a malformed 'uuid:'");
}

static void read_known(struct lines *lines, const char *key, const char *known)
{
	char value[LINES_VALUE_SIZE];

	lines_take(lines, key, value);
	if (strcmp(value, known) != 0)
		lines_refuse(lines, -ENOTSUP,
			     "says '%s: %s'; this program knows '%s'", key,
			     value, known);
}

static const struct feature *find_feature(const char *name)
{
	for (size_t i = 0; i < sizeof(known_features) / sizeof(*known_features);
	     i++)
		if (strcmp(known_features[i].name, name) == 0)
			return &known_features[i];
	return NULL;
}

/* In the order of the alphabet, and so of the bits: one set has one text. */
static unsigned read_features(struct lines *lines)
{
	char value[LINES_VALUE_SIZE];
	char names[LINES_VALUE_SIZE];
	char *rest = NULL;
	unsigned features = 0;
	const char *name;

	lines_take(lines, "features", value);
	snprintf(names, sizeof(names), "%s", value);
	if (names[0])
		rest = names;
	while ((name = strsep(&rest, ","))) {
		const struct feature *feature = find_feature(name);

		if (!feature)
			lines_refuse(lines, -ENOTSUP,
				     "says 'features: %s'; this program does "
				     "not know '%s'",
				     value, name);
		else if (feature->bit <= features)
			lines_refuse(lines, -EBADMSG,
				     "has a malformed 'features:'");
		else
			features |= feature->bit;
	}
	return features;
}

static void write_features(unsigned features, struct writer *out)
{
	const char *before = " ";

	writer_string(out, "features:");
	for (size_t i = 0; i < sizeof(known_features) / sizeof(*known_features);
	     i++)
		if (features & known_features[i].bit) {
			writer_printf(out, "%s%s", before,
				      known_features[i].name);
			before = ",";
		}
	writer_string(out, "\n");
}

static void chunker_name(char name[LINES_VALUE_SIZE])
{
	snprintf(name, LINES_VALUE_SIZE, "gear %d %d %d", CHUNK_MIN,
		 CHUNK_AVERAGE, CHUNK_MAX);
}

int format_parse(const void *bytes, size_t size, struct format *out, char *why,
		 size_t why_size)
{
	struct lines lines = { .name = "FORMAT",
			       .pos = bytes,
			       .end = (const char *)bytes + size,
			       .why = why,
			       .why_size = why_size };
	struct format format = { .seed = 0 };
	char chunker[LINES_VALUE_SIZE];

	if (size > FORMAT_SIZE_MAX)
		lines_refuse(&lines, -EBADMSG, "is too long");
	lines_version(&lines, "tacfs-store", FORMAT_VERSION);
	if (!lines.err)
		lines_check(&lines, bytes, size);
	if (lines.err)
		return lines.err;
	read_uuid(&lines, format.uuid);
	format.seed = lines_hex64(&lines, "seed");
	read_known(&lines, "hash", hash_name);
	chunker_name(chunker);
	read_known(&lines, "chunker", chunker);
	format.features = read_features(&lines);
	if (lines.pos != lines.end)
		lines_refuse(&lines, -EBADMSG, "has lines too many");
	if (!lines.err)
		*out = format;
	return lines.err;
}

void format_write(const struct format *format, struct writer *out)
{
	size_t start = out->size;
	char chunker[LINES_VALUE_SIZE];

	chunker_name(chunker);
	writer_printf(out, "tacfs-store: %d\n", FORMAT_VERSION);
	writer_printf(out, "uuid: %s\n", format->uuid);
	writer_printf(out, "seed: %016" PRIx64 "\n", format->seed);
	writer_printf(out, "hash: %s\n", hash_name);
	writer_printf(out, "chunker: %s\n", chunker);
	write_features(format->features, out);
	lines_end(out, start);
}

int format_load(int root, struct format *out, char *why, size_t why_size)
{
	char bytes[FORMAT_SIZE_MAX];
	size_t size = 0;
	const struct timespec pause = { .tv_nsec = CLAIM_NSEC };
	uid_t owner;
	int err = lines_load(root, "FORMAT", bytes, &size, &owner);

	/* The name is just being taken (fd_move_new()). */
	for (int i = 0; !err && !size && i < CLAIM_LOOKS; i++) {
		nanosleep(&pause, NULL);
		err = lines_load(root, "FORMAT", bytes, &size, &owner);
	}
	if (err == -EFBIG) {
		snprintf(why, why_size, "FORMAT is not a small regular file");
		return -EBADMSG;
	}
	if (err) {
		snprintf(why, why_size, "cannot read FORMAT: %s",
			 strerror(-err));
		return err;
	}
	return format_parse(bytes, size, out, why, why_size);
}

/* RFC 4122: a random UUID. */
static void uuid_text(const uint8_t random[UUID_BYTES],
		      char text[FORMAT_UUID_SIZE])
{
	size_t at = 0;

	for (size_t i = 0; i < UUID_BYTES; i++) {
		unsigned byte = random[i];

		if (i == 6)
			byte = (byte & 0x0f) | 0x40;
		if (i == 8)
			byte = (byte & 0x3f) | 0x80;
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[at++] = '-';
		at += (size_t)snprintf(text + at, FORMAT_UUID_SIZE - at, "%02x",
				       byte);
	}
}

static int format_new(struct format *format)
{
	uint8_t random[UUID_BYTES] = { 0 };
	int err = random_bytes(random, sizeof(random));

	if (!err)
		err = random_bytes(&format->seed, sizeof(format->seed));
	if (!err)
		uuid_text(random, format->uuid);
	return err;
}

int format_make(int root, int tmp, mode_t mode, unsigned features)
{
	struct writer text = writer_upto(FORMAT_SIZE_MAX);
	struct fd_draft draft;
	struct format format;
	int err = format_new(&format);

	if (err)
		return err;
	format.features = features;
	err = fd_draft_open(tmp, mode, &draft);
	if (err)
		return err;
	format_write(&format, &text);
	err = text.err;
	if (!err)
		err = fd_write_at(draft.fd, text.bytes, text.size, 0);
	if (!err)
		err = fd_sync(draft.fd);
	if (!err)
		err = fd_draft_link(&draft, root, "FORMAT");
	fd_draft_close(&draft);
	writer_free(&text);
	return err;
}
