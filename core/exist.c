/* SPDX-License-Identifier: Apache-2.0 */
#include "core/each.h"

static int
encode(struct buf *to, const struct rec_key_only *keys, uint32_t n_keys, uint32_t flags)
{
	const struct msg_exist msg = {.n_keys = n_keys, .keys = (struct rec_key_only *)keys};

	(void)flags;
	return msg_exist_encode(to, &msg);
}

int
tiffin_exist(struct tiffin_client *client, const char *const *keys, size_t n_keys, int *ret_results)
{
	const struct each each = {.type = MSG_exist, .encode = encode};
	int r = client_enter(client);

	return r != 0 ? r
		      : client_leave(client, each_run(client, &each, keys, n_keys, ret_results));
}
