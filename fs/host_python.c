/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/host_python.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fs/fd.h"
#include "fs/own.h"

enum { ANSWER_SIZE = 8192, ANSWER_MILLISECONDS = 20000 };

static const char question[] = "import sys;print('%d.%d'%sys.version_info[:2]);"
			       "print(sys.executable)";

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether it is 3, a dot and a number of one to three digits: then noted. */
static bool take_version(struct host_python *python, const char *text)
{
	size_t digits;

	if (strncmp(text, "3.", 2) != 0)
		return false;
	digits = strspn(text + 2, "0123456789");
	if (digits < 1 || digits > 3 || text[2 + digits])
		return false;
	memcpy(python->version, text, 2 + digits + 1);
	return true;
}

static bool version_in_name(const char *path, struct host_python *python)
{
	const char *name = base_name(path);

	return strncmp(name, "python", 6) == 0 &&
	       take_version(python, name + 6);
}

static void become_python(const char *program, int out)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execl(program, "python3", "-I", "-S", "-c", question, (char *)NULL);
	_exit(127);
}

/* All that the other end writes until it closes, unless that takes too long. */
static void read_answer(int fd, char answer[ANSWER_SIZE])
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	size_t size = 0;
	ssize_t got = 1;

	while (got > 0 && size < ANSWER_SIZE - 1 &&
	       poll(&ready, 1, ANSWER_MILLISECONDS) == 1) {
		got = read(fd, answer + size, ANSWER_SIZE - 1 - size);
		if (got > 0)
			size += (size_t)got;
	}
	answer[size] = '\0';
}

static int run_python(const char *program, char answer[ANSWER_SIZE])
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0)
		become_python(program, ends[1]);
	close(ends[1]);
	if (child > 0) {
		read_answer(ends[0], answer);
		kill(child, SIGKILL); /* it has said all, or hangs */
		waitpid(child, NULL, 0);
	}
	close(ends[0]);
	return child < 0 ? -EAGAIN : 0;
}

/* The version, and the program that really runs. */
static int ask_python(struct host_python *python)
{
	char answer[ANSWER_SIZE] = "";
	char *program;
	int err = run_python(python->program, answer);

	if (err)
		return err;
	program = strchr(answer, '\n');
	if (!program)
		return -ENOENT;
	*program++ = '\0';
	program[strcspn(program, "\n")] = '\0';
	if (*program != '/' || !take_version(python, answer))
		return -ENOENT;
	program = strdup(program);
	if (!program)
		return -ENOMEM;
	free(python->program);
	python->program = program;
	return 0;
}

/* Without symlinks; NULL when it is no program. The caller frees it. */
static char *resolve_program(const struct host *host, const char *path)
{
	AUTO_CLOSE int fd = host_open_file(host, path, O_PATH);
	struct stat st;

	if (fd < 0 || fd_stat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    !(st.st_mode & 0111))
		return NULL;
	return host_path_of(host, fd);
}

/* The first python3 of the PATH: its place, and what that leads to. */
static int find_program(const struct host *host, char **program,
			char **resolved)
{
	const char *path = getenv("PATH");
	AUTO_FREE char *places = strdup(path ? path : "/usr/bin:/bin");
	char *rest = NULL;
	char *place;

	if (!places)
		return -ENOMEM;
	for (place = strtok_r(places, ":", &rest); place;
	     place = strtok_r(NULL, ":", &rest)) {
		AUTO_FREE char *candidate = NULL;

		if (*place != '/')
			continue;
		if (asprintf(&candidate, "%s/python3", place) < 0)
			return -ENOMEM;
		*resolved = resolve_program(host, candidate);
		if (*resolved) {
			*program = take_memory((void **)&candidate);
			return 0;
		}
	}
	return -ENOENT;
}

/* Takes the directory over. What does not fit is left out. */
static int add_site(struct host_python *python, char *directory)
{
	size_t count = 0;

	if (!directory)
		return -ENOMEM;
	while (python->sites[count])
		count++;
	if (count < HOST_PYTHON_SITES)
		python->sites[count] = directory;
	else
		free(directory);
	return 0;
}

static int add_python_path(struct host_python *python)
{
	const char *path = getenv("PYTHONPATH");
	AUTO_FREE char *places = strdup(path ? path : "");
	char *rest = NULL;
	char *place;
	int err = places ? 0 : -ENOMEM;

	if (err)
		return err;
	for (place = strtok_r(places, ":", &rest); place && !err;
	     place = strtok_r(NULL, ":", &rest))
		if (*place == '/')
			err = add_site(python, strdup(place));
	return err;
}

/* `prefix` without a slash at its end; `format` has it and the version. */
__attribute__((format(printf, 3, 4))) static int
add_formatted(struct host_python *python, bool wanted, const char *format, ...)
{
	char *directory = NULL;
	va_list arguments;

	if (!wanted)
		return 0;
	va_start(arguments, format);
	if (vasprintf(&directory, format, arguments) < 0)
		directory = NULL;
	va_end(arguments);
	return add_site(python, directory);
}

/* The directories of packages of an installation, of Debian's kind, too. */
static int add_prefix(struct host_python *python, const char *program)
{
	const char *version = python->version;
	AUTO_FREE char *prefix = strdup(program);
	int err = prefix ? 0 : -ENOMEM;

	for (int i = 0; i < 2 && !err; i++) { /* PREFIX/bin/python3 */
		char *slash = strrchr(prefix, '/');

		if (slash)
			*slash = '\0';
	}
	if (!err)
		err = add_formatted(python, true,
				    "%s/local/lib/python%s/dist-packages",
				    prefix, version);
	if (!err)
		err = add_formatted(python, true,
				    "%s/lib/python%s/site-packages", prefix,
				    version);
	if (!err)
		err = add_formatted(python, true,
				    "%s/lib64/python%s/site-packages", prefix,
				    version);
	if (!err)
		err = add_formatted(python, true,
				    "%s/lib/python3/dist-packages", prefix);
	return err;
}

/* Whether it is a virtual environment that sees nothing outside. */
static bool is_isolated(const struct host *host, const char *program)
{
	AUTO_FREE char *config = NULL;
	AUTO_FREE char *value = NULL;
	int bin = (int)(base_name(program) - program);

	if (asprintf(&config, "%.*s../pyvenv.cfg", bin, program) < 0)
		return false;
	value = host_value_of(host, config, "include-system-site-packages");
	return value && strcasecmp(value, "true") != 0;
}

static int add_sites(const struct host *host, struct host_python *python,
		     const char *resolved)
{
	bool isolated = is_isolated(host, python->program);
	const char *home = getenv("HOME");
	int err = add_python_path(python);

	if (!err)
		err = add_formatted(python, !isolated && home && *home == '/',
				    "%s/.local/lib/python%s/site-packages",
				    home ? home : "", python->version);
	if (!err)
		err = add_prefix(python, python->program);
	if (!err && !isolated)
		err = add_prefix(python, resolved);
	return err;
}

int host_python_find(const struct host *host, struct host_python *python)
{
	AUTO_FREE char *resolved = NULL;
	int err;

	*python = (struct host_python){ 0 };
	err = find_program(host, &python->program, &resolved);
	if (err)
		return err;
	if (!version_in_name(resolved, python)) {
		err = *host->prefix ? -ENOENT : ask_python(python);
		free(resolved);
		resolved = err ? NULL : resolve_program(host, python->program);
		if (!err && !resolved)
			err = -ENOENT;
	}
	if (!err)
		err = add_sites(host, python, resolved);
	if (err)
		host_python_free(python);
	return err;
}

void host_python_free(struct host_python *python)
{
	free(python->program);
	for (size_t i = 0; i < HOST_PYTHON_SITES; i++)
		free(python->sites[i]);
}
