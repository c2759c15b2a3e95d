/* SPDX-License-Identifier: Apache-2.0 */
#include "core/each.h"
#include "transfer/base/num.h"

#define NO_LEASE UINT64_MAX
#define MOST_MS  (LEASE_NONE - 1) /* the master gives less */

static int
encode(struct buf *to, const struct rec_key_only *keys, uint32_t n_keys, uint64_t lease_ms)
{
	const struct msg_exist msg = {
		.n_keys = n_keys,
		.keys = (struct rec_key_only *)keys,
		.flags = lease_ms != NO_LEASE ? EXIST_LEASE : 0,
		.lease_ms = lease_ms != NO_LEASE ? (uint32_t)lease_ms : 0,
	};

	return msg_exist_encode(to, &msg);
}

static int
ask(struct tiffin_client *client, uint64_t lease_ms, const char *const *keys, size_t n_keys,
    int *ret_results)
{
	const struct each each = {.type = MSG_exist, .encode = encode, .arg = lease_ms};
	int r = client_enter(client);

	return r != 0 ? r
		      : client_leave(client, each_run(client, &each, keys, n_keys, ret_results));
}

int
tiffin_exist(struct tiffin_client *client, const char *const *keys, size_t n_keys, int *ret_results)
{
	return ask(client, NO_LEASE, keys, n_keys, ret_results);
}

int
tiffin_exist_lease(struct tiffin_client *client, const char *const *keys, size_t n_keys,
		   uint64_t lease_ms, int *ret_results)
{
	return ask(client, num_min(lease_ms, (uint64_t)MOST_MS), keys, n_keys, ret_results);
}
