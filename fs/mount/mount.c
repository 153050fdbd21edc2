/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "codec/digest.h"
#include "fs/descriptors.h"
#include "fs/fd.h"
#include "fs/mount/commit.h"
#include "fs/mount/control.h"
#include "fs/mount/open.h"
#include "fs/own.h"

int mount_init(struct mount *m, struct store *store, uid_t uid, gid_t gid)
{
	AUTO_CLOSE int root = -1;
	int err;

	*m = (struct mount){ .store = store,
			     .log = store_log(store),
			     .read_only = store_is_read_only(store),
			     .uid = uid,
			     .gid = gid,
			     .lock_limit = descriptors_for(DESCRIPTORS_LOCKS) };
	root = fd_open(store_refs(store), ".", O_PATH | O_DIRECTORY, 0);
	if (root < 0)
		return -errno;
	err = scratches_init(&m->scratches, store);
	if (err)
		return err;
	err = tree_init(&m->tree, root,
			descriptors_for(DESCRIPTORS_DIRECTORIES));
	if (err)
		return err;
	take_fd(&root);
	clock_gettime(CLOCK_REALTIME, &m->started);
	err = control_init(m);
	if (err) {
		tree_free(&m->tree);
		scratches_free(&m->scratches);
	}
	return err;
}

void mount_free(struct mount *m, bool closed)
{
	handle_release_all(m, closed);
	commit_rest(m);
	hides_free(&m->hides);
	tree_free(&m->tree);
	reporter_stop(&m->reporter);
	scratches_free(&m->scratches);
}

static uint64_t name_hash(const char *name)
{
	return check_of(name, strlen(name), 0);
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

/* With the tree's lock held: the thread's request, if it is still awaited. */
static struct retry *find_retry(struct mount *m, pid_t thread, uint64_t name)
{
	struct retry *retry = &m->retries[(unsigned)thread % RETRIES];

	if (retry->thread != thread || retry->name != name ||
	    retry->until < seconds())
		return NULL;
	return retry;
}

void retry_walk(struct mount *m, pid_t thread)
{
	struct retry *retry = &m->retries[(unsigned)thread % RETRIES];

	tree_lock(&m->tree);
	if (retry->thread == thread)
		retry->walked = true;
	tree_unlock(&m->tree);
}

static enum retried retried_with(const struct retry *retry,
				 const struct node *node)
{
	if (retry->node == node && !retry->walked)
		return RETRIED_SAME;
	return retry->asked < node->seen ? RETRIED_WALK : RETRIED_NOT;
}

enum retried retry_take(struct mount *m, pid_t thread, const char *name,
			const struct node *node)
{
	uint64_t hash = name_hash(name);
	enum retried retried = RETRIED_NOT;
	struct retry *retry;

	tree_lock(&m->tree);
	retry = find_retry(m, thread, hash);
	if (retry) {
		retried = retried_with(retry, node);
		*retry = (struct retry){ 0 };
	}
	tree_unlock(&m->tree);
	return retried;
}

bool retry_writes(struct mount *m, pid_t thread, const char *name)
{
	uint64_t hash = name_hash(name);
	const struct retry *retry;
	bool writes;

	tree_lock(&m->tree);
	retry = find_retry(m, thread, hash);
	writes = retry && retry->writes;
	tree_unlock(&m->tree);
	return writes;
}

int retry_ask(struct mount *m, pid_t thread, const char *name,
	      const struct node *node, bool writes)
{
	struct retry retry = {
		.thread = thread,
		.name = name_hash(name),
		.node = node,
		.until = seconds() + RETRY_SECONDS,
		.writes = writes,
	};

	tree_lock(&m->tree);
	retry.asked = m->tree.clock++;
	m->retries[(unsigned)thread % RETRIES] = retry;
	tree_unlock(&m->tree);
	return -ESTALE;
}

/* With the tree's lock held. NULL when it is none. */
static struct insider *find_insider(struct node_directory *d,
				    const struct process *process)
{
	unsigned count =
		d->insider_count < INSIDERS ? d->insider_count : INSIDERS;

	for (unsigned i = 0; i < count; i++)
		if (process_equal(&d->insiders[i].process, process))
			return &d->insiders[i];
	return NULL;
}

/* With the tree's lock held. Without memory there is none: a mere courtesy. */
static struct insider *new_insider(struct node_directory *d,
				   const struct process *process)
{
	struct insider *insider;

	if (!d->insiders)
		d->insiders = calloc(INSIDERS, sizeof(*d->insiders));
	if (!d->insiders)
		return NULL;
	insider = &d->insiders[d->insider_count++ % INSIDERS];
	*insider = (struct insider){ .process = *process };
	return insider;
}

void insider_add(struct mount *m, struct node *directory,
		 const struct process *process, unsigned sees)
{
	struct node_directory *d = &directory->directory;
	struct insider *insider;

	tree_lock(&m->tree);
	insider = find_insider(d, process);
	if (!insider)
		insider = new_insider(d, process);
	if (insider)
		insider->sees |= sees;
	tree_unlock(&m->tree);
}

bool insider_sees(struct mount *m, struct node *directory,
		  const struct process *process, enum insight what)
{
	const struct insider *insider;
	bool sees;

	tree_lock(&m->tree);
	insider = find_insider(&directory->directory, process);
	sees = insider && (insider->sees & what);
	tree_unlock(&m->tree);
	return sees;
}
