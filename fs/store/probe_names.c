/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/probe_state.h"

enum { NAME_MAX_BYTES = 255, REPLACEMENTS = 200 };

static bool make(const struct probe *p, const char *name, char byte)
{
	int fd = probe_file(p, name, byte);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The byte in the file; 0 when there is none. */
static char byte_in(int dir, const char *name)
{
	AUTO_CLOSE int fd = fd_open(dir, name, O_RDONLY, 0);
	char byte = 0;

	if (fd < 0 || fd_read_at(fd, &byte, 1, 0))
		return 0;
	return byte;
}

void probe_write(const struct probe *p, struct ability *a)
{
	AUTO_CLOSE int fd = probe_file(p, "write", 'x');

	if (fd < 0)
		ability_set(a, GRADE_MISSING, "nothing can be written: %s",
			    strerror(-fd));
	else
		ability_set(a, GRADE_OK, "files can be made and written");
}

void probe_exclusive(const struct probe *p, struct ability *a)
{
	AUTO_CLOSE int first = probe_file(p, "exclusive", 'x');
	AUTO_CLOSE int second = probe_file(p, "exclusive", 'y');

	if (first < 0)
		ability_set(a, GRADE_MISSING, "no file can be made: %s",
			    strerror(-first));
	else if (second != -EEXIST)
		ability_set(a, GRADE_MISSING,
			    "two programs can make one file with O_EXCL: each "
			    "takes the other's place");
	else
		ability_set(a, GRADE_OK, "O_EXCL makes a file once");
}

/* Somebody who opens a name all the time while it is replaced. */
struct watch {
	int dir;
	atomic_bool stop;
	atomic_bool missed;
};

static void *watch_name(void *argument)
{
	struct watch *watch = argument;

	while (!atomic_load(&watch->stop))
		if (!byte_in(watch->dir, "replace"))
			atomic_store(&watch->missed, true);
	return NULL;
}

static int replace_often(const struct probe *p)
{
	for (int i = 0; i < REPLACEMENTS; i++) {
		if (!make(p, "replace-new", 'b'))
			return -EIO;
		if (renameat(p->dir, "replace-new", p->dir, "replace") < 0)
			return -errno;
	}
	return byte_in(p->dir, "replace") == 'b' ? 0 : -EIO;
}

void probe_replace(const struct probe *p, struct ability *a)
{
	struct watch watch = { .dir = p->dir };
	pthread_t thread;
	bool watched;
	int err;

	if (!make(p, "replace", 'a')) {
		ability_set(a, GRADE_MISSING, "no file can be made");
		return;
	}
	watched = pthread_create(&thread, NULL, watch_name, &watch) == 0;
	err = replace_often(p);
	atomic_store(&watch.stop, true);
	if (watched)
		pthread_join(thread, NULL);
	if (err)
		ability_set(a, GRADE_MISSING,
			    "a file cannot be renamed over another, so nothing "
			    "can be published: %s",
			    strerror(-err));
	else if (watch.missed)
		ability_set(a, GRADE_WEAK,
			    "a name is not there for an instant when its file "
			    "is replaced: readers may compile in vain");
	else
		ability_set(
			a, GRADE_OK,
			"a name passes from one file to another in one step");
}

static bool rename_two(const struct probe *p, const char *from, const char *to,
		       unsigned flags)
{
	return make(p, from, 'a') && make(p, to, 'b') &&
	       renameat2(p->dir, from, p->dir, to, flags) == 0;
}

void probe_exchange(const struct probe *p, struct ability *a)
{
	if (rename_two(p, "exchange-1", "exchange-2", RENAME_EXCHANGE) &&
	    byte_in(p->dir, "exchange-1") == 'b' &&
	    byte_in(p->dir, "exchange-2") == 'a')
		ability_set(a, GRADE_OK, "two names exchange their files");
	else
		ability_set(a, GRADE_MISSING,
			    "of two mounts that change one file in place at "
			    "the same instant, one may lose what it wrote");
}

void probe_noreplace(const struct probe *p, struct ability *a)
{
	bool replaced =
		rename_two(p, "noreplace-1", "noreplace-2", RENAME_NOREPLACE);

	if (replaced)
		ability_set(a, GRADE_MISSING,
			    "RENAME_NOREPLACE replaces: a rename may hide "
			    "what somebody has just made");
	else if (errno == EEXIST &&
		 renameat2(p->dir, "noreplace-1", p->dir, "noreplace-3",
			   RENAME_NOREPLACE) == 0)
		ability_set(a, GRADE_OK, "a rename can spare what is there");
	else
		ability_set(a, GRADE_MISSING,
			    "a rename cannot be kept from replacing: a name "
			    "that must be free is taken with a link or an "
			    "empty file");
}

void probe_link(const struct probe *p, struct ability *a)
{
	struct stat st;

	if (!make(p, "link-1", 'a') ||
	    linkat(p->dir, "link-1", p->dir, "link-2", 0) < 0 ||
	    fstatat(p->dir, "link-2", &st, 0) < 0 || st.st_nlink != 2)
		ability_set(a, GRADE_WEAK,
			    "there are no hard links: collectors wait for "
			    "renames to end");
	else if (linkat(p->dir, "link-1", p->dir, "link-2", 0) == 0)
		ability_set(a, GRADE_MISSING,
			    "a hard link replaces what has its name");
	else
		ability_set(a, GRADE_OK,
			    "a hard link takes only a name that is free");
}

void probe_tmpfile(const struct probe *p, struct ability *a)
{
	AUTO_CLOSE int fd = fd_open(p->dir, ".", O_TMPFILE | O_RDWR, 0600);
	char path[FD_LINK_SIZE];

	fd_link(fd, path);
	if (fd < 0)
		ability_set(a, GRADE_MISSING,
			    "files cannot be made without a name: who is "
			    "killed leaves drafts in tmp/");
	else if (linkat(AT_FDCWD, path, p->dir, "tmpfile", AT_SYMLINK_FOLLOW) <
		 0)
		ability_set(a, GRADE_WEAK,
			    "files without a name cannot be given one later "
			    "(%s): is /proc there?",
			    strerror(errno));
	else
		ability_set(a, GRADE_OK,
			    "drafts have no name, so that none are left");
}

void probe_case(const struct probe *p, struct ability *a)
{
	if (make(p, "case", 'a') && make(p, "CASE", 'b') &&
	    byte_in(p->dir, "case") == 'a')
		ability_set(a, GRADE_OK, "names may differ in case only");
	else
		ability_set(a, GRADE_MISSING,
			    "names that differ in case only are one file, so "
			    "one entry replaces the other");
}

void probe_long_names(const struct probe *p, struct ability *a)
{
	char name[NAME_MAX_BYTES + 1];

	memset(name, 'n', NAME_MAX_BYTES);
	name[NAME_MAX_BYTES] = '\0';
	if (make(p, name, 'a'))
		ability_set(a, GRADE_OK, "names may have 255 bytes");
	else
		ability_set(a, GRADE_MISSING,
			    "names of 255 bytes cannot be published");
}

void probe_byte_names(const struct probe *p, struct ability *a)
{
	if (make(p, "\xff\xfe\xc3", 'a'))
		ability_set(a, GRADE_OK, "names may have any bytes");
	else
		ability_set(a, GRADE_MISSING,
			    "names that are not UTF-8 cannot be published");
}
