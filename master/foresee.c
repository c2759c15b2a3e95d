/* SPDX-License-Identifier: Apache-2.0 */

/*
 * foresee.c -- when many small requests wait in one buffer, fetch the memory of all of them at
 * once.
 *
 * A look-up of one key is a chain of misses, each waiting for the one before; the look-ups of many
 * keys can wait together.  So before a buffer's frames are taken one by one, the keys of those that
 * ask for one object are looked up in step, and their objects' memory is on its way.  Nothing is
 * judged or changed here, and what is malformed is simply passed over.
 */
#include <string.h>

#include "master/books.h"

#define ASKS_MIN 4 /* fewer are not worth it */

static uint32_t
u32_at(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

/* get_replica_list of one key:  u32 lease, u32 count = 1, u16 length, key. */
static bool
probe_of(const uint8_t *payload, size_t len, struct index_probe *ret_probe)
{
	size_t key_len;

	if (len < 11 || u32_at(payload + 4) != 1)
		return false;
	key_len = (size_t)payload[8] | (size_t)payload[9] << 8;
	if (key_len != len - 10 || key_len > KEY_MAX)
		return false;
	*ret_probe = (struct index_probe){payload + 10, key_len};
	return true;
}

static size_t
probes_in(const uint8_t *at, size_t left, struct index_probe *probes)
{
	size_t n = 0;

	while (n < FORESEEN_MAX && left > FRAME_HEADER_BYTES) {
		size_t len = u32_at(at + 4);
		unsigned type = (unsigned)at[8] | (unsigned)at[9] << 8;

		if (len > left - FRAME_HEADER_BYTES)
			break;
		if (type == MSG_get_replica_list &&
		    probe_of(at + FRAME_HEADER_BYTES, len, &probes[n]))
			n++;
		at += FRAME_HEADER_BYTES + len;
		left -= FRAME_HEADER_BYTES + len;
	}
	return n;
}

struct key *
foreseen_key(struct foreseen *foreseen, const struct tenant *tenant, const uint8_t *bytes,
	     size_t len_bytes)
{
	struct key *key;

	if (foreseen->next == foreseen->n || foreseen->tenant_id != tenant->id ||
	    foreseen->n_changes != index_n_changes(tenant->index))
		return NULL;

	key = foreseen->keys[foreseen->next];
	if (key != NULL && !key_is(key, bytes, len_bytes))
		return NULL; /* somebody else asks, or a frame was passed over */
	foreseen->next++;
	return key;
}

void
master_foresee(struct peer *peer, const uint8_t *bytes, size_t len_bytes)
{
	struct foreseen *foreseen = &peer->master->foreseen;
	struct index_probe probes[FORESEEN_MAX];
	const struct tenant *tenant;
	size_t n;

	foreseen->n = foreseen->next = 0;
	if (peer->client == NULL)
		return;
	n = probes_in(bytes, len_bytes, probes);
	if (n < ASKS_MIN)
		return;
	tenant = peer->client->tenant;
	index_get_all(tenant->index, probes, n, foreseen->keys);
	books_fetch(peer->master, foreseen->keys, n);
	foreseen->tenant_id = tenant->id;
	foreseen->n_changes = index_n_changes(tenant->index);
	foreseen->n = n;
}
