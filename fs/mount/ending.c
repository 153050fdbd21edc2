/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <time.h>
#include <unistd.h>

#include "fs/mount/caretaker.h"
#include "fs/mount/mountpoint.h"

enum {
	INTERRUPT = SIGALRM, /* between the two threads */
	INTERRUPT_MILLISECONDS = 20
};

static void do_nothing(int number)
{
	(void)number;
}

static bool is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 &&
	       action.sa_handler == SIG_IGN;
}

void ending_prepare(struct ending *e, int caretaker)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
	/* without SA_RESTART, so that it ends what the server waits in */
	const struct sigaction action = { .sa_handler = do_nothing };

	*e = (struct ending){ .caretaker = caretaker,
			      .server = pthread_self() };
	sigemptyset(&e->signals);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!is_ignored(numbers[i])) /* nohup(1) */
			sigaddset(&e->signals, numbers[i]);
	pthread_sigmask(SIG_BLOCK, &e->signals, NULL);
	sigaction(INTERRUPT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Until a signal, or the end of the server, which sends one. */
static void wait_for_signal(const struct ending *e, long seconds,
			    long milliseconds)
{
	const struct timespec time = { .tv_sec = seconds,
				       .tv_nsec = milliseconds * 1000000 };

	while (sigtimedwait(&e->signals, NULL, &time) < 0 && errno == EINTR)
		continue;
}

/*
 * libfuse's loop looks whether it is to end, and then waits: the signal may
 * come between the two.
 */
static void stop_server(struct ending *e)
{
	atomic_store(&e->cut, true);
	fuse_session_exit(e->session);
	while (!atomic_load(&e->served)) {
		pthread_kill(e->server, INTERRUPT);
		wait_for_signal(e, 0, INTERRUPT_MILLISECONDS);
	}
}

static void *wait_for_end(void *data)
{
	struct ending *e = data;
	int number;

	while (sigwait(&e->signals, &number) != 0)
		continue;
	if (atomic_load(&e->served))
		return NULL;
	e->left = mountpoint_leave(e->mountpoint, e->mount_id) == 0;
	wait_for_signal(e, ENDING_SECONDS, 0);
	if (!atomic_load(&e->served))
		stop_server(e);
	return NULL;
}

int ending_start(struct ending *e, struct fuse_session *session,
		 const char *mountpoint)
{
	sigset_t before;
	int err;

	e->session = session;
	e->mountpoint = mountpoint;
	e->mount_id = mountpoint_id(mountpoint);
	if (e->caretaker >= 0)
		caretaker_tell(e->caretaker, e->mount_id);
	sigaddset(&e->signals, INTERRUPT); /* goes to one of the threads only */
	pthread_sigmask(SIG_BLOCK, &e->signals, &before);
	err = -pthread_create(&e->thread, NULL, wait_for_end, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	e->started = !err;
	return err;
}

/*
 * libfuse would unmount by path, and there may be another mount by now. It does
 * not when the session's descriptor says that it has failed, as a pipe does
 * that nobody reads from.
 */
static void keep_mountpoint(struct fuse_session *session)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	close(ends[0]);
	dup3(ends[1], fuse_session_fd(session), O_CLOEXEC);
	close(ends[1]);
}

bool ending_stop(struct ending *e)
{
	if (!e->started)
		return false;
	atomic_store(&e->served, true);
	pthread_kill(e->thread, INTERRUPT);
	pthread_join(e->thread, NULL);
	if (atomic_load(&e->cut) && e->left)
		keep_mountpoint(e->session);
	return atomic_load(&e->cut);
}
