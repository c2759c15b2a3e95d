/* SPDX-License-Identifier: Apache-2.0 */

/* What the master knows of segments, clients, puts and itself, told one by one. */
#include <stdio.h>
#include <string.h>

#include "core/ask.h"
#include "core/put.h"
#include "core/why.h"

/* Room for the texts of one record, ended by NUL. */
struct texts {
	char a[TEXT_MAX + 1], b[TEXT_MAX + 1], c[TEXT_MAX + 1];
};

static const char *
text(char *to, struct span from)
{
	snprintf(to, TEXT_MAX + 1, "%.*s", (int)from.len, (const char *)from.at);
	return to;
}

static const char *
word(const char *const *words, size_t n, uint8_t at)
{
	return at < n && words[at] != NULL ? words[at] : "unknown";
}

static const char *const media[] = {
	[MEDIUM_DRAM] = "dram", [MEDIUM_FILE] = "file", [MEDIUM_NOF] = "nof"};
static const char *const segment_states[] = {
	[1] = "ok",       [2] = "suspect", [3] = "away",   [4] = "leaving",
	[5] = "draining", [6] = "drained", [7] = "failing"};
static const char *const client_states[] = {[1] = "ok", [2] = "suspect", [3] = "gone"};

/* ---- space ---------------------------------------------------------------------- */

static int
ask_space(struct tiffin_client *client, struct tiffin_space *ret_space)
{
	const struct msg_space msg = {};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_space rep;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_space, msg_space_encode(&ask.payload, &msg), client_until(client));
	if (r == 0)
		r = ask_read(&ask, rep_space_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		*ret_space = (struct tiffin_space){
			.size_bytes = rep.size_bytes,
			.used_bytes = rep.used_bytes,
			.resting_bytes = rep.resting_bytes,
			.n_objects = rep.n_objects,
			.n_segments = rep.n_segments,
			.n_clients = rep.n_clients,
			.tenant_bytes = rep.tenant_bytes,
			.tenant_objects = rep.tenant_objects,
			.quota_bytes = rep.quota_bytes,
			.quota_objects = rep.quota_objects,
		};
	return r;
}

int
tiffin_space(struct tiffin_client *client, struct tiffin_space *ret_space)
{
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, ask_space(client, ret_space));
}

/* ---- segments -------------------------------------------------------------------- */

typedef int (*segment_fn)(void *arg, const struct tiffin_segment *segment);

static int
tell_segment(const struct rec_segment_state *rec, segment_fn fn, void *arg)
{
	struct texts texts;
	const struct tiffin_segment segment = {
		.segment_id = rec->segment_id,
		.epoch = rec->segment_epoch,
		.size_bytes = rec->size_bytes,
		.used_bytes = rec->used_bytes,
		.resting_bytes = rec->resting_bytes,
		.hole_bytes = rec->hole_bytes,
		.client_id = rec->client_id,
		.name = text(texts.a, rec->name),
		.host = text(texts.b, rec->host),
		.endpoint = text(texts.c, rec->endpoint),
		.medium = word(media, array_len(media), rec->medium),
		.state = word(segment_states, array_len(segment_states), rec->state),
	};

	return fn(arg, &segment);
}

/* segment_page -- those after *after, which moves on.  1: there may be more; 0: that was all. */
static int
segment_page(struct tiffin_client *client, uint64_t *after, segment_fn fn, void *arg, int *ret_fn)
{
	const struct msg_query_segment msg = {.after_id = *after};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_query_segment rep;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_query_segment, msg_query_segment_encode(&ask.payload, &msg),
		     client_until(client));
	if (r == 0)
		r = ask_read(&ask,
			     rep_query_segment_decode(ask.reply.payload, ask.reply.arena, &rep));
	for (uint32_t i = 0; r == 0 && *ret_fn == 0 && i < rep.n_segments; i++) {
		*ret_fn = tell_segment(&rep.segments[i], fn, arg);
		*after = rep.segments[i].segment_id;
	}
	return r != 0 ? r : rep.n_segments > 0 && *ret_fn == 0;
}

int
tiffin_segments(struct tiffin_client *client,
		int (*fn)(void *arg, const struct tiffin_segment *segment), void *arg)
{
	uint64_t after = 0;
	int of_fn = 0, r = client_enter(client);

	if (r != 0)
		return r;
	do {
		r = segment_page(client, &after, fn, arg, &of_fn);
	} while (r == 1);
	return client_leave(client, of_fn != 0 ? of_fn : r);
}

/* ---- clients ---------------------------------------------------------------------- */

typedef int (*client_fn)(void *arg, const struct tiffin_client_state *state);

static int
tell_client(const struct rec_client_state *rec, client_fn fn, void *arg)
{
	struct texts texts;
	const struct tiffin_client_state state = {
		.client_id = rec->client_id,
		.silent_ms = rec->silent_ms,
		.n_segments = rec->n_segments,
		.n_puts = rec->n_puts,
		.name = text(texts.a, rec->name),
		.host = text(texts.b, rec->host),
		.state = word(client_states, array_len(client_states), rec->state),
	};

	return fn(arg, &state);
}

static int
client_page(struct tiffin_client *client, uint64_t *after, client_fn fn, void *arg, int *ret_fn)
{
	const struct msg_query_client msg = {.after_id = *after};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_query_client rep;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_query_client, msg_query_client_encode(&ask.payload, &msg),
		     client_until(client));
	if (r == 0)
		r = ask_read(&ask,
			     rep_query_client_decode(ask.reply.payload, ask.reply.arena, &rep));
	for (uint32_t i = 0; r == 0 && *ret_fn == 0 && i < rep.n_clients; i++) {
		*ret_fn = tell_client(&rep.clients[i], fn, arg);
		*after = rep.clients[i].client_id;
	}
	return r != 0 ? r : rep.n_clients > 0 && *ret_fn == 0;
}

int
tiffin_clients(struct tiffin_client *client,
	       int (*fn)(void *arg, const struct tiffin_client_state *state), void *arg)
{
	uint64_t after = 0;
	int of_fn = 0, r = client_enter(client);

	if (r != 0)
		return r;
	do {
		r = client_page(client, &after, fn, arg, &of_fn);
	} while (r == 1);
	return client_leave(client, of_fn != 0 ? of_fn : r);
}

/* ---- puts ------------------------------------------------------------------------- */

typedef int (*put_fn)(void *arg, const struct tiffin_put_state *put);

static int
tell_put(const struct rec_put_state *rec, put_fn fn, void *arg)
{
	char key[KEY_MAX + 1];
	const struct tiffin_put_state put = {
		.object_id = rec->object_id,
		.client_id = rec->client_id,
		.len_bytes = rec->len_bytes,
		.age_ms = rec->age_ms,
		.lease_left_ms = rec->lease_left_ms,
		.key = key,
	};

	snprintf(key, sizeof(key), "%.*s", (int)rec->key.len, (const char *)rec->key.at);
	return fn(arg, &put);
}

static int
put_page(struct tiffin_client *client, uint64_t *after, put_fn fn, void *arg, int *ret_fn)
{
	const struct msg_query_put msg = {.after_id = *after};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_query_put rep;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_query_put, msg_query_put_encode(&ask.payload, &msg),
		     client_until(client));
	if (r == 0)
		r = ask_read(&ask, rep_query_put_decode(ask.reply.payload, ask.reply.arena, &rep));
	for (uint32_t i = 0; r == 0 && *ret_fn == 0 && i < rep.n_puts; i++) {
		*ret_fn = tell_put(&rep.puts[i], fn, arg);
		*after = rep.puts[i].object_id;
	}
	return r != 0 ? r : rep.n_puts > 0 && *ret_fn == 0;
}

int
tiffin_puts(struct tiffin_client *client, int (*fn)(void *arg, const struct tiffin_put_state *put),
	    void *arg)
{
	uint64_t after = 0;
	int of_fn = 0, r = client_enter(client);

	if (r != 0)
		return r;
	do {
		r = put_page(client, &after, fn, arg, &of_fn);
	} while (r == 1);
	return client_leave(client, of_fn != 0 ? of_fn : r);
}

/* ---- copies ------------------------------------------------------------------------ */

typedef int (*replica_fn)(void *arg, const struct tiffin_replica *replica);

static int
tell_replica(const struct rec_replica *rec, replica_fn fn, void *arg)
{
	struct tiffin_extent *extents = calloc(rec->n_extents + 1u, sizeof(*extents));
	struct tiffin_replica replica = {rec->segment_id, rec->segment_epoch, extents,
					 rec->n_extents};
	int r;

	if (extents == NULL)
		return why_no_memory();
	for (uint32_t i = 0; i < rec->n_extents; i++)
		extents[i] = (struct tiffin_extent){rec->extents[i].offset_bytes,
						    rec->extents[i].len_bytes};
	r = fn(arg, &replica);
	free(extents);
	return r;
}

static int
ask_where(struct tiffin_client *client, const char *key, replica_fn fn, void *arg)
{
	struct rec_key_only one = {span_of(key, strlen(key))};
	const struct msg_get_replica_list msg = {LEASE_NONE, 1, &one};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_get_replica_list rep;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_get_replica_list, msg_get_replica_list_encode(&ask.payload, &msg),
		     client_until(client));
	if (r == 0)
		r = ask_read(&ask,
			     rep_get_replica_list_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		r = ask_count(&ask, rep.n_objects, 1);
	if (r == 0 && rep.objects[0].status != STATUS_OK)
		r = put_why(key, rep.objects[0].status);
	for (uint32_t i = 0; r == 0 && i < rep.objects[0].n_replicas; i++)
		r = tell_replica(&rep.objects[0].replicas[i], fn, arg);
	return r;
}

int
tiffin_where(struct tiffin_client *client, const char *key,
	     int (*fn)(void *arg, const struct tiffin_replica *replica), void *arg)
{
	int r = client_enter(client);

	if (r != 0)
		return r;
	r = client_key_check(key);
	return client_leave(client, r != 0 ? r : ask_where(client, key, fn, arg));
}

/* ---- counters ----------------------------------------------------------------------- */

typedef int (*stat_fn)(void *arg, const struct tiffin_count *count);

static int
ask_stats(struct tiffin_client *client, stat_fn fn, void *arg)
{
	const struct msg_stats msg = {};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_stats rep;
	char name[TEXT_MAX + 1];
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_stats, msg_stats_encode(&ask.payload, &msg), client_until(client));
	if (r == 0)
		r = ask_read(&ask, rep_stats_decode(ask.reply.payload, ask.reply.arena, &rep));
	for (uint32_t i = 0; r == 0 && i < rep.n_counts; i++) {
		const struct tiffin_count count = {
			.name = text(name, rep.counts[i].name),
			.value = rep.counts[i].value,
			.is_gauge = rep.counts[i].is_gauge != 0,
		};

		r = fn(arg, &count);
	}
	return r;
}

int
tiffin_stats(struct tiffin_client *client, int (*fn)(void *arg, const struct tiffin_count *count),
	     void *arg)
{
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, ask_stats(client, fn, arg));
}
