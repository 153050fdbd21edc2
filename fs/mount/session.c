/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/session.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>

#include "fs/fd.h"
#include "fs/ids.h"
#include "fs/mount/caretaker.h"
#include "fs/mount/ending.h"
#include "fs/mount/janitor.h"
#include "fs/mount/killpriv.h"
#include "fs/mount/mount.h"
#include "fs/mount/mountpoint.h"
#include "fs/mount/ops.h"
#include "fs/own.h"
#include "fs/store/exchange.h"

enum {
	THREADS = 16, /* a publication blocks its thread while it is synced */
	HEAPS = 4
};

static int complain(const char *subject, const char *why)
{
	fprintf(stderr, "tacfs: mount: %s: %s\n", subject, why);
	return 1;
}

/* A directory node costs a descriptor. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/*
 * What is kept for long (nodes, decoded blocks) lies between what requests use
 * and free. With a heap for each thread, each grows until it has held the most
 * that any did, and holes are all that is left of it.
 */
static void limit_heaps(void)
{
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, HEAPS);
#endif
}

/* In the background there is no terminal, and the directory is nobody's. */
static void leave_terminal(void)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	if (chdir("/") < 0)
		return; /* only keeps a directory busy */
}

/*
 * What went wrong before this was told on the terminal. In the foreground
 * nobody waits.
 */
static void on_ready(struct mounted *mounted)
{
	if (mounted->claim >= 0)
		close(mounted->claim);
	mounted->claim = -1;
	if (mounted->ready_fd < 0)
		return;
	leave_terminal();
	if (write(mounted->ready_fd, "", 1) < 0)
		return; /* who waited has gone away */
	close(mounted->ready_fd);
	mounted->ready_fd = -1;
}

/* The store, as the source of the mount; the argument is split at commas. */
static int add_source(const struct mount_options *o, struct fuse_args *args)
{
	AUTO_FREE char *path = realpath(o->store, NULL);
	AUTO_FREE char *option = NULL;
	char *escaped = NULL;
	int err;

	if (!path)
		return -errno;
	if (asprintf(&option, "fsname=%s", path) < 0)
		return -ENOMEM;
	err = fuse_opt_add_opt_escaped(&escaped, option);
	if (!err)
		err = fuse_opt_add_arg(args, "-o");
	if (!err)
		err = fuse_opt_add_arg(args, escaped);
	free(escaped);
	return err ? -ENOMEM : 0;
}

static int add_arguments(const struct mount_options *o, bool read_only,
			 struct fuse_args *args)
{
	int err = add_source(o, args);

	if (!err)
		err = fuse_opt_add_arg(args,
				       "-osubtype=tacfs,default_permissions,"
				       "nosuid,nodev");
	if (!err && read_only)
		err = fuse_opt_add_arg(args, "-oro");
	if (!err && o->debug)
		err = fuse_opt_add_arg(args, "-d");
	return err == -1 ? -ENOMEM : err; /* what libfuse says */
}

static int serve(struct fuse_session *session, struct mounted *mounted)
{
	struct mount *m = mounted->mount;
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int err;

	if (!config)
		return 1;
	limit_heaps();
	fuse_loop_cfg_set_max_threads(config, THREADS);
	fuse_loop_cfg_set_idle_threads(config, THREADS);
	fuse_loop_cfg_set_clone_fd(config, 0);
	if (!m->read_only)
		reporter_start(&m->reporter, m->store, &m->scratches.spills);
	err = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	if (err)
		log_event(m->log, LOG_LEVEL_ERROR, "the mount ended: %s",
			  strerror(err < 0 ? -err : err));
	mounted->unmounted = err == 0;
	return err != 0;
}

/* Mounts, serves, unmounts; undone in reverse. */
static int run_session(const struct mount_options *o, struct fuse_args *args,
		       struct mounted *mounted, struct ending *ending)
{
	struct fuse_session *session;
	int status = 1;
	int err = add_arguments(o, mounted->mount->read_only, args);

	if (err)
		return complain(o->store, strerror(-err));
	session =
		fuse_session_new(args, &mount_ops, sizeof(mount_ops), mounted);
	if (!session)
		return complain(o->mountpoint, "cannot start a FUSE session");
	if (fuse_session_mount(session, o->mountpoint) != 0) {
		complain(o->mountpoint, "cannot mount");
		goto destroy;
	}
	(void)killpriv_promise(session); /* else writes are only slower */
	err = ending_start(ending, session, o->mountpoint);
	if (err)
		complain(o->mountpoint, strerror(-err));
	else
		status = serve(session, mounted);
	if (ending_stop(ending))
		mounted->unmounted = false;
	fuse_session_unmount(session);
	caretaker_dismiss(ending->caretaker);
destroy:
	fuse_session_destroy(session);
	return status;
}

static const char *why_read_only(const struct store *store)
{
	struct stat st;

	if (!ids_are_whole() && fd_stat(store_root(store), &st) == 0 &&
	    st.st_uid == IDS_OVERFLOW)
		return "it cannot be written to, and what its owner published "
		       "is not served, since the owner has no id in this user "
		       "namespace: mounted read-only";
	return "it cannot be written to: mounted read-only";
}

static int open_store(const struct mount_options *o, const struct log *log,
		      struct store **store)
{
	const struct store_config config = {
		.create = true,
		.read_only = o->read_only,
		.space = o->space,
		.log = log,
		.trusted = o->trust.users,
		.trusted_count = o->trust.count,
		.max_bytes = o->has_max_bytes ? &o->max_bytes : NULL,
		.min_free = o->min_free,
	};
	char why[512];

	if (store_open(o->store, &config, store, why, sizeof(why)) != 0)
		return complain(o->store, why);
	if (store_is_read_only(*store) && !o->read_only)
		complain(o->store, why_read_only(*store));
	exchange_finish_now(*store);
	return 0;
}

/* Closes the store. */
static int mount_store(const struct mount_options *o, struct fuse_args *args,
		       struct store *store, struct mounted *mounted,
		       int caretaker)
{
	struct ending ending;
	struct janitor janitor;
	struct mount mount;
	int status;
	int err = mount_init(&mount, store, o->uid, o->gid);

	if (err) {
		store_close(store);
		return complain(o->store, strerror(-err));
	}
	mount.hides.used = o->private_deletes;
	mount.strict = o->strict;
	mount.ids_are_whole = ids_are_whole();
	mount.scratches.in_memory = o->drops_when_full;
	mounted->mount = &mount;
	ending_prepare(&ending, caretaker);
	janitor_start(&janitor, store, mount.read_only ? 0 : o->collect);
	status = run_session(o, args, mounted, &ending);
	janitor_stop(&janitor);
	mount_free(&mount, mounted->unmounted);
	mounted->mount = NULL;
	store_close(store);
	return status;
}

static int run_mounted(const struct mount_options *o, struct fuse_args *args,
		       struct mounted *mounted)
{
	struct log_limits limits = LOG_LIMITS;
	const struct log log = { .to_syslog = !o->foreground,
				 .level = o->debug ? LOG_LEVEL_INFO
						   : LOG_LEVEL_WARNING,
				 .limits = o->log_all ? NULL : &limits };
	AUTO_CLOSE int caretaker = -1;
	struct store *store;
	int status;
	int err = o->auto_unmount ? caretaker_start(o->mountpoint, &caretaker)
				  : 0;

	if (err)
		return complain(o->mountpoint, strerror(-err));
	if (log.to_syslog)
		openlog("tacfs", LOG_PID, LOG_DAEMON);
	umask(0);
	raise_descriptor_limit();
	status = open_store(o, &log, &store);
	if (!status)
		status = mount_store(o, args, store, mounted, caretaker);
	log_end(&log);
	return status;
}

/* 0 when the daemon is ready, else its exit status. */
static int wait_ready(int fd, pid_t child)
{
	char byte;
	int status;

	if (read(fd, &byte, 1) == 1)
		return 0;
	if (waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	    WEXITSTATUS(status) != 0)
		return WEXITSTATUS(status);
	return 1;
}

static int run_in_background(const struct mount_options *o,
			     struct fuse_args *args, struct mounted *mounted)
{
	int ends[2];
	pid_t child;
	int status;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return complain(o->mountpoint, strerror(errno));
	child = fork();
	if (child < 0)
		return complain(o->mountpoint, strerror(errno));
	if (child == 0) {
		close(ends[0]);
		mounted->ready_fd = ends[1];
		return run_mounted(o, args, mounted);
	}
	close(ends[1]);
	status = wait_ready(ends[0], child);
	close(ends[0]);
	return status;
}

/* 0, or an exit status when it was told why this cannot be mounted here. */
static int check_places(const struct mount_options *o)
{
	char why[PATH_MAX + 128];
	int err = mountpoint_clear(o->mountpoint, why, sizeof(why));

	if (!err)
		err = mountpoint_apart(o->store, o->mountpoint, why,
				       sizeof(why));
	return err ? complain(o->mountpoint, why) : 0;
}

int session_run(const struct mount_options *o, struct fuse_args *args)
{
	struct mount_options absolute = *o;
	AUTO_FREE char *mountpoint = NULL;
	struct stat st;
	struct mounted mounted = { .ready = on_ready,
				   .ready_fd = -1,
				   .claim = -1 };
	int status = check_places(o);

	if (!status) {
		mountpoint_claim(o->mountpoint, &mounted.claim);
		status = check_places(o); /* while we waited */
	}
	if (status)
		return status;
	mountpoint = realpath(o->mountpoint, NULL);
	if (!mountpoint || stat(mountpoint, &st) < 0)
		return complain(o->mountpoint, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return complain(o->mountpoint, strerror(ENOTDIR));
	absolute.mountpoint = mountpoint;
	return o->foreground ? run_mounted(&absolute, args, &mounted)
			     : run_in_background(&absolute, args, &mounted);
}
