/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/killpriv.h"

#include <assert.h>
#include <linux/fuse.h>
#include <stddef.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/mount/mount.h"
#include "fs/mount/ops.h"
#include "fs/mount/request.h"

/* Both structures have grown behind their flags, which are at one place. */
enum { FLAGS_END = offsetof(struct fuse_init_in, flags) + sizeof(uint32_t) };
static_assert(offsetof(struct fuse_init_out, flags) ==
		      offsetof(struct fuse_init_in, flags),
	      "the flags of FUSE_INIT");

/* libfuse 3.14 has no name for it, so it goes into the reply by itself. */
static void note_offer(struct mounted *mounted, const void *request,
		       size_t size)
{
	const struct fuse_in_header *header = request;
	const struct fuse_init_in *init = (const void *)(header + 1);

	if (size >= sizeof(*header) + FLAGS_END &&
	    header->opcode == FUSE_INIT &&
	    (init->flags & FUSE_HANDLE_KILLPRIV_V2))
		atomic_store(&mounted->offer, header->unique);
}

static ssize_t read_request(int fd, void *request, size_t room, void *userdata)
{
	ssize_t size = read(fd, request, room);

	if (size > 0)
		note_offer(userdata, request, (size_t)size);
	return size;
}

static void accept_offer(struct mounted *mounted, const struct iovec *reply,
			 int count)
{
	const struct fuse_out_header *header = reply[0].iov_base;
	struct fuse_init_out *init;

	if (count != 2 || header->error || !header->unique ||
	    header->unique != atomic_load(&mounted->offer) ||
	    reply[1].iov_len < FLAGS_END)
		return;
	atomic_store(&mounted->offer, 0);
	init = reply[1].iov_base;
	init->flags |= FUSE_HANDLE_KILLPRIV_V2;
}

static ssize_t write_reply(int fd, struct iovec *reply, int count,
			   void *userdata)
{
	accept_offer(userdata, reply, count);
	return writev(fd, reply, count);
}

int killpriv_promise(struct fuse_session *session)
{
	static const struct fuse_custom_io io = {
		.read = read_request,
		.writev = write_reply,
	};

	return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

static bool is_root(fuse_req_t req)
{
	return fuse_req_ctx(req)->uid == 0;
}

/* CAP_FSETID counts outside of user namespaces only. */
static bool keeps_rights(fuse_req_t req)
{
	return is_root(req) && mount_of(req)->ids_are_whole;
}

/*
 * Without the group's right to execute setgid means something else, and only
 * those outside the group take it away. Who is in it by the way is taken for
 * one of those: that needs more of a look than it is worth.
 */
static mode_t without_rights(fuse_req_t req, mode_t mode)
{
	bool member =
		is_root(req) || fuse_req_ctx(req)->gid == mount_of(req)->gid;

	mode &= ~(mode_t)S_ISUID;
	return (mode & S_IXGRP) || !member ? mode & ~(mode_t)S_ISGID : mode;
}

static bool is_file(const struct node *node)
{
	return node->kind == NODE_FILE || node->kind == NODE_PRIVATE;
}

void killpriv_written(fuse_req_t req, struct node *node)
{
	mode_t mode;

	if (keeps_rights(req) || !is_file(node))
		return;
	pthread_mutex_lock(&node->lock);
	mode = without_rights(req, node->file.mode);
	if (mode != node->file.mode) {
		node->file.mode = mode;
		node->file.dirty = true;
	}
	pthread_mutex_unlock(&node->lock);
}

int killpriv_setattr(fuse_req_t req, struct node *node, struct stat *attr,
		     int set)
{
	bool owner = set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID);
	bool size = (set & FUSE_SET_ATTR_SIZE) && !keeps_rights(req);
	mode_t mode;

	if (!is_file(node) || (set & FUSE_SET_ATTR_MODE) || (!owner && !size))
		return 0;
	pthread_mutex_lock(&node->lock);
	mode = node->file.mode;
	pthread_mutex_unlock(&node->lock);
	attr->st_mode = without_rights(req, mode);
	return attr->st_mode == mode ? 0 : FUSE_SET_ATTR_MODE;
}
