/* SPDX-License-Identifier: Apache-2.0 */
#include "core/work.h"

#include <errno.h>
#include <string.h>

#include "core/ask.h"
#include "core/get.h"
#include "core/thread.h"
#include "core/why.h"
#include "core/writing.h"
#include "transfer/base/crc.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

#define REPORT_TRIES 50 /* with a pause before each, while the master can't write its books */

struct work {
	pthread_t thread;
	struct tiffin_client *client;
	uint8_t *buf;
	pthread_cond_t cond; /* with the client's lock */
	bool is_hinted;
};

/* ---- one task ------------------------------------------------------------------------ */

/* What is known of one task while it is carried out. */
struct errand {
	struct tiffin_client *client;
	const struct rec_object_place *from;
	char key[TIFFIN_KEY_MAX + 1];
	uint64_t asked_ns;
	uint8_t *buf;
	struct writing writing;
	struct kept kept;
	struct moves moves;
	uint32_t crc;
};

static int
read_piece(struct errand *errand, uint64_t at_bytes, uint64_t len_bytes)
{
	const struct iovec slice = {errand->buf, len_bytes};
	struct fetch fetch = {.key = errand->key,
			      .slices = &slice,
			      .n_slices = 1,
			      .offset_bytes = at_bytes,
			      .len_bytes = len_bytes,
			      .is_range = true,
			      .place = errand->from,
			      .asked_ns = errand->asked_ns};

	return get_move(errand->client, &fetch, client_until(errand->client));
}

/* run_ops -- all that were added; joins the sums of the first n_crc. */
static enum op_result
run_ops(struct errand *errand, size_t n_crc)
{
	struct moves *moves = &errand->moves;
	uint64_t until_ns = client_until(errand->client);
	enum op_result result;

	for (size_t at = 0; at < moves->n;)
		at = moves_wave(errand->client, moves, at, &until_ns);
	result = writing_note(&errand->writing, moves, 0, moves->n);
	for (size_t i = 0; i < n_crc && result == OP_DONE; i++)
		errand->crc = crc_join(errand->crc, moves->ops[i].crc, moves->ops[i].len_bytes);
	return result;
}

static int
write_piece(struct errand *errand, uint64_t at_bytes, uint64_t len_bytes)
{
	const struct iovec slice = {errand->buf, len_bytes};
	const struct op part = {
		.offset_bytes = at_bytes, .len_bytes = len_bytes, .slices = &slice, .n_slices = 1};
	struct writing_span span;
	enum op_result result;
	size_t n_crc;

	moves_clear(&errand->moves);
	writing_add_ops(&errand->writing, &errand->moves, &part, &n_crc);
	if (errand->moves.is_short)
		return why_no_memory();
	if (!writing_begin(errand->client, &span, &errand->writing.era))
		return TIFFIN_E_LEASE;
	result = run_ops(errand, n_crc);
	writing_finish(errand->client, &span);
	return result == OP_DONE ? 0 : writing_why(&errand->writing, errand->key, result);
}

/* hold_on -- both promises, renewed where it is time.  0 or TIFFIN_E_*. */
static int
hold_on(struct errand *errand)
{
	struct tiffin_client *client = errand->client;

	if (atomic_load(&client->is_closing))
		return why_set(TIFFIN_E_CLOSED, "the client is being closed");
	if (writing_is_due(&errand->writing)) {
		int r = writing_extend(&errand->writing, 0, client_tick_until(client));

		if (r != 0)
			return r;
	}
	lease_keeper_renew(client);
	if (!writing_holds(&errand->writing) || !kept_holds(&errand->kept, client->clock))
		return why_set(TIFFIN_E_LEASE, "\"%s\": a lease of its task ran out", errand->key);
	return 0;
}

static int
move_bytes(struct errand *errand)
{
	uint64_t len_bytes = errand->from->len_bytes;
	int r = 0;

	if (errand->writing.room_bytes < len_bytes)
		return why_set(TIFFIN_E_VERSION, "the master granted less than an object");
	for (uint64_t at = 0; at < len_bytes && r == 0; at += WORK_PIECE_BYTES) {
		uint64_t n = num_min(len_bytes - at, WORK_PIECE_BYTES);

		r = hold_on(errand);
		if (r == 0)
			r = read_piece(errand, at, n);
		if (r == 0)
			r = write_piece(errand, at, n);
	}
	/* what was read after the end of its lease may be anybody's */
	if (r == 0 && !kept_holds(&errand->kept, errand->client->clock))
		r = why_set(TIFFIN_E_LEASE, "\"%s\": its lease ran out meanwhile", errand->key);
	if (r == 0 && errand->from->has_crc != 0 && errand->crc != errand->from->crc)
		r = why_set(TIFFIN_E_CHECKSUM, "\"%s\": its bytes are not those that were put",
			    errand->key);
	return r;
}

static uint32_t
status_of(int r)
{
	if (r == 0)
		return STATUS_OK;
	return r == TIFFIN_E_CHECKSUM ? STATUS_BAD_CHECKSUM : STATUS_UNREACHABLE;
}

/* What all tasks of one fetch share. */
struct round {
	struct tiffin_client *client;
	uint8_t *buf;
	const struct ask *ask; /* that fetched it */
	struct writing_era era;
	uint32_t write_lease_ms;
};

static void
carry_out(const struct round *round, const struct rec_work *work, struct rec_work_done *ret_done)
{
	const struct writing_granted granted = {.object_id = work->to[0].object_id,
						.era = round->era,
						.replicas = work->to[0].replicas,
						.n_replicas = work->to[0].n_replicas,
						.write_lease_ms = round->write_lease_ms,
						.asked_ns = round->ask->asked_ns};
	struct errand errand = {.client = round->client,
				.from = &work->from[0],
				.asked_ns = round->ask->asked_ns,
				.buf = round->buf};
	int r;

	memcpy(errand.key, work->key.at, work->key.len);
	moves_init(&errand.moves);
	lease_keeper_add(&round->client->lease_keeper, &errand.kept, errand.key, errand.from,
			 round->ask);
	r = writing_init(&errand.writing, round->client, &granted,
			 client_tick_until(round->client));
	if (r == 0)
		r = move_bytes(&errand);
	lease_keeper_remove(round->client, &errand.kept);
	*ret_done = (struct rec_work_done){.task_id = work->task_id,
					   .put_id = granted.object_id,
					   .status = status_of(r),
					   .is_quiet = errand.writing.is_quiet,
					   .crc = errand.crc};
	log_event(r == 0 ? LOG_DEBUG : LOG_WARN, r == 0 ? "task_done" : "task_failed",
		  "task=%lu bytes=%lu why=\"%s\"", work->task_id, errand.from->len_bytes,
		  r == 0 ? "" : tiffin_why());
	writing_fini(&errand.writing);
	moves_fini(&errand.moves);
}

/* ---- fetch and report ------------------------------------------------------------------ */

/* is_whole -- has it what a task needs? */
static bool
is_whole(const struct rec_work *work)
{
	return work->n_from == 1 && work->n_to == 1 && work->key.len <= TIFFIN_KEY_MAX;
}

/* report_once -- tells those that are to be told once more, in place.  0 or TIFFIN_E_*. */
static int
report_once(struct tiffin_client *client, struct rec_work_done *done, uint32_t *n)
{
	struct msg_report_task msg = {.n_works = *n, .works = done};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_report_task rep;
	uint32_t n_again = 0;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_report_task, msg_report_task_encode(&ask.payload, &msg),
		     client_until(client));
	if (r == 0)
		r = ask_read(&ask,
			     rep_report_task_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		r = ask_count(&ask, rep.n_fates, *n);
	for (uint32_t i = 0; r == 0 && i < *n; i++)
		if (rep.fates[i].status == STATUS_UNAVAILABLE)
			done[n_again++] = done[i];
	*n = n_again;
	return r;
}

/* report -- what the master never hears of it gives up when the write lease is over. */
static void
report(struct tiffin_client *client, struct rec_work_done *done, uint32_t n)
{
	int r = 0;

	lease_keeper_flush(client); /* before: then nobody reads these under a lease of ours */
	for (unsigned tries = 0; n > 0 && r == 0 && tries < REPORT_TRIES; tries++) {
		if (tries > 0 && !client_pause(client, client_until(client)))
			break;
		r = report_once(client, done, &n);
	}
	if (r != 0)
		log_event(LOG_WARN, "report_failed", "tasks=%u why=\"%s\"", n, tiffin_why());
}

static bool
run_round(struct tiffin_client *client, uint8_t *buf)
{
	struct round round = {.client = client, .buf = buf, .era = writing_era(client)};
	struct rec_work_done done[WORKS_MAX];
	struct msg_fetch_tasks msg = {.most = WORKS_MAX};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_fetch_tasks rep;
	uint32_t n = 0;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_fetch_tasks, msg_fetch_tasks_encode(&ask.payload, &msg),
		     client_tick_until(client));
	if (r == 0)
		r = ask_read(&ask,
			     rep_fetch_tasks_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r != 0)
		return false;
	round.ask = &ask;
	round.write_lease_ms = rep.write_lease_ms;
	for (uint32_t i = 0; i < rep.n_works; i++)
		if (is_whole(&rep.works[i]))
			carry_out(&round, &rep.works[i], &done[n++]);
	report(client, done, n);
	return n > 0;
}

bool
work_some(struct tiffin_client *client, uint8_t *buf)
{
	bool has_done;

	if (client_enter(client) != 0)
		return false;
	has_done = run_round(client, buf);
	return client_leave(client, 0) == 0 && has_done;
}

/* ---- the thread -------------------------------------------------------------------------- */

static void *
work_run(void *arg)
{
	struct work *work = arg;
	struct tiffin_client *client = work->client;

	lock_take(&client->lock);
	while (!atomic_load(&client->is_closing)) {
		if (!work->is_hinted) {
			lock_wait(&client->lock, &work->cond);
			continue;
		}
		work->is_hinted = false;
		lock_drop(&client->lock);
		while (work_some(client, work->buf))
			;
		lock_take(&client->lock);
	}
	lock_drop(&client->lock);
	return NULL;
}

static void
work_free(struct work *work)
{
	pthread_cond_destroy(&work->cond);
	free(work->buf);
	free(work);
}

static int
work_new(struct tiffin_client *client, struct work **ret_work)
{
	struct work *work = calloc(1, sizeof(*work));

	if (work == NULL)
		return err_new(-ENOMEM);
	work->buf = malloc(WORK_PIECE_BYTES);
	if (work->buf == NULL) {
		free(work);
		return err_new(-ENOMEM);
	}
	work->client = client;
	lock_cond_init(&work->cond);
	*ret_work = work;
	return 0;
}

int
work_start(struct tiffin_client *client)
{
	struct work *work = NULL;
	int r;

	if (client->beat == NULL)
		return 0;
	r = work_new(client, &work);
	if (r < 0)
		return err_up(r);
	lock_take(&client->lock);
	if (client->work == NULL && !atomic_load(&client->is_closing)) {
		r = thread_start(&work->thread, work_run, work);
		if (r == 0) {
			client->work = work;
			atomic_store(&client->has_worker, true);
			work = NULL;
		}
	}
	lock_drop(&client->lock);
	if (work != NULL)
		work_free(work);
	return r < 0 ? err_up(r) : 0;
}

void
work_stop(struct tiffin_client *client)
{
	struct work *work;

	assert(atomic_load(&client->is_closing));
	lock_take(&client->lock);
	work = client->work;
	client->work = NULL;
	if (work != NULL)
		pthread_cond_signal(&work->cond);
	lock_drop(&client->lock);
	if (work == NULL)
		return;
	pthread_join(work->thread, NULL);
	work_free(work);
}

void
work_hint(struct tiffin_client *client)
{
	lock_take(&client->lock);
	if (client->work != NULL) {
		client->work->is_hinted = true;
		pthread_cond_signal(&client->work->cond);
	}
	lock_drop(&client->lock);
}
