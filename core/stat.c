/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/ask.h"
#include "core/put.h"
#include "core/stat.h"
#include "core/statuses.h"
#include "core/why.h"

/* tell -- the master's record in the words of tiffin.h. */
static void
tell(const struct rec_object_state *state, void *attr_buf, struct tiffin_stat *ret_stat)
{
	*ret_stat = (struct tiffin_stat){
		.object_id = state->object_id,
		.len_bytes = state->len_bytes,
		.put_at_ms = state->put_at_ms,
		.lease_left_ms = state->lease_left_ms,
		.crc = state->crc,
		.has_crc = state->has_crc != 0,
		.is_prefix = state->has_below != 0,
		.n_replicas = state->n_replicas,
		.pin = state->pin == 1   ? TIFFIN_SOFT_PIN
		       : state->pin == 2 ? TIFFIN_HARD_PIN
					 : 0,
		.pin_left_ms = state->pin_left_ms,
	};
	stat_group(ret_stat, state->group);
	if (attr_buf == NULL)
		return;
	memcpy(attr_buf, state->attr.at, state->attr.len);
	ret_stat->attr = attr_buf;
	ret_stat->attr_bytes = state->attr.len;
}

static int
stat_one(struct tiffin_client *client, const char *key, struct tiffin_stat *ret_stat,
	 void *attr_buf)
{
	struct rec_key_only one = {span_of(key, strlen(key))};
	struct msg_stat msg = {.n_keys = 1, .keys = &one};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_stat rep;
	uint32_t status;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_stat, msg_stat_encode(&ask.payload, &msg), client_until(client));
	if (r == 0)
		r = ask_read(&ask, rep_stat_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		r = ask_count(&ask, rep.n_objects, 1);
	if (r != 0)
		return r;

	status = rep.objects[0].status;
	if (status == STATUS_OK || status == STATUS_NOT_FOUND)
		tell(&rep.objects[0], attr_buf, ret_stat);
	return status == STATUS_OK ? 0 : put_why(key, status);
}

int
tiffin_stat(struct tiffin_client *client, const char *key, struct tiffin_stat *ret_stat,
	    void *attr_buf)
{
	int r = client_enter(client);

	if (r != 0)
		return r;
	r = client_key_check(key);
	if (r == 0)
		r = stat_one(client, key, ret_stat, attr_buf);
	return client_leave(client, r);
}
