/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/identity.h"
#include "fs/store/probe_state.h"

enum {
	NSEC = 1000 * 1000 * 1000,
	USEC = 1000,
	STEPS = 5,
	STEP_NSEC = 1000 * 1000,
	STEPS_MAX = 2500
};

void probe_fsync_file(const struct probe *p, struct ability *a)
{
	AUTO_CLOSE int fd = probe_file(p, "fsync", 'x');

	if (fd < 0 || fsync(fd) < 0)
		ability_set(a, GRADE_MISSING,
			    "fsync of a file fails (%s): what was closed may "
			    "be lost in a crash",
			    strerror(fd < 0 ? -fd : errno));
	else
		ability_set(a, GRADE_OK, "files can be brought to disk");
}

void probe_fsync_dir(const struct probe *p, struct ability *a)
{
	if (fsync(p->dir) < 0)
		ability_set(a, GRADE_MISSING,
			    "fsync of a directory fails (%s): names may be "
			    "lost in a crash",
			    strerror(errno));
	else
		ability_set(a, GRADE_OK, "names can be brought to disk");
}

enum { LOCK_REFUSED = 0, LOCK_GRANTED = 1, LOCK_FAILED = 2 };

/* In another process: a lock belongs to an open file, some say to a process. */
static int lock_elsewhere(const struct probe *p)
{
	int status = LOCK_FAILED << 8;
	pid_t child = fork();

	if (child == 0) {
		int fd = fd_open(p->dir, "flock", O_RDWR, 0);

		if (fd < 0)
			_exit(LOCK_FAILED);
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			_exit(LOCK_GRANTED);
		_exit(errno == EWOULDBLOCK ? LOCK_REFUSED : LOCK_FAILED);
	}
	if (child < 0)
		return LOCK_FAILED;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : LOCK_FAILED;
}

void probe_flock(const struct probe *p, struct ability *a)
{
	AUTO_CLOSE int fd = probe_file(p, "flock", 'x');

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		ability_set(a, GRADE_MISSING,
			    "flock fails: two programs may collect or measure "
			    "at once, which is slower, not wrong");
	else if (lock_elsewhere(p) == LOCK_REFUSED)
		ability_set(a, GRADE_OK,
			    "flock on this host refuses who comes second");
	else
		ability_set(a, GRADE_WEAK,
			    "flock lies, it is granted twice: two programs may "
			    "collect at once, which is slower, not wrong");
}

static int64_t nsec_between(const struct timespec *from,
			    const struct timespec *to)
{
	return (int64_t)(to->tv_sec - from->tv_sec) * NSEC + to->tv_nsec -
	       from->tv_nsec;
}

static int touch(int fd, struct timespec *mtime)
{
	struct stat st;
	int err = fd_write_at(fd, "t", 1, 0);

	if (err)
		return err;
	if (fd_stat(fd, &st) < 0)
		return -errno;
	*mtime = st.st_mtim;
	return 0;
}

/* The smallest of a few steps that the clock of files makes; 0 for none. */
static int64_t smallest_step(int fd)
{
	const struct timespec pause = { .tv_nsec = STEP_NSEC };
	struct timespec last = { .tv_sec = 0 };
	struct timespec now = { .tv_sec = 0 };
	int64_t smallest = 0;
	int steps = 0;

	if (touch(fd, &last))
		return 0;
	for (int i = 0; i < STEPS_MAX && steps < STEPS; i++) {
		int64_t step;

		nanosleep(&pause, NULL);
		if (touch(fd, &now))
			return 0;
		step = nsec_between(&last, &now);
		last = now;
		if (step <= 0)
			continue;
		steps++;
		if (!smallest || step < smallest)
			smallest = step;
		if (step >= NSEC)
			break;
	}
	return smallest;
}

void probe_granularity(const struct probe *p, struct ability *a)
{
	AUTO_CLOSE int fd = probe_file(p, "granularity", 'x');
	int64_t step = fd < 0 ? 0 : smallest_step(fd);

	if (!step)
		ability_set(a, GRADE_MISSING,
			    "the times of files do not move: a change that "
			    "keeps the inode and the size is not noticed");
	else if (step > (int64_t)IDENTITY_SETTLE_SECONDS * NSEC)
		ability_set(a, GRADE_MISSING,
			    "the times of files move in steps of %" PRId64
			    " s: changes within one are not noticed",
			    step / NSEC);
	else if (step >= NSEC / 2)
		ability_set(a, GRADE_WEAK,
			    "the times of files move in steps of %" PRId64
			    " ms: young files are verified more often",
			    step / USEC / USEC);
	else
		ability_set(a, GRADE_OK,
			    "the times of files move in steps of at most "
			    "%" PRId64 " us",
			    step / USEC);
}

/* How far the time of files is outside of [before, after], in ms. */
static int64_t clock_error(int fd)
{
	struct timespec before = { .tv_sec = 0 };
	struct timespec after = { .tv_sec = 0 };
	struct timespec mtime = { .tv_sec = 0 };
	int64_t early;
	int64_t late;

	clock_gettime(CLOCK_REALTIME, &before);
	if (touch(fd, &mtime))
		return INT64_MAX;
	clock_gettime(CLOCK_REALTIME, &after);
	early = nsec_between(&mtime, &before);
	late = nsec_between(&after, &mtime);
	if (late > 0)
		return late / USEC / USEC;
	return early > 0 ? -(early / USEC / USEC) : 0;
}

void probe_clock(const struct probe *p, struct ability *a)
{
	AUTO_CLOSE int fd = probe_file(p, "clock", 'x');
	int64_t ms = fd < 0 ? INT64_MAX : clock_error(fd);

	if (ms == INT64_MAX)
		ability_set(a, GRADE_MISSING,
			    "the time of a file cannot be "
			    "read");
	else
		ability_set(a, GRADE_OK,
			    "the clock of the file system is %" PRId64
			    " ms ahead of this host's, and alone decides",
			    ms);
}
