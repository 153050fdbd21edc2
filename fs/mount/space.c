/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/space.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fs/mount/file.h"

int handle_allocate(struct mount *m, struct handle *h, int mode,
		    uint64_t offset, uint64_t size)
{
	return file_allocate(m, h->node, mode, offset, size);
}

int handle_seek(struct handle *h, uint64_t offset, int whence, uint64_t *at)
{
	size_t size;

	if (h->text)
		return file_seek_whole(strlen(h->text), offset, whence, at);
	if (h->node->kind != NODE_READABLE)
		return file_seek(h->node, offset, whence, at);
	pthread_mutex_lock(&h->node->lock);
	size = h->node->file.text_size;
	pthread_mutex_unlock(&h->node->lock);
	return file_seek_whole(size, offset, whence, at);
}
