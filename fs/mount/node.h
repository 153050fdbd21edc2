/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_NODE_H
#define TACFS_FS_MOUNT_NODE_H

/*
 * What the kernel knows by a node id. Every published version of an artifact
 * is a node of its own, so its pages never change; a private version is one
 * too; a plain file is one node while this mount works on it.
 *
 * Locks, in the order in which they are taken:
 *   node.writing   held shared by writes, alone by publishing, truncation,
 *                  rename and unlink of that node; two are taken by address
 *   tree.lock      names, places, counts, and the lists of directories
 *   node.lock      what a file node holds
 * No lock of a node is held while another node's is waited for, except as said.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "fs/fd.h"
#include "fs/mount/process.h"
#include "fs/mount/scratch.h"
#include "fs/store/version.h"

enum node_kind {
	NODE_DIRECTORY,
	NODE_SYMLINK,
	NODE_FILE,     /* published, or plain and worked on */
	NODE_PRIVATE,  /* a private version: seen by its owner alone */
	NODE_READABLE, /* the rendering of a published compiled_module */
	NODE_CONTROL,  /* the directory .tacfs; all of `directory` is unused */
	NODE_REPORT    /* a file in it */
};

enum { INSIDERS = 32 };

/* Bits: which names a process still sees when others' removal hid them. */
enum insight {
	SEES_INDEX = 1,	    /* an .idx whose files are not all there */
	SEES_RENDERING = 2, /* a readable.py without its compiled_module */
	SEES_ALL = SEES_INDEX | SEES_RENDERING
};

/*
 * A process that published or removed something in a directory, or was given
 * such a name in a listing. It may be in the middle of writing, or of rmtree,
 * which unlinks what it listed.
 */
struct insider {
	struct process process;
	unsigned sees; /* enum insight */
};

/* What a directory node has beside its name. Guarded by the tree's lock. */
struct node_directory {
	struct fd_identity identity; /* constant */
	int fd;			     /* O_PATH, or -1: see dir.h */
	unsigned uses;		     /* of that */
	struct node *newer_open; /* among the open ones, by their last use */
	struct node *older_open;
	struct node *privates;	  /* the private versions of its names */
	struct insider *insiders; /* the last INSIDERS; NULL for none */
	unsigned insider_count;
	struct version *hidden; /* the compiled_module whose readable.py was
				   unlinked */
	struct process copier;	/* who does not see its readable.py */
	int lock;		/* while something in it is open, or -1 */
	unsigned users;		/* how much is */
	time_t noted;		/* when its use was, by the monotonic clock */
	size_t published;	/* how much was, then */
	struct timespec mtime;	/* as they were when it was not; see use.c */
	struct timespec ctime;
	bool ghost; /* insiders see a readable.py without compiled_module */
};

/* What a file node has. */
struct node_file {
	/* guarded by node.lock */
	struct version *version; /* as published; NULL when it never was */
	struct scratch *work;	 /* what writers made of it; or NULL */
	bool dirty;		 /* to be published */
	bool withheld;		 /* its last close did not publish: why */
	bool unsound;		 /* that was because it is */
	char why[192];		 /* and why */
	uint64_t ino;
	uint32_t mode;
	struct timespec mtime;
	struct timespec ctime;
	struct timespec atime; /* when has_atime: else it is the mtime */
	bool has_atime;
	uint8_t *xattrs; /* struct xattrs, once they were changed, ... */
	size_t xattrs_size;
	bool has_xattrs; /* ... or those of the version */
	unsigned handles;
	unsigned writers;     /* handles that may write */
	bool flush_by_killed; /* the last close was a killed process's */
	/* guarded by the tree's lock */
	bool publishing; /* the name is about to show another version */
	bool abandoned;	 /* never to be published: killed, or unlinked */
	/* constant */
	struct process owner; /* of a private version */
	/* NODE_READABLE, guarded by node.lock */
	uint8_t *text; /* while it is open */
	size_t text_size;
	uint64_t shown_size;
};

struct node {
	enum node_kind kind;
	pthread_rwlock_t writing;
	pthread_mutex_t lock;
	/* guarded by the tree's lock */
	uint64_t lookups;    /* that the kernel holds */
	unsigned holds;	     /* that we hold */
	struct node *parent; /* held; NULL for the root. The last place, when
				the node is not attached any more */
	char *name;
	uint64_t seen;	    /* tree.clock when the kernel was last given it */
	bool attached;	    /* `name` in `parent` shows this node */
	struct node *next;  /* in its hash chain, or in parent's privates */
	struct node *newer; /* the list of all nodes */
	struct node *older;
	union {
		struct node_directory directory;
		struct node_file file;
		struct stat symlink;
	};
};

struct tree {
	pthread_mutex_t lock;
	struct node *root;
	struct node **buckets; /* attached nodes other than private ones */
	size_t bucket_count;
	size_t count;
	struct node *newest;	  /* of all nodes */
	uint64_t clock;		  /* counts answers, to tell which came first */
	struct node *newest_open; /* of the directories: see dir.h */
	struct node *oldest_open;
	size_t open_count;
	size_t open_limit;
};

/*
 * `root` is the descriptor of the root directory, owned by the tree after.
 * `open_limit` is how many directories may be kept open.
 */
int tree_init(struct tree *tree, int root, size_t open_limit);
/* Frees every node. Nothing may use the tree any more. */
void tree_free(struct tree *tree);

void tree_lock(struct tree *tree);
void tree_unlock(struct tree *tree);

/*
 * A new node, held once, attached to nothing; `parent` gets a hold. NULL
 * without memory.
 */
struct node *node_new(struct tree *tree, enum node_kind kind,
		      struct node *parent, const char *name);

/* With the tree's lock held: */
struct node *node_hold(struct node *node);
struct node *tree_find(struct tree *tree, const struct node *parent,
		       const char *name);		/* not held; or NULL */
void tree_attach(struct tree *tree, struct node *node); /* detaches another */
void tree_detach(struct tree *tree, struct node *node);
/* Gives an attached or private node another place. -ENOMEM changes nothing. */
int tree_move(struct tree *tree, struct node *node, struct node *parent,
	      const char *name);

/* Takes the lock. Whether the node's name shows it. */
bool tree_is_attached(struct tree *tree, const struct node *node);
/* Takes the lock: the attached node of that kind, held; or NULL. */
struct node *tree_hold(struct tree *tree, const struct node *parent,
		       const char *name, enum node_kind kind);

/* Takes the lock; the node may be freed. NULL is fine. */
void node_drop(struct tree *tree, struct node *node);
void node_forget(struct tree *tree, struct node *node, uint64_t lookups);

/* The place of a node: a held parent and a copy of its name. */
struct place {
	struct node *parent; /* NULL for the root */
	char *name;
};

int node_place(struct tree *tree, struct node *node, struct place *place);
void place_free(struct tree *tree, struct place *place);

#endif
