/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/random.h"
#include "fs/store/probe_state.h"
#include "fs/store/state.h"
#include "fs/tree.h"

/* The names are documented in tacfs(1). */
static const struct {
	const char *name;
	bool needed;
	bool elsewhere; /* makes sense also when nothing can be written */
	probe_run *run;
} probes[] = {
	{ "write", true, true, probe_write },
	{ "exclusive", true, false, probe_exclusive },
	{ "replace", true, false, probe_replace },
	{ "link", true, false, probe_link },
	{ "exchange", false, false, probe_exchange },
	{ "noreplace", false, false, probe_noreplace },
	{ "tmpfile", false, false, probe_tmpfile },
	{ "fsync", false, false, probe_fsync_file },
	{ "fsync-dir", false, false, probe_fsync_dir },
	{ "flock", false, false, probe_flock },
	{ "case", false, false, probe_case },
	{ "long-names", false, false, probe_long_names },
	{ "byte-names", false, false, probe_byte_names },
	{ "granularity", false, false, probe_granularity },
	{ "clock", false, false, probe_clock },
	{ "type", false, true, probe_type },
	{ "space", true, true, probe_space },
	{ "inodes", true, true, probe_inodes },
	{ "ids", false, true, probe_ids },
	{ "modes", true, true, probe_modes },
};

void ability_set(struct ability *ability, enum grade grade, const char *format,
		 ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ability->what, sizeof(ability->what), format, args);
	va_end(args);
	ability->grade = grade;
}

int probe_file(const struct probe *p, const char *name, char byte)
{
	AUTO_CLOSE int fd = -1;
	int err;

	if (p->dir < 0)
		return p->dir;
	fd = fd_open(p->dir, name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return -errno;
	err = fd_write_at(fd, &byte, 1, 0);
	return err ? err : take_fd(&fd);
}

static void run_all(const struct probe *p, struct probe_listener *listener)
{
	for (size_t i = 0; i < sizeof(probes) / sizeof(*probes); i++) {
		struct ability ability = {
			.name = probes[i].name,
			.needed = probes[i].needed,
		};

		if (p->dir < 0 && !probes[i].elsewhere)
			continue;
		probes[i].run(p, &ability);
		listener->tell(listener, &ability);
	}
}

/* The name is that of a draft, so that a check knows what it is, if we die. */
static int make_dir(const struct store *store, char name[FD_DRAFT_NAME_SIZE])
{
	int fd;
	int err;

	memcpy(name, "draft-", sizeof("draft-"));
	err = random_hex(name + strlen(name), 16);
	if (err)
		return err;
	if (mkdirat(store->tmp, name, 0700) < 0)
		return -errno;
	fd = fd_open(store->tmp, name, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0) {
		err = -errno;
		unlinkat(store->tmp, name, AT_REMOVEDIR);
		return err;
	}
	return fd;
}

/* What would end us has to wait until the directory is removed. */
static void hold_signals(sigset_t *before)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM, SIGPIPE };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, before);
}

int store_probe(struct store *store, struct probe_listener *listener)
{
	struct probe p = { .store = store };
	char name[FD_DRAFT_NAME_SIZE];
	sigset_t before;
	int err = 0;

	store_trust_owner(store);
	hold_signals(&before);
	p.dir = make_dir(store, name);
	run_all(&p, listener);
	if (p.dir >= 0) {
		close(p.dir);
		err = tree_remove(store->tmp, name);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}
