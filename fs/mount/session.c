/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/session.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fs/mount/janitor.h"
#include "fs/mount/killpriv.h"
#include "fs/mount/mount.h"
#include "fs/mount/mountpoint.h"
#include "fs/mount/ops.h"
#include "fs/own.h"

enum {
	THREADS = 16 /* a publication blocks its thread while it is synced */
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
				       "-osubtype=tacfs,default_permissions");
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
	fuse_loop_cfg_set_max_threads(config, THREADS);
	fuse_loop_cfg_set_idle_threads(config, THREADS);
	fuse_loop_cfg_set_clone_fd(config, 0);
	if (!m->read_only)
		reporter_start(&m->reporter, m->store);
	err = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	mounted->unmounted = err == 0; /* a signal's number is positive */
	return err < 0;
}

/* Mounts, serves, unmounts; undone in reverse. */
static int run_session(const struct mount_options *o, struct fuse_args *args,
		       struct mounted *mounted)
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
	if (fuse_set_signal_handlers(session) != 0)
		goto destroy;
	if (fuse_session_mount(session, o->mountpoint) != 0) {
		complain(o->mountpoint, "cannot mount");
		goto remove_handlers;
	}
	(void)killpriv_promise(session); /* else writes are only slower */
	status = serve(session, mounted);
	fuse_session_unmount(session);
remove_handlers:
	fuse_remove_signal_handlers(session);
destroy:
	fuse_session_destroy(session);
	return status;
}

static int run_mounted(const struct mount_options *o, struct fuse_args *args,
		       int ready_fd)
{
	const struct log log = { .to_syslog = !o->foreground,
				 .level = o->debug ? LOG_LEVEL_INFO
						   : LOG_LEVEL_WARNING };
	const struct store_config config = {
		.create = true,
		.read_only = o->read_only,
		.space = o->space,
		.log = &log,
		.trusted = o->trust.users,
		.trusted_count = o->trust.count,
		.max_bytes = o->has_max_bytes ? &o->max_bytes : NULL,
		.min_free = o->min_free,
	};
	struct mounted mounted = { .ready = on_ready, .ready_fd = ready_fd };
	struct store *store;
	struct janitor janitor;
	struct mount mount;
	char why[512];
	int status;
	int err;

	umask(0);
	raise_descriptor_limit();
	if (store_open(o->store, &config, &store, why, sizeof(why)) != 0)
		return complain(o->store, why);
	if (store_is_read_only(store) && !o->read_only)
		complain(o->store,
			 "it cannot be written to: mounted read-only");
	err = mount_init(&mount, store, o->uid, o->gid);
	if (err) {
		store_close(store);
		return complain(o->store, strerror(-err));
	}
	mount.hides.used = o->private_deletes;
	mount.strict = o->strict;
	mount.drops_when_full = o->drops_when_full;
	mounted.mount = &mount;
	janitor_start(&janitor, store, mount.read_only ? 0 : o->collect);
	status = run_session(o, args, &mounted);
	janitor_stop(&janitor);
	mount_free(&mount, mounted.unmounted);
	reporter_stop(&mount.reporter);
	store_close(store);
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
			     struct fuse_args *args)
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
		return run_mounted(o, args, ends[1]);
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
	int status = check_places(o);

	if (status)
		return status;
	mountpoint = realpath(o->mountpoint, NULL);
	if (!mountpoint || stat(mountpoint, &st) < 0)
		return complain(o->mountpoint, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return complain(o->mountpoint, strerror(ENOTDIR));
	absolute.mountpoint = mountpoint;
	return o->foreground ? run_mounted(&absolute, args, -1)
			     : run_in_background(&absolute, args);
}
