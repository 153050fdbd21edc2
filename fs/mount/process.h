/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_PROCESS_H
#define TACFS_FS_MOUNT_PROCESS_H

/*
 * Who sent a request. FUSE gives the id of a thread, in the pid namespace of
 * the mount; what owns a private version is the process. Ids are used again, so
 * a process is its id together with the inode of its pidfd, which is another
 * for every process since Linux 6.9 and the same for all before.
 *
 * /proc/PID/stat must not be read of a process in execve(2): the kernel holds
 * the lock that it needs while it closes the files that are not passed on, and
 * so while it waits for us. /proc/PID/status needs no such lock.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero: a process that cannot be known, of another pid namespace. */
struct process {
	pid_t id;
	uint64_t instance;
};

/* The sender of one request; who that is, is found out when it is asked. */
struct caller {
	pid_t thread; /* from fuse_req_ctx() */
	bool known;
	struct process process;
};

struct caller caller_of(pid_t thread);
struct process caller_process(struct caller *caller);

bool process_equal(const struct process *a, const struct process *b);
/* A process that cannot be known is alive as long as the mount is. */
bool process_is_alive(const struct process *p);
/* Whether this thread is exiting because a signal killed its process. */
bool thread_was_killed(pid_t thread);

#endif
