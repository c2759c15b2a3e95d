/* SPDX-License-Identifier: Apache-2.0 */
#include "core/put_stream.h"

#include <string.h>

#include "core/ask.h"
#include "core/get.h"
#include "core/put.h"
#include "core/why.h"
#include "transfer/base/crc.h"
#include "transfer/base/num.h"

#define EXTEND_MIN  (1ull << 20)
#define EXTEND_MAX  (256ull << 20)
#define ZEROS_BYTES (256u << 10)

/* ---- turns -------------------------------------------------------------------------- */

/* turn_take -- from now on the stream is ours; waits for the beat thread. */
void
put_stream_take(struct tiffin_put *put)
{
	struct tiffin_client *client = put->client;

	lock_take(&client->lock);
	while (put->is_busy)
		lock_wait(&client->lock, &client->put_idle);
	put->is_busy = true;
	lock_drop(&client->lock);
}

void
put_stream_drop(struct tiffin_put *put)
{
	struct tiffin_client *client = put->client;

	lock_take(&client->lock);
	put->is_busy = false;
	pthread_cond_broadcast(&client->put_idle);
	lock_drop(&client->lock);
}

/* next_idle -- a started stream past its half that nobody works on, taken; NULL: none. */
static struct tiffin_put *
next_idle(struct tiffin_client *client)
{
	struct tiffin_put *found = NULL;

	lock_take(&client->lock);
	list_each(&client->puts, at) {
		struct tiffin_put *put = list_of(at, struct tiffin_put, at);

		if (found == NULL && !put->is_busy && put->is_started && put->failed == 0 &&
		    writing_is_due(&put->writing))
			found = put;
	}
	if (found != NULL)
		found->is_busy = true;
	lock_drop(&client->lock);
	return found;
}

/* renew -- by whoever has the turn. */
static int
renew(struct tiffin_put *put, uint64_t until_ns)
{
	int r;

	if (!writing_is_due(&put->writing))
		return 0;
	r = writing_extend(&put->writing, 0, until_ns);
	if (r == TIFFIN_E_LEASE)
		put->failed = r;
	return r;
}

void
put_stream_renew(struct tiffin_client *client)
{
	uint64_t until = client_tick_until(client);
	struct tiffin_put *put;
	int r = 0;

	while (r == 0 && (put = next_idle(client)) != NULL) {
		r = renew(put, until);
		r = r == TIFFIN_E_LEASE ? 0 : r; /* that one is lost, others may not be */
		put_stream_drop(put);
	}
}

/* ---- room ------------------------------------------------------------------------------ */

static int
start(struct tiffin_put *put, uint64_t room_bytes, uint64_t until_ns)
{
	struct writing_granted granted = {.era = writing_era(put->client)};
	struct rec_put one = {span_of(put->key, strlen(put->key)), room_bytes};
	struct rec_group_id group = {span_of(put->group, strlen(put->group))};
	const struct put_list list = {&one, group.id.len > 0 ? &group : NULL, 1};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_put_start rep;
	int r;

	ask_init(&ask, put->client);
	for (;;) {
		ask_again(&ask);
		r = put_start(&ask, &put->options, &list, until_ns, &rep);
		if (r != 0)
			return r;
		if (rep.places[0].status != STATUS_NO_SEGMENT ||
		    !client_settling(put->client, true) || !client_pause(put->client, until_ns))
			break;
	}
	if (rep.places[0].status != STATUS_OK)
		return put_refused(put->key, rep.places[0].status, rep.why);

	granted.object_id = rep.places[0].object_id;
	granted.replicas = rep.places[0].replicas;
	granted.n_replicas = rep.places[0].n_replicas;
	granted.write_lease_ms = rep.write_lease_ms;
	granted.asked_ns = ask.asked_ns;
	r = writing_init(&put->writing, put->client, &granted, until_ns);
	put->is_started = true;
	if ((put->options.flags & TIFFIN_REPLACE) !=
	    0) /* as put_some() does, for its room's sake */
		lease_keeper_flush(put->client);
	return r;
}

/* make_room -- at least up to end_bytes. */
int
put_stream_room(struct tiffin_put *put, uint64_t end_bytes, uint64_t until_ns)
{
	uint64_t room, more;
	int r = 0;

	if (end_bytes > OBJECT_LEN_MAX)
		return why_set(TIFFIN_E_INVALID, "an object is at most 16 TiB");
	if (!put->is_started)
		r = start(put,
			  num_max(num_max(end_bytes, put->first_room_bytes), (uint64_t)EXTEND_MIN),
			  until_ns);
	if (r != 0)
		return r;

	room = put->writing.room_bytes;
	if (end_bytes <= room)
		return renew(put, until_ns);
	more = num_min(num_max(room, (uint64_t)EXTEND_MIN), (uint64_t)EXTEND_MAX);
	more = num_max(more, end_bytes - room);
	r = writing_extend(&put->writing, more, until_ns);
	if ((r == TIFFIN_E_NO_SPACE || r == TIFFIN_E_QUOTA) && more > end_bytes - room)
		r = writing_extend(&put->writing, end_bytes - room, until_ns);
	if (r == 0 && put->writing.room_bytes < end_bytes)
		r = why_set(TIFFIN_E_VERSION, "the master granted less than was asked");
	return r;
}

/* ---- moving ------------------------------------------------------------------------------ */

/* run_waves -- all of them, with the lease looked after. */
static int
run_waves(struct tiffin_put *put, struct moves *moves, uint64_t until_ns)
{
	enum op_result worst;
	int r;

	for (size_t at = 0, to; at < moves->n; at = to) {
		r = at > 0 ? renew(put, until_ns) : 0;
		if (r != 0)
			return r;
		if (!writing_holds(&put->writing))
			return why_set(TIFFIN_E_LEASE, "the write lease ran out");
		to = moves_wave(put->client, moves, at, &until_ns);
		worst = writing_note(&put->writing, moves, at, to);
		if (worst != OP_DONE)
			return writing_why(&put->writing, put->key, worst);
	}
	return 0;
}

/* run -- ops of writes or reads, as a span of our grants' epoch. */
static int
run(struct tiffin_put *put, struct moves *moves, uint64_t until_ns)
{
	struct writing_span span;
	int r;

	if (moves->is_short)
		return why_no_memory();
	if (!writing_begin(put->client, &span, &put->writing.era))
		return TIFFIN_E_LEASE;
	r = run_waves(put, moves, until_ns);
	writing_finish(put->client, &span);
	return r;
}

/* sum -- note that [at, at + len) was written, with its sum in the first n_crc ops. */
static void
sum(struct tiffin_put *put, uint64_t at_bytes, uint64_t len_bytes, const struct moves *moves,
    size_t n_crc)
{
	if (at_bytes != put->filled_bytes)
		put->is_summed = false;
	for (size_t i = 0; i < n_crc; i++)
		assert(!moves->ops[i].skipped_crc); /* no stream has slices in a device's memory */
	for (size_t i = 0; put->is_summed && i < n_crc; i++)
		put->crc = crc_join(put->crc, moves->ops[i].crc, moves->ops[i].len_bytes);
	put->filled_bytes = num_max(put->filled_bytes, at_bytes + len_bytes);
}

/* move -- bytes into the room at `at`; what lies between filled and there is filled before. */
static int
move(struct tiffin_put *put, uint64_t at_bytes, const struct iovec *slices, size_t n_slices,
     uint64_t until_ns)
{
	uint64_t len = get_slices_len(slices, n_slices);
	const struct op part = {
		.offset_bytes = at_bytes, .len_bytes = len, .slices = slices, .n_slices = n_slices};
	struct moves moves;
	size_t n_crc;
	int r;

	assert(at_bytes <= put->filled_bytes);
	r = put_stream_room(put, at_bytes + len, until_ns);
	if (r != 0)
		return r;
	moves_init(&moves);
	writing_add_ops(&put->writing, &moves, &part, &n_crc);
	r = run(put, &moves, until_ns);
	if (r == 0)
		sum(put, at_bytes, len, &moves, n_crc);
	moves_fini(&moves);
	return r;
}

static uint8_t zeros[ZEROS_BYTES]; /* never written: takes no room in the file */

/* fill_zeros -- up to end_bytes. */
int
put_stream_zeros(struct tiffin_put *put, uint64_t end_bytes, uint64_t until_ns)
{
	int r = 0;

	while (r == 0 && put->filled_bytes < end_bytes) {
		struct iovec slices[64];
		uint64_t left = end_bytes - put->filled_bytes;
		size_t n = 0;

		for (; n < array_len(slices) && left > 0; n++) {
			slices[n].iov_base = zeros;
			slices[n].iov_len = num_min(left, (uint64_t)ZEROS_BYTES);
			left -= slices[n].iov_len;
		}
		r = move(put, put->filled_bytes, slices, n, until_ns);
		until_ns = client_until(put->client);
	}
	return r;
}

/* flush -- the stage into the room. */
int
put_stream_flush(struct tiffin_put *put, uint64_t until_ns)
{
	struct stage *stage = &put->stage;
	const struct iovec slice = {stage->bytes, stage->len_bytes};
	int r;

	if (stage->len_bytes == 0)
		return 0;
	r = put_stream_zeros(put, stage->at_bytes, until_ns);
	if (r == 0)
		r = move(put, stage->at_bytes, &slice, 1, until_ns);
	if (r == 0)
		stage_begin(stage, stage->at_bytes + stage->len_bytes);
	return r;
}

int
put_stream_write(struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
		 size_t n_slices, uint64_t until_ns)
{
	uint64_t len = get_slices_len(slices, n_slices);
	int r;

	if (offset_bytes > put->stage.at_bytes + put->stage.len_bytes && !put->is_started) {
		/* A small gap in a small object: zeros in the stage, if it is not too far. */
		r = stage_fill(&put->stage, offset_bytes);
		if (r < 0)
			return why_system(r, "staging a write");
	}
	r = stage_put(&put->stage, offset_bytes, slices, n_slices, len);
	if (r <= 0)
		return r < 0 ? why_system(r, "staging a write") : 0;

	r = put_stream_flush(put, until_ns);
	if (r != 0)
		return r;
	stage_begin(&put->stage, offset_bytes);
	if (len <= STAGE_BYTES / 2) {
		r = stage_put(&put->stage, offset_bytes, slices, n_slices, len);
		assert(r <= 0);
		return r < 0 ? why_system(r, "staging a write") : 0;
	}
	r = put_stream_zeros(put, offset_bytes, until_ns);
	if (r == 0)
		r = move(put, offset_bytes, slices, n_slices, until_ns);
	stage_begin(&put->stage, offset_bytes + len);
	return r;
}

int
put_stream_read(struct tiffin_put *put, const struct op *part, uint64_t until_ns)
{
	struct moves moves;
	int r;

	assert(num_range_fits(part->offset_bytes, part->len_bytes, put->filled_bytes));
	moves_init(&moves);
	writing_add_reads(&put->writing, &moves, part);
	r = renew(put, until_ns);
	if (r == 0)
		r = run(put, &moves, until_ns);
	moves_fini(&moves);
	return r;
}

int
put_stream_sum(struct tiffin_put *put, uint64_t until_ns)
{
	struct iovec slice = {.iov_len = STAGE_BYTES};
	struct op part = {.slices = &slice, .n_slices = 1};
	uint8_t *room;
	int r = 0;

	if (put->is_summed)
		return 0;
	room = slice.iov_base = malloc(STAGE_BYTES);
	if (room == NULL)
		return why_no_memory();
	put->crc = 0;
	for (; r == 0 && part.offset_bytes < put->len_bytes; part.offset_bytes += part.len_bytes) {
		part.len_bytes = num_min(put->len_bytes - part.offset_bytes, (uint64_t)STAGE_BYTES);
		r = put_stream_read(put, &part, until_ns);
		until_ns = client_until(put->client);
		if (r == 0)
			put->crc = crc_of(put->crc, room, part.len_bytes);
	}
	free(room);
	put->is_summed = r == 0;
	return r;
}
