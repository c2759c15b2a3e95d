/* SPDX-License-Identifier: Apache-2.0 */

/* Copies, moves and drains: asked for, cancelled, and told one by one. */
#include <stdio.h>
#include <string.h>

#include "core/ask.h"
#include "core/statuses.h"
#include "core/why.h"
#include "transfer/base/num.h"

/* ---- copy, move --------------------------------------------------------------------- */

static int
why_item(const char *key, uint32_t status)
{
	char shown[128];

	return why_set(statuses_code(status), "\"%s\": %s",
		       why_key(shown, sizeof(shown), key, strlen(key)), status_meaning(status));
}

static int
encode_copies(struct buf *to, const struct tiffin_relocation *const *wishes, uint32_t n)
{
	struct rec_copy_wish recs[BATCH_MAX];
	const struct msg_copy msg = {.n_copies = n, .copies = recs};

	for (uint32_t i = 0; i < n; i++)
		recs[i] = (struct rec_copy_wish){span_of(wishes[i]->key, strlen(wishes[i]->key)),
						 wishes[i]->to_segment_id};
	return msg_copy_encode(to, &msg);
}

static int
encode_moves(struct buf *to, const struct tiffin_relocation *const *wishes, uint32_t n)
{
	struct rec_move_wish recs[BATCH_MAX];
	const struct msg_move msg = {.n_moves = n, .moves = recs};

	for (uint32_t i = 0; i < n; i++)
		recs[i] = (struct rec_move_wish){span_of(wishes[i]->key, strlen(wishes[i]->key)),
						 wishes[i]->from_segment_id,
						 wishes[i]->to_segment_id};
	return msg_move_encode(to, &msg);
}

/* Where results go. */
struct results {
	uint64_t *ids; /* NULL: nobody wants them */
	int *codes;
};

/* One request: wishes of one kind, and which of the caller's they are. */
struct some {
	bool is_move;
	uint32_t n;
	const struct tiffin_relocation *wishes[BATCH_MAX];
	size_t at[BATCH_MAX];
};

static int
ask_some(struct tiffin_client *client, const struct some *some, const struct results *ret)
{
	cleanup_with(ask_fini) struct ask ask;
	struct rep_copy rep; /* a move is answered alike */
	int encoded, r;

	ask_init(&ask, client);
	encoded = some->is_move ? encode_moves(&ask.payload, some->wishes, some->n)
				: encode_copies(&ask.payload, some->wishes, some->n);
	r = ask_call(&ask, some->is_move ? MSG_move : MSG_copy, encoded, client_until(client));
	if (r == 0)
		r = ask_read(&ask, rep_copy_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		r = ask_count(&ask, rep.n_fates, some->n);
	for (uint32_t i = 0; r == 0 && i < some->n; i++) {
		const struct rec_task_fate *fate = &rep.fates[i];

		ret->codes[some->at[i]] = fate->status == STATUS_OK
						  ? 0
						  : why_item(some->wishes[i]->key, fate->status);
		if (ret->ids != NULL)
			ret->ids[some->at[i]] = fate->task_id;
	}
	return r;
}

/* ask_kind -- all wishes of one kind, as many at once as a request takes. */
static int
ask_kind(struct tiffin_client *client, const struct tiffin_relocation *wishes, size_t n,
	 bool is_move, const struct results *ret)
{
	struct some *some = malloc(sizeof(*some));
	int r = 0;

	if (some == NULL)
		return why_no_memory();
	some->is_move = is_move;
	some->n = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (ret->codes[i] != 0 || (wishes[i].from_segment_id != 0) != is_move)
			continue;
		some->wishes[some->n] = &wishes[i];
		some->at[some->n++] = i;
		if (some->n < BATCH_MAX)
			continue;
		r = ask_some(client, some, ret);
		some->n = 0;
	}
	if (r == 0 && some->n > 0)
		r = ask_some(client, some, ret);
	free(some);
	return r;
}

static int
relocate(struct tiffin_client *client, const struct tiffin_relocation *wishes, size_t n,
	 const struct results *ret)
{
	int r;

	for (size_t i = 0; i < n; i++) {
		ret->codes[i] = client_key_check(wishes[i].key);
		if (ret->ids != NULL)
			ret->ids[i] = 0;
	}
	r = ask_kind(client, wishes, n, false, ret);
	return r != 0 ? r : ask_kind(client, wishes, n, true, ret);
}

int
tiffin_relocate(struct tiffin_client *client, const struct tiffin_relocation *wishes,
		size_t n_wishes, uint64_t *ret_task_ids, int *ret_results)
{
	const struct results ret = {ret_task_ids, ret_results};
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (n_wishes > 0 && (wishes == NULL || ret_results == NULL))
		r = why_set(TIFFIN_E_INVALID, "there are no wishes, or no place for the results");
	else
		r = relocate(client, wishes, n_wishes, &ret);
	return client_leave(client, r);
}

static int
relocate_one(struct tiffin_client *client, const struct tiffin_relocation *wish,
	     uint64_t *ret_task_id)
{
	uint64_t id = 0;
	int code = 0;
	int r = tiffin_relocate(client, wish, 1, &id, &code);

	r = r != 0 ? r : code;
	if (r == 0 && ret_task_id != NULL)
		*ret_task_id = id;
	return r;
}

int
tiffin_copy(struct tiffin_client *client, const char *key, uint64_t to_segment_id,
	    uint64_t *ret_task_id)
{
	const struct tiffin_relocation wish = {key, 0, to_segment_id};

	return relocate_one(client, &wish, ret_task_id);
}

int
tiffin_move(struct tiffin_client *client, const char *key, uint64_t from_segment_id,
	    uint64_t to_segment_id, uint64_t *ret_task_id)
{
	const struct tiffin_relocation wish = {key, from_segment_id, to_segment_id};

	if (from_segment_id == 0)
		return why_set(TIFFIN_E_INVALID, "a move is away from a segment");
	return relocate_one(client, &wish, ret_task_id);
}

/* ---- drain, cancel -------------------------------------------------------------------- */

/* list_ids -- 0, or TIFFIN_E_INVALID for too many. */
static int
list_ids(const uint64_t *ids, size_t n, struct rec_id *ret_recs)
{
	if (n > SEGMENTS_MAX || (n > 0 && ids == NULL))
		return why_set(TIFFIN_E_INVALID, "at most %d segments can be named at once",
			       SEGMENTS_MAX);
	for (size_t i = 0; i < n; i++)
		ret_recs[i].id = ids[i];
	return 0;
}

#define DRAIN_UNDO 1

static int
ask_drain(struct tiffin_client *client, const struct tiffin_drain_options *options, uint8_t flags,
	  uint64_t *ret_job_id)
{
	struct rec_id segments[SEGMENTS_MAX], targets[SEGMENTS_MAX];
	const struct msg_drain msg = {.flags = flags,
				      .concurrency = options->concurrency,
				      .n_segments = (uint32_t)options->n_segments,
				      .segments = segments,
				      .n_targets = (uint32_t)options->n_targets,
				      .targets = targets};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_drain rep;
	int r = list_ids(options->segments, options->n_segments, segments);

	ask_init(&ask, client);
	if (r == 0)
		r = list_ids(options->targets, options->n_targets, targets);
	if (r == 0 && options->n_segments == 0)
		r = why_set(TIFFIN_E_INVALID, "no segment is named");
	if (r == 0)
		r = ask_call(&ask, MSG_drain, msg_drain_encode(&ask.payload, &msg),
			     client_until(client));
	if (r == 0)
		r = ask_read(&ask, rep_drain_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0 && ret_job_id != NULL)
		*ret_job_id = rep.job_id;
	return r;
}

int
tiffin_drain(struct tiffin_client *client, const struct tiffin_drain_options *options,
	     uint64_t *ret_job_id)
{
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (options == NULL || options->struct_bytes < sizeof(*options))
		r = why_set(TIFFIN_E_INVALID, "tiffin_drain_options: set struct_bytes");
	else
		r = ask_drain(client, options, 0, ret_job_id);
	return client_leave(client, r);
}

int
tiffin_undrain(struct tiffin_client *client, const uint64_t *segments, size_t n_segments)
{
	const struct tiffin_drain_options options = {.segments = segments,
						     .n_segments = n_segments};
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, ask_drain(client, &options, DRAIN_UNDO, NULL));
}

static int
cancel(struct tiffin_client *client, uint64_t id)
{
	struct rec_id one = {id};
	const struct msg_cancel msg = {.n_ids = 1, .ids = &one};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_cancel rep;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_cancel, msg_cancel_encode(&ask.payload, &msg), client_until(client));
	if (r == 0)
		r = ask_read(&ask, rep_cancel_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		r = ask_count(&ask, rep.n_fates, 1);
	if (r == 0 && rep.fates[0].status != STATUS_OK)
		r = why_set(statuses_code(rep.fates[0].status), "%lu: %s", id,
			    status_meaning(rep.fates[0].status));
	return r;
}

int
tiffin_cancel(struct tiffin_client *client, uint64_t id)
{
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, cancel(client, id));
}

/* ---- tasks ------------------------------------------------------------------------------ */

typedef int (*task_fn)(void *arg, const struct tiffin_task *task);

static const char *
word(const char *const *words, size_t n, uint8_t at)
{
	return at < n && words[at] != NULL ? words[at] : "unknown";
}

static const char *const kinds[] = {[1] = "copy", [2] = "move"};
static const char *const task_states[] = {[1] = "waiting", [2] = "offered", [3] = "running",
					  [4] = "done",    [5] = "failed",  [6] = "cancelled"};
static const char *const job_states[] = {
	[1] = "running", [2] = "succeeded", [3] = "failed", [4] = "cancelled"};

static const char *
reason_of(uint32_t status)
{
	return status == STATUS_OK ? "" : status_meaning(status);
}

static int
tell_task(const struct rec_task_state *rec, task_fn fn, void *arg)
{
	char key[KEY_MAX + 1];
	const struct tiffin_task task = {
		.task_id = rec->task_id,
		.job_id = rec->job_id,
		.object_id = rec->object_id,
		.len_bytes = rec->len_bytes,
		.from_segment_id = rec->from_id,
		.to_segment_id = rec->to_id,
		.client_id = rec->client_id,
		.made_at_ms = rec->made_at_ms,
		.ended_at_ms = rec->ended_at_ms,
		.n_tries = rec->tries,
		.has_ended = rec->ended_at_ms != 0,
		.key = key,
		.kind = word(kinds, array_len(kinds), rec->kind),
		.state = word(task_states, array_len(task_states), rec->state),
		.reason = reason_of(rec->reason),
	};

	snprintf(key, sizeof(key), "%.*s", (int)rec->key.len, (const char *)rec->key.at);
	return fn(arg, &task);
}

static int
ask_tasks(struct ask *ask, const struct msg_query_task *msg, struct rep_query_task *ret_rep)
{
	int r = ask_call(ask, MSG_query_task, msg_query_task_encode(&ask->payload, msg),
			 client_until(ask->client));

	return r != 0 ? r
		      : ask_read(ask, rep_query_task_decode(ask->reply.payload, ask->reply.arena,
							    ret_rep));
}

/* task_page -- those behind the cursor, which moves on.  1: there may be more; 0: that was all. */
static int
task_page(struct tiffin_client *client, struct msg_query_task *msg, task_fn fn, void *arg,
	  int *ret_fn)
{
	cleanup_with(ask_fini) struct ask ask;
	struct rep_query_task rep;
	int r;

	ask_init(&ask, client);
	r = ask_tasks(&ask, msg, &rep);
	for (uint32_t i = 0; r == 0 && *ret_fn == 0 && i < rep.n_tasks; i++) {
		*ret_fn = tell_task(&rep.tasks[i], fn, arg);
		msg->after_id = rep.tasks[i].task_id;
	}
	return r != 0 ? r : rep.n_tasks > 0 && *ret_fn == 0;
}

int
tiffin_tasks(struct tiffin_client *client, uint64_t job_id,
	     int (*fn)(void *arg, const struct tiffin_task *task), void *arg)
{
	struct msg_query_task msg = {.job_id = job_id};
	int of_fn = 0, r = client_enter(client);

	if (r != 0)
		return r;
	do {
		r = task_page(client, &msg, fn, arg, &of_fn);
	} while (r == 1);
	return client_leave(client, of_fn != 0 ? of_fn : r);
}

static int
one_task(struct tiffin_client *client, uint64_t task_id, task_fn fn, void *arg)
{
	struct rec_id id = {task_id};
	const struct msg_query_task msg = {.n_tasks = 1, .tasks = &id};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_query_task rep;
	int r;

	ask_init(&ask, client);
	r = ask_tasks(&ask, &msg, &rep);
	if (r == 0)
		r = ask_count(&ask, rep.n_tasks, 1);
	if (r == 0 && rep.tasks[0].status != STATUS_OK)
		r = why_set(statuses_code(rep.tasks[0].status), "task %lu: %s", task_id,
			    status_meaning(rep.tasks[0].status));
	return r != 0 ? r : tell_task(&rep.tasks[0], fn, arg);
}

int
tiffin_task(struct tiffin_client *client, uint64_t task_id,
	    int (*fn)(void *arg, const struct tiffin_task *task), void *arg)
{
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, one_task(client, task_id, fn, arg));
}

/* ---- jobs ------------------------------------------------------------------------------- */

typedef int (*job_fn)(void *arg, const struct tiffin_job *job);

static size_t
take_ids(const struct rec_id *recs, uint32_t n, uint64_t ret_ids[SEGMENTS_MAX])
{
	size_t n_ids = num_min((size_t)n, (size_t)SEGMENTS_MAX);

	for (size_t i = 0; i < n_ids; i++)
		ret_ids[i] = recs[i].id;
	return n_ids;
}

static int
tell_job(const struct rec_job_state *rec, job_fn fn, void *arg)
{
	uint64_t segments[SEGMENTS_MAX], targets[SEGMENTS_MAX];
	const struct tiffin_job job = {
		.job_id = rec->job_id,
		.n_done = rec->n_done,
		.n_failed = rec->n_failed,
		.n_left = rec->n_left,
		.bytes_done = rec->bytes_done,
		.bytes_failed = rec->bytes_failed,
		.bytes_left = rec->bytes_left,
		.made_at_ms = rec->made_at_ms,
		.ended_at_ms = rec->ended_at_ms,
		.concurrency = rec->concurrency,
		.n_under_way = rec->n_under_way,
		.has_ended = rec->ended_at_ms != 0,
		.state = word(job_states, array_len(job_states), rec->state),
		.reason = reason_of(rec->reason),
		.segments = segments,
		.targets = targets,
		.n_segments = take_ids(rec->segments, rec->n_segments, segments),
		.n_targets = take_ids(rec->targets, rec->n_targets, targets),
	};

	return fn(arg, &job);
}

static int
ask_jobs(struct ask *ask, const struct msg_query_job *msg, struct rep_query_job *ret_rep)
{
	int r = ask_call(ask, MSG_query_job, msg_query_job_encode(&ask->payload, msg),
			 client_until(ask->client));

	return r != 0 ? r
		      : ask_read(ask, rep_query_job_decode(ask->reply.payload, ask->reply.arena,
							   ret_rep));
}

static int
job_page(struct tiffin_client *client, struct msg_query_job *msg, job_fn fn, void *arg, int *ret_fn)
{
	cleanup_with(ask_fini) struct ask ask;
	struct rep_query_job rep;
	int r;

	ask_init(&ask, client);
	r = ask_jobs(&ask, msg, &rep);
	for (uint32_t i = 0; r == 0 && *ret_fn == 0 && i < rep.n_jobs; i++) {
		*ret_fn = tell_job(&rep.jobs[i], fn, arg);
		msg->after_id = rep.jobs[i].job_id;
	}
	return r != 0 ? r : rep.n_jobs > 0 && *ret_fn == 0;
}

int
tiffin_jobs(struct tiffin_client *client, int (*fn)(void *arg, const struct tiffin_job *job),
	    void *arg)
{
	struct msg_query_job msg = {.after_id = 0};
	int of_fn = 0, r = client_enter(client);

	if (r != 0)
		return r;
	do {
		r = job_page(client, &msg, fn, arg, &of_fn);
	} while (r == 1);
	return client_leave(client, of_fn != 0 ? of_fn : r);
}

static int
one_job(struct tiffin_client *client, uint64_t job_id, job_fn fn, void *arg)
{
	struct rec_id id = {job_id};
	const struct msg_query_job msg = {.n_jobs = 1, .jobs = &id};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_query_job rep;
	int r;

	ask_init(&ask, client);
	r = ask_jobs(&ask, &msg, &rep);
	if (r == 0)
		r = ask_count(&ask, rep.n_jobs, 1);
	if (r == 0 && rep.jobs[0].status != STATUS_OK)
		r = why_set(statuses_code(rep.jobs[0].status), "job %lu: %s", job_id,
			    status_meaning(rep.jobs[0].status));
	return r != 0 ? r : tell_job(&rep.jobs[0], fn, arg);
}

int
tiffin_job(struct tiffin_client *client, uint64_t job_id,
	   int (*fn)(void *arg, const struct tiffin_job *job), void *arg)
{
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, one_job(client, job_id, fn, arg));
}
