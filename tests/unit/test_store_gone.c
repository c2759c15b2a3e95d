/* SPDX-License-Identifier: Apache-2.0 */

/* Segments that are lost: one record, and rows that are cleared in steps, or by the next start. */
#include "tests/unit/store_box.h"

#include "master/store_internal.h"

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

/* Object 1 on both segments, 2 on the first alone, 3 has no bytes. */
static void
add_three(struct box *box)
{
	box_add_segment(box, 1);
	box_add_segment(box, 2);
	box_add_object(box, 1, 2, 3);
	box_add_object(box, 2, 1, 1);
	box_add_object(box, 3, 0, 0);
}

static void
lose_one(struct box *box)
{
	add_three(box);
	box_add(box, &(struct record){.kind = RECORD_SEGMENT_GONE, .segment_id = 1});
}

static void
assert_lost(struct box *box)
{
	char *text = box_dump(box);

	assert_null(strstr(text, "  on 1:"));
	assert_non_null(strstr(text, "object 1 "));
	assert_non_null(strstr(text, "  on 2: 65536+1000 73728+1000 81920+1000\n"));
	assert_null(strstr(text, "object 2 "));
	assert_non_null(strstr(text, "object 3 "));
	assert_check_finds_nothing(box);
	free(text);
}

static void
segment__gone__takes_its_copies_and_what_had_no_others(void **state)
{
	struct box *box = *state;

	lose_one(box);
	box_submit(box);
	assert_false(box_progress(box).is_clearing);
	store_step(box->store);

	assert_false(box_progress(box).is_clearing);
	assert_lost(box);
}

static void
segment__gone__is_cleared_in_steps_that_let_others_commit(void **state)
{
	struct box *box = *state;

	box->store->config.is_inline = false; /* then it rests between steps */
	lose_one(box);
	box_submit(box);
	store_work(box->store);
	assert_int_equal(box_progress(box).committed, 1);
	assert_true(box_progress(box).is_clearing);

	box_add_object(box, 4, 0, 0);
	box_submit(box);
	store_work(box->store);
	assert_int_equal(box_progress(box).committed, 2);
	store_work(box->store);
	assert_false(box_progress(box).is_clearing);
	box->store->config.is_inline = true;
	assert_lost(box);
}

/* As a crash leaves it between the record and the last step. */
static void
segment__gone_but_not_cleared__is_cleared_by_the_next_start(void **state)
{
	struct box *box = *state;

	add_three(box);
	box_commit(box);
	box_close(box);
	box_sql(box, "UPDATE segment SET is_gone = 1 WHERE segment_id = 1");
	assert_int_equal(box_open(box, NULL), 0);

	assert_lost(box);
}

/* A bit of it flipped on the disk: its object lies elsewhere, and must not go without a word. */
static void
row__that_does_not_bear_its_sum__makes_no_copy_void_when_a_segment_goes(void **state)
{
	struct box *box = *state;
	char *text;

	box_add_segment(box, 1);
	box_add_segment(box, 2);
	box_story_lodger(box, 2, 1, 1);
	box_story_lodger(box, 2, 1, 3);
	box_commit(box);
	box_close(box);
	box_sql(box, "UPDATE replica SET segment_id = 1");
	assert_int_equal(box_open(box, NULL), 0);

	box_add(box, &(struct record){.kind = RECORD_SEGMENT_GONE, .segment_id = 1});
	box_commit(box);
	text = box_dump(box);
	assert_non_null(strstr(text, "spoilt 1\n"));
	assert_non_null(strstr(text, "spoilt 2\n"));
	free(text);

	box_add(box, &(struct record){.kind = RECORD_SEGMENT_REMOVE, .segment_id = 1});
	box_commit(box);
	box_close(box);
	assert_int_equal(box_open(box, NULL), 0);
	text = box_dump(box);
	assert_non_null(strstr(text, "spoilt 1\n"));
	assert_non_null(strstr(text, "spoilt 2\n"));
	free(text);
}

/* A copy that comes takes the number of one that is void. */
static void
copy__of_an_object_with_eight__comes_in_place_of_a_void_one(void **state)
{
	struct box *box = *state;
	struct extent run = {4096, 1000};
	struct replica_record replica = {9, 1, &run};
	char *text;

	for (uint64_t id = 1; id <= 9; id++)
		box_add_segment(box, id);
	box_add_object(box, 1, 8, 1);
	box_add(box, &(struct record){.kind = RECORD_SEGMENT_GONE, .segment_id = 5});
	box_add(box, &(struct record){.kind = RECORD_REPLICA_ADD,
				      .object_id = 1,
				      .len_bytes = 1000,
				      .n_replicas = 1,
				      .replicas = &replica});
	box_commit(box);
	text = box_dump(box);

	assert_null(strstr(text, "  on 5:"));
	assert_non_null(strstr(text, "  on 9: 4096+1000\n"));
	assert_check_finds_nothing(box);
	free(text);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(segment__gone__takes_its_copies_and_what_had_no_others),
		TEST(segment__gone__is_cleared_in_steps_that_let_others_commit),
		TEST(segment__gone_but_not_cleared__is_cleared_by_the_next_start),
		TEST(row__that_does_not_bear_its_sum__makes_no_copy_void_when_a_segment_goes),
		TEST(copy__of_an_object_with_eight__comes_in_place_of_a_void_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
