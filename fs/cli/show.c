/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "codec/writer.h"
#include "compiler/readable.h"
#include "fs/cli/cli.h"
#include "fs/own.h"

enum { SHOW_MAX = READABLE_MAX, PIECE = 64 * 1024 };

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

static int show(const char *path)
{
	AUTO_WRITER struct writer input = writer_upto(SHOW_MAX);
	AUTO_WRITER struct writer text = writer_upto(READABLE_MAX);
	int err = read_input(path, &input);

	if (!err)
		err = readable_render(input.bytes, input.size, &text);
	if (err)
		return cli_fail("show", path, err);
	fwrite(text.bytes, 1, text.size, stdout);
	return cli_end_output("show");
}

static int run(int argc, char **argv)
{
	int status = cli_no_options(argc, argv);

	if (status)
		return status;
	if (argc - optind != 1)
		return cli_usage("show", "one FILE is needed, or -");
	return show(argv[optind]);
}

const struct command command_show = {
    .name = "show",
    .summary = "write the readable text of a compiled_module",
    .help = "usage: tacfs show FILE|-\n"
	    "\n"
	    "Writes what readable.py says of the compiled_module FILE, or of\n"
	    "standard input, to standard output. Of anything else it says, in\n"
	    "comments, what is wrong and where. FILE may have 256 MiB.\n",
    .run = run,
};
