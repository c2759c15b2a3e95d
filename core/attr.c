/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/ask.h"
#include "core/put.h"
#include "core/why.h"

static int
set_one(struct tiffin_client *client, struct rec_attr_set *set)
{
	struct msg_set_attr msg = {.n_sets = 1, .sets = set};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_set_attr rep;
	char key[TIFFIN_KEY_MAX + 1];
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_set_attr, msg_set_attr_encode(&ask.payload, &msg),
		     client_until(client));
	if (r == 0)
		r = ask_read(&ask, rep_set_attr_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		r = ask_count(&ask, rep.n_fates, 1);
	if (r != 0 || rep.fates[0].status == STATUS_OK)
		return r;
	memcpy(key, set->key.at, set->key.len);
	key[set->key.len] = '\0';
	return put_why(key, rep.fates[0].status);
}

int
tiffin_set_attr(struct tiffin_client *client, const char *key, uint64_t object_id, const void *attr,
		size_t attr_bytes)
{
	struct rec_attr_set set = {.object_id = object_id};
	int r = client_enter(client);

	if (r != 0)
		return r;
	r = client_key_check(key);
	if (r == 0)
		r = put_attr_check(attr, attr_bytes);
	if (r == 0) {
		set.key = span_of(key, strlen(key));
		set.attr = span_of(attr, attr_bytes);
		r = set_one(client, &set);
	}
	return client_leave(client, r);
}
