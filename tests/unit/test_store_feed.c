/* SPDX-License-Identifier: Apache-2.0 */

/* Rows are read on one thread and taken on another: order, failure on either side, memory. */
#include "tests/unit/store_box.h"

#include "master/store_feed.h"
#include "tests/unit/allocs.h"

static int
setup(void **state)
{
	struct box *box = malloc(sizeof(*box));

	assert_non_null(box);
	box_init(box);
	assert_int_equal(box_open(box, NULL), 0);
	*state = box;
	return 0;
}

static int
teardown(void **state)
{
	box_fini(*state);
	free(*state);
	return 0;
}

#define MANY_OBJECTS 6000 /* more than lie between two threads at a time */

/* box_fill_many -- and opened anew, with threads as a master has them. */
static void
box_fill_many(struct box *box)
{
	box_add_segment(box, 1);
	for (uint64_t id = 1; id <= MANY_OBJECTS; id++)
		box_add_object(box, id, 1, 1);
	box_commit(box);
	box_close(box);
	box->config.is_inline = false;
	assert_int_equal(box_open(box, NULL), 0);
}

struct taken {
	uint64_t last_id, fails_at;
};

static int
take_in_order(void *arg, const struct record *record)
{
	struct taken *taken = arg;

	if (record->kind != RECORD_OBJECT_ADD)
		return 0;
	assert_int_equal(record->object_id, taken->last_id + 1);
	assert_int_equal(record->n_replicas, 1);
	assert_int_equal(record->replicas[0].extents[0].len_bytes, record->len_bytes);
	taken->last_id = record->object_id;
	return record->object_id == taken->fails_at ? -ENOSPC : 0;
}

static void
load__of_many_objects_on_two_threads__gives_all_in_order(void **state)
{
	struct box *box = *state;
	struct taken taken = {0};

	box_fill_many(box);

	assert_int_equal(store_load(box->store, take_in_order, &taken, box->why, sizeof(box->why)),
			 0);
	assert_int_equal(taken.last_id, MANY_OBJECTS);
}

static void
load__on_two_threads__ends_with_the_failure_of_the_listener(void **state)
{
	static const uint64_t fails_at[] = {1, 2000, MANY_OBJECTS};
	struct box *box = *state;

	box_fill_many(box);
	for (size_t i = 0; i < array_len(fails_at); i++) {
		struct taken taken = {.fails_at = fails_at[i]};

		assert_int_equal(
			store_load(box->store, take_in_order, &taken, box->why, sizeof(box->why)),
			-ENOSPC);
		assert_int_equal(taken.last_id, fails_at[i]);
	}
}

static void
load__on_two_threads__tells_of_damage_at_the_end(void **state)
{
	struct box *box = *state;
	struct taken taken = {0};
	sqlite3 *conn;

	box_fill_many(box);
	assert_int_equal(sqlite3_open(box->path, &conn), SQLITE_OK);
	assert_int_equal(sqlite3_exec(conn,
				      "DELETE FROM replica WHERE replica_id = "
				      "(SELECT max(replica_id) FROM replica)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(conn);

	assert_int_equal(store_load(box->store, take_in_order, &taken, box->why, sizeof(box->why)),
			 STORE_E_DAMAGED);
	assert_int_equal(taken.last_id, MANY_OBJECTS - 1);
	assert_non_null(strstr(box->why, "no replica"));
}

static int
count_record(void *arg, const struct record *record)
{
	assert_int_equal(record->object_id, 7);
	(*(uint64_t *)arg)++;
	return 0;
}

static void
add__without_memory__is_refused_and_what_was_added_is_there(void **state)
{
	const struct record record = {.kind = RECORD_NEXT_OBJECT_ID, .object_id = 7};
	struct feed feed;
	uint64_t n_taken = 0;
	unsigned n = 0;

	(void)state;
	feed_init(&feed);
	allocs_fail_after(1);
	while (feed_add(&feed, &record) == 0)
		n++;
	assert_int_equal(feed_add(&feed, &record), -ENOMEM);
	allocs_succeed();
	feed_end(&feed);

	assert_true(n > 0);
	assert_int_equal(feed_drain(&feed, count_record, &n_taken), 0);
	assert_int_equal(n_taken, n);
	feed_fini(&feed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(load__of_many_objects_on_two_threads__gives_all_in_order),
		TEST(load__on_two_threads__ends_with_the_failure_of_the_listener),
		TEST(load__on_two_threads__tells_of_damage_at_the_end),
		cmocka_unit_test(add__without_memory__is_refused_and_what_was_added_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
