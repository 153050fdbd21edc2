/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_QUARANTINE_H
#define TACFS_FS_STORE_QUARANTINE_H

/*
 * Where files go that were found to be damaged: nothing is deleted, everything
 * can be looked at. Beside each lies NAME.reason, a text.
 */

#include "fs/store/identity.h"
#include "fs/store/store.h"

/*
 * Moves the file `name` in `dir`, which was judged when it had the identity
 * `judged`, to quarantine/, and logs that. `kind` ("pack", "manifest") ends its
 * new name. Does nothing when the name has another file by now, or the store
 * was opened to keep what is damaged. Returns 0, or what the system said when
 * the file could not be moved (logged as well). In a read-only store the file
 * stays where it is, and is remembered (condemned.h).
 */
int quarantine_file(struct store *store, int dir, const char *name,
		    const struct file_identity *judged, const char *kind,
		    const char *reason);

#endif
