/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_TESTS_FAULT_NFSLIKE_HOST_H
#define TACFS_TESTS_FAULT_NFSLIKE_HOST_H

/* What a host of nfslike knows of the server's files, and for how long. */

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

enum { SILLY_SIZE = 32 };

struct inode;

/* What is known of a name; `child` is NULL when it is known to be missing. */
struct name {
	struct name *next;
	struct inode *child;
	time_t until;
	char text[NAME_MAX + 1];
};

struct inode {
	int fd; /* O_PATH: it outlives its names */
	bool gone;
	unsigned users; /* kernel, names, open files */
	unsigned opens;
	struct stat st;
	time_t until;	     /* st is good */
	struct name *names;  /* of a directory */
	struct inode *next;  /* of all */
	struct inode *silly; /* the directory in which it has the name */
	char silly_name[SILLY_SIZE];
};

struct host {
	struct inode root;
	struct inode *inodes;
	unsigned silly_count;
	bool no_link;
	bool no_flags;
	bool lying;
	bool unread;
};

/* All that can fail return 0 or an errno. */

/* Asks the server for the attributes. A file without a name is gone: ESTALE. */
int inode_ask(struct inode *inode);
/* What is known of them, or the server's answer. */
int inode_stat(struct inode *inode);
/* Gives up one use. */
void inode_put(struct host *h, struct inode *inode);

/* The inode under a name, as far as is known here, used once more. */
int name_find(struct host *h, struct inode *dir, const char *text,
	      struct inode **out);
/* From now on the name is known to be missing. */
void name_set_missing(struct host *h, struct inode *dir, const char *text);
void name_forget(struct host *h, struct inode *dir, const char *text);
void name_forget_all(struct host *h, struct inode *dir);

/*
 * What is open here is not removed, but gets another name until it is closed.
 * ENOTSUP when it is not open, so that it can be removed.
 */
int name_hide(struct host *h, struct inode *dir, const char *text);
/* Nobody has it open any more. */
void inode_end_silly(struct host *h, struct inode *inode);

/* Frees everything, whoever uses it. */
void host_end(struct host *h);

#endif
