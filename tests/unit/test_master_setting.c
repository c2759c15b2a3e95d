/* SPDX-License-Identifier: Apache-2.0 */

/* Settings that change while the master works: judged like the command line, and together. */
#include "master/settings.h"
#include "tests/unit/master_world.h"

static uint32_t
set(struct end *end, const char *name, const char *value, struct rep_settings *rep)
{
	struct rec_setting_set what = {span_of(name, strlen(name)), span_of(value, strlen(value))};

	*rep = (struct rep_settings){0};
	assert_int_equal(ASK(end, settings, rep, .n_sets = 1, .sets = &what), STATUS_OK);
	assert_int_equal(rep->n_fates, 1);
	return rep->fates[0].status;
}

static const struct rec_setting_state *
state_of(const struct rep_settings *rep, const char *name)
{
	for (uint32_t i = 0; i < rep->n_settings; i++)
		if (span_equal(rep->settings[i].name, span_of(name, strlen(name))))
			return &rep->settings[i];
	fail_msg("no setting %s is told", name);
	return NULL;
}

static bool
says(struct span words, const char *what)
{
	return memmem(words.at, words.len, what, strlen(what)) != NULL;
}

static void
settings__are_told_with_value_and_range(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_settings rep = {0};
	const struct rec_setting_state *found;

	assert_int_equal(ASK(end, settings, &rep, .n_sets = 0), STATUS_OK);
	assert_int_equal(rep.n_fates, 0);
	assert_int_equal(rep.n_settings, settings_n());
	found = state_of(&rep, "put_wait_ms");
	assert_int_equal(found->value, 2000);
	assert_int_equal(found->configured, 2000);
	assert_int_equal(found->most, 60000);
}

static void
setting__changed__is_in_force_at_once__and_goes_back(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_settings rep;

	assert_int_equal(set(end, "put_wait_ms", "7s", &rep), STATUS_OK);
	assert_int_equal(w->master->limits.put_wait_ms, 7000);
	assert_int_equal(state_of(&rep, "put_wait_ms")->value, 7000);
	assert_int_equal(state_of(&rep, "put_wait_ms")->configured, 2000);
	assert_true(says(rep.fates[0].words, "7000, was 2000"));

	assert_int_equal(set(end, "put_wait_ms", "", &rep), STATUS_OK);
	assert_int_equal(w->master->limits.put_wait_ms, 2000);
}

static void
setting__that_promises_depend_on__can_not_be_changed(void **state)
{
	static const char *const fixed[] = {"lease_ms", "write_lease_ms", "ping_ms", "db",
					    "nothing"};
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_settings rep;

	for (size_t i = 0; i < array_len(fixed); i++)
		assert_int_equal(set(end, fixed[i], "5s", &rep), STATUS_NOT_FOUND);
	assert_int_equal(w->master->limits.lease_ms, 5000);
}

static void
value__that_is_none_or_out_of_range__changes_nothing(void **state)
{
	static const char *const wrong[] = {"101", "0", "-1", "much", "5s"};
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_settings rep;

	for (size_t i = 0; i < array_len(wrong); i++) {
		assert_int_equal(set(end, "evict_high_pct", wrong[i], &rep), STATUS_INVALID);
		assert_true(says(rep.fates[0].words, "evict_high_pct"));
	}
	assert_int_equal(w->master->limits.evict_high_pct, 100);
}

static void
low_mark__not_below_the_high_one__is_refused(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_settings rep;

	assert_int_equal(set(end, "evict_low_pct", "100", &rep), STATUS_INVALID);
	assert_int_equal(set(end, "evict_high_pct", "90", &rep), STATUS_INVALID);
	assert_true(says(rep.fates[0].words, "must be below"));
	assert_int_equal(set(end, "evict_low_pct", "40", &rep), STATUS_OK);
	assert_int_equal(set(end, "evict_high_pct", "60", &rep), STATUS_OK);
	assert_int_equal(w->master->limits.evict_low_pct, 40);
}

static void
setting__of_words__is_set_by_its_word_and_told_by_it(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct rep_settings rep;

	assert_int_equal(set(end, "placement", "local_first", &rep), STATUS_OK);
	assert_int_equal(w->master->limits.placement, PLACEMENT_LOCAL_FIRST);
	assert_true(says(rep.fates[0].words, "local_first, was free_ratio_first"));
	assert_int_equal(state_of(&rep, "placement")->value, 2);
	assert_true(says(state_of(&rep, "placement")->unit, "random free_ratio_first local_first"));

	assert_int_equal(set(end, "placement", "2", &rep), STATUS_INVALID);
	assert_int_equal(set(end, "placement", "local", &rep), STATUS_INVALID);
	assert_true(says(rep.fates[0].words, "none of: random free_ratio_first local_first"));
	assert_int_equal(w->master->limits.placement, PLACEMENT_LOCAL_FIRST);
	assert_int_equal(set(end, "placement", "", &rep), STATUS_OK);
	assert_int_equal(w->master->limits.placement, PLACEMENT_FREE_RATIO_FIRST);
}

static void
setting__repeated_after_another_has_set_it__stays_as_that_one_wished(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11), *other = world_join(w, 12);
	struct rec_setting_set what = {span_of("put_wait_ms", 11), span_of("7s", 2)};
	struct msg_settings msg = {.n_sets = 1, .sets = &what};
	struct rep_settings rep;
	struct frame frame;
	struct buf payload;

	buf_init(&payload);
	assert_int_equal(msg_settings_encode(&payload, &msg), 0);
	end_send_as(end, 777777, MSG_settings, &payload);
	world_turn(w);
	assert_int_equal(end_answers(end, 777777, &frame), 1);
	assert_int_equal(set(other, "put_wait_ms", "9s", &rep), STATUS_OK);

	end_send_as(end, 777777, MSG_settings, &payload); /* its answer was lost */
	world_turn(w);
	assert_int_equal(end_answers(end, 777777, &frame), 2);
	assert_int_equal(frame.status, STATUS_OK);
	assert_int_equal(w->master->limits.put_wait_ms, 9000);
	buf_fini(&payload);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(settings__are_told_with_value_and_range),
		T(setting__changed__is_in_force_at_once__and_goes_back),
		T(setting__repeated_after_another_has_set_it__stays_as_that_one_wished),
		T(setting__that_promises_depend_on__can_not_be_changed),
		T(value__that_is_none_or_out_of_range__changes_nothing),
		T(low_mark__not_below_the_high_one__is_refused),
		T(setting__of_words__is_set_by_its_word_and_told_by_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
