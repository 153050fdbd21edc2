/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "fs/store/pack_file.h"
#include "fs/store/state.h"
#include "fs/store/version_state.h"

static void let_go(struct store *store, struct version_check *check)
{
	for (size_t i = 0; i < check->held_count; i++)
		if (check->held[i])
			pack_pool_put(store, check->held[i]);
	free(check->held);
	check->held = NULL;
	check->held_count = 0;
}

/* Without memory or descriptors it is read as long as its packs are there. */
static int take_packs(struct store *store, struct version_check *check)
{
	check->held = calloc(check->proof_count + 1, sizeof(*check->held));
	if (!check->held)
		return 0;
	for (; check->held_count < check->proof_count; check->held_count++) {
		struct pack **pack = &check->held[check->held_count];

		if (!pack_pool_has_room(&store->pool))
			break;
		if (pack_pool_get(store, &check->proof[check->held_count].pack,
				  false, pack) == -ENOENT)
			return -ENOENT;
	}
	return 0;
}

int version_hold(struct store *store, struct version *v)
{
	struct version_check *check = v->check;
	int err = 0;

	pthread_mutex_lock(&check->lock);
	if (!check->holders)
		err = take_packs(store, check);
	if (err)
		let_go(store, check);
	else if (!check->holders++)
		lease_begin(store, &check->lease, v);
	pthread_mutex_unlock(&check->lock);
	return err;
}

void version_let_go(struct store *store, struct version *v)
{
	struct version_check *check = v->check;

	pthread_mutex_lock(&check->lock);
	if (--check->holders == 0) {
		lease_end(store, &check->lease);
		let_go(store, check);
	}
	pthread_mutex_unlock(&check->lock);
}
