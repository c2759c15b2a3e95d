/* SPDX-License-Identifier: Apache-2.0 */
#include "core/each.h"

#include <string.h>

#include "core/statuses.h"
#include "core/why.h"
#include "transfer/base/num.h"

/* fates -- the answer of any such request; they all have the same form. */
static int
fates(struct ask *ask, const char *const *keys, size_t n, int *results)
{
	struct rep_remove rep;
	char shown[128];
	size_t at = 0;
	int r;

	r = ask_read(ask, rep_remove_decode(ask->reply.payload, ask->reply.arena, &rep));
	for (size_t i = 0; i < n && r == 0; i++) {
		if (results[i] != 0)
			continue;
		if (at == rep.n_fates)
			return ask_count(ask, rep.n_fates, at + 1);
		results[i] = statuses_code(rep.fates[at].status);
		if (results[i] != 0)
			why_set(results[i], "\"%s\": %s",
				why_key(shown, sizeof(shown), keys[i], strlen(keys[i])),
				status_meaning(rep.fates[at].status));
		at++;
	}
	return r == 0 ? ask_count(ask, rep.n_fates, at) : r;
}

/* some -- at most BATCH_MAX keys, one request. */
static int
some(struct tiffin_client *client, const struct each *each, const char *const *keys, size_t n,
     int *results)
{
	struct rec_key_only one, *recs = n == 1 ? &one : malloc(n * sizeof(*recs));
	cleanup_with(ask_fini) struct ask ask;
	uint32_t n_good = 0;
	int r = 0;

	ask_init(&ask, client);
	if (recs == NULL)
		return why_no_memory();
	for (size_t i = 0; i < n; i++) {
		results[i] = client_key_check(keys[i]);
		if (results[i] == 0)
			recs[n_good++].key = span_of(keys[i], strlen(keys[i]));
	}
	if (n_good > 0)
		r = ask_call(&ask, each->type, each->encode(&ask.payload, recs, n_good, each->arg),
			     client_until(client));
	if (r == 0 && n_good > 0)
		r = fates(&ask, keys, n, results);
	if (recs != &one)
		free(recs);
	return r;
}

int
each_run(struct tiffin_client *client, const struct each *each, const char *const *keys,
	 size_t n_keys, int *ret_results)
{
	size_t n_asked = 0;
	int r = 0;

	if (n_keys > 0 && (keys == NULL || ret_results == NULL))
		return why_set(TIFFIN_E_INVALID, "keys, or room for their results, are missing");
	for (size_t from = 0; from < n_keys; from += BATCH_MAX) {
		size_t n = num_min(n_keys - from, (size_t)BATCH_MAX);

		r = some(client, each, keys + from, n, ret_results + from);
		for (size_t i = from; r != 0 && i < from + n; i++)
			ret_results[i] = r;
		n_asked += r == 0 ? n : 0;
	}
	return n_asked == 0 ? r : 0;
}
