/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/fd.h"
#include "fs/store/state.h"

enum {
	NSEC = 1000 * 1000 * 1000,
	TICK_NSEC = 20 * 1000 * 1000,
	CLAIM_SECONDS = 60
};

static int64_t in_nsec(const struct timespec *time)
{
	return (int64_t)time->tv_sec * NSEC + time->tv_nsec;
}

static int64_t passed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return in_nsec(&now);
}

void clock_set(struct store *store, const struct timespec *now)
{
	atomic_store(&store->clock, in_nsec(now) - passed());
}

void clock_saw(struct store *store, const struct timespec *time)
{
	int64_t least = in_nsec(time) - passed();
	int64_t known = atomic_load(&store->clock);

	while (known < least &&
	       !atomic_compare_exchange_weak(&store->clock, &known, least))
		;
}

struct timespec clock_now(const struct store *store)
{
	int64_t now = atomic_load(&store->clock) + passed();

	return (struct timespec){ .tv_sec = now / NSEC, .tv_nsec = now % NSEC };
}

/* What it gave between then and now; only a clock that was put back is set
 * back. */
static void take(struct store *store, const struct timespec *given,
		 int64_t then)
{
	if (atomic_load(&store->clock) > in_nsec(given) - then + TICK_NSEC)
		clock_set(store, given);
	else
		clock_saw(store, given);
}

int clock_ask(struct store *store, struct timespec *now)
{
	int64_t then = passed();
	struct fd_draft draft = { .fd = -1 };
	struct stat st;
	int err = fd_draft_open(store->tmp, 0600, &draft);

	if (err)
		return err;
	if (fd_stat(draft.fd, &st) < 0)
		err = -errno;
	else
		*now = st.st_ctim;
	fd_draft_close(&draft);
	if (!err)
		take(store, now, then);
	return err;
}

bool identity_settled(struct store *store, const struct file_identity *identity)
{
	clock_saw(store, &identity->ctime);
	return clock_now(store).tv_sec - identity->ctime.tv_sec >
	       IDENTITY_SETTLE_SECONDS;
}

bool clock_claim_stands(const struct store *store, const struct stat *st)
{
	return fd_is_claim(st) &&
	       clock_now(store).tv_sec - st->st_ctim.tv_sec <= CLAIM_SECONDS;
}
