/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/caretaker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "fs/mount/mountpoint.h"

enum { INPUT = STDERR_FILENO + 1 };

/* Whoever reads our output, or waits for the terminal, is not to wait for this.
 */
static void keep_only(int fd)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	dup2(fd, INPUT);
	for (int i = 0; null >= 0 && i < INPUT; i++)
		dup2(null, i);
	close_range(INPUT + 1, UINT_MAX, 0);
	if (chdir("/") < 0)
		return; /* only keeps a directory busy */
}

static void wait_and_unmount(const char *mountpoint)
{
	long mount_id;
	ssize_t size;
	char byte;

	if (read(INPUT, &mount_id, sizeof(mount_id)) != sizeof(mount_id))
		return; /* it was never mounted */
	while ((size = read(INPUT, &byte, 1)) < 0 && errno == EINTR)
		continue;
	if (size != 1) /* it was not dismissed */
		mountpoint_leave(mountpoint, mount_id);
}

int caretaker_start(const char *mountpoint, int *fd)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0) {
		close(ends[1]); /* else it would wait for itself */
		keep_only(ends[0]);
		wait_and_unmount(mountpoint);
		_exit(0);
	}
	close(ends[0]);
	if (child < 0) {
		close(ends[1]);
		return -EAGAIN;
	}
	*fd = ends[1];
	return 0;
}

void caretaker_dismiss(int fd)
{
	if (fd >= 0 && write(fd, "", 1) < 0)
		return; /* it is gone */
}

void caretaker_tell(int fd, long mount_id)
{
	if (write(fd, &mount_id, sizeof(mount_id)) < 0)
		return; /* it is gone: nobody will unmount */
}
