/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core_world.h"

#include <errno.h>

static uint64_t
until(struct world *w)
{
	return client_until(w->client);
}

static struct spot *
find(struct world *w, size_t i)
{
	struct spot *spot = NULL;

	assert_int_equal(
		where_find(w->client, w->lents[i]->segment_id, w->lents[i]->epoch, until(w), &spot),
		0);
	return spot;
}

static void
segment__is_asked_for_once_while_its_token_is_fresh(void **state)
{
	struct world *w = *state;
	struct spot *first, *second;

	first = find(w, 0);
	second = find(w, 0);

	assert_ptr_equal(first, second);
	assert_int_equal(w->n_heard[MSG_query_segment], 1);
	assert_int_equal(first->token.rights, TOKEN_READ | TOKEN_MAP);
	assert_int_equal(first->token.client_id, 9);
	spot_unref(first);
	spot_unref(second);
}

static void
segment__whose_token_nears_its_end__is_asked_for_anew_and_the_old_spot_stays_good(void **state)
{
	struct world *w = *state;
	struct spot *first, *second;

	first = find(w, 0);
	clock_fake_advance_ms(&w->clock, WORLD_TOKEN_MS / 4 * 3 - 1);
	spot_unref(find(w, 0));
	assert_int_equal(w->n_heard[MSG_query_segment], 1);

	clock_fake_advance_ms(&w->clock, 1);
	second = find(w, 0);

	assert_int_equal(w->n_heard[MSG_query_segment], 2);
	assert_ptr_not_equal(first, second);
	assert_int_equal(first->target->desc.segment_id, w->lents[0]->segment_id);
	spot_unref(first);
	spot_unref(second);
}

static void
segment__in_another_life__is_not_found(void **state)
{
	struct world *w = *state;
	struct spot *spot = NULL;

	assert_int_equal(where_find(w->client, w->lents[0]->segment_id, w->lents[0]->epoch + 1,
				    until(w), &spot),
			 TIFFIN_E_NOT_FOUND);

	assert_null(spot);
}

static void
segment__that_nobody_lends__is_not_found(void **state)
{
	struct world *w = *state;
	struct spot *spot = NULL;

	assert_int_equal(where_find(w->client, 12345, 1, until(w), &spot), TIFFIN_E_NOT_FOUND);

	assert_null(spot);
}

static void
dropped_segment__is_asked_for_anew(void **state)
{
	struct world *w = *state;

	spot_unref(find(w, 0));

	where_drop(&w->client->where, w->lents[0]->segment_id);
	spot_unref(find(w, 0));

	assert_int_equal(w->n_heard[MSG_query_segment], 2);
}

static void
failed_segment__is_avoided_for_a_while_and_told_once(void **state)
{
	struct world *w = *state;
	struct rec_id ids[4];

	assert_true(where_fail(&w->client->where, 55));
	assert_false(where_fail(&w->client->where, 55)); /* no news */

	assert_true(where_has_failed(&w->client->where, 55));
	assert_false(where_has_failed(&w->client->where, 56));
	assert_int_equal(where_take_failing(&w->client->where, ids, 4), 1);
	assert_int_equal(ids[0].id, 55);
	assert_int_equal(where_take_failing(&w->client->where, ids, 4), 0);

	clock_fake_advance_ms(&w->clock, 60000);
	assert_false(where_has_failed(&w->client->where, 55));
	assert_true(where_fail(&w->client->where, 55));
}

static void
endpoint_that_is_too_long__is_refused(void **state)
{
	struct world *w = *state;
	char endpoint[TARGET_ENDPOINT_MAX + 1];
	struct rec_segment_state rec = {.segment_id = 4, .segment_epoch = 1, .size_bytes = 4096};

	memset(endpoint, 'e', sizeof(endpoint));
	rec.endpoint = span_of(endpoint, sizeof(endpoint));

	assert_int_equal(where_put(&w->client->where, &rec, 0), -EMSGSIZE);

	rec.endpoint = span_of(endpoint, TARGET_ENDPOINT_MAX);
	assert_int_equal(where_put(&w->client->where, &rec, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(segment__is_asked_for_once_while_its_token_is_fresh),
		world_test(
			segment__whose_token_nears_its_end__is_asked_for_anew_and_the_old_spot_stays_good),
		world_test(segment__in_another_life__is_not_found),
		world_test(segment__that_nobody_lends__is_not_found),
		world_test(dropped_segment__is_asked_for_anew),
		world_test(failed_segment__is_avoided_for_a_while_and_told_once),
		world_test(endpoint_that_is_too_long__is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
