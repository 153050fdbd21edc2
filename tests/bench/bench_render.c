/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_render COUNT FILE: renders the compiled_module FILE once, and then
 * COUNT times, each into a new writer, and prints lines of a name and a number:
 *
 *   text_bytes            size of the text
 *   first_ns              the rendering before the others
 *   median_ns, min_ns     of the COUNT
 *   memory_bytes          how far the first one raised the peak of this process
 *
 * bench_render --text FILE: the text itself.
 *
 * Times are of the processor: of those of the clock, long renderings are
 * interrupted by other programs and short ones are not.
 *
 * render.py compares all this with what CPython takes.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "codec/writer.h"
#include "compiler/readable.h"

enum { COUNT_MAX = 1000 * 1000, LINE_MAX_SIZE = 256 };

struct input {
	void *bytes;
	size_t size;
};

static void die(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static struct input load(const char *path)
{
	FILE *file = fopen(path, "rbe");
	struct input input;
	struct stat st;

	if (!file || fstat(fileno(file), &st))
		die(path);
	input.size = (size_t)st.st_size;
	input.bytes = malloc(input.size ? input.size : 1);
	if (!input.bytes ||
	    fread(input.bytes, 1, input.size, file) != input.size)
		die(path);
	fclose(file);
	return input;
}

static struct writer render(const struct input *input)
{
	struct writer text = writer_upto(READABLE_MAX);

	if (readable_render(input->bytes, input->size, &text)) {
		fputs("it cannot be rendered\n", stderr);
		exit(EXIT_FAILURE);
	}
	return text;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t time_one(const struct input *input)
{
	uint64_t start = now();
	struct writer text = render(input);

	writer_free(&text);
	return now() - start;
}

static int by_value(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a;
	uint64_t two = *(const uint64_t *)b;

	return (one > two) - (one < two);
}

static void time_all(const struct input *input, size_t count)
{
	uint64_t *taken = calloc(count, sizeof(*taken));

	if (!taken)
		die("memory");
	for (size_t i = 0; i < count; i++)
		taken[i] = time_one(input);
	qsort(taken, count, sizeof(*taken), by_value);
	printf("median_ns %" PRIu64 "\nmin_ns %" PRIu64 "\n", taken[count / 2],
	       taken[0]);
	free(taken);
}

/*
 * A line of /proc/self/status. getrusage() will not do: its peak includes that
 * of the program which started this one.
 */
static long status_kib(const char *name)
{
	FILE *file = fopen("/proc/self/status", "re");
	size_t length = strlen(name);
	char line[LINE_MAX_SIZE];
	long kib = -1;

	if (!file)
		die("/proc/self/status");
	while (kib < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && line[length] == ':')
			kib = strtol(line + length + 1, NULL, 10);
	fclose(file);
	return kib;
}

static void measure_first(const struct input *input)
{
	long before = status_kib("VmRSS");
	uint64_t start = now();
	struct writer text = render(input);
	uint64_t taken = now() - start;
	long peak = status_kib("VmHWM");

	printf("text_bytes %zu\nfirst_ns %" PRIu64 "\nmemory_bytes %ld\n",
	       text.size, taken, (peak - before) * 1024);
	writer_free(&text);
}

static void write_text(const struct input *input)
{
	struct writer text = render(input);

	if (fwrite(text.bytes, 1, text.size, stdout) != text.size)
		die("standard output");
	writer_free(&text);
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	int with_text = argc == 3 && !strcmp(argv[1], "--text");
	struct input input;

	if (!with_text && (!count || count > COUNT_MAX)) {
		fprintf(stderr, "usage: %s COUNT|--text FILE\n", argv[0]);
		return EXIT_FAILURE;
	}
	input = load(argv[2]);
	if (with_text) {
		write_text(&input);
	} else {
		measure_first(&input);
		time_all(&input, count);
	}
	free(input.bytes);
	return EXIT_SUCCESS;
}
