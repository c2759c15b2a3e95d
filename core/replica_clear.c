/* SPDX-License-Identifier: Apache-2.0 */
#include "core/each.h"

static int
encode(struct buf *to, const struct rec_key_only *keys, uint32_t n_keys, uint64_t segment_id)
{
	const struct msg_replica_clear msg = {
		.segment_id = segment_id, .n_keys = n_keys, .keys = (struct rec_key_only *)keys};

	return msg_replica_clear_encode(to, &msg);
}

int
tiffin_replica_clear(struct tiffin_client *client, uint64_t segment_id, const char *const *keys,
		     size_t n_keys, int *ret_results)
{
	const struct each each = {.type = MSG_replica_clear, .encode = encode, .arg = segment_id};
	int r = client_enter(client);

	if (r != 0)
		return r;
	/* Leases of our own gets that are over must not stand in the way. */
	lease_keeper_flush(client);
	return client_leave(client, each_run(client, &each, keys, n_keys, ret_results));
}
