/* SPDX-License-Identifier: Apache-2.0 */

/*
 * foresee.c -- when many small requests wait in one buffer, fetch the memory of all of them at
 * once.
 *
 * A look-up of one key is a chain of misses, each waiting for the one before; the look-ups of many
 * keys can wait together.  So before a buffer's frames are taken one by one, the keys of those that
 * ask for one object are looked up in step and their objects' memory is called for.  It is a hint:
 * nothing is judged or changed here, and what is malformed is simply passed over.
 */
#include <string.h>

#include "master/books.h"

#define FORESEEN_MAX 64
#define ASKS_MIN     4 /* fewer are not worth it */

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

void
master_foresee(const struct peer *peer, const uint8_t *bytes, size_t len_bytes)
{
	struct index_probe probes[FORESEEN_MAX];
	struct key *found[FORESEEN_MAX];
	size_t n;

	if (peer->client == NULL)
		return;
	n = probes_in(bytes, len_bytes, probes);
	if (n < ASKS_MIN)
		return;
	index_get_all(peer->client->tenant->index, probes, n, found);
	for (size_t i = 0; i < n; i++) {
		const struct object *object;

		if (found[i] == NULL)
			continue;
		object = container_of(found[i], struct object, key);
		__builtin_prefetch(object, 1);
		__builtin_prefetch(&object->first);
	}
}
