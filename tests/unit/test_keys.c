/* SPDX-License-Identifier: Apache-2.0 */

/* Questions and orders about keys, and what the client makes of the master's answers. */
#include "tests/unit/core_world.h"

static struct {
	unsigned n_pages;
	uint32_t per_page, n_keys;
	char last_after[64];
	char from[8], to[8];
	uint8_t rename_flags;
	uint32_t n_exist_keys, lease_ms;
	uint8_t exist_flags;
	uint64_t segment_id;
	char attr[16];
} heard;

static uint32_t
serve_exist(struct cursor in, struct arena *arena, struct buf *out)
{
	uint32_t statuses[BATCH_MAX] = {0};
	struct msg_exist msg;

	assert_int_equal(msg_exist_decode(in, arena, &msg), 0);
	heard.n_exist_keys += msg.n_keys;
	heard.exist_flags = msg.flags;
	heard.lease_ms = msg.lease_ms;
	for (uint32_t i = 0; i < msg.n_keys; i++)
		statuses[i] = msg.keys[i].key.at[0] == 'y' ? STATUS_OK : STATUS_NOT_FOUND;
	toy_fates(msg.n_keys, statuses, arena, out);
	return STATUS_OK;
}

static uint32_t
serve_replica_clear(struct cursor in, struct arena *arena, struct buf *out)
{
	const uint32_t statuses[] = {STATUS_OK, STATUS_HAS_LEASE};
	struct msg_replica_clear msg;

	assert_int_equal(msg_replica_clear_decode(in, arena, &msg), 0);
	assert_int_equal(msg.n_keys, 2);
	heard.segment_id = msg.segment_id;
	toy_fates(msg.n_keys, statuses, arena, out);
	return STATUS_OK;
}

static uint32_t
serve_stat(struct cursor in, struct arena *arena, struct buf *out)
{
	struct rec_object_state one = {.object_id = 4,
				       .len_bytes = 10,
				       .has_crc = 1,
				       .crc = 77,
				       .put_at_ms = 1234,
				       .n_replicas = 2,
				       .attr = span_of("mode", 4)};
	struct rep_stat rep = {.n_objects = 1, .objects = &one};
	struct msg_stat msg;

	assert_int_equal(msg_stat_decode(in, arena, &msg), 0);
	if (msg.keys[0].key.at[0] == 'd')
		one = (struct rec_object_state){.status = STATUS_NOT_FOUND, .has_below = 1};
	assert_int_equal(rep_stat_encode(out, &rep), 0);
	return STATUS_OK;
}

/* serve_list -- keys "k000", "k001"... up to n_keys, per_page at a time. */
static uint32_t
serve_list(struct cursor in, struct arena *arena, struct buf *out)
{
	struct rep_list rep = {0};
	struct msg_list msg;
	uint32_t at = 0;

	assert_int_equal(msg_list_decode(in, arena, &msg), 0);
	heard.n_pages++;
	snprintf(heard.last_after, sizeof(heard.last_after), "%.*s", (int)msg.after.len,
		 (const char *)msg.after.at);
	if (msg.after.len > 0)
		at = (uint32_t)atoi(heard.last_after + 1) + 1;
	rep.listed = arena_alloc(arena, heard.per_page, sizeof(*rep.listed));
	while (at < heard.n_keys && rep.n_listed < heard.per_page) {
		char *key = arena_alloc(arena, 1, 8);

		snprintf(key, 8, "k%03u", at++ % 1000);
		rep.listed[rep.n_listed++] =
			(struct rec_listed){.key = span_of(key, 4), .object_id = at};
	}
	rep.has_more = at < heard.n_keys;
	assert_int_equal(rep_list_encode(out, &rep), 0);
	return STATUS_OK;
}

static uint32_t
serve_rename(struct cursor in, struct arena *arena)
{
	struct msg_rename msg;

	assert_int_equal(msg_rename_decode(in, arena, &msg), 0);
	heard.rename_flags = msg.flags;
	snprintf(heard.from, sizeof(heard.from), "%.*s", (int)msg.pairs[0].from.len,
		 (const char *)msg.pairs[0].from.at);
	snprintf(heard.to, sizeof(heard.to), "%.*s", (int)msg.pairs[0].to.len,
		 (const char *)msg.pairs[0].to.at);
	return strcmp(heard.to, "taken") == 0 ? STATUS_EXISTS : STATUS_OK;
}

static uint32_t
serve_set_attr(struct cursor in, struct arena *arena, struct buf *out)
{
	const uint32_t ok = STATUS_OK;
	struct msg_set_attr msg;

	assert_int_equal(msg_set_attr_decode(in, arena, &msg), 0);
	snprintf(heard.attr, sizeof(heard.attr), "%.*s", (int)msg.sets[0].attr.len,
		 (const char *)msg.sets[0].attr.at);
	toy_fates(1, &ok, arena, out);
	return STATUS_OK;
}

static uint32_t
serve(struct world *w, uint16_t type, struct cursor in, struct arena *arena, struct buf *out)
{
	(void)w;
	switch (type) {
	case MSG_exist:
		return serve_exist(in, arena, out);
	case MSG_replica_clear:
		return serve_replica_clear(in, arena, out);
	case MSG_stat:
		return serve_stat(in, arena, out);
	case MSG_list:
		return serve_list(in, arena, out);
	case MSG_rename:
		return serve_rename(in, arena);
	case MSG_set_attr:
		return serve_set_attr(in, arena, out);
	default:
		return STATUS_UNAVAILABLE;
	}
}

static void
begin(struct world *w)
{
	memset(&heard, 0, sizeof(heard));
	world_init(w, NULL);
	w->serve_more = serve;
}

static void
exist__answers_each_key_for_itself_in_few_requests(void **state)
{
	static const char *keys[2500];
	static int results[2500];
	struct world w;

	(void)state;
	begin(&w);
	for (size_t i = 0; i < 2500; i++)
		keys[i] = i % 3 == 0 ? "yes" : i % 3 == 1 ? "no" : "";

	assert_int_equal(tiffin_exist(w.client, keys, 2500, results), 0);

	for (size_t i = 0; i < 2500; i++)
		assert_int_equal(results[i], i % 3 == 0   ? 0
					     : i % 3 == 1 ? TIFFIN_E_NOT_FOUND
							  : TIFFIN_E_INVALID);
	assert_int_equal(w.n_heard[MSG_exist], 3);
	assert_int_equal(heard.n_exist_keys, 1667);
	world_fini(&w);
}

static void
exist__with_a_lease__says_for_how_long(void **state)
{
	const char *const keys[] = {"yes", "no"};
	int results[2];
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(tiffin_exist(w.client, keys, 2, results), 0);
	assert_int_equal(heard.exist_flags, 0);
	assert_int_equal(tiffin_exist_lease(w.client, keys, 2, 3000, results), 0);
	assert_int_equal(heard.exist_flags, EXIST_LEASE);
	assert_int_equal(heard.lease_ms, 3000);
	assert_int_equal(results[0], 0);
	assert_int_equal(results[1], TIFFIN_E_NOT_FOUND);
	assert_int_equal(tiffin_exist_lease(w.client, keys, 2, 1ull << 40, results), 0);
	assert_int_equal(heard.lease_ms, LEASE_NONE - 1);
	world_fini(&w);
}

static void
replica_clear__with_a_key_that_is_none__does_the_others(void **state)
{
	const char *const keys[] = {"a", "", "b"};
	int results[3];
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(tiffin_replica_clear(w.client, 0xfedcba9876543210u, keys, 3, results), 0);
	assert_int_equal(results[0], 0);
	assert_int_equal(results[1], TIFFIN_E_INVALID);
	assert_int_equal(results[2], TIFFIN_E_LEASE);
	assert_true(heard.segment_id == 0xfedcba9876543210u);
	assert_int_equal(w.n_heard[MSG_replica_clear], 1);
	world_fini(&w);
}

static void
stat__tells_what_the_master_knows(void **state)
{
	struct tiffin_stat stat;
	char attr[TIFFIN_ATTR_MAX];
	struct world w;

	(void)state;
	begin(&w);

	assert_int_equal(tiffin_stat(w.client, "a", &stat, attr), 0);

	assert_int_equal(stat.object_id, 4);
	assert_int_equal(stat.len_bytes, 10);
	assert_int_equal(stat.put_at_ms, 1234);
	assert_int_equal(stat.n_replicas, 2);
	assert_true(stat.has_crc);
	assert_int_equal(stat.attr_bytes, 4);
	assert_memory_equal(stat.attr, "mode", 4);
	world_fini(&w);
}

static void
stat__of_a_directory__is_not_found_but_says_that_keys_lie_below(void **state)
{
	struct tiffin_stat stat;
	struct world w;

	(void)state;
	begin(&w);

	assert_int_equal(tiffin_stat(w.client, "dir", &stat, NULL), TIFFIN_E_NOT_FOUND);

	assert_true(stat.is_prefix);
	world_fini(&w);
}

static void
list__over_many_pages__tells_each_key_once_in_order(void **state)
{
	struct tiffin_list *list;
	struct tiffin_stat stat;
	const char *key;
	struct world w;
	char want[8];

	(void)state;
	begin(&w);
	heard.n_keys = 25;
	heard.per_page = 7;
	assert_int_equal(tiffin_list_open(w.client, "k", 0, NULL, &list), 0);

	for (unsigned i = 0; i < 25; i++) {
		assert_int_equal(tiffin_list_next(list, &key, &stat), 1);
		snprintf(want, sizeof(want), "k%03u", i);
		assert_string_equal(key, want);
		assert_int_equal(stat.object_id, i + 1);
	}
	assert_int_equal(tiffin_list_next(list, &key, &stat), 0);
	assert_int_equal(tiffin_list_next(list, &key, &stat), 0);

	assert_int_equal(heard.n_pages, 4);
	assert_string_equal(heard.last_after, "k020");
	tiffin_list_close(list);
	world_fini(&w);
}

static void
list__whose_master_went_away__goes_on_where_it_was(void **state)
{
	struct tiffin_list *list;
	const char *key;
	struct world w;

	(void)state;
	begin(&w);
	heard.n_keys = 4;
	heard.per_page = 2;
	assert_int_equal(tiffin_list_open(w.client, "", 0, "k000", &list), 0);
	assert_int_equal(tiffin_list_next(list, &key, NULL), 1);
	assert_int_equal(tiffin_list_next(list, &key, NULL), 1);
	w.link_outcome = LINK_E_LOST;

	assert_int_equal(tiffin_list_next(list, &key, NULL), TIFFIN_E_UNREACHABLE);
	w.link_outcome = 0;
	assert_int_equal(tiffin_list_next(list, &key, NULL), 1);

	assert_string_equal(key, "k003");
	tiffin_list_close(list);
	world_fini(&w);
}

static void
list__of_nothing__ends_at_once(void **state)
{
	struct tiffin_list *list;
	const char *key;
	struct world w;

	(void)state;
	begin(&w);
	heard.per_page = 2;
	assert_int_equal(tiffin_list_open(w.client, "", '/', NULL, &list), 0);

	assert_int_equal(tiffin_list_next(list, &key, NULL), 0);

	tiffin_list_close(list);
	world_fini(&w);
}

static void
rename__passes_keys_and_flags_on(void **state)
{
	struct world w;

	(void)state;
	begin(&w);

	assert_int_equal(tiffin_rename(w.client, "a", "b", TIFFIN_NOREPLACE), 0);

	assert_string_equal(heard.from, "a");
	assert_string_equal(heard.to, "b");
	assert_int_equal(heard.rename_flags, RENAME_NOREPLACE_FLAG);
	assert_int_equal(tiffin_rename(w.client, "a", "b", TIFFIN_EXCHANGE), 0);
	assert_int_equal(heard.rename_flags, RENAME_EXCHANGE_FLAG);
	assert_int_equal(tiffin_rename(w.client, "a", "b", TIFFIN_EXCHANGE_ANY), 0);
	assert_int_equal(heard.rename_flags, RENAME_EXCHANGE_ANY_FLAG);
	assert_int_equal(tiffin_rename(w.client, "a", "b", TIFFIN_EXCHANGE | TIFFIN_NOREPLACE),
			 TIFFIN_E_INVALID);
	assert_int_equal(tiffin_rename(w.client, "a", "taken", 0), TIFFIN_E_EXISTS);
	world_fini(&w);
}

static void
bad_keys_and_flags__are_judged_before_the_master_is_asked(void **state)
{
	const char *keys[] = {"a"};
	struct tiffin_list *list;
	struct tiffin_stat stat;
	char prefix[TIFFIN_KEY_MAX + 2];
	struct world w;
	int result;

	(void)state;
	begin(&w);
	memset(prefix, 'p', sizeof(prefix) - 1);
	prefix[sizeof(prefix) - 1] = '\0';

	assert_int_equal(tiffin_rename(w.client, "", "b", 0), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_rename(w.client, "a", "b", 3), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_rename_batch(w.client, NULL, NULL, 1, 0), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_rename_batch(w.client, keys, keys, 1025, 0), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_remove(w.client, "a", 1), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_remove(w.client, "", 0), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_exist(w.client, NULL, 1, &result), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_stat(w.client, NULL, &stat, NULL), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_set_attr(w.client, "a", 0, NULL, 3), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_set_attr(w.client, "a", 0, prefix, 4097), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_list_open(w.client, prefix, 0, NULL, &list), TIFFIN_E_INVALID);
	for (size_t i = 0; i < array_len(w.n_heard); i++)
		assert_int_equal(w.n_heard[i], 0);
	world_fini(&w);
}

static void
set_attr__passes_the_bytes_on(void **state)
{
	struct world w;

	(void)state;
	begin(&w);

	assert_int_equal(tiffin_set_attr(w.client, "a", 0, "0644", 4), 0);

	assert_string_equal(heard.attr, "0644");
	world_fini(&w);
}

static void
master_that_cannot_write_its_books__is_busy_in_the_end(void **state)
{
	struct tiffin_space space;
	struct world w;

	(void)state;
	begin(&w);

	assert_int_equal(tiffin_space(w.client, &space), TIFFIN_E_BUSY);

	assert_true(w.n_heard[MSG_space] > 1);
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exist__answers_each_key_for_itself_in_few_requests),
		cmocka_unit_test(exist__with_a_lease__says_for_how_long),
		cmocka_unit_test(replica_clear__with_a_key_that_is_none__does_the_others),
		cmocka_unit_test(stat__tells_what_the_master_knows),
		cmocka_unit_test(stat__of_a_directory__is_not_found_but_says_that_keys_lie_below),
		cmocka_unit_test(list__over_many_pages__tells_each_key_once_in_order),
		cmocka_unit_test(list__whose_master_went_away__goes_on_where_it_was),
		cmocka_unit_test(list__of_nothing__ends_at_once),
		cmocka_unit_test(rename__passes_keys_and_flags_on),
		cmocka_unit_test(bad_keys_and_flags__are_judged_before_the_master_is_asked),
		cmocka_unit_test(set_attr__passes_the_bytes_on),
		cmocka_unit_test(master_that_cannot_write_its_books__is_busy_in_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
