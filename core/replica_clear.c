/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/each.h"
#include "core/statuses.h"
#include "core/why.h"

/* some -- at most BATCH_MAX keys. */
static int
some(struct tiffin_client *client, uint64_t segment_id, const char *const *keys, uint32_t n,
     int *results)
{
	cleanup_with(ask_fini) struct ask ask;
	struct rep_replica_clear rep;
	struct rec_key_only *recs = malloc(n * sizeof(*recs));
	struct msg_replica_clear msg = {.segment_id = segment_id, .n_keys = n, .keys = recs};
	int r = 0;

	ask_init(&ask, client);
	if (recs == NULL)
		return why_no_memory();
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		r = client_key_check(keys[i]);
		if (r == 0)
			recs[i].key = span_of(keys[i], strlen(keys[i]));
	}
	if (r == 0)
		r = ask_call(&ask, MSG_replica_clear, msg_replica_clear_encode(&ask.payload, &msg),
			     client_until(client));
	if (r == 0)
		r = ask_read(&ask,
			     rep_replica_clear_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		r = ask_count(&ask, rep.n_fates, n);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		results[i] = statuses_code(rep.fates[i].status);
	free(recs);
	return r;
}

int
tiffin_replica_clear(struct tiffin_client *client, uint64_t segment_id, const char *const *keys,
		     size_t n_keys, int *ret_results)
{
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (n_keys > 0 && (keys == NULL || ret_results == NULL))
		return client_leave(
			client,
			why_set(TIFFIN_E_INVALID, "keys, or room for their results, are missing"));
	lease_keeper_flush(client);
	for (size_t from = 0; r == 0 && from < n_keys; from += BATCH_MAX) {
		size_t n = n_keys - from < BATCH_MAX ? n_keys - from : BATCH_MAX;

		r = some(client, segment_id, keys + from, (uint32_t)n, ret_results + from);
	}
	return client_leave(client, r);
}
