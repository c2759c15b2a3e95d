/* SPDX-License-Identifier: Apache-2.0 */

/* Removal by prefix and by pattern: a stretch of keys a request, until the master has seen all. */
#include <string.h>

#include "core/each.h"
#include "core/put.h"
#include "core/why.h"

struct removing {
	const char *prefix, *pattern; /* pattern NULL: all with the prefix */
	const char *group;            /* with a pattern: and of that group; "": any or none */
	bool force;
	char after[TIFFIN_KEY_MAX + 1];
};

/* ask_stretch -- 0 or TIFFIN_E_*. */
static int
ask_stretch(struct ask *ask, struct removing *removing, struct rep_remove_all *ret_rep)
{
	struct span prefix = span_of(removing->prefix, strlen(removing->prefix));
	struct span after = span_of(removing->after, strlen(removing->after));
	uint16_t type = MSG_remove_by_prefix;
	int r;

	ask_again(ask);
	if (removing->pattern == NULL) {
		const struct msg_remove_by_prefix msg = {removing->force, prefix, after};

		r = msg_remove_by_prefix_encode(&ask->payload, &msg);
	} else {
		const struct msg_remove_by_regex msg = {
			removing->force, prefix,
			span_of(removing->pattern, strlen(removing->pattern)), after,
			span_of(removing->group, strlen(removing->group))};

		type = MSG_remove_by_regex;
		r = msg_remove_by_regex_encode(&ask->payload, &msg);
	}
	r = ask_call(ask, type, r, client_until(ask->client));
	return r != 0 ? r
		      : ask_read(ask, rep_remove_all_decode(ask->reply.payload, ask->reply.arena,
							    ret_rep));
}

static int
remove_all(struct tiffin_client *client, struct removing *removing,
	   struct tiffin_removed *ret_removed)
{
	cleanup_with(ask_fini) struct ask ask;
	struct rep_remove_all rep = {.has_more = 1};

	ask_init(&ask, client);
	while (rep.has_more != 0) {
		int r = ask_stretch(&ask, removing, &rep);

		if (r != 0)
			return r;
		memcpy(removing->after, rep.after.at, rep.after.len);
		removing->after[rep.after.len] = '\0';
		ret_removed->n_removed += rep.n_removed;
		ret_removed->n_leased += rep.n_leased;
		ret_removed->n_failed += rep.n_failed;
	}
	return 0;
}

static int
judge(const struct removing *removing, uint32_t flags)
{
	if (removing->prefix == NULL || strlen(removing->prefix) > TIFFIN_KEY_MAX)
		return why_set(TIFFIN_E_INVALID, "a prefix has at most %d bytes", TIFFIN_KEY_MAX);
	if (removing->pattern != NULL && strlen(removing->pattern) > TEXT_MAX)
		return why_set(TIFFIN_E_INVALID, "a pattern has at most %d bytes", TEXT_MAX);
	if ((flags & ~(uint32_t)TIFFIN_FORCE) != 0)
		return why_set(TIFFIN_E_INVALID, "the only flag of remove is FORCE");
	return 0;
}

static int
run(struct tiffin_client *client, struct removing *removing, uint32_t flags,
    struct tiffin_removed *ret_removed)
{
	int r = client_enter(client);

	*ret_removed = (struct tiffin_removed){0};
	if (r != 0)
		return r;
	r = judge(removing, flags);
	if (r != 0)
		return client_leave(client, r);
	removing->force = (flags & TIFFIN_FORCE) != 0;
	/* Leases of our own gets that are over must not stand in the way. */
	lease_keeper_flush(client);
	return client_leave(client, remove_all(client, removing, ret_removed));
}

int
tiffin_remove_prefix(struct tiffin_client *client, const char *prefix, uint32_t flags,
		     struct tiffin_removed *ret_removed)
{
	struct removing removing = {.prefix = prefix};

	return run(client, &removing, flags, ret_removed);
}

int
tiffin_remove_regex(struct tiffin_client *client, const char *pattern, const char *prefix,
		    uint32_t flags, struct tiffin_removed *ret_removed)
{
	struct removing removing = {.prefix = prefix != NULL ? prefix : "",
				    .pattern = pattern != NULL ? pattern : "",
				    .group = ""};

	return run(client, &removing, flags, ret_removed);
}

int
tiffin_remove_group(struct tiffin_client *client, const char *group, const char *prefix,
		    uint32_t flags, struct tiffin_removed *ret_removed)
{
	struct removing removing = {
		.prefix = prefix != NULL ? prefix : "", .pattern = "", .group = group};

	if (group == NULL || group[0] == '\0' || put_group_check(group) != 0) {
		*ret_removed = (struct tiffin_removed){0};
		return why_set(TIFFIN_E_INVALID, "the id of a group has 1 to %d bytes",
			       TIFFIN_GROUP_MAX);
	}
	return run(client, &removing, flags, ret_removed);
}
