/* SPDX-License-Identifier: Apache-2.0 */

/* Replicas walk along the arrows of replica.h alone; objects keep their copies when their key
 * changes. */
#include "tests/unit/master_world.h"

#define BIT(name) (1u << REPLICA_##name)

/* The picture of replica.h, drawn a second time. */
static const unsigned arrows[REPLICA_N_STATES] = {
	[REPLICA_INITIALIZED] = BIT(PROCESSING) | BIT(FAILED),
	[REPLICA_PROCESSING] = BIT(COMPLETE) | BIT(FAILED),
	[REPLICA_COMPLETE] = BIT(REMOVED) | BIT(FAILED),
	[REPLICA_REMOVED] = 0,
	[REPLICA_FAILED] = 0,
};

/* Two segments and a tenant, without a master. */
struct stage {
	struct slab slab;
	struct tenant tenant;
	struct segment *segments[3];
	struct list list; /* what an object may hang on besides */
};

static int
stage_setup(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	slab_init(&stage->slab);
	stage->tenant = (struct tenant){.id = 1, .name = "default", .slab = &stage->slab};
	list_init(&stage->list);
	for (size_t i = 0; i < array_len(stage->segments); i++) {
		struct segment_words words = {.id = i + 1,
					      .epoch = 1,
					      .size_bytes = MIB,
					      .name = (const uint8_t *)"s",
					      .host = (const uint8_t *)"h",
					      .endpoint = (const uint8_t *)"e",
					      .name_len = 1,
					      .host_len = 1,
					      .endpoint_len = 1};

		assert_int_equal(segment_new(&words, &stage->segments[i]), 0);
	}
	*state = stage;
	return 0;
}

static int
stage_teardown(void **state)
{
	struct stage *stage = *state;

	for (size_t i = 0; i < array_len(stage->segments); i++)
		segment_free(stage->segments[i]);
	slab_fini(&stage->slab);
	free(stage);
	return 0;
}

static struct object *
object_with_copies(struct stage *stage, const char *key, unsigned n)
{
	struct object *object;
	struct replica *rep;

	assert_int_equal(object_new(&stage->tenant, 5, (const uint8_t *)key, strlen(key), &object),
			 0);
	for (unsigned i = 0; i < n; i++) {
		struct extent extents[2] = {{4096 * i, 100}, {65536 + 4096 * i, 50}};

		assert_int_equal(
			object_add_replica(object, stage->segments[i], extents, 1 + i % 2, &rep),
			0);
	}
	return object;
}

static void
scrap(struct object *object)
{
	while (object->replicas != NULL) {
		replica_move(object->replicas, REPLICA_FAILED);
		object_drop_replica(object, object->replicas);
	}
	object_free(object);
}

static void
every_pair_of_states__is_an_arrow_of_the_picture_or_forbidden(void **state)
{
	(void)state;
	for (unsigned from = 0; from < REPLICA_N_STATES; from++)
		for (unsigned to = 0; to < REPLICA_N_STATES; to++)
			assert_int_equal(replica_may_move(from, to), (arrows[from] >> to) & 1);
}

static void
every_state__has_a_name_of_its_own(void **state)
{
	(void)state;
	for (unsigned a = 0; a < REPLICA_N_STATES; a++)
		for (unsigned b = 0; b < a; b++)
			assert_string_not_equal(replica_state_name(a), replica_state_name(b));
}

static void
new_copy__is_initialized_and_hangs_on_its_segment(void **state)
{
	struct stage *stage = *state;
	struct object *object = object_with_copies(stage, "k", 2);

	assert_int_equal(object->replicas->state, REPLICA_INITIALIZED);
	assert_int_equal(stage->segments[0]->n_replicas, 1);
	assert_int_equal(stage->segments[1]->n_replicas, 1);
	scrap(object);
	assert_int_equal(stage->segments[1]->n_replicas, 0);
}

static void
object__is_readable_only_with_a_complete_copy_on_a_segment_that_is_here(void **state)
{
	struct stage *stage = *state;
	struct object *object = object_with_copies(stage, "k", 1);
	struct replica *rep = object->replicas;

	object->len_bytes = 100;
	stage->segments[0]->state = SEGMENT_OK;
	assert_false(object_is_readable(object));
	replica_move(rep, REPLICA_PROCESSING);
	assert_false(object_is_readable(object));
	replica_move(rep, REPLICA_COMPLETE);
	assert_true(object_is_readable(object));
	stage->segments[0]->state = SEGMENT_AWAY;
	assert_false(object_is_readable(object));

	replica_move(rep, REPLICA_REMOVED);
	object_drop_replica(object, rep);
	object_free(object);
}

static void
rekey__moves_the_object__and_every_list_follows(void **state)
{
	struct stage *stage = *state;
	struct object *object = object_with_copies(stage, "short", 3);
	const char *longer = "a-key-that-is-longer-than-the-former-one";
	struct object *moved;

	list_push_back(&stage->list, &object->at_lru);

	assert_int_equal(object_rekey(object, (const uint8_t *)longer, strlen(longer), &moved), 0);

	assert_int_equal(moved->id, 5);
	assert_int_equal(moved->key.len_bytes, strlen(longer));
	assert_memory_equal(moved->key.bytes, longer, strlen(longer));
	assert_ptr_equal(list_first(&stage->list), &moved->at_lru);
	assert_int_equal(moved->n_replicas, 3);
	object_each_replica(moved, rep) {
		assert_ptr_equal(rep->object, moved);
		assert_ptr_equal(list_first(&rep->segment->replicas), &rep->at_segment);
		assert_int_equal(replica_extents(rep)[0].len_bytes, 100);
	}
	scrap(moved);
}

static void
rekey__of_an_object_that_lost_its_first_copy__keeps_the_others(void **state)
{
	struct stage *stage = *state;
	struct object *object = object_with_copies(stage, "key", 3);
	struct object *moved;

	replica_move(object->replicas, REPLICA_FAILED);
	object_drop_replica(object, object->replicas);

	assert_int_equal(object_rekey(object, (const uint8_t *)"k", 1, &moved), 0);

	assert_int_equal(moved->n_replicas, 2);
	assert_ptr_equal(moved->replicas->segment, stage->segments[1]);
	assert_ptr_equal(moved->replicas->object, moved);
	scrap(moved);
}

static void
attr__is_replaced_whole__and_may_be_taken_away(void **state)
{
	struct stage *stage = *state;
	struct object *object = object_with_copies(stage, "k", 0);

	assert_int_equal(object_set_attr(object, (const uint8_t *)"abc", 3), 0);
	assert_int_equal(object_set_attr(object, (const uint8_t *)"de", 2), 0);
	assert_int_equal(object->attr_len, 2);
	assert_memory_equal(object->attr, "de", 2);
	assert_int_equal(object_set_attr(object, NULL, 0), 0);
	assert_null(object->attr);
	object_free(object);
}

#define STAGE_TEST(name) cmocka_unit_test_setup_teardown(name, stage_setup, stage_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair_of_states__is_an_arrow_of_the_picture_or_forbidden),
		cmocka_unit_test(every_state__has_a_name_of_its_own),
		STAGE_TEST(new_copy__is_initialized_and_hangs_on_its_segment),
		STAGE_TEST(object__is_readable_only_with_a_complete_copy_on_a_segment_that_is_here),
		STAGE_TEST(rekey__moves_the_object__and_every_list_follows),
		STAGE_TEST(rekey__of_an_object_that_lost_its_first_copy__keeps_the_others),
		STAGE_TEST(attr__is_replaced_whole__and_may_be_taken_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
