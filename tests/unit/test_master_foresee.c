/* SPDX-License-Identifier: Apache-2.0 */

/* Many look-ups in one buffer: found together, and each right at its own time. */
#include "tests/unit/master_world.h"

#define N_KEYS 80 /* more than are foreseen at once */

struct story {
	struct end *end;
	struct buf in; /* as the server has read it */
	uint64_t put_ids[N_KEYS];
};

static struct span
key_of(char buf[16], unsigned i)
{
	return span_of(buf, (size_t)snprintf(buf, 16, "key-%02u", i));
}

/* Keys with even numbers are there. */
static void
begin(struct story *story, struct world *w)
{
	char key[16];

	*story = (struct story){.end = world_join(w, 11)};
	buf_init(&story->in);
	assert_int_equal(end_mount(story->end, 1, 1, 64 * MIB), STATUS_OK);
	for (unsigned i = 0; i < N_KEYS; i += 2) {
		key_of(key, i);
		story->put_ids[i] = end_put(story->end, key, 4096);
		assert_int_not_equal(story->put_ids[i], 0);
	}
}

#define APPEND(story, name, ...)                                                                   \
	({                                                                                         \
		struct msg_##name msg_ = {__VA_ARGS__};                                            \
		struct frame frame_ = {.type = MSG_##name,                                         \
				       .request_id = ++(story)->end->last_request};                \
		size_t at_;                                                                        \
                                                                                                   \
		assert_int_equal(frame_begin(&(story)->in, &at_), 0);                              \
		assert_int_equal(msg_##name##_encode(&(story)->in, &msg_), 0);                     \
		frame_end(&(story)->in, at_, &frame_);                                             \
		frame_.request_id;                                                                 \
	})

static uint64_t
append_get(struct story *story, unsigned i)
{
	char buf[16];
	struct rec_key_only key = {key_of(buf, i)};

	return APPEND(story, get_replica_list, .n_keys = 1, .keys = &key);
}

static uint64_t
append_remove(struct story *story, unsigned i)
{
	char buf[16];
	struct rec_key_only key = {key_of(buf, i)};

	return APPEND(story, remove, .force = 1, .n_keys = 1, .keys = &key);
}

/* As the server takes them. */
static void
take_all(struct story *story)
{
	struct frame frame;
	size_t len;

	for (size_t n = 0; buf_len(&story->in) > 0; n++) {
		if (n % FORESEEN_MAX == 0)
			master_foresee(story->end->peer, buf_first(&story->in),
				       buf_len(&story->in));
		assert_int_equal(
			frame_peek(buf_first(&story->in), buf_len(&story->in), &frame, &len), 0);
		master_receive(story->end->peer, &frame);
		buf_consume(&story->in, len);
	}
	buf_fini(&story->in);
	world_turn(story->end->world);
}

/* The id of the object that this look-up was told of; 0: there is none. */
static uint64_t
told(struct story *story, uint64_t request_id)
{
	struct rep_get_replica_list rep = {0};

	assert_int_equal(HEAR(story->end, request_id, get_replica_list, &rep), STATUS_OK);
	assert_int_equal(rep.n_objects, 1);
	if (rep.objects[0].status == STATUS_NOT_FOUND)
		return 0;
	assert_int_equal(rep.objects[0].status, STATUS_OK);
	return rep.objects[0].object_id;
}

static void
look_ups__in_one_buffer__are_each_told_of_their_own(void **state)
{
	struct story story;
	uint64_t asked[N_KEYS];

	begin(&story, *state);
	for (unsigned i = 0; i < N_KEYS; i++)
		asked[i] = append_get(&story, i);
	take_all(&story);

	for (unsigned i = 0; i < N_KEYS; i++)
		assert_int_equal(told(&story, asked[i]), story.put_ids[i]);
}

static void
look_ups__behind_a_removal_in_the_same_buffer__do_not_find_what_is_gone(void **state)
{
	struct story story;
	uint64_t before, after[3];

	begin(&story, *state);
	before = append_get(&story, 0);
	append_get(&story, 2);
	append_remove(&story, 0);
	append_remove(&story, 4);
	after[0] = append_get(&story, 0);
	after[1] = append_get(&story, 4);
	after[2] = append_get(&story, 6);
	take_all(&story);

	assert_int_equal(told(&story, before), story.put_ids[0]);
	assert_int_equal(told(&story, after[0]), 0);
	assert_int_equal(told(&story, after[1]), 0);
	assert_int_equal(told(&story, after[2]), story.put_ids[6]);
}

static void
look_ups__behind_a_put_in_the_same_buffer__find_what_has_come(void **state)
{
	struct rec_put_done done = {.len_bytes = 4096};
	struct story story;
	uint64_t before, after;
	uint32_t status;

	begin(&story, *state);
	done.object_id = end_start(story.end, "key-01", 4096, 0, &status);
	before = append_get(&story, 1);
	for (unsigned i = 2; i < 8; i++)
		append_get(&story, i);
	APPEND(&story, put_end, .n_puts = 1, .puts = &done);
	after = append_get(&story, 1);
	take_all(&story);

	assert_int_equal(told(&story, before), 0);
	assert_int_equal(told(&story, after), done.object_id);
}

static void
look_ups__of_two_tenants_for_the_same_key__are_kept_apart(void **state)
{
	struct world *w = *state;
	struct story ours, theirs;
	uint64_t asked[6], id, other;
	struct rec_key_only key = {span_of("key-00", 6)};
	struct rep_get_replica_list rep = {0};

	begin(&ours, w);
	theirs = (struct story){.end = world_join_as(w, 12, "theirs")};
	other = end_put(theirs.end, "key-00", 100);
	for (unsigned i = 0; i < array_len(asked); i++)
		asked[i] = append_get(&ours, 0);
	master_foresee(ours.end->peer, buf_first(&ours.in), buf_len(&ours.in));
	id = SEND(theirs.end, get_replica_list, .n_keys = 1, .keys = &key);
	world_turn(w);

	assert_int_equal(HEAR(theirs.end, id, get_replica_list, &rep), STATUS_OK);
	assert_int_equal(rep.objects[0].object_id, other);
	take_all(&ours);
	for (unsigned i = 0; i < array_len(asked); i++)
		assert_int_equal(told(&ours, asked[i]), ours.put_ids[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(look_ups__in_one_buffer__are_each_told_of_their_own),
		TEST(look_ups__behind_a_removal_in_the_same_buffer__do_not_find_what_is_gone),
		TEST(look_ups__behind_a_put_in_the_same_buffer__find_what_has_come),
		TEST(look_ups__of_two_tenants_for_the_same_key__are_kept_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
