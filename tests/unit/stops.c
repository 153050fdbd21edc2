/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/stops.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FAN = 2 };

/* What was freed is copied, and is most of what is, in every fork(). */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=1";
}

/* Of this process: a wrapper has nobody who could pass it in. */
static struct {
	unsigned done;
	unsigned stop; /* before this one; 0: never */
	bool once;
} steps;

struct pace chosen_pace(void)
{
	if (getenv("TACFS_LONG"))
		return (struct pace){ 1, 1, false };
	return (struct pace){ 2, 7, true };
}

void stop_before(unsigned number, bool once)
{
	steps.stop = number;
	steps.once = once;
}

/* Of the 256 directories in packs/ one is like the other: no steps. */
static void step(const char *name)
{
	if (strlen(name) == FAN || !steps.stop || ++steps.done < steps.stop)
		return;
	if (!steps.once || steps.done == steps.stop)
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
int __wrap_symlinkat(const char *target, int dir, const char *name);
int __real_symlinkat(const char *target, int dir, const char *name);
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

int __wrap_symlinkat(const char *target, int dir, const char *name)
{
	step(name);
	return __real_symlinkat(target, dir, name);
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
