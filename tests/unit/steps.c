/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/steps.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FAN = 2 };

/* Of this process: a wrapper has nobody who could pass it in. */
static struct {
	unsigned done;
	unsigned stop; /* before this one, and all later ones; 0: never */
} steps;

/* Of the 256 directories in packs/ one is like the other: no steps. */
static void step(const char *name)
{
	if (strlen(name) != FAN && steps.stop && ++steps.done >= steps.stop)
		raise(SIGSTOP);
}

/* The names that glibc gives to calls with 64-bit offsets. */
int __wrap_openat64(int dir, const char *name, int flags, ...);
int __real_openat64(int dir, const char *name, int flags, ...);
int __wrap_fstatat64(int dir, const char *name, struct stat *st, int flags);
int __real_fstatat64(int dir, const char *name, struct stat *st, int flags);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t size, off_t at);
ssize_t __real_pwrite64(int fd, const void *bytes, size_t size, off_t at);
int __wrap_linkat(int from, const char *old, int to, const char *new, int how);
int __real_linkat(int from, const char *old, int to, const char *new, int how);
int __wrap_renameat(int from, const char *old, int to, const char *new);
int __real_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat2(int from, const char *old, int to, const char *new,
		     unsigned how);
int __real_renameat2(int from, const char *old, int to, const char *new,
		     unsigned how);
int __wrap_unlinkat(int dir, const char *name, int flags);
int __real_unlinkat(int dir, const char *name, int flags);
int __wrap_faccessat(int dir, const char *name, int mode, int flags);
int __real_faccessat(int dir, const char *name, int mode, int flags);

int __wrap_openat64(int dir, const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	step(name);
	return __real_openat64(dir, name, flags, mode);
}

int __wrap_fstatat64(int dir, const char *name, struct stat *st, int flags)
{
	step(name);
	return __real_fstatat64(dir, name, st, flags);
}

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t size, off_t at)
{
	step("");
	return __real_pwrite64(fd, bytes, size, at);
}

int __wrap_linkat(int from, const char *old, int to, const char *new, int how)
{
	step(old);
	return __real_linkat(from, old, to, new, how);
}

int __wrap_renameat(int from, const char *old, int to, const char *new)
{
	step(old);
	return __real_renameat(from, old, to, new);
}

int __wrap_renameat2(int from, const char *old, int to, const char *new,
		     unsigned how)
{
	step(old);
	return __real_renameat2(from, old, to, new, how);
}

int __wrap_unlinkat(int dir, const char *name, int flags)
{
	step(name);
	return __real_unlinkat(dir, name, flags);
}

int __wrap_faccessat(int dir, const char *name, int mode, int flags)
{
	step(name);
	return __real_faccessat(dir, name, mode, flags);
}

void steps_stop(unsigned stop)
{
	steps.stop = stop;
}
