/* SPDX-License-Identifier: Apache-2.0 */
#include "core/each.h"
#include "core/why.h"

static int
encode(struct buf *to, const struct rec_key_only *keys, uint32_t n_keys, uint64_t flags)
{
	const struct msg_remove msg = {.force = (flags & TIFFIN_FORCE) != 0,
				       .n_keys = n_keys,
				       .keys = (struct rec_key_only *)keys};

	return msg_remove_encode(to, &msg);
}

int
tiffin_remove_batch(struct tiffin_client *client, const char *const *keys, size_t n_keys,
		    uint32_t flags, int *ret_results)
{
	const struct each each = {.type = MSG_remove, .encode = encode, .arg = flags};
	int r = client_enter(client);

	if (r != 0)
		return r;
	if ((flags & ~(uint32_t)TIFFIN_FORCE) != 0)
		return client_leave(client,
				    why_set(TIFFIN_E_INVALID, "the only flag of remove is FORCE"));
	/* Leases of our own gets that are over must not stand in the way. */
	lease_keeper_flush(client);
	return client_leave(client, each_run(client, &each, keys, n_keys, ret_results));
}

int
tiffin_remove(struct tiffin_client *client, const char *key, uint32_t flags)
{
	int result = 0;
	int r = tiffin_remove_batch(client, &key, 1, flags, &result);

	return r != 0 ? r : result;
}
