/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fuse_opt.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cli/cli.h"
#include "fs/fingerprint.h"
#include "fs/mount/options.h"
#include "fs/mount/session.h"

/* Puts the name that stands for this host in the place of "auto". */
static int choose_space(struct mount_options *o)
{
	struct fingerprint found;
	char name[FINGERPRINT_NAME_SIZE];
	char *space;
	int err;

	if (!o->space || strcmp(o->space, MOUNT_SPACE_AUTO) != 0)
		return 0;
	err = fingerprint_find(NULL, &found);
	if (err)
		return err;
	fingerprint_name(&found, name);
	fingerprint_free(&found);
	space = strdup(name);
	if (!space)
		return -ENOMEM;
	free(o->space);
	o->space = space;
	return 0;
}

static int run(int argc, char **argv)
{
	struct mount_options options;
	struct fuse_args args;
	char why[512];
	int status;
	int err = mount_options_parse(argc - 1, argv + 1, &options, &args, why,
				      sizeof(why));

	if (!err)
		err = choose_space(&options);
	if (err == -EINVAL)
		status = cli_usage(argv[0], "%s", why);
	else if (err)
		status = cli_fail(argv[0], "options", err);
	else
		status = session_run(&options, &args) ? CLI_FAILURE : CLI_OK;
	fuse_opt_free_args(&args);
	mount_options_free(&options);
	return status;
}

const struct command command_mount = {
	.name = "mount",
	.summary = "mount a store",
	.help = "usage: tacfs mount STORE MOUNTPOINT [-f] [-o OPTION,...]\n"
		"\n"
		"Shows the store STORE, which is made if it is not there, at\n"
		"MOUNTPOINT. Returns once the mount answers; it is ended by\n"
		"umount MOUNTPOINT, fusermount3 -u MOUNTPOINT, or SIGTERM.\n"
		"\n"
		"  -f                  stay in the foreground, log to stderr\n"
		"  -d                  the same, and print every request\n"
		"  -o namespace=NAME   the tree of this name, not 'default';\n"
		"                      auto: what 'tacfs fingerprint' prints\n"
		"  -o ro               read-only: nothing in the store is "
		"touched\n"
		"  -o deletes=private  what is removed is removed here only; "
		"the\n"
		"                      store keeps it\n"
		"  -o uid=N,gid=N      show this owner, not the mounting user\n"
		"  -o trust=USER[:USER...]   serve what these published, too\n"
		"  -o max_bytes=SIZE   instead of the store's own limit\n"
		"  -o allow_other      let other users in\n"
		"  -o auto_unmount     unmount when the daemon ends\n"
		"  -o log_all          log every event, however many\n"
		"  -o noexec,noatime,...   as for mount(8); always "
		"nosuid,nodev\n",
	.run = run,
};
