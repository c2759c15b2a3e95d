/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An object in the making:
 *
 *      0              filled                len                room
 *      |== written ====|-- never written ----|                  |     in the granted room
 *               |#### stage ####|                                     small writes, not moved yet
 *
 *      filled  below it every byte of the room is ours; above it lie somebody's old bytes, so
 *              whatever is skipped is filled with zeros before filled passes it
 *      sum     of [0, filled), as long as nothing below filled is written again; else the bytes
 *              are read back once at the end
 *
 * Nothing is asked of the master before the stage overflows: a small object costs what
 * tiffin_put() costs.
 *
 * thread:  one at a time; the beat thread extends the write lease when is_busy is not set.
 *          is_busy and `at` are guarded by the client's lock; the rest belongs to whoever set it.
 */
#include "core/put_stream.h"

#include <string.h>

#include "core/ask.h"
#include "core/get.h"
#include "core/put.h"
#include "core/stage.h"
#include "core/why.h"
#include "transfer/base/crc.h"
#include "transfer/base/num.h"

#define PUT_MAGIC      0x74707574u
#define EXTEND_MIN     (1ull << 20)
#define EXTEND_MAX     (256ull << 20)
#define ZEROS_BYTES    (256u << 10)

struct tiffin_put {
	unsigned magic;
	struct tiffin_client *client;
	struct list_link at; /* in client->puts */
	bool is_busy;

	char *key;
	struct tiffin_put_options options;
	uint64_t preferred[TIFFIN_REPLICAS_MAX];
	uint8_t *attr;
	uint64_t first_room_bytes;

	int failed; /* TIFFIN_E_*: it can't become an object any more */
	uint64_t len_bytes, filled_bytes;
	bool is_summed;
	uint32_t crc;
	struct stage stage;
	bool is_started;
	struct writing writing;
};

/* ---- turns -------------------------------------------------------------------------- */

/* turn_take -- from now on the stream is ours; waits for the beat thread. */
static void
turn_take(struct tiffin_put *put)
{
	struct tiffin_client *client = put->client;

	lock_take(&client->lock);
	while (put->is_busy)
		lock_wait(&client->lock, &client->put_idle);
	put->is_busy = true;
	lock_drop(&client->lock);
}

static void
turn_drop(struct tiffin_put *put)
{
	struct tiffin_client *client = put->client;

	lock_take(&client->lock);
	put->is_busy = false;
	pthread_cond_broadcast(&client->put_idle);
	lock_drop(&client->lock);
}

/* enter, leave -- the door of every call on a stream. */
static int
enter(struct tiffin_put *put)
{
	int r;

	if (put == NULL || put->magic != PUT_MAGIC)
		return why_set(TIFFIN_E_INVALID, "no put: tiffin_put_begin() makes one");
	r = client_enter(put->client);
	if (r == 0)
		turn_take(put);
	return r;
}

static int
leave(struct tiffin_put *put, int r)
{
	turn_drop(put);
	return client_leave(put->client, r);
}

/* next_idle -- a started stream past its half that nobody works on, taken; NULL: none. */
static struct tiffin_put *
next_idle(struct tiffin_client *client)
{
	struct tiffin_put *found = NULL;

	lock_take(&client->lock);
	list_each(&client->puts, at)
	{
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
	uint64_t until = clock_ns(client->clock) + client->transfer_ms * NS_PER_MS;
	struct tiffin_put *put;
	int r = 0;

	while (r == 0 && (put = next_idle(client)) != NULL) {
		r = renew(put, until);
		r = r == TIFFIN_E_LEASE ? 0 : r; /* that one is lost, others may not be */
		turn_drop(put);
	}
}

/* ---- room ------------------------------------------------------------------------------ */

static int
start(struct tiffin_put *put, uint64_t room_bytes, uint64_t until_ns)
{
	struct writing_granted granted = {.master_epoch = writing_epoch(put->client)};
	struct rec_put one = {span_of(put->key, strlen(put->key)), room_bytes};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_put_start rep;
	int r;

	ask_init(&ask, put->client);
	for (;;) {
		ask_again(&ask);
		r = put_start(&ask, &put->options, &one, 1, &rep, until_ns);
		if (r != 0)
			return r;
		if (rep.places[0].status != STATUS_NO_SEGMENT ||
		    !client_settling(put->client, true) || !client_pause(put->client, until_ns))
			break;
	}
	if (rep.places[0].status != STATUS_OK)
		return put_why(put->key, rep.places[0].status);

	granted.object_id = rep.places[0].object_id;
	granted.replicas = rep.places[0].replicas;
	granted.n_replicas = rep.places[0].n_replicas;
	granted.write_lease_ms = rep.write_lease_ms;
	granted.asked_ns = ask.asked_ns;
	r = writing_init(&put->writing, put->client, &granted, until_ns);
	put->is_started = true;
	return r;
}

/* make_room -- at least up to end_bytes. */
static int
make_room(struct tiffin_put *put, uint64_t end_bytes, uint64_t until_ns)
{
	uint64_t room, more;
	int r = 0;

	if (end_bytes > OBJECT_LEN_MAX)
		return why_set(TIFFIN_E_INVALID, "an object is at most 16 TiB");
	if (!put->is_started)
		r = start(put, num_max(num_max(end_bytes, put->first_room_bytes),
				       (uint64_t)EXTEND_MIN), until_ns);
	if (r != 0)
		return r;

	room = put->writing.room_bytes;
	if (end_bytes <= room)
		return renew(put, until_ns);
	more = num_min(num_max(room, (uint64_t)EXTEND_MIN), (uint64_t)EXTEND_MAX);
	more = num_max(more, end_bytes - room);
	r = writing_extend(&put->writing, more, until_ns);
	if (r == TIFFIN_E_NO_SPACE && more > end_bytes - room)
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
		to = moves_wave(put->client, moves, at, until_ns);
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
	if (!writing_begin(put->client, &span, put->writing.master_epoch))
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
	const struct op like = {.slices = slices, .n_slices = n_slices};
	struct moves moves;
	size_t n_crc;
	int r;

	assert(at_bytes <= put->filled_bytes);
	r = make_room(put, at_bytes + len, until_ns);
	if (r != 0)
		return r;
	moves_init(&moves);
	writing_add_ops(&put->writing, &moves, at_bytes, len, &like, &n_crc);
	r = run(put, &moves, until_ns);
	if (r == 0)
		sum(put, at_bytes, len, &moves, n_crc);
	moves_fini(&moves);
	return r;
}

static uint8_t zeros[ZEROS_BYTES]; /* never written: takes no room in the file */

/* fill_zeros -- up to end_bytes. */
static int
fill_zeros(struct tiffin_put *put, uint64_t end_bytes, uint64_t until_ns)
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
	}
	return r;
}

/* flush -- the stage into the room. */
static int
flush(struct tiffin_put *put, uint64_t until_ns)
{
	struct stage *stage = &put->stage;
	const struct iovec slice = {stage->bytes, stage->len_bytes};
	int r;

	if (stage->len_bytes == 0)
		return 0;
	r = fill_zeros(put, stage->at_bytes, until_ns);
	if (r == 0)
		r = move(put, stage->at_bytes, &slice, 1, until_ns);
	if (r == 0)
		stage_begin(stage, stage->at_bytes + stage->len_bytes);
	return r;
}

static int
write_bytes(struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
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

	r = flush(put, until_ns);
	if (r != 0)
		return r;
	stage_begin(&put->stage, offset_bytes);
	if (len <= STAGE_BYTES / 2) {
		r = stage_put(&put->stage, offset_bytes, slices, n_slices, len);
		assert(r <= 0);
		return r < 0 ? why_system(r, "staging a write") : 0;
	}
	r = fill_zeros(put, offset_bytes, until_ns);
	if (r == 0)
		r = move(put, offset_bytes, slices, n_slices, until_ns);
	stage_begin(&put->stage, offset_bytes + len);
	return r;
}

/* ---- the public calls ---------------------------------------------------------------------- */

static void
put_free(struct tiffin_put *put)
{
	struct tiffin_client *client = put->client;

	lock_take(&client->lock);
	list_remove(&put->at);
	lock_drop(&client->lock);
	if (put->is_started)
		writing_fini(&put->writing);
	stage_fini(&put->stage);
	free(put->key);
	free(put->attr);
	put->magic = 0;
	free(put);
}

/* take_options -- copies of what the caller may forget. */
static int
take_options(struct tiffin_put *put, const char *key, const struct tiffin_put_options *options)
{
	put->key = strdup(key);
	if (options != NULL) {
		put->options = *options;
		for (size_t i = 0; i < options->n_preferred; i++)
			put->preferred[i] = options->preferred[i];
		if (options->attr_bytes > 0)
			put->attr = malloc(options->attr_bytes);
	}
	if (put->key == NULL || (put->options.attr_bytes > 0 && put->attr == NULL))
		return why_no_memory();
	if (put->attr != NULL)
		memcpy(put->attr, options->attr, options->attr_bytes);
	put->options.struct_bytes = sizeof(put->options);
	put->options.preferred = put->preferred;
	put->options.attr = put->attr;
	return 0;
}

static int
begin(struct tiffin_client *client, const char *key, const struct tiffin_put_options *options,
      struct tiffin_put **ret_put)
{
	struct tiffin_put *put;
	int r;

	r = client_key_check(key);
	if (r == 0)
		r = put_options_check(options);
	if (r != 0)
		return r;
	put = calloc(1, sizeof(*put));
	if (put == NULL)
		return why_no_memory();
	put->client = client;
	list_link_init(&put->at);
	r = take_options(put, key, options);
	if (r != 0) {
		put_free(put);
		return r;
	}
	put->magic = PUT_MAGIC;
	put->is_summed = true;
	lock_take(&client->lock);
	list_push_back(&client->puts, &put->at);
	lock_drop(&client->lock);
	*ret_put = put;
	return 0;
}

int
tiffin_put_begin(struct tiffin_client *client, const char *key, uint64_t len_bytes,
		 const struct tiffin_put_options *options, struct tiffin_put **ret_put)
{
	struct tiffin_put *put = NULL;
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (len_bytes > OBJECT_LEN_MAX)
		r = why_set(TIFFIN_E_INVALID, "an object is at most 16 TiB");
	else
		r = begin(client, key, options, &put);
	if (r == 0) {
		put->first_room_bytes = len_bytes;
		*ret_put = put;
	}
	/* With a put in hand the caller must get it, whoever closes meanwhile. */
	return r == 0 ? (client_leave(client, 0), 0) : client_leave(client, r);
}

/* after -- a failure of the room is final: bytes may be missing in the middle. */
static int
after(struct tiffin_put *put, int r)
{
	if (r != 0 && r != TIFFIN_E_INVALID && put->failed == 0)
		put->failed = r;
	return r;
}

int
tiffin_put_write(struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
		 size_t n_slices)
{
	uint64_t len, end;
	int r = enter(put);

	if (r != 0)
		return r;
	r = get_slices_check(slices, n_slices);
	len = r == 0 ? get_slices_len(slices, n_slices) : 0;
	if (r == 0 && (!num_add(offset_bytes, len, &end) || end > OBJECT_LEN_MAX))
		r = why_set(TIFFIN_E_INVALID, "an object is at most 16 TiB");
	if (r == 0 && put->failed != 0)
		r = why_set(put->failed, "\"%s\": an earlier write failed", put->key);
	if (r == 0 && len > 0) {
		r = after(put, write_bytes(put, offset_bytes, slices, n_slices,
					   client_until(put->client, len)));
		if (r == 0)
			put->len_bytes = num_max(put->len_bytes, offset_bytes + len);
	}
	return leave(put, r);
}

/* fill -- [from, from + len) of the caller's slices with zeros. */
static void
zero_slices(const struct iovec *slices, size_t n_slices, uint64_t from, uint64_t len)
{
	for (size_t i = 0; i < n_slices && len > 0; i++) {
		uint64_t n = slices[i].iov_len;

		if (from >= n) {
			from -= n;
			continue;
		}
		n = num_min(n - from, len);
		memset((uint8_t *)slices[i].iov_base + from, 0, n);
		from = 0;
		len -= n;
	}
}

/* read_staged -- a stream that has not begun: everything lies in the stage. */
static void
read_staged(const struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
	    size_t n_slices, uint64_t len_bytes)
{
	for (size_t i = 0; i < n_slices && len_bytes > 0; i++) {
		uint64_t n = num_min(slices[i].iov_len, len_bytes), there = 0;

		if (offset_bytes < put->stage.len_bytes)
			there = num_min(n, put->stage.len_bytes - offset_bytes);
		if (there > 0)
			memcpy(slices[i].iov_base, put->stage.bytes + offset_bytes, there);
		if (n > there)
			memset((uint8_t *)slices[i].iov_base + there, 0, n - there);
		offset_bytes += n;
		len_bytes -= n;
	}
}

static int
read_bytes(struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
	   size_t n_slices, uint64_t len_bytes)
{
	const struct op like = {.slices = slices, .n_slices = n_slices};
	uint64_t until = client_until(put->client, len_bytes), there = 0;
	struct moves moves;
	int r;

	if (!put->is_started && put->stage.at_bytes == 0) {
		read_staged(put, offset_bytes, slices, n_slices, len_bytes);
		return 0;
	}
	r = after(put, flush(put, until));
	if (r != 0)
		return r;
	if (offset_bytes < put->filled_bytes)
		there = num_min(len_bytes, put->filled_bytes - offset_bytes);
	zero_slices(slices, n_slices, there, len_bytes - there);
	if (there == 0)
		return 0;
	moves_init(&moves);
	writing_add_reads(&put->writing, &moves, offset_bytes, there, &like);
	r = run(put, &moves, until);
	moves_fini(&moves);
	return r;
}

int
tiffin_put_read(struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
		size_t n_slices, uint64_t *ret_len_bytes)
{
	uint64_t len = 0;
	int r = enter(put);

	if (r != 0)
		return r;
	r = get_slices_check(slices, n_slices);
	if (r == 0 && put->failed != 0)
		r = why_set(put->failed, "\"%s\": an earlier write failed", put->key);
	if (r == 0 && offset_bytes < put->len_bytes) {
		len = num_min(put->len_bytes - offset_bytes, get_slices_len(slices, n_slices));
		if (len > 0)
			r = read_bytes(put, offset_bytes, slices, n_slices, len);
	}
	r = leave(put, r);
	if (r == 0 && ret_len_bytes != NULL)
		*ret_len_bytes = len;
	return r;
}

int
tiffin_put_truncate(struct tiffin_put *put, uint64_t len_bytes)
{
	int r = enter(put);

	if (r != 0)
		return r;
	if (len_bytes > OBJECT_LEN_MAX)
		return leave(put, why_set(TIFFIN_E_INVALID, "an object is at most 16 TiB"));

	stage_cut(&put->stage, len_bytes);
	if (put->stage.len_bytes == 0)
		stage_begin(&put->stage, num_min(put->filled_bytes, len_bytes));
	if (len_bytes < put->filled_bytes) {
		put->filled_bytes = len_bytes;
		put->is_summed = len_bytes == 0; /* the sum of nothing is known again */
		put->crc = 0;
	}
	put->len_bytes = len_bytes;
	return leave(put, 0);
}

uint64_t
tiffin_put_len(const struct tiffin_put *put)
{
	return put != NULL && put->magic == PUT_MAGIC ? put->len_bytes : 0;
}

/* ---- the end ----------------------------------------------------------------------------------- */

/* sum_again -- bytes were written out of order: read them back once. */
static int
sum_again(struct tiffin_put *put, uint64_t until_ns)
{
	uint8_t *room = malloc(STAGE_BYTES);
	const struct iovec slice = {room, STAGE_BYTES};
	const struct op like = {.slices = &slice, .n_slices = 1};
	struct moves moves;
	int r = 0;

	if (room == NULL)
		return why_no_memory();
	put->crc = 0;
	moves_init(&moves);
	for (uint64_t at = 0, len; r == 0 && at < put->len_bytes; at += len) {
		len = num_min(put->len_bytes - at, (uint64_t)STAGE_BYTES);
		moves_clear(&moves);
		writing_add_reads(&put->writing, &moves, at, len, &like);
		r = renew(put, until_ns);
		if (r == 0)
			r = run(put, &moves, until_ns);
		if (r == 0)
			put->crc = crc_of(put->crc, room, len);
	}
	moves_fini(&moves);
	free(room);
	put->is_summed = r == 0;
	return r;
}

static int
commit_small(struct tiffin_put *put, uint64_t *ret_id)
{
	const struct iovec slice = {put->stage.bytes, put->stage.len_bytes};
	struct parcel parcel = {.key = put->key,
				.slices = &slice,
				.n_slices = put->stage.len_bytes > 0 ? 1 : 0,
				.attr = put->attr,
				.attr_bytes = put->options.attr_bytes};
	int r;

	r = put_run(put->client, &parcel, 1, &put->options,
		    client_until(put->client, put->len_bytes));
	*ret_id = parcel.object_id;
	return r == 0 ? parcel.result : r;
}

static int
commit_large(struct tiffin_put *put, uint64_t *ret_id)
{
	uint64_t until = client_until(put->client, put->len_bytes);
	struct rec_put_done done;
	int r;

	r = flush(put, until);
	if (r == 0)
		r = fill_zeros(put, put->len_bytes, until);
	if (r == 0 && !put->is_started) /* an object of zeros that was made longer, then shorter */
		r = make_room(put, put->len_bytes, until);
	if (r == 0 && !put->is_summed)
		r = sum_again(put, until);
	if (r != 0)
		return r;

	done = (struct rec_put_done){.object_id = put->writing.object_id,
				     .len_bytes = put->len_bytes,
				     .has_crc = 1,
				     .crc = put->crc,
				     .attr = span_of(put->attr, put->options.attr_bytes)};
	*ret_id = done.object_id;
	return writing_end(&put->writing, &done, until);
}

/* set_attr -- those of the commit take the place of those of the begin. */
static int
set_attr(struct tiffin_put *put, const void *attr, size_t attr_bytes)
{
	uint8_t *copy;
	int r = put_attr_check(attr, attr_bytes);

	if (r != 0 || attr == NULL)
		return r;
	copy = malloc(num_max(attr_bytes, (size_t)1));
	if (copy == NULL)
		return why_no_memory();
	memcpy(copy, attr, attr_bytes);
	free(put->attr);
	put->attr = copy;
	put->options.attr = copy;
	put->options.attr_bytes = attr_bytes;
	return 0;
}

/* give_up -- the master may use the room again. */
static void
give_up(struct tiffin_put *put)
{
	if (put->is_started)
		writing_revoke(&put->writing,
			       clock_ns(put->client->clock) + put->client->transfer_ms * NS_PER_MS);
}

int
tiffin_put_commit(struct tiffin_put *put, const void *attr, size_t attr_bytes, uint64_t *ret_id)
{
	struct tiffin_client *client;
	uint64_t id = 0;
	int r = enter(put);

	if (r != 0) {
		if (put != NULL && put->magic == PUT_MAGIC && r == TIFFIN_E_CLOSED)
			put_free(put);
		return r;
	}
	client = put->client;
	r = put->failed;
	if (r != 0)
		why_set(r, "\"%s\": an earlier write failed", put->key);
	if (r == 0)
		r = set_attr(put, attr, attr_bytes);
	if (r == 0 && !put->is_started && put->stage.at_bytes == 0 &&
	    stage_fill(&put->stage, put->len_bytes) == 0)
		r = commit_small(put, &id);
	else if (r == 0)
		r = commit_large(put, &id);
	if (r != 0)
		give_up(put);
	put_free(put);
	r = client_leave(client, r);
	if (r == 0 && ret_id != NULL)
		*ret_id = id;
	return r;
}

void
tiffin_put_abort(struct tiffin_put *put)
{
	struct tiffin_client *client;
	int r;

	if (put == NULL)
		return;
	r = enter(put);
	if (r == TIFFIN_E_CLOSED)
		put_free(put);
	if (r != 0)
		return;
	client = put->client;
	give_up(put);
	put_free(put);
	(void)client_leave(client, 0);
}
