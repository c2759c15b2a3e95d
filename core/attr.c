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

/* set -- if they are the former ones still; former NULL: whatever they are. */
static int
set(struct tiffin_client *client, const char *key, struct rec_attr_set *to,
    const struct iovec *former, const struct iovec *attr)
{
	int r = client_enter(client);

	if (r != 0)
		return r;
	r = client_key_check(key);
	if (r == 0)
		r = put_attr_check(attr->iov_base, attr->iov_len);
	if (r == 0 && former != NULL)
		r = put_attr_check(former->iov_base, former->iov_len);
	if (r == 0) {
		to->key = span_of(key, strlen(key));
		to->attr = span_of(attr->iov_base, attr->iov_len);
		to->if_former = former != NULL;
		if (former != NULL)
			to->former = span_of(former->iov_base, former->iov_len);
		r = set_one(client, to);
	}
	return client_leave(client, r);
}

int
tiffin_set_attr(struct tiffin_client *client, const char *key, uint64_t object_id, const void *attr,
		size_t attr_bytes)
{
	struct iovec now = {(void *)(uintptr_t)attr, attr_bytes};
	struct rec_attr_set to = {.object_id = object_id};

	return set(client, key, &to, NULL, &now);
}

int
tiffin_swap_attr(struct tiffin_client *client, const char *key, uint64_t object_id,
		 const struct iovec *former, const struct iovec *attr)
{
	struct rec_attr_set to = {.object_id = object_id};

	return set(client, key, &to, former, attr);
}
