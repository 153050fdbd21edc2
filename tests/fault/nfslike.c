/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nfslike DIRECTORY MOUNTPOINT [SWITCH...]
 *
 * Shows a directory as a network file system would. Each mount of it is another
 * host. What NFS keeps, and what makes it ask again, is the same here:
 *
 * - Names, also those that are missing, and attributes are kept for 30 seconds.
 *   Opening a directory makes it ask for the names in it again, opening a file
 *   for its attributes. What this host does itself it sees at once.
 * - A file that another host has removed is gone (ESTALE), open or not. One
 * that this host has open gets another name, .nfs…, until it is closed.
 *
 * There are no extended attributes and no O_TMPFILE. The switches:
 *
 *   no-link   links fail with EPERM
 *   no-flags  renameat2() with flags fails with EINVAL
 *   lying     locks are always granted
 *   unread    what was read is not kept
 *
 * It serves in the foreground, one request after the other, until it is
 * unmounted or told to end.
 */
#define FUSE_USE_VERSION 35
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nfslike_host.h"

enum { PATH_SIZE = 64 };

static struct host *host_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static struct inode *inode_of(fuse_req_t req, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &host_of(req)->root
				   : (struct inode *)(uintptr_t)ino;
}

static void proc_path(const struct inode *inode, char path[PATH_SIZE])
{
	snprintf(path, PATH_SIZE, "/proc/self/fd/%d", inode->fd);
}

/* The user of the inode is the kernel from now on. The kernel keeps nothing. */
static struct fuse_entry_param entry_of(struct inode *inode)
{
	return (struct fuse_entry_param){ .ino = (fuse_ino_t)(uintptr_t)inode,
					  .attr = inode->st };
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *text)
{
	struct host *h = host_of(req);
	struct inode *inode = NULL;
	int err = name_find(h, inode_of(req, parent), text, &inode);
	struct fuse_entry_param entry;

	if (err) {
		fuse_reply_err(req, err);
		return;
	}
	entry = entry_of(inode);
	if (fuse_reply_entry(req, &entry) < 0)
		inode_put(h, inode);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	struct inode *inode = inode_of(req, ino);

	if (ino != FUSE_ROOT_ID) {
		inode->users -= (unsigned)count - 1;
		inode_put(host_of(req), inode);
	}
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct inode *inode = inode_of(req, ino);

	(void)fi;
	if (inode_stat(inode))
		fuse_reply_err(req, ESTALE);
	else
		fuse_reply_attr(req, &inode->st, 0);
}

static int set_times(const char *path, const struct stat *st, int to_set)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_nsec = UTIME_OMIT } };

	if (to_set & FUSE_SET_ATTR_ATIME)
		times[0] = st->st_atim;
	if (to_set & FUSE_SET_ATTR_MTIME)
		times[1] = st->st_mtim;
	/* "Now" is the server's. */
	if (to_set & FUSE_SET_ATTR_ATIME_NOW)
		times[0].tv_nsec = UTIME_NOW;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		times[1].tv_nsec = UTIME_NOW;
	return utimensat(AT_FDCWD, path, times, 0);
}

static int change(const char *path, const struct stat *st, int to_set)
{
	const uid_t uid = to_set & FUSE_SET_ATTR_UID ? st->st_uid : (uid_t)-1;
	const gid_t gid = to_set & FUSE_SET_ATTR_GID ? st->st_gid : (gid_t)-1;
	int result = 0;

	if (to_set & FUSE_SET_ATTR_MODE)
		result = chmod(path, st->st_mode);
	if (!result && (to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)))
		result = chown(path, uid, gid);
	if (!result && (to_set & FUSE_SET_ATTR_SIZE))
		result = truncate(path, st->st_size);
	if (!result)
		result = set_times(path, st, to_set);
	return result < 0 ? errno : 0;
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st,
		       int to_set, struct fuse_file_info *fi)
{
	struct inode *inode = inode_of(req, ino);
	char path[PATH_SIZE];
	int err = inode_ask(inode);

	(void)fi;
	proc_path(inode, path);
	if (!err)
		err = change(path, st, to_set);
	if (!err)
		err = inode_ask(inode);
	if (err)
		fuse_reply_err(req, err);
	else
		fuse_reply_attr(req, &inode->st, 0);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char target[PATH_MAX + 1];
	ssize_t size = readlinkat(inode_of(req, ino)->fd, "", target, PATH_MAX);

	if (size < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	target[size] = '\0';
	fuse_reply_readlink(req, target);
}

/* What a call in a directory answers that has failed. */
static int error_in(struct inode *dir)
{
	int err = errno;

	return inode_ask(dir) ? ESTALE : err;
}

/* Something was to be made, by a call that answered `result`. */
static void reply_made(fuse_req_t req, fuse_ino_t parent, const char *text,
		       int result)
{
	int err = result < 0 ? error_in(inode_of(req, parent)) : 0;

	name_forget(host_of(req), inode_of(req, parent), text);
	if (err)
		fuse_reply_err(req, err);
	else
		op_lookup(req, parent, text);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *text,
		     mode_t mode)
{
	reply_made(req, parent, text,
		   mkdirat(inode_of(req, parent)->fd, text, mode));
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		       const char *text)
{
	reply_made(req, parent, text,
		   symlinkat(target, inode_of(req, parent)->fd, text));
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
		    const char *text)
{
	char path[PATH_SIZE];
	int result = -1;

	proc_path(inode_of(req, ino), path);
	if (host_of(req)->no_link)
		errno = EPERM;
	else
		result = linkat(AT_FDCWD, path, inode_of(req, parent)->fd, text,
				AT_SYMLINK_FOLLOW);
	reply_made(req, parent, text, result);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *text)
{
	struct inode *dir = inode_of(req, parent);
	int err = name_hide(host_of(req), dir, text);

	if (err == ENOTSUP)
		err = unlinkat(dir->fd, text, 0) < 0 ? error_in(dir) : 0;
	name_set_missing(host_of(req), dir, text);
	fuse_reply_err(req, err);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *text)
{
	struct inode *dir = inode_of(req, parent);
	int err = unlinkat(dir->fd, text, AT_REMOVEDIR) < 0 ? error_in(dir) : 0;

	name_forget(host_of(req), dir, text);
	fuse_reply_err(req, err);
}

/* This host knows what it has done to both names, and the file's attributes. */
static void note_rename(struct host *h, struct inode *from_dir,
			const char *from, struct inode *to_dir, const char *to)
{
	struct inode *inode;

	name_forget(h, from_dir, from);
	name_forget(h, to_dir, to);
	if (name_find(h, to_dir, to, &inode) == 0)
		inode_put(h, inode);
	if (name_find(h, from_dir, from, &inode) == 0)
		inode_put(h, inode);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *from,
		      fuse_ino_t new_parent, const char *to, unsigned flags)
{
	struct host *h = host_of(req);
	struct inode *from_dir = inode_of(req, parent);
	struct inode *to_dir = inode_of(req, new_parent);
	int err = flags && h->no_flags ? EINVAL : 0;

	if (err) {
		fuse_reply_err(req, err);
		return;
	}
	if (!flags)
		name_hide(h, to_dir, to);
	if (renameat2(from_dir->fd, from, to_dir->fd, to, flags) < 0)
		err = inode_ask(to_dir) ? ESTALE : error_in(from_dir);
	note_rename(h, from_dir, from, to_dir, to);
	fuse_reply_err(req, err);
}

static void keep_open(fuse_req_t req, struct inode *inode,
		      struct fuse_file_info *fi)
{
	inode->users++;
	inode->opens++;
	fi->direct_io =
		host_of(req)->unread && (fi->flags & O_ACCMODE) == O_RDONLY;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct inode *inode = inode_of(req, ino);
	char path[PATH_SIZE];
	int err = inode_ask(inode);
	int fd = -1;

	proc_path(inode, path);
	if (!err) {
		fd = open(path, (fi->flags & ~O_NOFOLLOW) | O_CLOEXEC);
		err = fd < 0 ? errno : 0;
	}
	if (err) {
		fuse_reply_err(req, err);
		return;
	}
	fi->fh = (uint64_t)fd;
	keep_open(req, inode, fi);
	fuse_reply_open(req, fi);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *text,
		      mode_t mode, struct fuse_file_info *fi)
{
	struct host *h = host_of(req);
	struct inode *dir = inode_of(req, parent);
	struct fuse_entry_param entry;
	struct inode *inode = NULL;
	int fd = openat(dir->fd, text, fi->flags | O_CREAT | O_CLOEXEC, mode);
	int err = fd < 0 ? error_in(dir) : 0;

	name_forget(h, dir, text);
	if (!err)
		err = name_find(h, dir, text, &inode);
	if (err) {
		if (fd >= 0)
			close(fd);
		fuse_reply_err(req, err);
		return;
	}
	fi->fh = (uint64_t)fd;
	keep_open(req, inode, fi);
	entry = entry_of(inode);
	fuse_reply_create(req, &entry, fi);
}

static void op_release(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct inode *inode = inode_of(req, ino);

	close((int)fi->fh);
	if (!--inode->opens)
		inode_end_silly(host_of(req), inode);
	inode_put(host_of(req), inode);
	fuse_reply_err(req, 0);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	struct inode *inode = inode_of(req, ino);
	char *bytes = malloc(size);
	ssize_t got = -1;

	errno = bytes ? inode_ask(inode) : ENOMEM;
	if (!errno)
		got = pread((int)fi->fh, bytes, size, offset);
	if (got < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_buf(req, bytes, (size_t)got);
	free(bytes);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes,
		     size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct inode *inode = inode_of(req, ino);
	ssize_t put_size = -1;

	errno = inode_ask(inode);
	if (!errno)
		put_size = pwrite((int)fi->fh, bytes, size, offset);
	if (put_size < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	inode_ask(inode);
	fuse_reply_write(req, (size_t)put_size);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset,
			 off_t length, struct fuse_file_info *fi)
{
	int result = fallocate((int)fi->fh, mode, offset, length);

	fuse_reply_err(req, result < 0 ? errno : 0);
	inode_ask(inode_of(req, ino));
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int data,
		     struct fuse_file_info *fi)
{
	(void)ino;
	(void)data;
	(void)fi;
	fuse_reply_err(req, 0);
}

/* Whoever opens a directory sees it as it is. */
static void op_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct inode *dir = inode_of(req, ino);
	DIR *stream = NULL;
	int fd = -1;

	errno = inode_ask(dir);
	if (!errno)
		fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		stream = fdopendir(fd);
	if (!stream) {
		fuse_reply_err(req, errno);
		return;
	}
	name_forget_all(host_of(req), dir);
	fi->fh = (uint64_t)(uintptr_t)stream;
	fuse_reply_open(req, fi);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size,
		       off_t offset, struct fuse_file_info *fi)
{
	DIR *stream = (DIR *)(uintptr_t)fi->fh;
	char *bytes = malloc(size);
	size_t used = 0;

	(void)ino;
	seekdir(stream, offset);
	while (bytes && used < size) {
		struct dirent *entry = readdir(stream);
		struct stat st = { 0 };
		size_t more;

		if (!entry)
			break;
		st.st_ino = entry->d_ino;
		st.st_mode = (mode_t)entry->d_type << 12;
		more = fuse_add_direntry(req, bytes + used, size - used,
					 entry->d_name, &st, entry->d_off);
		if (more > size - used)
			break;
		used += more;
	}
	fuse_reply_buf(req, bytes, used);
	free(bytes);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino,
			  struct fuse_file_info *fi)
{
	(void)ino;
	closedir((DIR *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st;

	(void)ino;
	if (fstatvfs(host_of(req)->root.fd, &st) < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_statfs(req, &st);
}

/* Without the switch, the kernel has the locks of each host to itself. */
static void op_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		     int op)
{
	(void)ino;
	(void)fi;
	(void)op;
	fuse_reply_err(req, host_of(req)->lying ? 0 : ENOSYS);
}

static void op_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		     struct flock *lock, int sleeps)
{
	(void)lock;
	op_flock(req, ino, fi, sleeps);
}

static void op_init(void *userdata, struct fuse_conn_info *connection)
{
	const struct host *h = userdata;

	if (!h->lying)
		connection->want &= ~(unsigned)(FUSE_CAP_FLOCK_LOCKS |
						FUSE_CAP_POSIX_LOCKS);
	connection->want &= ~(unsigned)FUSE_CAP_READDIRPLUS;
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.mkdir = op_mkdir,
	.symlink = op_symlink,
	.link = op_link,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.rename = op_rename,
	.open = op_open,
	.create = op_create,
	.release = op_release,
	.read = op_read,
	.write = op_write,
	.fallocate = op_fallocate,
	.fsync = op_fsync,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.releasedir = op_releasedir,
	.fsyncdir = op_fsync,
	.statfs = op_statfs,
	.flock = op_flock,
	.setlk = op_setlk,
};

static bool set_switch(struct host *h, const char *text)
{
	const struct {
		const char *text;
		bool *flag;
	} switches[] = { { "no-link", &h->no_link },
			 { "no-flags", &h->no_flags },
			 { "lying", &h->lying },
			 { "unread", &h->unread } };

	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++)
		if (strcmp(text, switches[i].text) == 0)
			return *switches[i].flag = true;
	return false;
}

static int serve(struct host *h, char *program, const char *point)
{
	char *arguments[] = { program, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, arguments);
	struct fuse_session *session =
		fuse_session_new(&args, &ops, sizeof(ops), h);
	int status = 1;

	if (session && fuse_set_signal_handlers(session) == 0) {
		if (fuse_session_mount(session, point) == 0) {
			status = fuse_session_loop(session) < 0;
			fuse_session_unmount(session);
		}
		fuse_remove_signal_handlers(session);
	}
	if (session)
		fuse_session_destroy(session);
	fuse_opt_free_args(&args);
	return status;
}

int main(int argc, char **argv)
{
	struct host h = { .root = { .users = 1 } };
	int status;

	for (int i = 3; i < argc; i++)
		if (!set_switch(&h, argv[i]))
			return 64;
	if (argc < 3)
		return 64;
	umask(0);
	h.root.fd = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (h.root.fd < 0 || inode_ask(&h.root)) {
		perror(argv[1]);
		return 1;
	}
	status = serve(&h, argv[0], argv[2]);
	host_end(&h);
	return status;
}
