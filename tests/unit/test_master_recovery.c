/* SPDX-License-Identifier: Apache-2.0 */

/* A start from damaged books is refused, with a reason, whatever the damage. */
#include <errno.h>
#include <sqlite3.h>

#include "master/options.h"
#include "master/store_sum.h"
#include "master/store.h"
#include "sql/sql_text.h"
#include "tests/unit/master_world.h"

/* Two segments, objects of one and of several pieces, with and without a second copy. */
static void
fill(struct world *w)
{
	struct end *end = world_join(w, 11);
	struct rec_put put = {span_of("two", 3), 4096};
	struct rep_put_start rep = {0};
	struct rep_put_extend more = {0};
	uint32_t status;
	uint64_t id;

	end_mount(end, 1, 1, 64 * MIB);
	end_mount(end, 2, 1, 64 * MIB);
	end_put(end, "one", 4096);
	end_put(end, "empty", 0);
	assert_int_equal(ASK(end, put_start, &rep, .replica_num = 2, .n_puts = 1, .puts = &put),
			 STATUS_OK);
	end_finish(end, rep.places[0].object_id, 4096);
	id = end_start(end, "pieces", 4096, 0, &status);
	ASK(end, put_extend, &more, .object_id = id, .more_bytes = 4096);
	end_finish(end, id, 8192);
}

static void
damage_rows(struct world *w, const char *sql, bool bear_sums)
{
	sqlite3 *conn;
	char *why = NULL;

	assert_int_equal(sqlite3_open(w->path, &conn), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(conn, "PRAGMA ignore_check_constraints = 1", NULL, NULL, NULL),
		SQLITE_OK);
	if (sqlite3_exec(conn, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	assert_true(sqlite3_changes(conn) > 0);
	assert_int_equal(store_sum_register(conn), SQLITE_OK);
	if (bear_sums)
		assert_int_equal(sqlite3_exec(conn, sql_row_sum_all, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(conn);
}

/* Runs it on the file, past every CHECK, and the rows bear right sums again: as if the master had
 * written them so. */
static void
damage(struct world *w, const char *sql)
{
	damage_rows(w, sql, /* bear_sums= */ true);
}

static void
assert_refused(struct world *w, const char *sql)
{
	int r;

	fill(w);
	world_close(w);
	damage(w, sql);
	w->why[0] = '\0';
	r = world_open(w);
	if (r == 0)
		fail_msg("opened in spite of: %s", sql);
	assert_true(r > 0 || r == -EBADMSG);
	assert_true(strlen(w->why) > 10);
}

#define REFUSED(name, sql)                                                                         \
	static void name(void **state)                                                             \
	{                                                                                          \
		assert_refused(*state, sql);                                                       \
	}

REFUSED(replica_on_no_segment__is_refused,
	"UPDATE replica SET segment_id = 77 WHERE segment_id = 1")
REFUSED(segment_row_missing__is_refused, "DELETE FROM segment WHERE segment_id = 1")
REFUSED(two_replicas_on_one_segment__are_refused,
	"UPDATE replica SET segment_id = 1, offset_bytes = "
	"20000000 WHERE segment_id = 2 AND replica_id % 8 = 1")
REFUSED(replicas_that_overlap__are_refused,
	"INSERT INTO object (object_id, tenant_id, key, len_bytes, put_at_ms, crc, attr) "
	"SELECT object_id + 100, tenant_id, x'7a', len_bytes, put_at_ms, crc, "
	"attr "
	"FROM object WHERE key = CAST('one' AS BLOB);"
	"UPDATE cluster SET next_object_id = next_object_id + 1000;"
	"INSERT INTO replica SELECT replica_id + 800, segment_id, offset_bytes, 0 FROM replica "
	"WHERE replica_id / 8 = (SELECT object_id FROM object WHERE key = CAST('one' AS BLOB))")
REFUSED(replica_outside_its_segment__is_refused,
	"UPDATE replica SET offset_bytes = 67108864 - 512 WHERE replica_id / 8 = "
	"(SELECT object_id FROM object WHERE key = CAST('one' AS BLOB))")
REFUSED(replica_far_outside_its_segment__is_refused,
	"UPDATE replica SET offset_bytes = 9223372036854775296 WHERE replica_id / 8 = "
	"(SELECT object_id FROM object WHERE key = CAST('one' AS BLOB))")
REFUSED(object_without_replicas__is_refused,
	"DELETE FROM replica WHERE replica_id / 8 = "
	"(SELECT object_id FROM object WHERE key = CAST('one' AS BLOB))")
REFUSED(replica_without_object__is_refused, "DELETE FROM object WHERE key = CAST('one' AS BLOB)")
REFUSED(extents_without_replica__are_refused, "DELETE FROM replica WHERE offset_bytes IS NULL")
REFUSED(extent_missing__is_refused,
	"DELETE FROM extent WHERE extent_id = (SELECT max(extent_id) FROM extent)")
REFUSED(extents_shorter_than_the_object__are_refused,
	"UPDATE extent SET len_bytes = len_bytes - 512")
REFUSED(extent_of_nothing__is_refused, "UPDATE extent SET len_bytes = 0")
REFUSED(extent_of_negative_length__is_refused, "UPDATE extent SET len_bytes = -4096")
REFUSED(two_objects_of_one_key__are_refused,
	"UPDATE object SET key = CAST('one' AS BLOB) WHERE key = CAST('empty' AS BLOB)")
REFUSED(object_of_no_tenant__is_refused, "UPDATE object SET tenant_id = 9")
REFUSED(tenant_of_an_impossible_name__is_refused,
	"INSERT INTO tenant (tenant_id, name) VALUES (2, 'a b')")
REFUSED(tenant_default_under_another_name__is_refused, "UPDATE tenant SET name = 'other'")
REFUSED(object_of_nothing_with_a_replica__is_refused,
	"UPDATE object SET len_bytes = 0 WHERE key = CAST('one' AS BLOB)")
REFUSED(object_of_negative_length__is_refused,
	"UPDATE object SET len_bytes = -1 WHERE key = CAST('empty' AS BLOB)")
REFUSED(key_that_is_empty__is_refused,
	"UPDATE object SET key = x'' WHERE key = CAST('empty' AS BLOB)")
REFUSED(key_with_a_nul__is_refused,
	"UPDATE object SET key = x'6100' WHERE key = CAST('empty' AS BLOB)")
REFUSED(key_too_long__is_refused,
	"UPDATE object SET key = zeroblob(2000) WHERE key = CAST('empty' AS BLOB)")
REFUSED(open_chunk_of_no_segment__is_refused,
	"INSERT INTO open_chunk (segment_id, chunk) VALUES (77, 0)")
REFUSED(open_chunk_behind_the_end__is_refused,
	"INSERT INTO open_chunk (segment_id, chunk) VALUES (1, 9999)")
REFUSED(segment_that_is_no_multiple_of_a_page__is_refused,
	"UPDATE segment SET len_bytes = 67108865")
REFUSED(segment_without_bytes__is_refused, "UPDATE segment SET len_bytes = 0")
REFUSED(cluster_row_missing__is_refused, "DELETE FROM cluster")
REFUSED(longest_lease_out_of_range__is_refused, "UPDATE cluster SET longest_lease_ms = -1")
REFUSED(newer_schema__is_refused, "UPDATE cluster SET schema_version = 999")

static void
file_that_is_no_database__is_refused(void **state)
{
	struct world *w = *state;
	FILE *file;

	fill(w);
	world_close(w);
	file = fopen(w->path, "r+");
	assert_int_equal(fwrite("nonsense nonsense nonsense", 1, 26, file), 26);
	fclose(file);

	assert_int_not_equal(world_open(w), 0);
	assert_non_null(strstr(w->why, w->path));
}

static void
books__in_use_by_another_master__are_refused(void **state)
{
	struct world *w = *state;
	struct store_config config = {.path = w->path, .clock = &w->clock.base, .is_inline = true};
	struct store *store = NULL;

	assert_int_equal(store_open(&config, &store, w->why, sizeof(w->why)), STORE_E_IN_USE);
}

static void
sound_books__are_read_whole__and_the_epoch_grows(void **state)
{
	struct world *w = *state;
	uint64_t epoch = w->master->epoch;
	struct end *end;

	fill(w);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	master_check(w->master);
	end = world_join(w, 11);
	end_mount(end, 1, 1, 64 * MIB);
	end_mount(end, 2, 1, 64 * MIB);

	assert_int_equal(w->master->epoch, epoch + 1);
	assert_int_equal(end_get(end, "two").n_replicas, 2);
	assert_int_equal(end_get(end, "pieces").replicas[0].n_extents, 2);
	assert_int_equal(end_get(end, "one").len_bytes, 4096);
	assert_int_equal(end_exist(end, "empty"), STATUS_OK);
}

static void
ids_of_puts_that_were_never_stored__are_not_given_again(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	uint32_t status;
	uint64_t id;

	end_mount(end, 1, 1, 64 * MIB);
	id = end_start(end, "k", 4096, 0, &status);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);
	end_mount(end, 1, 1, 64 * MIB);

	assert_true(end_start(end, "k", 0, 0, &status) > id);
}

static void
next_id_below_what_is_stored__is_raised_above_it(void **state)
{
	struct world *w = *state;
	struct end *end;
	uint32_t status;

	fill(w);
	world_close(w);
	damage(w, "UPDATE cluster SET next_object_id = 2");
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 12);

	assert_true(end_start(end, "new", 0, 0, &status) > 4);
}

static void
segment_that_does_not_come_back__is_lost_after_its_time(void **state)
{
	struct world *w = *state;
	struct end *end;

	fill(w);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 12);
	for (int i = 0; i < 16; i++) {
		assert_int_equal(end_exist(end, "one"),
				 i < 15 ? STATUS_NOT_COMPLETE : STATUS_NOT_FOUND);
		world_pass_ms(w, 1001);
	}

	end_ping(end);
	world_pass_ms(w, 6000);
	assert_int_equal(w->master->segments.n, 0);
	end_ping(end);
	assert_int_equal(end_exist(end, "empty"), STATUS_OK);
}

/* ---- leases of before ---- */

/* restart -- with another lease_ms; gives the end that lends segment 1. */
static struct end *
restart(struct world *w, uint64_t lease_ms)
{
	struct end *end;

	world_close(w);
	w->limits.lease_ms = lease_ms;
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);
	end_mount(end, 1, 1, 64 * MIB);
	return end;
}

/* A slow disk, or a debugger: nobody could come back meanwhile. */
static void
segment_of_before__while_the_start_takes_long_or_the_loop_stands_still__is_not_lost(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	end_mount(end, 1, 1, 64 * MIB);
	end_put(end, "kept", 4096);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	for (int i = 0; i < 2; i++) {
		clock_fake_advance_ms(&w->clock, 60000);
		world_turn(w);
		assert_non_null(segment_find(w->master, 1));
		assert_int_equal(segment_find(w->master, 1)->state, SEGMENT_AWAY);
	}

	world_pass_ms(w, 9000);
	assert_int_equal(segment_find(w->master, 1)->state, SEGMENT_AWAY);
	world_pass_ms(w, 7000);
	assert_true(segment_find(w->master, 1) == NULL ||
		    segment_find(w->master, 1)->state == SEGMENT_LEAVING);
}

static void
pass_and_ping(struct end *end, uint64_t len_ms)
{
	for (; len_ms > 0; len_ms -= 1000) {
		world_pass_ms(end->world, 1000);
		end_ping(end);
	}
}

static uint64_t
resting(struct world *w)
{
	return segment_find(w->master, 1)->resting_bytes;
}

static uint64_t
free_bytes(struct world *w, uint64_t segment_id)
{
	const struct alloc *alloc = segment_find(w->master, segment_id)->alloc;

	return alloc_size_bytes(alloc) - alloc_used_bytes(alloc);
}

static void
lease_of_before__longer_than_those_of_now__is_waited_for(void **state)
{
	struct world *w = *state;
	struct end *end = restart(w, 60000);

	end_put(end, "one", 4096);
	assert_int_equal(end_get(end, "one").lease_ms, 60000);
	end = restart(w, 1000);
	assert_int_equal(end_remove(end, "one", /* force= */ true), STATUS_OK);

	pass_and_ping(end, 60000);
	assert_true(resting(w) >= 4096);
	pass_and_ping(end, 61000);
	assert_int_equal(resting(w), 0);
}

static void
lease_of_before__is_waited_for_again__when_the_wait_is_cut_short(void **state)
{
	struct world *w = *state;
	struct end *end = restart(w, 60000);

	end_put(end, "one", 4096);
	end_get(end, "one");
	end = restart(w, 1000);
	pass_and_ping(end, 10000);
	end = restart(w, 1000);
	assert_int_equal(end_remove(end, "one", /* force= */ true), STATUS_OK);

	pass_and_ping(end, 50000);
	assert_true(resting(w) >= 4096);
}

static void
long_leases__once_they_are_over__are_not_waited_for_by_the_next_start(void **state)
{
	struct world *w = *state;
	struct end *end;

	restart(w, 60000);
	end = restart(w, 1000);
	assert_int_equal(w->master->longest_lease_ms, 60000);
	pass_and_ping(end, 121000);
	assert_int_equal(w->master->longest_lease_ms, 1000);
	restart(w, 1000);
	assert_int_equal(w->master->longest_lease_ms, 1000);
	assert_true(w->master->leases_of_before_ms <= w->master->now_ms + 2000);
}

/* A bit of a key flips: what was under it is neither under that key nor under the other, and what
 * it lay on is nobody's until those who read it before the start are done. */
static void
row__that_does_not_bear_its_sum__costs_its_object_alone__and_all_that_is_free_rests(void **state)
{
	struct world *w = *state;
	struct end *end;

	fill(w);
	world_close(w);
	damage_rows(w,
		    "UPDATE object SET key = CAST('onf' AS BLOB) WHERE key = CAST('one' AS BLOB)",
		    /* bear_sums= */ false);
	end = restart(w, 5000);
	end_mount(end, 2, 1, 64 * MIB);

	assert_int_equal(end_exist(end, "one"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(end, "onf"), STATUS_NOT_FOUND);
	assert_int_equal(end_get(end, "two").n_replicas, 2);
	assert_int_equal(end_get(end, "pieces").replicas[0].n_extents, 2);
	assert_int_equal(counter_get(&w->master->counters.objects_lost), 1);
	assert_int_equal(free_bytes(w, 1), 0);
	assert_int_equal(free_bytes(w, 2), 0);

	/* cut short: the row has gone, the rest goes on */
	end = restart(w, 5000);
	end_mount(end, 2, 1, 64 * MIB);
	assert_int_equal(counter_get(&w->master->counters.objects_lost), 0);
	assert_int_equal(free_bytes(w, 1), 0);
	pass_and_ping(end, 12000);
	assert_int_equal(resting(w), 0);
	assert_true(end_put(end, "one", 4096) != 0);
}

static void
memory__lost_and_lent_again__rests_for_the_long_leases_of_before(void **state)
{
	struct world *w = *state;
	struct rec_segment_lent lent = {
		.segment_id = 2,
		.segment_epoch = 1,
		.size_bytes = 64 * MIB,
		.medium = 1,
		.name = span_of("seg2", 4),
		.host = span_of("here", 4),
		.endpoint = span_of("shm:x", 5),
		.secret = {{WORLD_SECRET}},
	};
	struct rep_mount_segment rep = {0};
	struct end *end = restart(w, 60000);

	lent.former_epoch = w->master->epoch;
	end = restart(w, 1000);
	lent.master_epoch = w->master->epoch;
	assert_int_equal(ASK(end, mount_segment, &rep, .n_segments = 1, .segments = &lent),
			 STATUS_OK);
	assert_int_equal(rep.fates[0].status, STATUS_OK);
	pass_and_ping(end, 60000);
	assert_int_equal(segment_find(w->master, 2)->resting_bytes, 64 * MIB);
}

static void
longest_lease__of_the_books__is_the_longest_of_the_option(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < master_options_list.n; i++) {
		if (strcmp(master_options_list.defs[i].name, "lease_ms") != 0)
			continue;
		assert_int_equal(master_options_list.defs[i].max, LEASE_MS_MAX);
		n++;
	}
	assert_int_equal(n, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(
			segment_of_before__while_the_start_takes_long_or_the_loop_stands_still__is_not_lost),
		WORLD_TEST(replica_on_no_segment__is_refused),
		WORLD_TEST(segment_row_missing__is_refused),
		WORLD_TEST(two_replicas_on_one_segment__are_refused),
		WORLD_TEST(replicas_that_overlap__are_refused),
		WORLD_TEST(replica_outside_its_segment__is_refused),
		WORLD_TEST(replica_far_outside_its_segment__is_refused),
		WORLD_TEST(object_without_replicas__is_refused),
		WORLD_TEST(replica_without_object__is_refused),
		WORLD_TEST(extents_without_replica__are_refused),
		WORLD_TEST(extent_missing__is_refused),
		WORLD_TEST(extents_shorter_than_the_object__are_refused),
		WORLD_TEST(extent_of_nothing__is_refused),
		WORLD_TEST(extent_of_negative_length__is_refused),
		WORLD_TEST(two_objects_of_one_key__are_refused),
		WORLD_TEST(object_of_no_tenant__is_refused),
		WORLD_TEST(tenant_of_an_impossible_name__is_refused),
		WORLD_TEST(tenant_default_under_another_name__is_refused),
		WORLD_TEST(next_id_below_what_is_stored__is_raised_above_it),
		WORLD_TEST(object_of_nothing_with_a_replica__is_refused),
		WORLD_TEST(object_of_negative_length__is_refused),
		WORLD_TEST(key_that_is_empty__is_refused),
		WORLD_TEST(key_with_a_nul__is_refused),
		WORLD_TEST(key_too_long__is_refused),
		WORLD_TEST(open_chunk_of_no_segment__is_refused),
		WORLD_TEST(open_chunk_behind_the_end__is_refused),
		WORLD_TEST(segment_that_is_no_multiple_of_a_page__is_refused),
		WORLD_TEST(segment_without_bytes__is_refused),
		WORLD_TEST(cluster_row_missing__is_refused),
		WORLD_TEST(longest_lease_out_of_range__is_refused),
		WORLD_TEST(newer_schema__is_refused),
		WORLD_TEST(file_that_is_no_database__is_refused),
		WORLD_TEST(books__in_use_by_another_master__are_refused),
		WORLD_TEST(sound_books__are_read_whole__and_the_epoch_grows),
		WORLD_TEST(ids_of_puts_that_were_never_stored__are_not_given_again),
		WORLD_TEST(segment_that_does_not_come_back__is_lost_after_its_time),
		WORLD_TEST(lease_of_before__longer_than_those_of_now__is_waited_for),
		WORLD_TEST(lease_of_before__is_waited_for_again__when_the_wait_is_cut_short),
		WORLD_TEST(long_leases__once_they_are_over__are_not_waited_for_by_the_next_start),
		WORLD_TEST(longest_lease__of_the_books__is_the_longest_of_the_option),
		WORLD_TEST(
			row__that_does_not_bear_its_sum__costs_its_object_alone__and_all_that_is_free_rests),
		WORLD_TEST(memory__lost_and_lent_again__rests_for_the_long_leases_of_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
