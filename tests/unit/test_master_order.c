/* SPDX-License-Identifier: Apache-2.0 */

/* What an administrator writes into orders.db is obeyed, and its row tells what came of it. */
#include <sqlite3.h>

#include "master/store_orders_internal.h"
#include "sql/sql_text.h"
#include "tests/unit/master_works.h"

struct desk {
	struct world *w;
	char path[160];
	struct orders *orders;
	sqlite3 *sql; /* the administrator's */
	char answer[256];
};

static void
desk_open(struct desk *d)
{
	const struct known_setting known = {"put_wait_ms", "ms", "", 0, 60000, 2000};
	const struct orders_config config = {
		.db = d->w->path,
		.clock = &d->w->clock.base,
		.known = &known,
		.n_known = 1,
		.is_inline = true,
	};

	assert_int_equal(orders_open(&config, &d->orders), 0);
	d->w->master->orders = d->orders;
}

/* What was written is read, obeyed and answered. */
static void
settle(struct desk *d)
{
	for (int i = 0; i < 5; i++) {
		orders_step(d->orders);
		world_pass_ms(d->w, 250);
	}
	orders_step(d->orders);
}

static int
setup(void **state)
{
	struct desk *d = calloc(1, sizeof(*d));
	void *w;

	assert_int_equal(world_setup(&w), 0);
	d->w = w;
	snprintf(d->path, sizeof(d->path), "%s/orders.db", d->w->dir);
	desk_open(d);
	orders_step(d->orders);
	assert_int_equal(sqlite3_open(d->path, &d->sql), SQLITE_OK);
	*state = d;
	return 0;
}

static int
teardown(void **state)
{
	struct desk *d = *state;
	void *w = d->w;

	sqlite3_close(d->sql);
	d->w->master->orders = NULL;
	orders_close(d->orders);
	unlink(d->path);
	free(d);
	return world_teardown(&w);
}

static void
desk_restart(struct desk *d)
{
	orders_close(d->orders);
	world_close(d->w);
	assert_int_equal(world_open(d->w), 0);
	desk_open(d);
}

/* rc */
static int
say(struct desk *d, const char *text)
{
	return sqlite3_exec(d->sql, text, NULL, NULL, NULL);
}

static void
order(struct desk *d, const char *text)
{
	if (say(d, text) != SQLITE_OK)
		fail_msg("%s: %s", text, sqlite3_errmsg(d->sql));
}

static void
refused(struct desk *d, const char *text, const char *words)
{
	assert_int_not_equal(say(d, text), SQLITE_OK);
	if (strstr(sqlite3_errmsg(d->sql), words) == NULL)
		fail_msg("%s: %s", text, sqlite3_errmsg(d->sql));
}

/* The first column of the first row, "NULL", or "none". */
static const char *
ask(struct desk *d, const char *text)
{
	sqlite3_stmt *stmt;
	const char *found = "none";

	assert_int_equal(sqlite3_prepare_v2(d->sql, text, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		found = (const char *)sqlite3_column_text(stmt, 0);
	snprintf(d->answer, sizeof(d->answer), "%s", found != NULL ? found : "NULL");
	sqlite3_finalize(stmt);
	return d->answer;
}

#define assert_answer(d, text, is) assert_string_equal(ask(d, text), is)

static uint8_t
pin_of(struct end *end, const char *key)
{
	struct rec_key_only only = {span_of(key, strlen(key))};
	struct rep_stat rep = {0};

	assert_int_equal(ASK(end, stat, &rep, .n_keys = 1, .keys = &only), STATUS_OK);
	return rep.objects[0].pin;
}

static uint8_t
state_of(struct end *end, uint64_t segment_id)
{
	struct rec_id id = {segment_id};
	struct rep_query_segment rep = {0};

	assert_int_equal(ASK(end, query_segment, &rep, .n_segments = 1, .segments = &id),
			 STATUS_OK);
	return rep.segments[0].state;
}

/* ---- pins ---- */

static void
pins__by_text_or_blob__are_obeyed__changed__and_taken_back(void **state)
{
	struct desk *d = *state;
	struct cast c = cast_of(d->w);

	order(d, "INSERT INTO pin (key, kind) VALUES ('k', 'hard')");
	settle(d);
	assert_answer(d, "SELECT outcome || ': ' || words FROM pin", "done: pinned hard");
	assert_int_equal(pin_of(c.user, "k"), 2);

	order(d, "UPDATE pin SET kind = 'soft', ttl_ms = 5000");
	assert_answer(d, "SELECT outcome FROM pin", "NULL");
	settle(d);
	assert_answer(d, "SELECT words FROM pin", "pinned soft");
	assert_int_equal(pin_of(c.user, "k"), 1);
	world_pass_ms(d->w, 6000);
	assert_int_equal(pin_of(c.user, "k"), 0);

	order(d, "DELETE FROM pin; INSERT INTO pin (key, kind) VALUES (x'6b', 'hard')");
	settle(d);
	assert_int_equal(pin_of(c.user, "k"), 2);
	order(d, "UPDATE pin SET kind = 'none'");
	settle(d);
	assert_answer(d, "SELECT words FROM pin", "not pinned any more");
	assert_int_equal(pin_of(c.user, "k"), 0);
}

static void
pin__of_what_is_not_there__is_refused(void **state)
{
	struct desk *d = *state;
	struct cast c = cast_of(d->w);

	order(d, "INSERT INTO pin (key, kind) VALUES ('other', 'hard')");
	order(d, "INSERT INTO pin (tenant, key, kind) VALUES ('nobody', 'k', 'hard')");
	settle(d);
	assert_answer(d, "SELECT outcome || ': ' || words FROM pin WHERE key = 'other'",
		      "refused: no such object: a pin is for what is there");
	assert_answer(d, "SELECT outcome || ': ' || words FROM pin WHERE tenant = 'nobody'",
		      "refused: no such tenant");
	assert_int_equal(pin_of(c.user, "k"), 0);
}

static void
pins__more_than_are_read_at_once__are_all_obeyed(void **state)
{
	struct desk *d = *state;
	struct cast c = cast_of(d->w);

	order(d, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600) "
		 "INSERT INTO pin (key, kind) SELECT CASE i WHEN 599 THEN 'k' ELSE 'x' || i END, "
		 "'hard' FROM n");
	for (int i = 0; i < 4; i++)
		settle(d);
	assert_answer(d, "SELECT count(*) FROM pin WHERE outcome IS NULL", "0");
	assert_answer(d, "SELECT count(*) FROM pin WHERE outcome = 'done'", "1");
	assert_int_equal(pin_of(c.user, "k"), 2);
}

/* ---- drains ---- */

/* It is read and judged, but not begun. */
static void
plan(struct desk *d)
{
	orders_step(d->orders);
	world_pass_ms(d->w, 100);
	orders_step(d->orders);
	assert_answer(d, "SELECT outcome FROM drain", "planned");
}

static void
drain__tells_how_far_it_is__and_its_end(void **state)
{
	struct desk *d = *state;
	struct cast c = cast_of(d->w);
	struct rec_id to = {1};
	struct rec_put put = {span_of("z", 1), LEN};
	struct rep_put_start rep = {0};

	assert_int_equal(ASK(c.user, put_start, &rep, .replica_num = 1, .n_preferred = 1,
			     .preferred = &to, .n_puts = 1, .puts = &put),
			 STATUS_OK);
	assert_int_equal(end_finish(c.user, rep.places[0].object_id, LEN), STATUS_OK);
	order(d, "INSERT INTO drain (segment, concurrency) VALUES ('seg1', 1)");
	plan(d);
	assert_int_equal(state_of(c.user, 1), SEGMENT_OK);
	settle(d);
	assert_answer(d, "SELECT outcome || n_done || n_left FROM drain", "running02");
	assert_int_equal(state_of(c.user, 1), 5);

	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	world_pass_ms(d->w, 1000);
	settle(d);
	assert_answer(d, "SELECT outcome || n_done || n_left FROM drain", "running11");
	end_work(c.b);
	assert_int_equal(end_carry_out(c.b), STATUS_OK);
	world_pass_ms(d->w, 6000);
	settle(d);
	assert_answer(d, "SELECT outcome || n_done || words FROM drain",
		      "done2nothing lies there any more");
	assert_int_equal(seg(d->w, 1)->drain, DRAIN_DRAINED);
	assert_int_equal(d->w->master->order_drains.n, 0);
}

static void
drain__of_a_segment_that_nobody_lends__is_refused(void **state)
{
	struct desk *d = *state;

	(void)cast_of(d->w);
	order(d, "INSERT INTO drain (segment) VALUES ('seg77')");
	settle(d);
	assert_answer(d, "SELECT outcome FROM drain", "refused");
	order(d, "UPDATE drain SET wish = 'cancel'; DELETE FROM drain");
}

static void
drain__by_id__and_one_that_somebody_else_began__are_followed(void **state)
{
	struct desk *d = *state;
	struct cast c = cast_of(d->w);
	struct rec_id id = {1};
	struct rep_drain rep = {0};
	struct rep_cancel cancelled = {0};
	struct rec_id job;

	assert_int_equal(ASK(c.user, drain, &rep, .n_segments = 1, .segments = &id), STATUS_OK);
	job.id = rep.job_id;
	order(d, "INSERT INTO drain (segment) VALUES ('1')");
	settle(d);
	assert_answer(d, "SELECT outcome FROM drain", "running");
	assert_int_equal(strtoull(ask(d, "SELECT job_id FROM drain"), NULL, 10), job.id);

	assert_int_equal(ASK(c.user, cancel, &cancelled, .n_ids = 1, .ids = &job), STATUS_OK);
	settle(d);
	assert_answer(d, "SELECT outcome || ': ' || words FROM drain", "cancelled: by request");
}

static void
drain__of_one_of_two_that_are_drained_together__has_failed(void **state)
{
	struct desk *d = *state;
	struct cast c = cast_of(d->w);
	struct rec_id both[] = {{1}, {2}};
	struct rep_drain rep = {0};

	assert_int_equal(ASK(c.user, drain, &rep, .n_segments = 2, .segments = both), STATUS_OK);
	order(d, "INSERT INTO drain (segment) VALUES ('seg2')");
	settle(d);
	assert_answer(d, "SELECT outcome FROM drain", "failed");
	assert_int_equal(d->w->master->order_drains.n, 0);
}

static void
drain__cancelled_in_any_state__lets_new_data_in_again(void **state)
{
	struct desk *d = *state;
	struct cast c = cast_of(d->w);

	order(d, "INSERT INTO drain (segment) VALUES ('seg1'); UPDATE drain SET wish = 'cancel'");
	settle(d);
	assert_answer(d, "SELECT outcome FROM drain", "cancelled");

	order(d, "UPDATE drain SET wish = 'drain'");
	plan(d);
	order(d, "UPDATE drain SET wish = 'cancel'");
	settle(d);
	assert_answer(d, "SELECT outcome FROM drain", "cancelled");
	assert_int_equal(state_of(c.user, 1), SEGMENT_OK);

	order(d, "UPDATE drain SET wish = 'drain'");
	settle(d);
	assert_answer(d, "SELECT outcome FROM drain", "running");
	order(d, "UPDATE drain SET wish = 'cancel'");
	settle(d);
	assert_answer(d, "SELECT outcome || ': ' || words FROM drain",
		      "cancelled: its segment takes new data again");
	assert_int_equal(state_of(c.user, 1), SEGMENT_OK);

	order(d, "INSERT INTO drain (segment) VALUES ('seg2')");
	settle(d);
	world_pass_ms(d->w, 1000);
	settle(d);
	assert_answer(d, "SELECT outcome FROM drain WHERE segment = 'seg2'", "done");
	assert_int_equal(state_of(c.user, 2), 6);
	order(d, "UPDATE drain SET wish = 'cancel' WHERE segment = 'seg2'");
	settle(d);
	assert_answer(d, "SELECT outcome FROM drain WHERE segment = 'seg2'", "cancelled");
	assert_int_equal(state_of(c.user, 2), SEGMENT_OK);
	assert_int_equal(d->w->master->order_drains.n, 0);
}

static void
drain__goes_on_after_a_restart__from_planned_and_from_running(void **state)
{
	struct desk *d = *state;
	struct end *end;

	(void)cast_of(d->w);
	order(d, "INSERT INTO drain (segment) VALUES ('seg1')");
	plan(d);
	desk_restart(d);
	settle(d);
	assert_answer(d, "SELECT outcome FROM drain", "running");
	desk_restart(d);
	settle(d);
	assert_answer(d, "SELECT outcome FROM drain", "running");
	assert_int_equal(d->w->master->order_drains.n, 1);
	assert_int_equal(d->w->master->tasks.jobs.n, 1);
	order(d, "UPDATE drain SET wish = 'cancel'");
	settle(d);
	assert_answer(d, "SELECT outcome FROM drain", "cancelled");
	end = world_join(d->w, 9);
	assert_int_equal(state_of(end, 1), SEGMENT_AWAY);
}

static void
drain__whose_job_is_forgotten__has_failed(void **state)
{
	struct desk *d = *state;

	(void)cast_of(d->w);
	order(d, "INSERT INTO drain (segment) VALUES ('seg1')");
	settle(d);
	order(d, "UPDATE drain SET job_id = 123456");
	desk_restart(d);
	settle(d);
	assert_answer(d, "SELECT outcome FROM drain", "failed");
}

/* ---- nonsense ---- */

static void
nonsense__is_refused_where_it_is_written(void **state)
{
	struct desk *d = *state;

	(void)cast_of(d->w);
	refused(d, "INSERT INTO pin (key, kind) VALUES (5, 'hard')", "CHECK");
	refused(d, "INSERT INTO pin (key, kind) VALUES ('', 'hard')", "CHECK");
	refused(d, "INSERT INTO pin (key, kind) VALUES (x'610062', 'hard')", "CHECK");
	refused(d, "INSERT INTO pin (key, kind) VALUES (zeroblob(1025), 'hard')", "CHECK");
	refused(d, "INSERT INTO pin (key, kind) VALUES ('k', 'firm')", "CHECK");
	refused(d, "INSERT INTO pin (key, kind, ttl_ms) VALUES ('k', 'hard', 5)", "CHECK");
	refused(d, "INSERT INTO pin (key, kind, ttl_ms) VALUES ('k', 'soft', 86400001)", "CHECK");
	refused(d, "INSERT INTO pin (key, kind, outcome) VALUES ('k', 'hard', 'done')",
		"master alone");
	order(d, "INSERT INTO pin (key, kind) VALUES ('k', 'hard')");
	refused(d, "INSERT INTO pin (key, kind) VALUES (x'6b', 'hard')", "UNIQUE");
	refused(d, "UPDATE pin SET key = 'l'", "stay");

	refused(d, "INSERT INTO drain (segment, concurrency) VALUES ('seg1', 0)", "CHECK");
	refused(d, "INSERT INTO drain (segment, wish) VALUES ('seg1', 'cancel')", "UPDATE drain");
	refused(d, "INSERT INTO drain (segment, outcome) VALUES ('seg1', 'running')", "alone");
	order(d, "INSERT INTO drain (segment) VALUES ('seg1')");
	refused(d, "INSERT INTO drain (segment) VALUES ('seg1')", "already");
	settle(d);
	refused(d, "DELETE FROM drain", "wish = 'cancel' first");
	refused(d, "UPDATE drain SET concurrency = 9", "wish = 'cancel' first");
	refused(d, "UPDATE drain SET segment = 'seg2'", "segment stays");
	order(d, "UPDATE drain SET wish = 'cancel'");
	refused(d, "UPDATE drain SET wish = 'drain'", "being cancelled");
	settle(d);
	order(d, "DELETE FROM drain");
}

/* ---- the file ---- */

static void
settings__set_while_the_file_is_locked__wait_but_once_each(void **state)
{
	struct desk *d = *state;
	uint64_t value;

	order(d, "BEGIN EXCLUSIVE");
	for (value = 0; value < 100; value++)
		assert_true(orders_keep(d->orders, "put_wait_ms", &value));
	orders_step(d->orders);
	value = 4000;
	assert_true(orders_keep(d->orders, "put_wait_ms", &value));
	assert_int_equal(d->orders->posts.n, 1);
	order(d, "COMMIT");
	orders_step(d->orders);
	assert_answer(d, "SELECT value FROM setting", "4000");
	assert_int_equal(d->orders->posts.n, 0);
}

static void
outcomes__that_wait__are_bounded(void **state)
{
	struct desk *d = *state;
	struct order pin = {.kind = ORDER_PIN, .key_len = 1};
	const struct order_outcome outcome = {.state = ORDER_DONE};

	for (int i = 0; i < ORDER_POSTS_MAX + 100; i++) {
		pin.row_id = i;
		orders_tell(d->orders, &pin, &outcome);
	}
	assert_int_equal(d->orders->posts.n, ORDER_POSTS_MAX);
}

static void
file_of_an_older_master__is_brought_up_to_date__and_one_of_a_newer_is_left_alone(void **state)
{
	struct desk *d = *state;

	sqlite3_close(d->sql);
	unlink(d->path);
	assert_int_equal(sqlite3_open(d->path, &d->sql), SQLITE_OK);
	order(d, sql_orders_schemas[0].text);
	order(d, "INSERT INTO quota (tenant, quota_bytes) VALUES ('red', 4096)");
	settle(d);
	assert_answer(d, "SELECT outcome FROM quota", "done");
	assert_answer(d, "SELECT count(*) FROM pin", "0");

	order(d, "PRAGMA user_version = 99");
	order(d, "UPDATE quota SET quota_bytes = 8192");
	d->w->master->orders = NULL;
	orders_close(d->orders);
	desk_open(d);
	settle(d);
	assert_int_equal(d->orders->state, ORDERS_DAMAGED);
	assert_answer(d, "SELECT outcome FROM quota", "NULL");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(pins__by_text_or_blob__are_obeyed__changed__and_taken_back),
		T(pin__of_what_is_not_there__is_refused),
		T(pins__more_than_are_read_at_once__are_all_obeyed),
		T(drain__tells_how_far_it_is__and_its_end),
		T(drain__of_a_segment_that_nobody_lends__is_refused),
		T(drain__by_id__and_one_that_somebody_else_began__are_followed),
		T(drain__of_one_of_two_that_are_drained_together__has_failed),
		T(drain__cancelled_in_any_state__lets_new_data_in_again),
		T(drain__goes_on_after_a_restart__from_planned_and_from_running),
		T(drain__whose_job_is_forgotten__has_failed),
		T(nonsense__is_refused_where_it_is_written),
		T(settings__set_while_the_file_is_locked__wait_but_once_each),
		T(outcomes__that_wait__are_bounded),
		T(file_of_an_older_master__is_brought_up_to_date__and_one_of_a_newer_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
