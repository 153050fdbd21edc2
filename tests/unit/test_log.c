/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/log.h"
#include "fs/own.h"

enum { TEXT_SIZE = 8192 };

/* What is written to standard error for one event. */
static void logged(const struct log *log, enum log_level level,
		   const char *message, char text[TEXT_SIZE])
{
	AUTO_CLOSE int saved = dup(STDERR_FILENO);
	int ends[2];
	ssize_t size;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	close(ends[1]);
	log_event(log, level, "%s", message);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	size = read(ends[0], text, TEXT_SIZE - 1);
	close(ends[0]);
	assert_true(size >= 0);
	text[size] = '\0';
}

static void an_event_is_one_line_with_its_level(void **state)
{
	const struct log log = { .level = LOG_LEVEL_INFO };
	char text[TEXT_SIZE];

	(void)state;
	logged(&log, LOG_LEVEL_ERROR, "gone", text);
	assert_string_equal(text, "tacfs: error: gone\n");
	logged(&log, LOG_LEVEL_WARNING, "gone", text);
	assert_string_equal(text, "tacfs: warning: gone\n");
	logged(&log, LOG_LEVEL_INFO, "gone", text);
	assert_string_equal(text, "tacfs: info: gone\n");
}

static void less_severe_events_are_left_out(void **state)
{
	const struct log log = { .level = LOG_LEVEL_WARNING };
	char text[TEXT_SIZE];

	(void)state;
	logged(&log, LOG_LEVEL_INFO, "gone", text);
	assert_string_equal(text, "");
	logged(NULL, LOG_LEVEL_ERROR, "gone", text);
	assert_string_equal(text, "");
}

static void what_a_name_holds_is_escaped(void **state)
{
	static const struct {
		const char *message, *line;
	} cases[] = {
		{ "a b~", "a b~" },
		{ "a\nb\t\x7f", "a\\x0ab\\x09\\x7f" },
		{ "\x1b[31m", "\\x1b[31m" },
		{ "back\\slash", "back\\x5cslash" },
		{ "\xe6\xa8\xa1\xe5\x9e\x8b", "\xe6\xa8\xa1\xe5\x9e\x8b" },
		{ "\xf0\x9f\x92\xa5!", "\xf0\x9f\x92\xa5!" },
		{ "\xc3\xa9", "\xc3\xa9" },
		{ "\xc2\x9b", "\\xc2\\x9b" }, /* CSI, a control character */
		{ "\xc3", "\\xc3" },
		{ "\xe6\xa8", "\\xe6\\xa8" },
		{ "\xe6\xa8x", "\\xe6\\xa8x" },
		{ "\xff\x80", "\\xff\\x80" },
		{ "\xc0\xaf", "\\xc0\\xaf" },
	};
	const struct log log = { .level = LOG_LEVEL_INFO };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[TEXT_SIZE];
		char expected[TEXT_SIZE];

		logged(&log, LOG_LEVEL_INFO, cases[i].message, text);
		snprintf(expected, sizeof(expected), "tacfs: info: %s\n",
			 cases[i].line);
		assert_string_equal(text, expected);
	}
}

static void a_long_event_is_cut(void **state)
{
	const struct log log = { .level = LOG_LEVEL_INFO };
	char message[5000];
	char text[TEXT_SIZE];

	(void)state;
	memset(message, '\n', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	logged(&log, LOG_LEVEL_INFO, message, text);
	assert_in_range(strlen(text), 1000, 4200);
	assert_int_equal(text[strlen(text) - 1], '\n');
}

enum { EVENTS = 500 };

struct told {
	int written;  /* lines */
	long omitted; /* events of which such a line says that it was not */
};

/* A line that comes after omitted ones says how many they were. */
static void add_told(const char *line, struct told *told)
{
	const char *before = strstr(line, " (and ");

	told->written += line[0] != '\0';
	if (before)
		told->omitted += strtol(before + strlen(" (and "), NULL, 10);
}

static void write_many(const struct log *log, const char *name,
		       struct told *told)
{
	char text[TEXT_SIZE];

	for (int i = 0; i < EVENTS; i++) {
		logged(log, LOG_LEVEL_WARNING, name, text);
		add_told(text, told);
	}
}

/* Seconds go by in between as they may: each lets one more event through. */
static void many_events_of_a_kind_are_counted_only(void **state)
{
	struct log_limits limits = LOG_LIMITS;
	const struct log log = { .level = LOG_LEVEL_WARNING,
				 .limits = &limits };
	struct told told = { 0 };
	char text[TEXT_SIZE] = "";
	char *end;

	(void)state;
	write_many(&log, "first", &told);
	assert_in_range(told.written, LOG_BURST, EVENTS - 1);
	write_many(&log, "another name is no other kind", &told);
	assert_in_range(told.written, LOG_BURST, EVENTS - 1);

	AUTO_CLOSE int saved = dup(STDERR_FILENO);
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	log_event(&log, LOG_LEVEL_WARNING, "other %s", "kind");
	log_end(&log);
	log_end(&log);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);

	assert_memory_equal(text, "tacfs: warning: other kind\n", 27);
	assert_int_equal(strncmp(text + 27, "tacfs: warning: ", 16), 0);
	assert_int_equal(told.written + told.omitted +
				 strtol(text + 43, &end, 10),
			 2 * EVENTS);
	assert_string_equal(end, " more were left out like: %s\n");
}

static void all_is_written_without_limits(void **state)
{
	const struct log log = { .level = LOG_LEVEL_WARNING };

	struct told told = { 0 };

	(void)state;
	write_many(&log, "gone", &told);
	assert_int_equal(told.written, EVENTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_one_line_with_its_level),
		cmocka_unit_test(less_severe_events_are_left_out),
		cmocka_unit_test(what_a_name_holds_is_escaped),
		cmocka_unit_test(a_long_event_is_cut),
		cmocka_unit_test(many_events_of_a_kind_are_counted_only),
		cmocka_unit_test(all_is_written_without_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
