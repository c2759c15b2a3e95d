/* SPDX-License-Identifier: Apache-2.0 */

/* From frames to answers: who is heard, what comes twice, when an answer may go. */
#include "tests/unit/master_world.h"

static void
put_payload(struct buf *payload, const char *key, uint64_t len_bytes)
{
	struct rec_put put = {span_of(key, strlen(key)), len_bytes};
	struct msg_put_start msg = {.replica_num = 1, .n_puts = 1, .puts = &put};

	buf_init(payload);
	assert_int_equal(msg_put_start_encode(payload, &msg), 0);
}

/* ---- who is heard ---- */

static void
request__before_hello__is_refused(void **state)
{
	struct world *w = *state;
	struct end *end = world_connect(w);
	struct rep_space rep = {0};

	assert_int_equal(ASK(end, space, &rep), STATUS_NOT_JOINED);
	assert_int_equal(ASK(end, ping, &(struct rep_ping){0}), STATUS_NOT_JOINED);
}

static void
join__before_hello__is_refused(void **state)
{
	struct world *w = *state;
	struct end *end = world_connect(w);
	struct rep_join rep = {0};

	assert_int_equal(ASK(end, join, &rep, .client_id = 5, .name = span_of("n", 1),
			     .host = span_of("h", 1), .tenant = span_of("default", 7)),
			 STATUS_NOT_JOINED);
}

static void
hello__of_another_version__is_refused(void **state)
{
	struct world *w = *state;
	struct end *end = world_connect(w);
	struct rep_hello rep = {0};

	assert_int_equal(ASK(end, hello, &rep, .version = PROTO_VERSION + 1), STATUS_VERSION);
}

static uint32_t
join_as(struct end *end, uint64_t client_id, const char *tenant)
{
	struct rep_hello hello = {0};
	struct rep_join join = {0};

	assert_int_equal(ASK(end, hello, &hello, .version = PROTO_VERSION), STATUS_OK);
	return ASK(end, join, &join, .client_id = client_id, .name = span_of("n", 1),
		   .host = span_of("h", 1), .tenant = span_of(tenant, strlen(tenant)));
}

static void
join__with_an_impossible_id_or_that_of_another__is_refused(void **state)
{
	struct world *w = *state;
	struct end *end = world_connect(w);

	assert_int_equal(join_as(end, 0, "default"), STATUS_INVALID);
	assert_int_equal(join_as(end, 1ull << 63, "default"), STATUS_INVALID);
	assert_int_equal(join_as(end, 5, "default"), STATUS_OK);
	assert_int_equal(join_as(end, 6, "default"), STATUS_INVALID);
}

static void
unknown_type__and_a_reply_where_a_request_is_due__are_refused(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct frame reply = {.type = MSG_space, .flags = FRAME_REPLY, .request_id = 500};
	struct buf none;

	buf_init(&none);
	end_send_as(end, 501, 63, &none);
	end_send_as(end, 502, 9, &none);
	end_send_as(end, 503, 65535, &none);
	master_receive(end->peer, &reply);
	world_turn(w);

	for (uint64_t id = 500; id <= 503; id++)
		assert_int_equal(end_status(end, id), STATUS_INVALID);
}

static void
malformed_payload__of_every_message__is_refused_and_changes_nothing(void **state)
{
	static const uint16_t types[] = {
#define MESSAGE(number, name, REQUEST, REPLY) number,
		MESSAGES(MESSAGE)
#undef MESSAGE
	};
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	uint8_t bytes[100];
	struct buf payload;

	memset(bytes, 0xff, sizeof(bytes));
	buf_init(&payload);
	assert_int_equal(buf_append(&payload, bytes, sizeof(bytes)), 0);
	for (size_t i = 0; i < array_len(types); i++)
		end_send_as(end, 2000 + i, types[i], &payload);
	world_turn(w);

	for (size_t i = 0; i < array_len(types); i++)
		assert_int_equal(end_status(end, 2000 + i), STATUS_INVALID);
	assert_int_equal(w->master->journal.n_records, 0);
	buf_fini(&payload);
}

/* ---- what comes twice ---- */

static void
repeated_request__gets_the_same_answer__and_is_done_once(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct frame first = {0}, second = {0};
	struct buf payload;

	end_mount(end, 1, 1, 64 * MIB);
	put_payload(&payload, "k", 4096);
	end_send_as(end, 77000, MSG_put_start, &payload);
	world_turn(w);
	assert_int_equal(end_answers(end, 77000, &first), 1);

	end_send_as(end, 77000, MSG_put_start, &payload);
	world_turn(w);

	assert_int_equal(end_answers(end, 77000, &second), 2);
	end_answers(end, 77000, &first);
	assert_int_equal(cursor_left(&first.payload), cursor_left(&second.payload));
	assert_memory_equal(first.payload.at, second.payload.at, cursor_left(&first.payload));
	assert_int_equal(counter_get(&w->master->counters.puts_started), 1);
	assert_int_equal(counter_get(&w->master->counters.requests_repeated), 1);
	buf_fini(&payload);
}

/* Two threads of a client may send in another order than they took their numbers. */
static void
request__with_a_number_below_the_newest__is_heard__and_repeated_answered_again(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct buf one, other;
	struct frame frame = {0};

	end_mount(end, 1, 1, 64 * MIB);
	put_payload(&one, "a", 4096);
	put_payload(&other, "b", 4096);
	end_send_as(end, 77001, MSG_put_start, &one);
	end_send_as(end, 77000, MSG_put_start, &other);
	world_turn(w);
	assert_int_equal(counter_get(&w->master->counters.puts_started), 2);

	end_send_as(end, 77000, MSG_put_start, &other);
	end_send_as(end, 77001, MSG_put_start, &one);
	world_turn(w);

	assert_int_equal(end_answers(end, 77000, &frame), 2);
	assert_int_equal(end_answers(end, 77001, &frame), 2);
	assert_int_equal(counter_get(&w->master->counters.puts_started), 2);
	buf_fini(&one);
	buf_fini(&other);
}

static void
repeated_request__over_a_new_connection__gets_the_same_answer(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11), *again;
	struct buf payload;
	struct frame frame = {0};

	end_mount(end, 1, 1, 64 * MIB);
	put_payload(&payload, "k", 4096);
	end_send_as(end, 77000, MSG_put_start, &payload);
	end_hang_up(end); /* before the answer */
	again = world_join_again(w, 11);

	end_send_as(again, 77000, MSG_put_start, &payload);
	world_turn(w);

	assert_int_equal(end_answers(again, 77000, &frame), 1);
	assert_int_equal(frame.status, STATUS_OK);
	assert_int_equal(counter_get(&w->master->counters.puts_started), 1);
	buf_fini(&payload);
}

static void
removal_and_rename__repeated_over_a_new_connection__are_answered_as_done(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11), *again;
	struct rec_key_only key = {span_of("gone", 4)};
	struct rec_rename_pair pair = {span_of("from", 4), span_of("to", 2)};
	const struct msg_remove remove = {.n_keys = 1, .keys = &key};
	const struct msg_rename rename = {.n_pairs = 1, .pairs = &pair};
	struct rep_remove removed = {0};
	struct buf first, second;

	end_mount(end, 1, 1, 64 * MIB);
	end_put(end, "gone", 4096);
	end_put(end, "from", 4096);
	buf_init(&first);
	buf_init(&second);
	assert_int_equal(msg_remove_encode(&first, &remove), 0);
	assert_int_equal(msg_rename_encode(&second, &rename), 0);
	end_send_as(end, 77000, MSG_remove, &first);
	end_send_as(end, 77001, MSG_rename, &second);
	end_hang_up(end); /* before the answers */
	again = world_join_again(w, 11);

	end_send_as(again, 77000, MSG_remove, &first);
	end_send_as(again, 77001, MSG_rename, &second);
	world_turn(w);

	assert_int_equal(HEAR(again, 77000, remove, &removed), STATUS_OK);
	assert_int_equal(removed.fates[0].status, STATUS_OK);
	assert_int_equal(end_status(again, 77001), STATUS_OK);
	assert_int_equal(end_exist(again, "gone"), STATUS_NOT_FOUND);
	assert_int_equal(end_exist(again, "to"), STATUS_OK);
	buf_fini(&first);
	buf_fini(&second);
}

static void
repeated_request__while_its_answer_waits__is_answered_once(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct buf payload;
	struct frame frame = {0};

	end_mount(end, 1, 1, 64 * MIB);
	put_payload(&payload, "k", 4096);
	end_send_as(end, 77000, MSG_put_start, &payload);
	end_send_as(end, 77000, MSG_put_start, &payload);
	world_turn(w);

	assert_int_equal(end_answers(end, 77000, &frame), 1);
	buf_fini(&payload);
}

static void
put_end__repeated_after_a_restart__is_answered_as_done(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	uint32_t status;
	uint64_t id;

	end_mount(end, 1, 1, 64 * MIB);
	id = end_start(end, "k", 4096, 0, &status);
	assert_int_equal(end_finish(end, id, 4096), STATUS_OK);
	world_close(w);
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);

	assert_int_equal(end_finish(end, id, 4096), STATUS_OK);
	assert_int_equal(end_finish(end, id, 4000), STATUS_NOT_FOUND);
}

static void
old_answers__are_forgotten_when_newer_ones_need_the_room(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	for (int i = 0; i < 2 * ANSWERS_MAX; i++)
		assert_int_equal(end_remove(end, "none", false), STATUS_NOT_FOUND);

	assert_true(map_get(&w->master->clients, 11) != NULL);
	assert_in_range(((struct client *)map_get(&w->master->clients, 11))->n_answers, 1,
			ANSWERS_MAX);
}

/* ---- when an answer may go ---- */

static void
put_end__is_answered_only_when_it_is_committed(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_put_done done = {.len_bytes = 4096};
	uint32_t status;
	uint64_t id;

	end_mount(end, 1, 1, 64 * MIB);
	done.object_id = end_start(end, "k", 4096, 0, &status);
	id = SEND(end, put_end, .n_puts = 1, .puts = &done);
	world_turn_alone(w);
	assert_int_equal(end_status(end, id), NO_ANSWER);

	store_step(w->store);
	world_turn_alone(w);

	assert_int_equal(end_status(end, id), STATUS_OK);
}

static void
reader__hears_of_an_object_only_when_it_is_committed(void **state)
{
	struct world *w = *state;
	struct end *writer = world_join(w, 11), *reader = world_join(w, 12);
	struct rec_put_done done = {.len_bytes = 4096};
	struct rec_key_only key = {span_of("k", 1)};
	uint64_t get, list, exist, other;
	uint32_t status;

	end_mount(writer, 1, 1, 64 * MIB);
	end_put(writer, "other", 4096);
	done.object_id = end_start(writer, "k", 4096, 0, &status);
	SEND(writer, put_end, .n_puts = 1, .puts = &done);
	get = SEND(reader, get_replica_list, .n_keys = 1, .keys = &key);
	exist = SEND(reader, exist, .n_keys = 1, .keys = &key);
	list = SEND(reader, list, .most = 10);
	key.key = span_of("other", 5);
	other = SEND(reader, get_replica_list, .n_keys = 1, .keys = &key);
	world_turn_alone(w);

	assert_int_equal(end_status(reader, get), NO_ANSWER);
	assert_int_equal(end_status(reader, exist), NO_ANSWER);
	assert_int_equal(end_status(reader, list), NO_ANSWER);
	assert_int_equal(end_status(reader, other), STATUS_OK);

	store_step(w->store);
	world_turn_alone(w);
	assert_int_equal(end_status(reader, get), STATUS_OK);
	assert_int_equal(end_status(reader, exist), STATUS_OK);
	assert_int_equal(end_status(reader, list), STATUS_OK);
}

static void
reader__hears_that_a_key_is_missing_only_when_its_removal_is_committed(void **state)
{
	struct world *w = *state;
	struct end *writer = world_join(w, 11), *reader = world_join(w, 12);
	struct rec_key_only key = {span_of("k", 1)}, none = {span_of("none", 4)};
	uint64_t get, exist, list, other;

	end_put(writer, "k", 0);
	SEND(writer, remove, .n_keys = 1, .keys = &key);
	get = SEND(reader, get_replica_list, .n_keys = 1, .keys = &key);
	exist = SEND(reader, exist, .n_keys = 1, .keys = &key);
	list = SEND(reader, list, .most = 10);
	other = SEND(reader, exist, .n_keys = 1, .keys = &none);
	world_turn_alone(w);

	assert_int_equal(end_status(reader, get), NO_ANSWER);
	assert_int_equal(end_status(reader, exist), NO_ANSWER);
	assert_int_equal(end_status(reader, list), NO_ANSWER);
	assert_int_equal(end_status(reader, other), STATUS_OK);

	world_turn(w);
	assert_int_equal(end_status(reader, get), STATUS_OK);
	assert_int_equal(end_status(reader, exist), STATUS_OK);
	assert_int_equal(end_status(reader, list), STATUS_OK);
	assert_true(gone_is_empty(&w->master->gone));
}

static void
answer_that_waits__for_a_client_that_left__is_dropped(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rec_put_done done = {.len_bytes = 4096};
	uint32_t status;
	uint64_t id;

	end_mount(end, 1, 1, 64 * MIB);
	done.object_id = end_start(end, "k", 4096, 0, &status);
	id = SEND(end, put_end, .n_puts = 1, .puts = &done);
	SEND(end, leave);
	world_turn(w);

	assert_int_equal(end_status(end, id), NO_ANSWER);
	assert_true(list_is_empty(&w->master->held));
}

static void
power__acknowledges_only_what_is_synced(void **state)
{
	struct world *w = *state;
	struct end *end;

	world_close(w);
	w->limits.durable_power = true;
	assert_int_equal(world_open(w), 0);
	end = world_join(w, 11);
	end_mount(end, 1, 1, 64 * MIB);

	assert_true(end_put(end, "k", 4096) != 0);

	assert_int_equal(w->master->progress.synced, w->master->batch - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(request__before_hello__is_refused),
		WORLD_TEST(join__before_hello__is_refused),
		WORLD_TEST(hello__of_another_version__is_refused),
		WORLD_TEST(join__with_an_impossible_id_or_that_of_another__is_refused),
		WORLD_TEST(unknown_type__and_a_reply_where_a_request_is_due__are_refused),
		WORLD_TEST(malformed_payload__of_every_message__is_refused_and_changes_nothing),
		WORLD_TEST(repeated_request__gets_the_same_answer__and_is_done_once),
		WORLD_TEST(
			request__with_a_number_below_the_newest__is_heard__and_repeated_answered_again),
		WORLD_TEST(repeated_request__over_a_new_connection__gets_the_same_answer),
		WORLD_TEST(
			removal_and_rename__repeated_over_a_new_connection__are_answered_as_done),
		WORLD_TEST(repeated_request__while_its_answer_waits__is_answered_once),
		WORLD_TEST(put_end__repeated_after_a_restart__is_answered_as_done),
		WORLD_TEST(old_answers__are_forgotten_when_newer_ones_need_the_room),
		WORLD_TEST(put_end__is_answered_only_when_it_is_committed),
		WORLD_TEST(reader__hears_of_an_object_only_when_it_is_committed),
		WORLD_TEST(reader__hears_that_a_key_is_missing_only_when_its_removal_is_committed),
		WORLD_TEST(answer_that_waits__for_a_client_that_left__is_dropped),
		WORLD_TEST(power__acknowledges_only_what_is_synced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
