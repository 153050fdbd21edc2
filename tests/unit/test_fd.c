/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "tests/unit/store_fixture.h"

struct place {
	char path[128];
	int dir;
	int tmp;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	if (!make_temp_dir(p->path))
		return -1;
	p->dir = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(p->dir, "tmp", 0700) < 0)
		return -1;
	p->tmp = openat(p->dir, "tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = p;
	return p->tmp < 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	close(p->tmp);
	close(p->dir);
	remove_tree(p->path);
	free(p);
	return 0;
}

static bool tmp_is_empty(const struct place *p)
{
	return unlinkat(p->dir, "tmp", AT_REMOVEDIR) == 0;
}

static void assert_text(const struct place *p, const char *name,
			const char *text)
{
	AUTO_CLOSE int fd = openat(p->dir, name, O_RDONLY | O_CLOEXEC);
	char read[16] = "";
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, strlen(text));
	assert_int_equal(fd_read_at(fd, read, strlen(text), 0), 0);
	assert_string_equal(read, text);
}

static void open_draft(const struct place *p, const char *text,
		       struct fd_draft *draft)
{
	assert_int_equal(fd_draft_open(p->tmp, 0640, draft), 0);
	assert_int_equal(fd_write_at(draft->fd, text, strlen(text), 0), 0);
}

/* Makes a draft as it is where O_TMPFILE does not work. */
static void name_draft(const struct place *p, struct fd_draft *draft)
{
	char path[32];

	if (draft->name[0])
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", draft->fd);
	strcpy(draft->name, "draft-00000000000000aa");
	assert_true(fd_draft_name_is(draft->name));
	assert_int_equal(
		linkat(AT_FDCWD, path, p->tmp, draft->name, AT_SYMLINK_FOLLOW),
		0);
}

static void reading_past_the_end_says_so(void **state)
{
	struct place *p = *state;
	AUTO_CLOSE int fd = fd_temp(p->tmp);
	char bytes[8];

	assert_true(fd >= 0);
	assert_int_equal(fd_write_at(fd, "abcdef", 6, 2), 0);
	assert_int_equal(fd_read_at(fd, bytes, 8, 0), 0);
	assert_memory_equal(bytes, "\0\0abcdef", 8);
	assert_int_equal(fd_read_at(fd, bytes, 8, 1), -ENODATA);
	assert_int_equal(fd_read_at(fd, bytes, 0, 100), 0);
	assert_int_equal(fd_read_at(-1, bytes, 1, 0), -EBADF);
	assert_int_equal(fd_write_at(fd, "x", 1, UINT64_MAX), -EINVAL);
	assert_true(tmp_is_empty(p));
}

static void a_draft_is_linked_whole_and_only_once(void **state)
{
	struct place *p = *state;

	for (int named = 0; named < 2; named++) {
		struct fd_draft draft;
		struct stat st;

		open_draft(p, "one", &draft);
		if (named)
			name_draft(p, &draft);
		assert_int_equal(fd_draft_link(&draft, p->dir, "file"), 0);
		fd_draft_close(&draft);
		open_draft(p, "two", &draft);
		if (named)
			name_draft(p, &draft);
		assert_int_equal(fd_draft_link(&draft, p->dir, "file"),
				 -EEXIST);
		fd_draft_close(&draft);
		assert_text(p, "file", "one");
		assert_int_equal(fstatat(p->dir, "file", &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0640);
		assert_int_equal(st.st_nlink, 1);
		assert_int_equal(unlinkat(p->dir, "file", 0), 0);
	}
	assert_true(tmp_is_empty(p));
}

static void a_draft_takes_the_place_of_a_file(void **state)
{
	struct place *p = *state;

	for (int named = 0; named < 2; named++) {
		struct fd_draft draft;

		for (int i = 0; i < 2; i++) {
			open_draft(p, i ? "two" : "one", &draft);
			if (named)
				name_draft(p, &draft);
			assert_int_equal(
				fd_draft_replace(&draft, p->dir, "file"), 0);
			fd_draft_close(&draft);
		}
		assert_text(p, "file", "two");
		assert_int_equal(unlinkat(p->dir, "file", 0), 0);
	}
	assert_true(tmp_is_empty(p));
}

static void a_draft_that_cannot_be_placed_leaves_nothing(void **state)
{
	struct place *p = *state;

	assert_int_equal(mkdirat(p->dir, "dir", 0700), 0);
	for (int named = 0; named < 2; named++) {
		struct fd_draft draft;

		open_draft(p, "one", &draft);
		if (named)
			name_draft(p, &draft);
		assert_int_equal(fd_draft_replace(&draft, p->dir, "dir"),
				 -EISDIR);
		assert_int_equal(fd_draft_link(&draft, p->dir, "no/file"),
				 -ENOENT);
		fd_draft_close(&draft);
	}
	assert_true(tmp_is_empty(p));
}

static void a_file_is_moved_to_a_free_name_only(void **state)
{
	struct place *p = *state;
	struct fd_draft draft;

	for (int i = 0; i < 2; i++) {
		open_draft(p, i ? "two" : "one", &draft);
		assert_int_equal(fd_draft_link(&draft, p->dir, i ? "b" : "a"),
				 0);
		fd_draft_close(&draft);
	}
	assert_int_equal(fd_move_new(p->dir, "a", p->dir, "b"), -EEXIST);
	assert_int_equal(fd_move_new(p->dir, "c", p->dir, "b"), -ENOENT);
	assert_int_equal(fd_move_new(p->dir, "a", p->tmp, "c"), 0);
	assert_int_equal(fd_move_new(p->tmp, "c", p->dir, "c"), 0);
	assert_text(p, "b", "two");
	assert_text(p, "c", "one");
	assert_int_equal(faccessat(p->dir, "a", F_OK, 0), -1);
	assert_true(tmp_is_empty(p));
}

static void a_directory_is_moved_to_a_free_name_only(void **state)
{
	struct place *p = *state;

	assert_int_equal(mkdirat(p->dir, "d", 0700), 0);
	assert_int_equal(fd_move_new(p->dir, "d", p->dir, "tmp"), -EEXIST);
	assert_int_equal(fd_move_new(p->dir, "d", p->dir, "e"), 0);
	assert_int_equal(unlinkat(p->dir, "e", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(p->dir, "d", AT_REMOVEDIR), -1);
}

static void a_claim_is_told_from_an_empty_file(void **state)
{
	struct place *p = *state;
	struct stat st;
	int fd = openat(p->dir, "claim", O_CREAT | O_WRONLY | O_CLOEXEC,
			FD_CLAIM_MODE);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(fd_is_claim(&st));
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_false(fd_is_claim(&st));
	assert_int_equal(fchmod(fd, FD_CLAIM_MODE), 0);
	assert_int_equal(fd_write_at(fd, "x", 1, 0), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_false(fd_is_claim(&st));
	close(fd);
}

static void draft_names_are_told_from_others(void **state)
{
	(void)state;
	assert_true(fd_draft_name_is("draft-0123456789abcdef"));
	assert_false(fd_draft_name_is("draft-0123456789abcde"));
	assert_false(fd_draft_name_is("draft-0123456789abcdef0"));
	assert_false(fd_draft_name_is("draft-0123456789ABCDEF"));
	assert_false(fd_draft_name_is("drafts"));
	assert_false(fd_draft_name_is(""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reading_past_the_end_says_so),
		TEST(a_draft_is_linked_whole_and_only_once),
		TEST(a_draft_takes_the_place_of_a_file),
		TEST(a_draft_that_cannot_be_placed_leaves_nothing),
		TEST(a_file_is_moved_to_a_free_name_only),
		TEST(a_directory_is_moved_to_a_free_name_only),
		TEST(a_claim_is_told_from_an_empty_file),
		cmocka_unit_test(draft_names_are_told_from_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
