/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/ids.h"
#include "fs/own.h"
#include "fs/store/probe_state.h"
#include "fs/store/state.h"

enum { MIB_WEAK = 1024, INODES_WEAK = 10000 };

/* statfs(2) and linux/magic.h; `caches`: other hosts' names come late. */
static const struct type {
	uint32_t magic;
	enum grade grade;
	const char *name;
	const char *what;
} types[] = {
	{ 0xef53, GRADE_OK, "ext4", "a local file system" },
	{ 0x58465342, GRADE_OK, "xfs", "a local file system" },
	{ 0x9123683e, GRADE_OK, "btrfs", "a local file system" },
	{ 0x2fc12fc1, GRADE_OK, "zfs", "a local file system" },
	{ 0xf2f52010, GRADE_OK, "f2fs", "a local file system" },
	{ 0xca451a4e, GRADE_OK, "bcachefs", "a local file system" },
	{ 0x01021994, GRADE_WEAK, "tmpfs",
	  "what is in it is gone when the host restarts" },
	{ 0x858458f6, GRADE_WEAK, "ramfs",
	  "what is in it is gone when the host restarts" },
	{ 0x794c7630, GRADE_WEAK, "overlay",
	  "it may be gone with its container" },
	{ 0x6969, GRADE_WEAK, "nfs",
	  "what another host publishes may be seen a minute late" },
	{ 0x00c36400, GRADE_WEAK, "ceph",
	  "other hosts are seen at once, at the price of their caches" },
	{ 0x0bd00bd0, GRADE_WEAK, "lustre",
	  "every host must mount it with flock, or locks are the host's own" },
	{ 0x65735546, GRADE_WEAK, "fuse",
	  "what it caches and promises is up to its daemon" },
	{ 0xff534d42, GRADE_WEAK, "cifs",
	  "what another host publishes may be seen late" },
	{ 0xfe534d42, GRADE_WEAK, "smb2",
	  "what another host publishes may be seen late" },
	{ 0x01021997, GRADE_WEAK, "9p",
	  "what it caches and promises is up to its server" },
	{ 0x47504653, GRADE_WEAK, "gpfs",
	  "other hosts are seen at once, at the price of their caches" },
	{ 0x4d44, GRADE_WEAK, "vfat", "it has neither owners nor links" },
};

void probe_type(const struct probe *p, struct ability *a)
{
	struct statfs fs;

	if (fstatfs(p->store->root, &fs) < 0) {
		ability_set(a, GRADE_WEAK, "its kind cannot be told: %s",
			    strerror(errno));
		return;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		const struct type *type = &types[i];

		if (type->magic != (uint32_t)fs.f_type)
			continue;
		ability_set(a, type->grade, "%s: %s", type->name, type->what);
		return;
	}
	ability_set(a, GRADE_WEAK,
		    "a kind that nobody has tried (statfs says %#" PRIx32 ")",
		    (uint32_t)fs.f_type);
}

void probe_space(const struct probe *p, struct ability *a)
{
	struct statvfs fs;
	uint64_t mib;

	if (fstatvfs(p->store->root, &fs) < 0) {
		ability_set(a, GRADE_WEAK, "the free space is not known: %s",
			    strerror(errno));
		return;
	}
	mib = (uint64_t)fs.f_bavail * fs.f_frsize >> 20;
	if (!mib)
		ability_set(a, GRADE_MISSING,
			    "no space is free: nothing can be published");
	else
		ability_set(a, mib < MIB_WEAK ? GRADE_WEAK : GRADE_OK,
			    "%" PRIu64 " MiB are free", mib);
}

void probe_inodes(const struct probe *p, struct ability *a)
{
	struct statvfs fs;
	uint64_t inodes;

	if (fstatvfs(p->store->root, &fs) < 0 || !fs.f_files) {
		ability_set(a, GRADE_OK, "the count of files has no limit");
		return;
	}
	inodes = (uint64_t)fs.f_favail;
	if (!inodes)
		ability_set(a, GRADE_MISSING,
			    "no inode is free: nothing can be published");
	else
		ability_set(a, inodes < INODES_WEAK ? GRADE_WEAK : GRADE_OK,
			    "%" PRIu64 " more files can be made", inodes);
}

void probe_ids(const struct probe *p, struct ability *a)
{
	struct stat st;

	if (ids_are_whole()) {
		ability_set(a, GRADE_OK,
			    "users have the ids that they have "
			    "everywhere on this host");
		return;
	}
	if (fd_stat(p->store->root, &st) == 0 && st.st_uid == IDS_OVERFLOW)
		ability_set(a, GRADE_WEAK,
			    "the owner of the store has no id in this user "
			    "namespace: what they publish is not served, and "
			    "they may have to let you write");
	else
		ability_set(a, GRADE_OK,
			    "ids are mapped by a user namespace, the owner's "
			    "too");
}

static const char *const parts[] = { ".",     "refs",	    "packs",
				     "tmp",   "quarantine", "trash",
				     "index", "intents",    "stats" };

static void judge_part(const struct probe *p, const char *part,
		       struct ability *a)
{
	const char *name = strcmp(part, ".") == 0 ? "the store" : part;
	struct stat st;

	if (a->grade == GRADE_MISSING)
		return;
	if (fd_stat_at(p->store->root, part, &st) < 0 || !S_ISDIR(st.st_mode))
		ability_set(a, GRADE_MISSING, "%s is no directory", name);
	else if (faccessat(p->store->root, part, R_OK | W_OK | X_OK,
			   AT_EACCESS) < 0)
		ability_set(a, GRADE_MISSING, "%s cannot be changed: %s", name,
			    strerror(errno));
	else if (!store_trusts(p->store, st.st_uid))
		ability_set(a, GRADE_WEAK,
			    "%s is of user %u, who may replace what is in it",
			    name, (unsigned)st.st_uid);
	else if ((st.st_mode & 0002) && !(st.st_mode & S_ISVTX))
		ability_set(a, GRADE_WEAK,
			    "%s has mode %04o: anybody may remove entries of "
			    "others, give it the sticky bit",
			    name, (unsigned)st.st_mode & 07777);
	else if ((st.st_mode & 0020) && !(st.st_mode & S_ISGID))
		ability_set(a, GRADE_WEAK,
			    "%s has mode %04o: without the setgid bit, what "
			    "is made in it has another group",
			    name, (unsigned)st.st_mode & 07777);
}

void probe_modes(const struct probe *p, struct ability *a)
{
	mode_t mask = umask(0);

	umask(mask);
	ability_set(a, GRADE_OK,
		    "files have mode %04o and directories %04o, whatever the "
		    "umask (%04o) says",
		    (unsigned)p->store->file_mode, (unsigned)p->store->dir_mode,
		    (unsigned)mask);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		judge_part(p, parts[i], a);
}
