/* SPDX-License-Identifier: Apache-2.0 */

/* Books that are older than the bytes: a backup that was put back is believed only where no later
 * master lent the segment. */
#include <errno.h>
#include <sqlite3.h>

#include "tests/unit/master_world.h"

#define EPOCHS_SKIPPED 1048576ull
#define IDS_SKIPPED    1099511627776ull

enum { ONLINE = 1, FINAL = 2 };

static void
run_sql(struct world *w, const char *sql)
{
	sqlite3 *conn;
	char *why = NULL;

	assert_int_equal(sqlite3_open(w->path, &conn), SQLITE_OK);
	if (sqlite3_exec(conn, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	sqlite3_close(conn);
}

/* mount_of -- the 64 MiB of segment 1, whose memory remembers a master of that epoch, and how long
 * the leases of masters were. */
static uint32_t
mount_of(struct end *end, uint64_t former_epoch, uint32_t former_lease_ms)
{
	struct rec_segment_lent lent = {
		.segment_id = 1,
		.segment_epoch = 1,
		.size_bytes = 64 * MIB,
		.medium = 1,
		.name = span_of("seg1", 4),
		.host = span_of("here", 4),
		.endpoint = span_of("shm:x", 5),
		.former_epoch = former_epoch,
		.master_epoch = end->world->master->epoch,
		.former_lease_ms = former_lease_ms,
	};
	struct rep_mount_segment rep = {0};

	assert_int_equal(ASK(end, mount_segment, &rep, .n_segments = 1, .segments = &lent),
			 STATUS_OK);
	return rep.fates[0].status;
}

static uint32_t
mount_as(struct end *end, uint64_t former_epoch)
{
	return mount_of(end, former_epoch, (uint32_t)end->world->limits.lease_ms);
}

static uint32_t
readable(struct end *end, const char *key)
{
	struct rec_key_only asked = {span_of(key, strlen(key))};
	struct rep_get_replica_list rep = {0};

	assert_int_equal(ASK(end, get_replica_list, &rep, .n_keys = 1, .keys = &asked), STATUS_OK);
	return rep.objects[0].status;
}

/* put_back -- "old" is put, and the books become a backup that is put back. */
static struct end *
put_back(struct world *w, int mark)
{
	struct end *end = world_join(w, 11);
	char sql[64];

	assert_int_equal(mount_as(end, 0), STATUS_OK);
	end_put(end, "old", 4096);
	world_close(w);
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", mark);
	run_sql(w, sql);
	assert_int_equal(world_open(w), 0);
	return world_join(w, 11);
}

static void
put_back__goes_far_beyond_every_epoch_and_id(void **state)
{
	struct world *w = *state;
	uint64_t id;

	put_back(w, ONLINE);
	assert_int_equal(w->master->epoch, EPOCHS_SKIPPED + 2);
	assert_true(w->master->next_object_id > IDS_SKIPPED);
	assert_true(store_was_put_back(w->store));

	id = w->master->next_object_id;
	world_close(w);
	assert_int_equal(world_open(w), 0); /* but only once */
	assert_int_equal(w->master->epoch, EPOCHS_SKIPPED + 3);
	assert_int_equal(w->master->next_object_id, id);
	assert_false(store_was_put_back(w->store));
}

static void
put_back__too_often__is_refused_when_ids_are_used_up(void **state)
{
	struct world *w = *state;

	put_back(w, ONLINE);
	world_close(w);
	run_sql(w, "UPDATE cluster SET next_object_id = 281474976710656 - 5;"
		   "PRAGMA user_version = 1");
	assert_int_equal(world_open(w), -EOVERFLOW);
	assert_non_null(strstr(w->why, "used up"));
}

static void
unknown_mark__is_damage(void **state)
{
	struct world *w = *state;

	world_close(w);
	run_sql(w, "PRAGMA user_version = 3");
	assert_int_equal(world_open(w), STORE_E_DAMAGED);
}

static void
objects_of_a_final_backup__are_read_when_no_master_came_after_it(void **state)
{
	struct world *w = *state;
	struct end *end = put_back(w, FINAL);

	assert_int_equal(mount_as(end, 1), STATUS_OK);
	assert_int_equal(readable(end, "old"), STATUS_OK);
}

static void
objects_of_a_final_backup__are_dropped_when_a_later_master_lent_the_segment(void **state)
{
	struct world *w = *state;
	struct end *end = put_back(w, FINAL);

	assert_int_equal(mount_as(end, 2), STATUS_UNAVAILABLE);
	world_pass_ms(w, 100);
	assert_int_equal(readable(end, "old"), STATUS_NOT_FOUND);
}

static void
objects_of_an_online_backup__are_dropped_though_the_master_is_the_same(void **state)
{
	struct world *w = *state;
	struct end *end = put_back(w, ONLINE);

	assert_int_equal(mount_as(end, 1), STATUS_UNAVAILABLE);
	world_pass_ms(w, 100);
	assert_int_equal(readable(end, "old"), STATUS_NOT_FOUND);
}

static void
doubt__lasts_over_restarts_until_the_segment_is_mounted(void **state)
{
	struct world *w = *state;
	struct end *end = put_back(w, ONLINE);

	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);
	assert_int_equal(mount_as(end, 1), STATUS_UNAVAILABLE);
}

static void
memory_that_remembers_nothing__is_not_what_the_books_mean(void **state)
{
	struct world *w = *state;
	struct end *end = put_back(w, FINAL);

	assert_int_equal(mount_as(end, 0), STATUS_UNAVAILABLE);
}

static void
memory_that_a_later_master_lent__is_doubted_without_any_backup(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_int_equal(mount_as(end, 0), STATUS_OK);
	end_put(end, "old", 4096);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);
	assert_int_equal(mount_as(end, 9), STATUS_UNAVAILABLE);
	world_pass_ms(w, 100);
	assert_int_equal(readable(end, "old"), STATUS_NOT_FOUND);
}

static void
dropped_segment__comes_back_empty__when_no_reader_of_before_can_be_left(void **state)
{
	struct world *w = *state;
	struct end *end = put_back(w, ONLINE);
	uint32_t status = STATUS_OK;

	assert_int_equal(mount_as(end, 1), STATUS_UNAVAILABLE);
	world_pass_ms(w, 2 * w->limits.lease_ms - 100);
	assert_int_equal(mount_as(end, 1), STATUS_UNAVAILABLE);
	world_pass_ms(w, 200);
	assert_int_equal(mount_as(end, 1), STATUS_OK);
	assert_int_equal(segment_find(w->master, 1)->resting_bytes, 0); /* it has rested enough */
	assert_true(end_start(end, "new", 4096, 0, &status) != 0);
}

static void
unknown_memory_lent_by_another_master__rests_for_its_readers(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	uint32_t status = STATUS_OK;

	assert_int_equal(mount_as(end, 77), STATUS_OK);
	assert_int_equal(segment_find(w->master, 1)->resting_bytes, 64 * MIB);
	world_pass_ms(w, 2 * w->limits.lease_ms + 100);
	assert_int_equal(segment_find(w->master, 1)->resting_bytes, 0);
	assert_true(end_start(end, "new", 4096, 0, &status) != 0);
}

static void
pass_and_ping(struct end *end, uint64_t len_ms)
{
	for (; len_ms > 0; len_ms -= num_min(len_ms, 1000)) {
		world_pass_ms(end->world, num_min(len_ms, 1000));
		end_ping(end);
	}
}

/* The books are older than a master that granted longer leases than any they know of. */
static void
dropped_segment__whose_memory_knows_of_longer_leases__stays_away_until_those_are_over(void **state)
{
	struct world *w = *state;
	struct end *end = put_back(w, ONLINE);

	assert_int_equal(mount_of(end, 1, 60000), STATUS_UNAVAILABLE);
	pass_and_ping(end, 2 * 60000 - 100);
	assert_int_equal(mount_of(end, 1, 60000), STATUS_UNAVAILABLE);
	pass_and_ping(end, 200);
	assert_int_equal(mount_of(end, 1, 60000), STATUS_OK);
	assert_int_equal(segment_find(w->master, 1)->resting_bytes, 0);
}

static void
unknown_memory_with_longer_leases__rests_for_those__also_over_a_restart(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_int_equal(mount_of(end, 77, 60000), STATUS_OK);
	pass_and_ping(end, 60000);
	assert_int_equal(segment_find(w->master, 1)->resting_bytes, 64 * MIB);
	assert_int_equal(w->master->longest_lease_ms, 60000);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);
	assert_int_equal(mount_of(end, 1, 60000), STATUS_OK);
	pass_and_ping(end, 119000);
	assert_int_equal(segment_find(w->master, 1)->resting_bytes, 64 * MIB);
	pass_and_ping(end, 2000);
	assert_int_equal(segment_find(w->master, 1)->resting_bytes, 0);
	assert_int_equal(w->master->longest_lease_ms, w->limits.lease_ms);

	/* what memory says of itself for ever costs nothing where the books know better */
	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);
	assert_int_equal(mount_of(end, 2, 60000), STATUS_OK);
	assert_int_equal(w->master->longest_lease_ms, w->limits.lease_ms);
}

static void
lease_that_no_master_grants__is_refused_at_the_door(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_int_equal(mount_of(end, 77, 600001), STATUS_INVALID);
	assert_null(segment_find(w->master, 1));
}

static void
mount__meant_for_another_master__is_to_be_said_again(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_segment_lent lent = {
		.segment_id = 2,
		.segment_epoch = 1,
		.size_bytes = 64 * MIB,
		.medium = 1,
		.name = span_of("seg2", 4),
		.host = span_of("here", 4),
		.endpoint = span_of("shm:x", 5),
		.master_epoch = w->master->epoch + 1,
	};
	struct rep_mount_segment rep = {0};

	assert_int_equal(ASK(end, mount_segment, &rep, .n_segments = 1, .segments = &lent),
			 STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_UNAVAILABLE);
	assert_null(segment_find(w->master, 2));
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(put_back__goes_far_beyond_every_epoch_and_id),
		T(put_back__too_often__is_refused_when_ids_are_used_up),
		T(unknown_mark__is_damage),
		T(objects_of_a_final_backup__are_read_when_no_master_came_after_it),
		T(objects_of_a_final_backup__are_dropped_when_a_later_master_lent_the_segment),
		T(objects_of_an_online_backup__are_dropped_though_the_master_is_the_same),
		T(doubt__lasts_over_restarts_until_the_segment_is_mounted),
		T(memory_that_remembers_nothing__is_not_what_the_books_mean),
		T(memory_that_a_later_master_lent__is_doubted_without_any_backup),
		T(dropped_segment__comes_back_empty__when_no_reader_of_before_can_be_left),
		T(unknown_memory_lent_by_another_master__rests_for_its_readers),
		T(dropped_segment__whose_memory_knows_of_longer_leases__stays_away_until_those_are_over),
		T(unknown_memory_with_longer_leases__rests_for_those__also_over_a_restart),
		T(lease_that_no_master_grants__is_refused_at_the_door),
		T(mount__meant_for_another_master__is_to_be_said_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
