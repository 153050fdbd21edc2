/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/own.h"
#include "fs/store/reports.h"
#include "tests/unit/store_fixture.h"

enum { FOLDERS = 4, MANY = 300, PATH_SIZE = 320 };

/* Ids of 32 digits that end in the number; `first` makes other ones. */
static void make_id(char id[REPORT_ID_SIZE], unsigned first, unsigned number)
{
	snprintf(id, REPORT_ID_SIZE, "%08x%024x", first, number);
}

static struct report report_of(uint64_t active, uint64_t hits)
{
	struct report report = { .mounts = 1, .active = active };

	report.counts.value[COUNTER_HITS] = hits;
	report.counts.value[COUNTER_OUT_BYTES] = 1000 * hits;
	return report;
}

static void write_as(const struct fixture *f, const char *name,
		     const struct report *report)
{
	AUTO_CLOSE int dir = reports_open(f->store);

	assert_true(dir >= 0);
	assert_int_equal(report_write(f->store, dir, name, report), 0);
}

static void write_number(const struct fixture *f, unsigned number,
			 const struct report *report)
{
	char id[REPORT_ID_SIZE];
	char name[REPORT_NAME_SIZE];

	make_id(id, 0, number);
	report_name(id, name);
	write_as(f, name, report);
}

static void write_text(const struct fixture *f, const char *name,
		       const char *text)
{
	AUTO_CLOSE int dir = reports_open(f->store);
	AUTO_CLOSE int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* As if nobody had written it for that long. */
static void age(const struct fixture *f, unsigned number, time_t seconds)
{
	const struct timespec times[2] = { { .tv_sec = time(NULL) - seconds },
					   { .tv_sec = time(NULL) - seconds } };
	AUTO_CLOSE int dir = reports_open(f->store);
	char id[REPORT_ID_SIZE];
	char name[REPORT_NAME_SIZE];

	make_id(id, 0, number);
	report_name(id, name);
	assert_int_equal(utimensat(dir, name, times, 0), 0);
}

static size_t file_count(const struct fixture *f)
{
	AUTO_CLOSEDIR DIR *stream = fdopendir(reports_open(f->store));
	size_t count = 0;

	assert_non_null(stream);
	while (readdir(stream))
		count++;
	return count - 2;
}

static void assert_sum(const struct fixture *f, uint64_t mounts,
		       uint64_t active, uint64_t hits)
{
	struct report sum;

	assert_int_equal(reports_sum(f->store, NULL, &sum), 0);
	assert_int_equal(sum.mounts, mounts);
	assert_int_equal(sum.active, active);
	assert_int_equal(sum.counts.value[COUNTER_HITS], hits);
	assert_int_equal(sum.counts.value[COUNTER_OUT_BYTES], 1000 * hits);
}

static void without_reports_the_sum_is_nothing(void **state)
{
	assert_sum(*state, 0, 0, 0);
}

static void what_was_written_is_read(void **state)
{
	struct fixture *f = *state;
	AUTO_CLOSE int dir = reports_open(f->store);
	struct report report = { .mounts = 3, .active = 2 };
	struct report read;
	struct stat st;

	for (int i = 0; i < COUNTER_COUNT; i++)
		report.counts.value[i] = (uint64_t)INT64_MAX - (uint64_t)i;
	write_as(f, "x", &report);
	assert_int_equal(report_read(f->store, dir, "x", &read, &st), 0);
	assert_memory_equal(&read, &report, sizeof(read));
	assert_in_range(st.st_size, 1, REPORT_MAX / 4);
}

static void the_reports_of_all_mounts_are_summed(void **state)
{
	struct fixture *f = *state;
	struct report report = report_of(1, 5);
	struct report sum;
	char id[REPORT_ID_SIZE];

	write_number(f, 1, &report);
	report = report_of(0, 7);
	write_number(f, 2, &report);
	assert_sum(f, 2, 1, 12);
	make_id(id, 0, 2);
	assert_int_equal(reports_sum(f->store, id, &sum), 0);
	assert_int_equal(sum.counts.value[COUNTER_HITS], 5);
}

static void one_that_has_not_written_for_long_is_not_active(void **state)
{
	struct fixture *f = *state;
	const struct report report = report_of(1, 5);

	write_number(f, 1, &report);
	write_number(f, 2, &report);
	age(f, 2, REPORT_STALE + 60);
	assert_sum(f, 2, 1, 10);
}

static void what_is_no_report_is_left_out(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"5",
		"{\"hits\": 5}",
		"null",
		"\xff",
		"{\"tacfs_report\": 2, \"hits\": 5}",
	};
	struct fixture *f = *state;
	const struct report report = report_of(1, 5);
	char id[REPORT_ID_SIZE];
	char name[REPORT_NAME_SIZE];

	write_number(f, 1000, &report);
	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		make_id(id, 1, i);
		report_name(id, name);
		write_text(f, name, texts[i]);
	}
	write_text(f, "notes.txt", "{\"tacfs_report\": 1, \"hits\": 9}");
	write_text(f, "0123.json", "{\"tacfs_report\": 1, \"hits\": 9}");
	assert_sum(f, 1, 1, 5);
}

static void odd_numbers_count_as_nothing(void **state)
{
	struct fixture *f = *state;
	char id[REPORT_ID_SIZE];
	char name[REPORT_NAME_SIZE];

	make_id(id, 0, 1);
	report_name(id, name);
	write_text(f, name,
		   "{\"tacfs_report\": 1, \"mounts\": 1, \"hits\": -5,"
		   " \"misses\": \"7\", \"published\": 1.5, \"new\": 1,"
		   " \"active\": null}");
	assert_sum(f, 1, 0, 0);
}

/* Neither of them may make a reader wait, or follow it. */
static void what_is_no_file_is_left_out(void **state)
{
	struct fixture *f = *state;
	AUTO_CLOSE int dir = reports_open(f->store);
	const struct report report = report_of(1, 5);
	char id[REPORT_ID_SIZE];
	char name[REPORT_NAME_SIZE];
	char target[REPORT_NAME_SIZE];

	write_as(f, "real", &report);
	for (unsigned i = 0; i < 3; i++) {
		make_id(id, 0, i);
		report_name(id, i ? name : target);
		if (i == 0)
			assert_int_equal(mkfifoat(dir, target, 0600), 0);
		else if (i == 1)
			assert_int_equal(mkdirat(dir, name, 0700), 0);
		else
			assert_int_equal(symlinkat("real", dir, name), 0);
	}
	assert_sum(f, 0, 0, 0);
}

static void a_large_file_is_not_read(void **state)
{
	struct fixture *f = *state;
	AUTO_CLOSE int dir = reports_open(f->store);
	const struct report report = report_of(1, 5);
	char id[REPORT_ID_SIZE];
	char name[REPORT_NAME_SIZE];
	char path[PATH_SIZE];

	write_number(f, 1, &report);
	make_id(id, 0, 1);
	report_name(id, name);
	snprintf(path, sizeof(path), "%s/stats/%s", f->path, name);
	assert_int_equal(truncate(path, REPORT_MAX + 1), 0);
	assert_sum(f, 0, 0, 0);
}

static void what_a_stranger_owns_is_left_out(void **state)
{
	struct fixture *f = *state;
	AUTO_CLOSE int dir = reports_open(f->store);
	const struct report report = report_of(0, 5);
	char id[REPORT_ID_SIZE];
	char name[REPORT_NAME_SIZE];

	if (geteuid() != 0)
		skip();
	write_number(f, 1, &report);
	write_number(f, 2, &report);
	make_id(id, 0, 2);
	report_name(id, name);
	assert_int_equal(fchownat(dir, name, 12345, 12345, 0), 0);
	assert_sum(f, 1, 0, 5);
	assert_int_equal(reports_fold(f->store, 1), 0);
	assert_int_equal(file_count(f), 2);
}

static void folding_changes_no_sum(void **state)
{
	struct fixture *f = *state;
	const struct report ended = report_of(0, 3);
	const struct report active = report_of(1, 5);

	for (unsigned i = 0; i < MANY; i++)
		write_number(f, i, &ended);
	write_number(f, MANY, &active);
	assert_int_equal(reports_fold(f->store, MANY + 1), 0);
	assert_int_equal(file_count(f), MANY + 1);
	assert_int_equal(reports_fold(f->store, MANY), 0);
	assert_int_equal(file_count(f), 2);
	assert_sum(f, MANY + 1, 1, UINT64_C(3) * MANY + 5);
	write_number(f, 0, &ended);
	assert_int_equal(reports_fold(f->store, 2), 0);
	assert_int_equal(file_count(f), 2);
	assert_sum(f, MANY + 2, 1, UINT64_C(3) * MANY + 8);
}

static void who_was_killed_is_folded_when_that_is_sure(void **state)
{
	struct fixture *f = *state;
	const struct report active = report_of(1, 5);

	write_number(f, 1, &active);
	write_number(f, 2, &active);
	age(f, 1, REPORT_STALE - 60);
	age(f, 2, REPORT_STALE - 60);
	assert_int_equal(reports_fold(f->store, 1), 0);
	assert_int_equal(file_count(f), 2);
	age(f, 1, REPORT_STALE + 60);
	age(f, 2, REPORT_STALE + 60);
	assert_int_equal(reports_fold(f->store, 1), 0);
	assert_int_equal(file_count(f), 1);
	assert_sum(f, 2, 0, 10);
}

/* A folder that was killed: before it had written, and after. */
static void a_half_done_folding_counts_nothing_twice(void **state)
{
	struct fixture *f = *state;
	const struct report one = report_of(0, 3);
	const struct report both = report_of(0, 6);
	char a[REPORT_ID_SIZE];
	char folder[REPORT_ID_SIZE];
	char name[REPORT_NAME_SIZE];

	make_id(folder, 0xf, 0);
	for (unsigned i = 1; i <= 2; i++) {
		make_id(a, 0, i);
		snprintf(name, sizeof(name), "%s.%s", a, folder);
		write_as(f, name, &one);
	}
	assert_sum(f, 2, 0, 6);
	assert_int_equal(reports_fold(f->store, 1), 0); /* it may be alive */
	assert_int_equal(file_count(f), 2);
	report_name(folder, name);
	write_as(f, name, &both);
	assert_sum(f, 1, 0, 6);
	assert_int_equal(reports_fold(f->store, 1), 0);
	assert_int_equal(file_count(f), 1);
	assert_sum(f, 1, 0, 6);
}

static void *fold_all(void *store)
{
	for (int i = 0; i < 5; i++)
		reports_fold(store, 2);
	return NULL;
}

static void many_folders_at_once_count_each_report_once(void **state)
{
	struct fixture *f = *state;
	const struct report ended = report_of(0, 3);
	pthread_t threads[FOLDERS];

	for (unsigned i = 0; i < MANY; i++)
		write_number(f, i, &ended);
	for (int i = 0; i < FOLDERS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, fold_all, f->store),
			0);
	for (int i = 0; i < FOLDERS; i++)
		pthread_join(threads[i], NULL);
	assert_sum(f, MANY, 0, UINT64_C(3) * MANY);
	assert_in_range(file_count(f), 1, FOLDERS * 5);
}

static void without_the_directory_there_is_no_sum(void **state)
{
	struct fixture *f = *state;
	struct report sum;
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%s/stats", f->path);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(reports_sum(f->store, NULL, &sum), -ENOENT);
	assert_int_equal(reports_fold(f->store, 1), -ENOENT);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_reports_the_sum_is_nothing),
		TEST(what_was_written_is_read),
		TEST(the_reports_of_all_mounts_are_summed),
		TEST(one_that_has_not_written_for_long_is_not_active),
		TEST(what_is_no_report_is_left_out),
		TEST(odd_numbers_count_as_nothing),
		TEST(what_is_no_file_is_left_out),
		TEST(a_large_file_is_not_read),
		TEST(what_a_stranger_owns_is_left_out),
		TEST(folding_changes_no_sum),
		TEST(who_was_killed_is_folded_when_that_is_sure),
		TEST(a_half_done_folding_counts_nothing_twice),
		TEST(many_folders_at_once_count_each_report_once),
		TEST(without_the_directory_there_is_no_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
