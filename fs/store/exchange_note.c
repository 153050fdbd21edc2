/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/exchange_note.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/random.h"
#include "fs/store/author.h"
#include "fs/store/clock.h"
#include "fs/store/place.h"
#include "fs/store/state.h"
#include "fs/store/trash.h"

/*
 * "<check> <author> <draft> <digest><mark><digest> <path>" and a zero. What
 * follows is of an earlier, longer note. All is in one page, so that
 * nobody is killed in the midst of writing it.
 */
enum { TEXT_SIZE = 4096, DIGITS = 16, EQUALS = '=', BEFORE = '<' };

static const char prefix[] = "exchange-";

static bool has_name(int fd)
{
	struct stat st;

	return fd >= 0 && fd_stat(fd, &st) == 0 && st.st_nlink > 0;
}

void exchange_note_leave(struct store *store)
{
	struct exchange_file *file = &store->exchanges;

	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

void exchange_file_free(struct store *store)
{
	if (store->exchanges.fd >= 0)
		unlinkat(store->intents, store->exchanges.name, 0);
	exchange_note_leave(store);
}

/* Also when a collector took the file for one that nobody has any more. */
static int need_file(struct store *store)
{
	struct exchange_file *file = &store->exchanges;
	char digits[DIGITS + 1];

	if (has_name(file->fd))
		return file->fd;
	exchange_note_leave(store);
	if (random_hex(digits, DIGITS))
		return -1;
	snprintf(file->name, sizeof(file->name), "%s%s", prefix, digits);
	file->fd = fd_open(store->intents, file->name,
			   O_RDWR | O_CREAT | O_EXCL, store->file_mode);
	return file->fd;
}

static int write_note(const struct exchange_note *note)
{
	char older[DIGEST_TEXT_SIZE], newer[DIGEST_TEXT_SIZE];
	char author[AUTHOR_SIZE], text[TEXT_SIZE];
	int size;

	digest_text(&note->older, older);
	digest_text(&note->newer, newer);
	author_describe(author);
	size = snprintf(text, sizeof(text), "%*s %s %s %s%c%s %s", DIGITS, "",
			author, note->draft, older,
			note->ordered ? BEFORE : EQUALS, newer, note->path);
	if (size >= (int)sizeof(text))
		return -ENAMETOOLONG;
	snprintf(text, DIGITS + 1, "%016jx",
		 (uintmax_t)check_of(text + DIGITS, (size_t)size - DIGITS, 0));
	text[DIGITS] = ' ';
	return fd_write_at(note->fd, text, (size_t)size + 1, 0);
}

void exchange_note_begin(struct store *store, const char *draft, int dir,
			 const char *name, struct exchange_note *note)
{
	size_t size;

	note->fd = -1;
	snprintf(note->draft, sizeof(note->draft), "%s", draft);
	if (place_of(store, dir, note->path))
		return;
	size = strlen(note->path);
	if ((size_t)snprintf(note->path + size, PATH_MAX - size, "/%s", name) >=
	    PATH_MAX - size)
		return;
	note->fd = need_file(store);
	if (note->fd >= 0 && write_note(note))
		note->fd = -1;
}

void exchange_note_change(const struct exchange_note *note)
{
	if (note->fd >= 0)
		(void)write_note(note);
}

bool exchange_note_name_is(const char *name)
{
	return strncmp(name, prefix, sizeof(prefix) - 1) == 0;
}

static bool is_checked(const char *text)
{
	size_t size = strlen(text);
	char digits[DIGITS + 1];

	if (size < DIGITS)
		return false;
	snprintf(digits, sizeof(digits), "%016jx",
		 (uintmax_t)check_of(text + DIGITS, size - DIGITS, 0));
	return memcmp(digits, text, DIGITS) == 0;
}

/* Of a text that is checked; names may have any other bytes. */
static int parse(const char *text, struct exchange_note *note)
{
	char older[DIGEST_TEXT_SIZE], newer[DIGEST_TEXT_SIZE], mark;
	int path = 0;

	if (!is_checked(text) ||
	    sscanf(text, "%*s %*s %*s %*s %39s %32[0-9a-f]%c%32[0-9a-f] %n",
		   note->draft, older, &mark, newer, &path) != 4 ||
	    !path || !fd_draft_name_is(note->draft) ||
	    digest_from_text(older, &note->older) ||
	    digest_from_text(newer, &note->newer) ||
	    (mark != EQUALS && mark != BEFORE))
		return -EBADMSG;
	note->ordered = mark == BEFORE;
	snprintf(note->path, sizeof(note->path), "%s", text + path);
	return strncmp(note->path, "refs/", 5) == 0 && trash_is_path(note->path)
		       ? 0
		       : -EBADMSG;
}

int exchange_note_read(struct store *store, const char *name, int64_t patience,
		       struct exchange_note *note)
{
	AUTO_CLOSE int fd = fd_open(store->intents, name,
				    O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
	char text[TEXT_SIZE];
	struct stat st;
	ssize_t size;

	if (fd < 0 || fd_stat(fd, &st) < 0)
		return -errno;
	size = pread(fd, text, sizeof(text) - 1, 0);
	if (size < 0)
		return -errno;
	text[size] = '\0';
	if (!S_ISREG(st.st_mode) || !store_trusts(store, st.st_uid) ||
	    parse(text, note))
		return -EBADMSG;
	if (!author_has_died(text + DIGITS + 1) &&
	    clock_now(store).tv_sec - st.st_ctim.tv_sec <= patience)
		return -EBUSY;
	note->fd = take_fd(&fd);
	return 0;
}
