/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/show.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/readable.h"
#include "fs/cli/check.h"
#include "fs/cli/cli.h"
#include "fs/own.h"

enum { INPUT_MAX = 256 * 1024 * 1024, PIECE = 64 * 1024 };

enum { OPTION_PYTHON = CLI_LONG_ONLY, OPTION_JSON, OPTION_FORM };

enum form_of_text { TEXT_ANY, TEXT_SOUND, TEXT_DIS, TEXT_DETECT, TEXT_CHECK };

struct request {
	enum form_of_text form;
	const struct python *python; /* NULL: find out */
	bool json;
	const char *path; /* "-" for standard input */
};

static int read_all(FILE *file, struct writer *out)
{
	AUTO_FREE char *piece = malloc(PIECE);

	if (!piece)
		return -ENOMEM;
	while (!out->err) {
		size_t size = fread(piece, 1, PIECE, file);

		if (ferror(file))
			return -errno;
		if (!size)
			break;
		writer_put(out, piece, size);
	}
	return out->err;
}

static int read_input(const char *path, struct writer *out)
{
	FILE *file;
	int err;

	if (strcmp(path, "-") == 0)
		return read_all(stdin, out);
	file = fopen(path, "rbe");
	if (!file)
		return -errno;
	err = read_all(file, out);
	fclose(file);
	return err;
}

static int report(const char *path, size_t where, const char *why, int status)
{
	fprintf(stderr, "tacfs: show: %s: at byte %zu: %s\n", path, where, why);
	return status;
}

static int trouble(const char *path, int err)
{
	cli_fail("show", path, err);
	return CHECK_TROUBLE;
}

static int print(const struct writer *text, int status)
{
	fwrite(text->bytes, 1, text->size, stdout);
	return cli_end_output("show") == CLI_OK ? status : CHECK_TROUBLE;
}

static int show_text(const struct request *r, const struct writer *in)
{
	AUTO_WRITER struct writer text = writer_upto(READABLE_MAX);
	struct reading reading;
	const struct verdict *verdict = &reading.verdict;
	int err = readable_render_as(in->bytes, in->size, r->python, &text,
				     &reading);
	int status;

	if (err)
		return trouble(r->path, err);
	status = check_status(verdict->soundness);
	if (status)
		report(r->path, verdict->where, verdict->reason, status);
	if (r->form == TEXT_ANY)
		return print(&text, status);
	if (!status && reading.is_cut)
		return report(r->path, 0, "its text is longer than allowed",
			      CHECK_FOREIGN);
	return status ? status : print(&text, status);
}

static int make_detail(const struct request *r, const struct writer *in,
		       struct writer *out, struct fault *fault)
{
	const struct python *python;
	int err;

	if (r->form == TEXT_DIS)
		return show_dis(in->bytes, in->size, r->python, out, fault);
	err = show_detect(in->bytes, in->size, &python, fault);
	if (err)
		return err;
	writer_string(out, python->name);
	writer_u8(out, '\n');
	return out->err;
}

/* What is said of the code alone. */
static int show_code(const struct request *r, const struct writer *in)
{
	AUTO_WRITER struct writer text = writer_upto(READABLE_MAX);
	AUTO_WRITER struct writer why = writer_upto(PIECE);
	struct fault fault = { 0 };
	int err = make_detail(r, in, &text, &fault);

	if (!err)
		return print(&text, CLI_OK);
	if (err == -ENOMEM || !fault.why)
		return trouble(r->path, err);
	fault_put(&fault, &why);
	writer_u8(&why, 0);
	if (why.err)
		return trouble(r->path, why.err);
	return report(r->path, fault.where, (const char *)why.bytes,
		      err == -EBADMSG ? CHECK_BROKEN : CHECK_FOREIGN);
}

static int show(const struct request *r)
{
	AUTO_WRITER struct writer input = writer_upto(INPUT_MAX);
	int err = read_input(r->path, &input);

	if (err)
		return trouble(r->path, err);
	switch (r->form) {
	case TEXT_ANY:
	case TEXT_SOUND:
		return show_text(r, &input);
	case TEXT_DIS:
	case TEXT_DETECT:
		return show_code(r, &input);
	case TEXT_CHECK:
		return check_print(r->path, input.bytes, input.size, r->json);
	}
	return CHECK_TROUBLE;
}

static int take_python(const char *name, struct request *r)
{
	r->python = python_named(name);
	if (!r->python)
		return cli_usage("show", "no known Python is called '%s'",
				 name);
	return CLI_OK;
}

static int take_options(int argc, char **argv, struct request *r)
{
	static const struct option options[] = {
		{ "readable", no_argument, NULL, OPTION_FORM + TEXT_SOUND },
		{ "dis", no_argument, NULL, OPTION_FORM + TEXT_DIS },
		{ "detect", no_argument, NULL, OPTION_FORM + TEXT_DETECT },
		{ "check", no_argument, NULL, OPTION_FORM + TEXT_CHECK },
		{ "python", required_argument, NULL, OPTION_PYTHON },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ NULL, 0, NULL, 0 },
	};
	int status = CLI_OK;
	int c;

	opterr = 0;
	while (!status && (c = getopt_long(argc, argv, "", options, NULL)) > 0)
		if (c == '?')
			status = cli_bad_option(argv);
		else if (c == OPTION_PYTHON)
			status = take_python(optarg, r);
		else if (c == OPTION_JSON)
			r->json = true;
		else if (r->form != TEXT_ANY)
			status = cli_usage("show", "'%s' is one form too many",
					   argv[optind - 1]);
		else
			r->form = (enum form_of_text)(c - OPTION_FORM);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = { .form = TEXT_ANY };
	int status = take_options(argc, argv, &r);

	if (status)
		return status;
	if (r.python && (r.form == TEXT_DETECT || r.form == TEXT_CHECK))
		return cli_usage("show", "--python does not go with --detect "
					 "or --check");
	if (r.json && r.form != TEXT_CHECK)
		return cli_usage("show", "--json goes with --check only");
	if (argc - optind != 1)
		return cli_usage("show", "one FILE is needed, or -");
	r.path = argv[optind];
	return show(&r);
}

const struct command command_show = {
	.name = "show",
	.summary = "write the readable text of a compiled_module",
	.help = "usage: tacfs show [--readable] [--python X.Y] FILE|-\n"
		"       tacfs show --dis [--python X.Y] FILE|-\n"
		"       tacfs show --detect FILE|-\n"
		"       tacfs show --check [--json] FILE|-\n"
		"\n"
		"Writes what readable.py says of the compiled_module FILE, or "
		"of\n"
		"standard input. Of what is not sound it says, in comments, "
		"what is\n"
		"wrong and where, and then all that could be decoded.\n"
		"\n"
		"  --readable    all or nothing: only of what is sound\n"
		"  --dis         the disassembly of a marshalled code object, "
		"or of\n"
		"                that in a compiled_module; all or nothing\n"
		"  --detect      the version of the Python that wrote it\n"
		"  --check       one line: sound, broken, or foreign, and why\n"
		"  --python X.Y  take it for code of this Python, 3.8 to "
		"3.14\n"
		"  --json        the same as a JSON object\n"
		"\n"
		"Exit status: 0 sound, 1 broken, 2 foreign (whole, but of "
		"other\n"
		"classes or versions), 3 could not be read or written, 64 "
		"usage.\n",
	.run = run,
};
