/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cli/cli.h"
#include "fs/cli/json_text.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/check.h"
#include "fs/store/probe.h"

enum { FORMAT_TEXT_MAX = 4096, EXAMPLES = 3 };

/* The exit statuses of `tacfs doctor`. */
enum doctor_status {
	DOCTOR_FINE = 0,
	DOCTOR_WEAK = 1,
	DOCTOR_UNUSABLE = 2,
	DOCTOR_TROUBLE = 3
};

struct doctor {
	struct probe_listener probes; /* first: it is what others see of it */
	enum doctor_status status;
	json_t *checks; /* an array; NULL for text */
	bool failed;	/* to make the output */
};

/* Tells the probes and the walk apart: each sees its own part. */
struct census {
	struct check_listener listener; /* first: it is what others see of it */
	char *examples[EXAMPLES];
	uint64_t untrusted;
	uint64_t drafts; /* that are dead */
	bool failed;
};

static const char *grade_text(enum grade grade)
{
	switch (grade) {
	case GRADE_OK:
		return "ok";
	case GRADE_WEAK:
		return "weak";
	case GRADE_MISSING:
		break;
	}
	return "missing";
}

static const char *status_text(enum doctor_status status)
{
	switch (status) {
	case DOCTOR_FINE:
		return "fine";
	case DOCTOR_WEAK:
		return "weak";
	case DOCTOR_UNUSABLE:
		return "unusable";
	case DOCTOR_TROUBLE:
		break;
	}
	return "unknown";
}

static void add_json(struct doctor *doctor, const struct ability *ability)
{
	json_t *object = json_object();
	int err =
		json_object_set_new(object, "name", json_string(ability->name));

	err |= json_object_set_new(object, "grade",
				   json_string(grade_text(ability->grade)));
	err |= json_object_set_new(
		object, "what",
		json_text(ability->what, strlen(ability->what)));
	err |= json_array_append_new(doctor->checks, object);
	if (err)
		doctor->failed = true;
}

static void tell(struct probe_listener *listener, const struct ability *ability)
{
	struct doctor *doctor = (struct doctor *)listener;
	enum doctor_status status = DOCTOR_FINE;

	if (ability->grade == GRADE_MISSING && ability->needed)
		status = DOCTOR_UNUSABLE;
	else if (ability->grade != GRADE_OK)
		status = DOCTOR_WEAK;
	if (status > doctor->status)
		doctor->status = status;
	if (doctor->checks)
		add_json(doctor, ability);
	else
		printf("%-8s %-12s %s\n", grade_text(ability->grade),
		       ability->name, ability->what);
}

static char *copy_escaped(const char *path)
{
	char *copy = malloc(4 * strlen(path) + 1);

	if (copy)
		log_escape(path, copy);
	return copy;
}

static void found(struct check_listener *listener,
		  const struct problem *problem)
{
	struct census *census = (struct census *)listener;

	if (problem->kind == PROBLEM_DRAFT)
		census->drafts++;
	if (problem->kind != PROBLEM_UNTRUSTED)
		return;
	if (census->untrusted < EXAMPLES) {
		char **example = &census->examples[census->untrusted];

		*example = copy_escaped(problem->path);
		if (!*example)
			census->failed = true;
	}
	census->untrusted++;
}

static void tell_owners(struct doctor *doctor, const struct census *census)
{
	struct ability a = { .name = "owners", .grade = GRADE_OK };
	size_t size;

	if (!census->untrusted) {
		snprintf(a.what, sizeof(a.what),
			 "all that is published here may be served");
		tell(&doctor->probes, &a);
		return;
	}
	a.grade = GRADE_WEAK;
	size = (size_t)snprintf(a.what, sizeof(a.what),
				"%" PRIu64 " files are of users who are not "
				"trusted, and are not served:",
				census->untrusted);
	for (size_t i = 0;
	     i < EXAMPLES && census->examples[i] && size < sizeof(a.what); i++)
		size += (size_t)snprintf(a.what + size, sizeof(a.what) - size,
					 "%s %s", i ? "," : "",
					 census->examples[i]);
	tell(&doctor->probes, &a);
}

static void tell_leftovers(struct doctor *doctor, const struct census *census,
			   const struct check_counts *counts)
{
	struct ability quarantine = { .name = "quarantine" };
	struct ability drafts = { .name = "drafts" };

	snprintf(quarantine.what, sizeof(quarantine.what),
		 "%" PRIu64 " files were found damaged, and lie there to be "
		 "looked at",
		 counts->quarantined);
	tell(&doctor->probes, &quarantine);
	drafts.grade = census->drafts ? GRADE_WEAK : GRADE_OK;
	snprintf(drafts.what, sizeof(drafts.what),
		 "%" PRIu64 " drafts were left more than a day ago%s",
		 census->drafts,
		 census->drafts ? ": 'tacfs fsck --repair' removes them" : "");
	tell(&doctor->probes, &drafts);
}

static int count_all(struct doctor *doctor, struct store *store)
{
	const struct check_options options = { .names_only = true };
	struct census census = { .listener = { .found = found } };
	struct check_counts counts;
	int err = store_check(store, &options, &census.listener, &counts);

	if (!err && census.failed)
		err = -ENOMEM;
	if (!err) {
		tell_owners(doctor, &census);
		tell_leftovers(doctor, &census, &counts);
	}
	for (size_t i = 0; i < EXAMPLES; i++)
		free(census.examples[i]);
	return err;
}

/* What FORMAT says after "NAME: "; the store could be opened, so it is sound.
 */
static void format_value(const char *text, const char *name, char value[256])
{
	size_t size = strlen(name);

	value[0] = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, size) != 0 || line[size] != ':')
			continue;
		line += size + 1;
		line += strspn(line, " ");
		snprintf(value, 256, "%.*s", (int)strcspn(line, "\n"), line);
		return;
	}
}

static int read_format(struct store *store, char text[FORMAT_TEXT_MAX + 1])
{
	AUTO_CLOSE int fd =
		fd_open(store_root(store), "FORMAT", O_RDONLY | O_NOFOLLOW, 0);
	ssize_t got = fd < 0 ? -1 : read(fd, text, FORMAT_TEXT_MAX);

	if (got < 0)
		return -errno;
	text[got] = '\0';
	return 0;
}

static int add_format(json_t *report, struct store *store)
{
	static const struct {
		const char *line;
		const char *member;
	} lines[] = {
		{ "tacfs-store", "version" },
		{ "uuid", "uuid" },
		{ "features", "features" },
	};
	char text[FORMAT_TEXT_MAX + 1] = "";
	int err = read_format(store, text);

	for (size_t i = 0; !err && i < sizeof(lines) / sizeof(*lines); i++) {
		char value[256];

		format_value(text, lines[i].line, value);
		if (!report)
			printf("%-8s %-12s %s\n", "format", lines[i].member,
			       value[0] ? value : "none");
		else if (json_object_set_new(report, lines[i].member,
					     json_text(value, strlen(value))))
			err = -ENOMEM;
	}
	return err;
}

static int print_end(const struct doctor *doctor, json_t *report)
{
	const char *status = status_text(doctor->status);

	if (!report) {
		printf("%s\n", status);
		return 0;
	}
	if (json_object_set_new(report, "status", json_string(status)) ||
	    json_object_set(report, "checks", doctor->checks))
		return -ENOMEM;
	json_dumpf(report, stdout, JSON_INDENT(2));
	putchar('\n');
	return 0;
}

static int examine(struct doctor *doctor, struct store *store, json_t *report)
{
	int err = add_format(report, store);

	if (!err)
		err = store_probe(store, &doctor->probes);
	if (!err)
		err = count_all(doctor, store);
	if (!err && doctor->failed)
		err = -ENOMEM;
	return err ? err : print_end(doctor, report);
}

static int doctor(const char *path, bool json)
{
	const struct store_config config = { .keep_damaged = true };
	struct doctor made = {
		.probes = { .tell = tell },
		.checks = json ? json_array() : NULL,
	};
	json_t *report = json ? json_object() : NULL;
	struct store *store;
	char why[256] = "";
	int err = store_open(path, &config, &store, why, sizeof(why));

	if (err) {
		cli_fail_why("doctor", path, why);
	} else {
		err = json && !(made.checks && report)
			      ? -ENOMEM
			      : examine(&made, store, report);
		store_close(store);
		if (err)
			cli_fail("doctor", path, err);
	}
	json_decref(made.checks);
	json_decref(report);
	if (cli_end_output("doctor") != CLI_OK || err)
		return DOCTOR_TROUBLE;
	return (int)made.status;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, CLI_LONG_ONLY },
		{ NULL, 0, NULL, 0 },
	};
	bool json = false;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != CLI_LONG_ONLY)
			return cli_bad_option(argv);
		json = true;
	}
	if (argc - optind != 1)
		return cli_usage("doctor", "one STORE is needed");
	return doctor(argv[optind], json);
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "try what the file system under a store can do",
	.help = "usage: tacfs doctor [--json] STORE\n"
		"\n"
		"Tries in STORE what tacfs relies on, and writes a line for "
		"each: ok,\n"
		"weak or missing, and what follows from it. Then what is not "
		"served,\n"
		"and what was left behind.\n"
		"\n"
		"  --json  as a JSON object; tacfs(1) says what its members "
		"are\n"
		"\n"
		"Exit status: 0 all is fine, 1 something is weak, but the "
		"store can be\n"
		"used, 2 it cannot, 3 it could not be looked at, 64 usage.\n",
	.run = run,
};
