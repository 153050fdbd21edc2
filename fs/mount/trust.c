/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/trust.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/own.h"

static bool user_of(const char *text, uid_t *uid)
{
	const struct passwd *user;
	unsigned long number;

	if (text[0] && !text[strspn(text, "0123456789")]) {
		errno = 0;
		number = strtoul(text, NULL, 10);
		*uid = (uid_t)number;
		return !errno && number < UINT32_MAX;
	}
	user = text[0] ? getpwnam(text) : NULL;
	if (user)
		*uid = user->pw_uid;
	return user;
}

static int add_user(struct trust *trust, uid_t uid)
{
	uid_t *users =
		reallocarray(trust->users, trust->count + 1, sizeof(*users));

	if (!users)
		return -1;
	trust->users = users;
	users[trust->count++] = uid;
	return 0;
}

int trust_add(const char *text, struct trust *trust, char *why, size_t why_size)
{
	AUTO_FREE char *copy = strdup(text);
	char *rest = copy;
	const char *name;

	if (!copy)
		return -1;
	while ((name = strsep(&rest, ":"))) {
		uid_t uid = 0;

		if (!user_of(name, &uid)) {
			snprintf(why, why_size,
				 "trust=%s: there is no user \"%s\"", text,
				 name);
			return -1;
		}
		if (add_user(trust, uid) != 0)
			return -1;
	}
	return 0;
}

void trust_free(struct trust *trust)
{
	free(trust->users);
	*trust = (struct trust){ .count = 0 };
}
