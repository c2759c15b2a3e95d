/* SPDX-License-Identifier: Apache-2.0 */

/* What this client's transfers came to, for people. */
#include "core/client.h"
#include "core/why.h"
#include "transfer/path_stats.h"

struct walk {
	int (*fn)(void *arg, const struct tiffin_path *path);
	void *arg;
};

static uint64_t
look(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static int
tell(void *arg, const struct path_stats *stats)
{
	const struct walk *walk = arg;
	struct hist hist = {.sum_ns = look(&stats->sum_ns)};
	struct tiffin_path path = {
		.peer = stats->peer,
		.host = stats->host,
		.transport = stats->transport,
		.address = stats->address,
		.n_reads = path_n_done(stats, OP_READ),
		.read_bytes = look(&stats->bytes[OP_READ]),
		.n_writes = path_n_done(stats, OP_WRITE),
		.write_bytes = look(&stats->bytes[OP_WRITE]),
		.n_lost = look(&stats->n_lost),
		.n_timeout = look(&stats->n_timeout),
		.n_refused = look(&stats->n_refused),
		.n_failed = look(&stats->n_failed),
		.n_moved = look(&stats->n_moved),
		.n_within = hist.n,
		.n_n_within = HIST_BUCKETS,
	};

	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		hist.n_all += hist.n[i] =
			look(&stats->n_ns[OP_READ][i]) + look(&stats->n_ns[OP_WRITE][i]);
	path.mean_ns = hist.n_all == 0 ? 0 : hist.sum_ns / hist.n_all;
	path.p50_ns = hist_quantile_ns(&hist, 0.50);
	path.p99_ns = hist_quantile_ns(&hist, 0.99);
	return walk->fn(walk->arg, &path);
}

int
tiffin_paths(struct tiffin_client *client, int (*fn)(void *arg, const struct tiffin_path *path),
	     void *arg)
{
	struct walk walk = {fn, arg};
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, engine_paths(client->engine, tell, &walk));
}

int
tiffin_retries(struct tiffin_client *client, struct tiffin_retries *ret_retries)
{
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (ret_retries == NULL || ret_retries->struct_bytes < sizeof(*ret_retries))
		return client_leave(client,
				    why_set(TIFFIN_E_INVALID, "tiffin_retries: set struct_bytes"));
	*ret_retries = (struct tiffin_retries){.struct_bytes = sizeof(*ret_retries),
					       .n_other_copy = look(&client->n_other_copy),
					       .n_other_look = look(&client->n_other_look)};
	return client_leave(client, 0);
}
