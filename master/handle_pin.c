/* SPDX-License-Identifier: Apache-2.0 */

/* handle_pin.c -- pin, unpin. */
#include "master/books.h"
#include "master/handle.h"
#include "master/pin.h"

static uint32_t
pin_one(struct peer *peer, struct span key, uint32_t until_s)
{
	struct master *master = peer->master;
	struct object *object = books_find(master, peer->client->tenant, key.at, key.len);

	if (object == NULL)
		return STATUS_NOT_FOUND;
	if (books_pin(master, object, until_s) < 0)
		return STATUS_UNAVAILABLE;
	if (!list_is_empty(&master->parked))
		master->has_new_room |= until_s != PIN_HARD; /* it may be evicted now */
	return STATUS_OK;
}

static int
pin_all(struct peer *peer, const struct rec_key_only *keys, uint32_t n_keys, uint32_t until_s,
	struct buf *out)
{
	uint32_t *statuses = handle_statuses(peer, n_keys);

	if (statuses == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < n_keys; i++)
		statuses[i] = pin_one(peer, keys[i].key, until_s);
	return handle_fates(out, statuses, n_keys);
}

int
handle_pin(struct peer *peer, const struct msg_pin *msg, struct buf *out)
{
	uint64_t now_ms = clock_wall_ms(peer->master->clock);

	if (msg->pin == PIN_NONE || !pin_is_sound(msg->pin, msg->pin_ttl_ms))
		return STATUS_INVALID;
	return pin_all(peer, msg->keys, msg->n_keys, pin_until_s(msg->pin, msg->pin_ttl_ms, now_ms),
		       out);
}

int
handle_unpin(struct peer *peer, const struct msg_unpin *msg, struct buf *out)
{
	return pin_all(peer, msg->keys, msg->n_keys, 0, out);
}
