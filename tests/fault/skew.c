/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program, this makes it see another system than there is:
 *
 *   TACFS_TEST_SKEW=SECONDS  the time of day is later by so much
 *   TACFS_TEST_NO_LINK=1     the file system has no links, but O_TMPFILE
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int linkat(int from_dir, const char *from, int to_dir, const char *to,
	   int flags);
int gettimeofday(struct timeval *restrict now, void *restrict zone);

static time_t skew(void)
{
	const char *text = getenv("TACFS_TEST_SKEW");

	return text ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (!result &&
	    (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += skew();
	return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec time;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &time) < 0)
		return -1;
	now->tv_sec = time.tv_sec;
	now->tv_usec = time.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return -1;
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

int linkat(int from_dir, const char *from, int to_dir, const char *to,
	   int flags)
{
	if (!getenv("TACFS_TEST_NO_LINK"))
		return (int)syscall(SYS_linkat, from_dir, from, to_dir, to,
				    flags);
	errno = EPERM;
	return -1;
}
