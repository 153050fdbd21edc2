/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cli/cli.h"
#include "fs/cli/json_text.h"
#include "fs/cli/progress.h"
#include "fs/own.h"
#include "fs/store/check.h"

/* The exit statuses of `tacfs fsck`. */
enum fsck_status {
	FSCK_CLEAN = 0,
	FSCK_LEFT = 1,
	FSCK_REPAIRED = 2,
	FSCK_TROUBLE = 3
};

struct report {
	struct check_listener listener; /* first: it is what others see of it */
	struct progress progress;
	bool json;
	bool has_problems;
	bool failed; /* to make the output */
};

/* The words are documented in tacfs(1). */
static const char *kind_text(enum problem_kind kind)
{
	switch (kind) {
	case PROBLEM_DAMAGED:
		return "damaged";
	case PROBLEM_BLOCK:
		return "block";
	case PROBLEM_DANGLING:
		return "dangling";
	case PROBLEM_CONTENT:
		return "content";
	case PROBLEM_NEWER:
		return "newer";
	case PROBLEM_UNTRUSTED:
		return "untrusted";
	case PROBLEM_MODE:
		return "mode";
	case PROBLEM_KIND:
		return "kind";
	case PROBLEM_NAME:
		return "name";
	case PROBLEM_DRAFT:
		return "draft";
	case PROBLEM_UNCHECKED:
		return "unchecked";
	case PROBLEM_WITHHELD:
	case PROBLEM_NONE:
		break;
	}
	return "none";
}

static void print_line(struct report *report, const struct problem *problem)
{
	AUTO_FREE char *path = malloc(4 * strlen(problem->path) + 1);

	if (!path) {
		report->failed = true;
		return;
	}
	log_escape(problem->path, path);
	printf("%s: %s%s\n", path, problem->what,
	       problem->repaired ? " (repaired)" : "");
}

/* One at a time, for there may be very many. */
static void print_object(struct report *report, const struct problem *problem)
{
	json_t *object = json_object();
	int err = json_object_set_new(
		object, "path",
		json_text(problem->path, strlen(problem->path)));

	err |= json_object_set_new(object, "kind",
				   json_string(kind_text(problem->kind)));
	err |= json_object_set_new(
		object, "what",
		json_text(problem->what, strlen(problem->what)));
	err |= json_object_set_new(object, "repaired",
				   json_boolean(problem->repaired));
	if (err) {
		report->failed = true;
	} else {
		printf("%s\n    ", report->has_problems ? "," : "");
		json_dumpf(object, stdout, 0);
	}
	report->has_problems = true;
	json_decref(object);
}

static void found(struct check_listener *listener,
		  const struct problem *problem)
{
	struct report *report = (struct report *)listener;

	progress_erase(&report->progress);
	if (report->json)
		print_object(report, problem);
	else
		print_line(report, problem);
}

static void goes_on(struct check_listener *listener,
		    const struct check_counts *counts)
{
	struct report *report = (struct report *)listener;

	if (progress_is_due(&report->progress))
		progress_draw(&report->progress,
			      "fsck: %" PRIu64 " files, %" PRIu64
			      " packs, %" PRIu64 " problems",
			      counts->files, counts->packs, counts->problems);
}

static void end_json(const struct check_counts *counts)
{
	const struct {
		const char *name;
		uint64_t value;
	} members[] = {
		{ "files", counts->files },
		{ "directories", counts->directories },
		{ "symlinks", counts->symlinks },
		{ "packs", counts->packs },
		{ "unused_packs", counts->unused_packs },
		{ "drafts", counts->drafts },
		{ "others", counts->others },
		{ "trashed", counts->trashed },
		{ "quarantined", counts->quarantined },
		{ "found", counts->problems },
		{ "repaired", counts->repaired },
		{ "unchecked", counts->unchecked },
	};

	printf("\n  ]");
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		printf(",\n  \"%s\": %" PRIu64, members[i].name,
		       members[i].value);
	printf("\n}\n");
}

static void end_text(const struct check_counts *counts)
{
	printf("%" PRIu64 " files, %" PRIu64 " directories, %" PRIu64
	       " packs (%" PRIu64 " unused), %" PRIu64 " in trash, %" PRIu64
	       " in quarantine\n",
	       counts->files, counts->directories, counts->packs,
	       counts->unused_packs, counts->trashed, counts->quarantined);
	if (counts->others)
		printf("%" PRIu64 " of other users, who are not trusted\n",
		       counts->others);
	if (counts->unchecked)
		printf("%" PRIu64 " could not be looked at\n",
		       counts->unchecked);
	if (!counts->problems)
		printf("no problems found\n");
	else
		printf("%" PRIu64 " problems found, %" PRIu64 " repaired\n",
		       counts->problems, counts->repaired);
}

static int status_of(const struct check_counts *counts)
{
	if (counts->unchecked)
		return FSCK_TROUBLE;
	if (!counts->problems)
		return FSCK_CLEAN;
	return counts->repaired == counts->problems ? FSCK_REPAIRED : FSCK_LEFT;
}

static int check(const char *path, struct store *store,
		 const struct check_options *options, bool json)
{
	struct report report = {
		.listener = { .found = found, .goes_on = goes_on },
		.progress = progress_start(json),
		.json = json,
	};
	struct check_counts counts = { .files = 0 };
	int err;

	if (json)
		printf("{\n  \"problems\": [");
	err = store_check(store, options, &report.listener, &counts);
	progress_erase(&report.progress);
	if (json)
		end_json(&counts);
	else if (!err)
		end_text(&counts);
	if (!err && report.failed)
		err = -ENOMEM;
	if (err)
		cli_fail("fsck", path, err);
	if (cli_end_output("fsck") != CLI_OK || err)
		return FSCK_TROUBLE;
	return status_of(&counts);
}

static int fsck(const char *path, const struct check_options *options,
		bool json)
{
	const struct store_config config = { .keep_damaged = !options->repair };
	struct store *store;
	char why[256] = "";
	int status;

	if (store_open(path, &config, &store, why, sizeof(why))) {
		cli_fail_why("fsck", path, why);
		return FSCK_TROUBLE;
	}
	status = check(path, store, options, json);
	store_close(store);
	return status;
}

static int run(int argc, char **argv)
{
	enum { REPAIR = CLI_LONG_ONLY, READ_DATA, JSON };
	static const struct option names[] = {
		{ "repair", no_argument, NULL, REPAIR },
		{ "read-data", no_argument, NULL, READ_DATA },
		{ "json", no_argument, NULL, JSON },
		{ NULL, 0, NULL, 0 },
	};
	struct check_options options = { .repair = false };
	bool json = false;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (c) {
		case REPAIR:
			options.repair = true;
			break;
		case READ_DATA:
			options.read_data = true;
			break;
		case JSON:
			json = true;
			break;
		default:
			return cli_bad_option(argv);
		}
	}
	if (argc - optind != 1)
		return cli_usage("fsck", "one STORE is needed");
	return fsck(argv[optind], &options, json);
}

const struct command command_fsck = {
	.name = "fsck",
	.summary = "check a store, and repair it",
	.help = "usage: tacfs fsck [--repair] [--read-data] [--json] STORE\n"
		"\n"
		"Goes through the whole STORE, which may be in use, and writes "
		"a line\n"
		"for each problem, 'path: what', and how much there is.\n"
		"\n"
		"  --repair     moves what is damaged to quarantine/, brings "
		"back from\n"
		"               trash/ what is needed, and removes drafts "
		"that were left\n"
		"               more than a day ago; deletes no content\n"
		"  --read-data  reads and decodes every block and every file, "
		"too\n"
		"  --json       writes a JSON object; tacfs(1) says what its "
		"members are\n"
		"\n"
		"Exit status: 0 clean, 1 problems were found and left, 2 all "
		"that were\n"
		"found are repaired, 3 something could not be checked, 64 "
		"usage.\n",
	.run = run,
};
