/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/process.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

#include "fs/fd.h"
#include "fs/own.h"

enum {
	PROC_TEXT_SIZE = 4096,
	STAT_FLAGS = 9,
	STAT_EXIT_CODE = 52,
	KILLED_FLAG = 0x400, /* PF_SIGNALED, include/linux/sched.h */
	EXIT_SIGNAL_MASK = 0x7f
};

/* Reads /proc/<id>/<file>, with a NUL behind it. */
static bool read_proc(pid_t id, const char *file, char text[PROC_TEXT_SIZE])
{
	AUTO_CLOSE int fd = -1;
	char path[64];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)id, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, text, PROC_TEXT_SIZE - 1);
	if (size <= 0)
		return false;
	text[size] = '\0';
	return true;
}

/* Field `number` of a stat line; field 2, the name, may hold anything. */
static bool stat_field(const char *text, int number, uint64_t *value)
{
	const char *at = strrchr(text, ')');
	char *end;

	for (int field = 2; at && field < number; field++) {
		at = strchr(at, ' ');
		if (at)
			at++;
	}
	if (!at)
		return false;
	*value = strtoull(at, &end, 10);
	return end != at;
}

static pid_t process_id(pid_t thread)
{
	char text[PROC_TEXT_SIZE];
	const char *at;

	if (!read_proc(thread, "status", text))
		return thread;
	at = strstr(text, "\nTgid:");
	return at ? (pid_t)strtol(at + strlen("\nTgid:"), NULL, 10) : thread;
}

/* False when there is no such process, or only what is left of one. */
static bool process_instance(pid_t id, uint64_t *instance)
{
	AUTO_CLOSE int fd = pidfd_open(id, 0);
	struct pollfd exited = { .fd = fd, .events = POLLIN };
	struct stat st;

	if (fd < 0 || fd_stat(fd, &st) < 0)
		return false;
	*instance = st.st_ino;
	return poll(&exited, 1, 0) == 0;
}

struct caller caller_of(pid_t thread)
{
	return (struct caller){ .thread = thread, .known = thread == 0 };
}

struct process caller_process(struct caller *caller)
{
	if (!caller->known) {
		caller->process.id = process_id(caller->thread);
		process_instance(caller->process.id, &caller->process.instance);
		caller->known = true;
	}
	return caller->process;
}

bool process_equal(const struct process *a, const struct process *b)
{
	return a->id == b->id && a->instance == b->instance;
}

bool process_is_alive(const struct process *p)
{
	uint64_t instance;

	return p->id == 0 ||
	       (process_instance(p->id, &instance) && instance == p->instance);
}

/* A thread gives up its memory before its files, in exit but not in execve. */
static bool is_exiting(pid_t thread)
{
	char text[PROC_TEXT_SIZE];

	return read_proc(thread, "status", text) && !strstr(text, "\nVmSize:");
}

/*
 * The flag alone is not enough: exit_group() of one thread also ends the others
 * with it. The exit code, which is set before the files are closed, has a
 * signal's number only when a signal was the cause.
 */
bool thread_was_killed(pid_t thread)
{
	char text[PROC_TEXT_SIZE];
	uint64_t flags;
	uint64_t code;

	if (thread == 0 || !is_exiting(thread) ||
	    !read_proc(thread, "stat", text) ||
	    !stat_field(text, STAT_FLAGS, &flags) || !(flags & KILLED_FLAG))
		return false;
	return !stat_field(text, STAT_EXIT_CODE, &code) ||
	       (code & EXIT_SIGNAL_MASK);
}
