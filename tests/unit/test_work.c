/* SPDX-License-Identifier: Apache-2.0 */

/* The worker: reads pieces of an object, writes them where its task says, and reports the sum. */
#include "tests/unit/core_world.h"

#include "core/work.h"

#define LEN                                                                                        \
	((uint64_t)WORK_PIECE_BYTES + 100000) /* of more than one piece, and whole in a segment */

static uint8_t sent[LEN], buf[WORK_PIECE_BYTES];

/* What the little master has to be done, and what it heard of it. */
static struct {
	uint32_t n_left; /* fetches that give the task */
	const char *key;
	struct toy_object *room;
	struct rec_work_done done;
	unsigned n_reports;
	uint32_t write_lease_ms;
	uint32_t unavailable; /* reports answered so */
} job;

static uint32_t
serve_fetch(struct world *w, struct cursor in, struct arena *arena, struct buf *out)
{
	struct rep_fetch_tasks rep = {.write_lease_ms = job.write_lease_ms};
	struct rec_put_place to = {.n_replicas = 1};
	struct rec_object_place from;
	struct rec_work work = {.task_id = 7, .n_from = 1, .from = &from, .n_to = 1, .to = &to};
	struct msg_fetch_tasks msg;

	assert_int_equal(msg_fetch_tasks_decode(in, arena, &msg), 0);
	if (job.n_left > 0) {
		job.n_left--;
		toy_place(w, world_object(w, job.key), arena, &from);
		toy_grant(w, job.room, arena, &to.replicas);
		to.object_id = job.room->object_id;
		work.key = span_of(job.key, strlen(job.key));
		rep.n_works = 1;
		rep.works = &work;
	}
	assert_int_equal(rep_fetch_tasks_encode(out, &rep), 0);
	return STATUS_OK;
}

static uint32_t
serve_report(struct cursor in, struct arena *arena, struct buf *out)
{
	struct msg_report_task msg;
	uint32_t status = STATUS_OK;

	assert_int_equal(msg_report_task_decode(in, arena, &msg), 0);
	assert_int_equal(msg.n_works, 1);
	job.done = msg.works[0];
	job.n_reports++;
	if (job.unavailable > 0) {
		job.unavailable--;
		status = STATUS_UNAVAILABLE;
	}
	toy_fates(1, &status, arena, out);
	return STATUS_OK;
}

static uint32_t
serve(struct world *w, uint16_t type, struct cursor in, struct arena *arena, struct buf *out)
{
	if (type == MSG_fetch_tasks)
		return serve_fetch(w, in, arena, out);
	return type == MSG_report_task ? serve_report(in, arena, out) : STATUS_INVALID;
}

/* An object on segment 0, and room for its copy on segment 1. */
static void
begin(struct world *w, const struct fault_plan *plan, uint64_t len)
{
	world_init(w, plan);
	w->serve_more = serve;
	world_pattern(sent, len, 3);
	assert_int_equal(world_put(w, "a", sent, len, 1), 0);
	memset(&job, 0, sizeof(job));
	job.n_left = 1;
	job.write_lease_ms = WORLD_WRITE_MS;
	job.key = "a";
	job.room = &w->objects[WORLD_OBJECTS - 1];
	*job.room = (struct toy_object){.object_id = 55, .is_there = true, .n_replicas = 1};
	job.room->replicas[0].segment = 1;
	toy_grow(w, job.room, len);
}

static const uint8_t *
landed(const struct world *w)
{
	return (const uint8_t *)w->lents[1]->bytes + job.room->replicas[0].extents[0].offset_bytes;
}

static void
work__copies_all_bytes__and_reports_their_sum(void **state)
{
	struct world w;

	(void)state;
	begin(&w, NULL, LEN);
	assert_true(work_some(w.client, buf));

	assert_memory_equal(landed(&w), sent, LEN);
	assert_int_equal(job.done.task_id, 7);
	assert_int_equal(job.done.put_id, 55);
	assert_int_equal(job.done.status, STATUS_OK);
	assert_true(job.done.is_quiet);
	assert_int_equal(job.done.crc, world_object(&w, "a")->crc);
	assert_false(work_some(w.client, buf));
	world_fini(&w);
}

static void
work__into_room_of_many_pieces__fills_them_in_order(void **state)
{
	struct world w;
	const struct toy_object *room;
	uint64_t at = 0;

	(void)state;
	begin(&w, NULL, 1000);
	job.room->replicas[0].n_extents = 0;
	toy_grow(&w, job.room, 300);
	w.used_bytes[1] += 4096;
	toy_grow(&w, job.room, 700);
	room = job.room;
	assert_true(work_some(w.client, buf));

	for (uint32_t i = 0; i < 2; i++) {
		const struct rec_extent *ext = &room->replicas[0].extents[i];

		assert_memory_equal((const uint8_t *)w.lents[1]->bytes + ext->offset_bytes,
				    sent + at, ext->len_bytes);
		at += ext->len_bytes;
	}
	assert_int_equal(job.done.status, STATUS_OK);
	world_fini(&w);
}

static void
lease_on_the_object__is_given_back_before_the_report(void **state)
{
	struct world w;

	(void)state;
	begin(&w, NULL, 1000);
	w.n_released = 0;
	assert_true(work_some(w.client, buf));
	assert_int_equal(w.n_released, 1);
	world_fini(&w);
}

/* So much time passes while the worker asks where segment 1 is. */
static uint64_t delay_ms;

static void
pass_time(struct world *w, uint16_t type)
{
	if (type == MSG_query_segment)
		clock_fake_advance_ms(&w->clock, delay_ms);
}

static void
delay(struct world *w, uint64_t len_ms)
{
	where_drop(&w->client->where, w->lents[1]->segment_id);
	delay_ms = len_ms;
	w->on_call = pass_time;
}

static void
leases__past_their_half__are_renewed__and_the_work_goes_on(void **state)
{
	struct world w;

	(void)state;
	begin(&w, NULL, LEN);
	job.write_lease_ms = 4000;
	delay(&w, 3000);
	assert_true(work_some(w.client, buf));
	assert_int_equal(job.done.status, STATUS_OK);
	assert_true(w.n_heard[MSG_renew_lease] >= 1);
	assert_int_equal(w.n_heard[MSG_put_extend], 1);
	assert_memory_equal(landed(&w), sent, LEN);
	world_fini(&w);
}

static void
forget(struct world *w, uint16_t type)
{
	pass_time(w, type);
	if (type == MSG_query_segment)
		w->objects[0].is_there = false;
}

static void
work__whose_lease_ran_out__is_reported_as_given_up(void **state)
{
	struct world w;

	(void)state;
	begin(&w, NULL, LEN);
	delay(&w, WORLD_LEASE_MS + 1);
	w.forgets_leases = true;
	w.on_call = forget;
	assert_true(work_some(w.client, buf));
	assert_int_equal(job.done.status, STATUS_UNREACHABLE);
	assert_true(job.done.is_quiet);
	world_fini(&w);
}

static void
bytes__that_have_rotted__are_reported_as_a_bad_sum(void **state)
{
	struct world w;

	(void)state;
	begin(&w, NULL, 1000);
	((uint8_t *)w.lents[0]
		 ->bytes)[world_object(&w, "a")->replicas[0].extents[0].offset_bytes] ^= 1;
	assert_true(work_some(w.client, buf));
	assert_int_equal(job.done.status, STATUS_BAD_CHECKSUM);
	world_fini(&w);
}

static void
report__that_the_master_cannot_note__is_repeated(void **state)
{
	struct world w;

	(void)state;
	begin(&w, NULL, 1000);
	job.unavailable = 3;
	assert_true(work_some(w.client, buf));
	assert_int_equal(job.n_reports, 4);
	world_fini(&w);
}

static void
master__that_is_away__leaves_nothing_to_do(void **state)
{
	struct world w;

	(void)state;
	begin(&w, NULL, 1000);
	w.link_outcome = LINK_E_LOST;
	assert_false(work_some(w.client, buf));
	w.link_outcome = 0;
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work__copies_all_bytes__and_reports_their_sum),
		cmocka_unit_test(work__into_room_of_many_pieces__fills_them_in_order),
		cmocka_unit_test(lease_on_the_object__is_given_back_before_the_report),
		cmocka_unit_test(leases__past_their_half__are_renewed__and_the_work_goes_on),
		cmocka_unit_test(work__whose_lease_ran_out__is_reported_as_given_up),
		cmocka_unit_test(bytes__that_have_rotted__are_reported_as_a_bad_sum),
		cmocka_unit_test(report__that_the_master_cannot_note__is_repeated),
		cmocka_unit_test(master__that_is_away__leaves_nothing_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
