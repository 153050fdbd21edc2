/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/show.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "codec/writer.h"
#include "compiler/python/python.h"
#include "compiler/readable.h"
#include "fs/cli/cli.h"
#include "fs/own.h"

enum { INPUT_MAX = 256 * 1024 * 1024, PIECE = 64 * 1024 };

enum { OPTION_PYTHON = CLI_LONG_ONLY, OPTION_FORM };

enum form_of_text { TEXT_ANY, TEXT_SOUND, TEXT_DIS, TEXT_DETECT };

struct request {
	enum form_of_text form;
	const struct python *python; /* NULL: find out */
	const char *path;	     /* "-" for standard input */
};

#define AUTO_WRITER __attribute__((cleanup(writer_free)))

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

static int detect(const struct writer *in, struct writer *out,
		  struct fault *fault)
{
	const struct python *python;
	int err = show_detect(in->bytes, in->size, &python, fault);

	if (err)
		return err;
	writer_string(out, python->name);
	writer_u8(out, '\n');
	return out->err;
}

static int make_text(const struct request *r, const struct writer *in,
		     struct writer *out, struct fault *fault)
{
	switch (r->form) {
	case TEXT_ANY:
		return readable_render(in->bytes, in->size, out);
	case TEXT_SOUND:
		return show_readable(in->bytes, in->size, out, fault);
	case TEXT_DIS:
		return show_dis(in->bytes, in->size, r->python, out, fault);
	case TEXT_DETECT:
		return detect(in, out, fault);
	}
	return -EINVAL;
}

static int show(const struct request *r)
{
	AUTO_WRITER struct writer input = writer_upto(INPUT_MAX);
	AUTO_WRITER struct writer text = writer_upto(READABLE_MAX);
	struct fault fault = { 0 };
	int err = read_input(r->path, &input);

	if (!err)
		err = make_text(r, &input, &text, &fault);
	if (err && fault.why)
		return cli_fail_why("show", r->path, fault.why);
	if (err)
		return cli_fail("show", r->path, err);
	fwrite(text.bytes, 1, text.size, stdout);
	return cli_end_output("show");
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
		{ "python", required_argument, NULL, OPTION_PYTHON },
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
	if (r.python && r.form != TEXT_DIS)
		return cli_usage("show", "--python goes with --dis only");
	if (argc - optind != 1)
		return cli_usage("show", "one FILE is needed, or -");
	r.path = argv[optind];
	return show(&r);
}

const struct command command_show = {
	.name = "show",
	.summary = "write the readable text of a compiled_module",
	.help = "usage: tacfs show [--readable] FILE|-\n"
		"       tacfs show --dis [--python X.Y] FILE|-\n"
		"       tacfs show --detect FILE|-\n"
		"\n"
		"Writes what readable.py says of the compiled_module FILE, or "
		"of\n"
		"standard input, to standard output. Of anything else it says, "
		"in\n"
		"comments, what is wrong and where. FILE may have 256 MiB.\n"
		"\n"
		"  --readable    fail unless FILE is a sound compiled_module\n"
		"  --dis         FILE is a marshalled code object: disassemble "
		"it\n"
		"  --python X.Y  of the Python X.Y, instead of finding out\n"
		"  --detect      FILE is a marshalled code object: name its "
		"Python\n",
	.run = run,
};
