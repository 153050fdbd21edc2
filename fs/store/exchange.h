/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_EXCHANGE_H
#define TACFS_FS_STORE_EXCHANGE_H

#include "fs/fd.h"
#include "fs/store/version.h"

/*
 * Gives `name` in `dir` to the draft of a manifest, if it shows `expected`.
 * -EAGAIN when it does not, and then it shows what it showed before, or
 * something newer; other errnos.
 *
 * Another mount may publish between a look and a rename, so the two are
 * exchanged (RENAME_EXCHANGE) and what came out is looked at: if it is not what
 * was expected, it is put back, by exchange_finish() if we are killed before.
 * Where the file system cannot exchange, a look and a rename have to do.
 */
int exchange_expected(const struct version *expected, int dir, const char *name,
		      struct fd_draft *draft);

/*
 * Gives `name` to the draft if it is free, or has what is not shown: a file of
 * somebody who is not trusted. -EEXIST when it has something else; other
 * errnos.
 */
int exchange_hidden(struct store *store, int dir, const char *name,
		    struct fd_draft *draft);

/*
 * Puts back what processes that were killed in an exchange have taken from a
 * name by mistake. Whose process may live is left alone, unless the exchange
 * began more than `patience` seconds ago. Only for who has announced himself
 * (collector.h). Returns 0 or a negative errno: then some may be left.
 */
int exchange_finish(struct store *store, int64_t patience);
/* The same, for who does not collect, if there is anything to be done. */
void exchange_finish_now(struct store *store);

#endif
