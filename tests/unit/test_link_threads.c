/* SPDX-License-Identifier: Apache-2.0 */

/* Many threads over one link: each gets its own answers, whatever happens to the connection. */
#include "tests/unit/link_peer.h"

struct caller {
	struct peer *peer;
	unsigned number;
	atomic_uint n_good;
};

static void *
call_often(void *arg)
{
	struct caller *caller = arg;
	char bytes[32];

	for (unsigned i = 0; i < 200; i++) {
		snprintf(bytes, sizeof(bytes), "%u-%u", caller->number, i);
		caller->n_good += call(caller->peer, bytes, in_ms(FAR_MS)) == 0;
	}
	return NULL;
}

static void
many_threads__each_get_their_own_answers(void **state)
{
	struct caller callers[8];
	pthread_t threads[8];
	struct peer *peer = *state;

	peer_start(peer, greet_and_echo, NULL);
	for (unsigned i = 0; i < 8; i++) {
		callers[i] = (struct caller){.peer = peer, .number = i};
		assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
	}
	for (unsigned i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);

	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(callers[i].n_good, 200);
	assert_int_equal(n_joins(peer), 1);
}

static void
hang_up_now_and_then(struct peer *peer)
{
	struct frame frame;

	for (unsigned round = 0; round < 20; round++) {
		peer_accept(peer);
		peer_greet(peer);
		for (unsigned i = 0; i < 37 && peer_read(peer, &frame); i++)
			peer_answer(peer, &frame, STATUS_OK,
				    &(struct buf){.at = (uint8_t *)frame.payload.at,
						  .end = cursor_left(&frame.payload)});
	}
	greet_and_echo(peer);
}

static void
many_threads__over_broken_connections__lose_no_answer(void **state)
{
	struct caller callers[4];
	pthread_t threads[4];
	struct peer *peer = *state;

	peer_start(peer, hang_up_now_and_then, NULL);
	for (unsigned i = 0; i < 4; i++) {
		callers[i] = (struct caller){.peer = peer, .number = i};
		assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(callers[i].n_good, 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		peer_test(many_threads__each_get_their_own_answers),
		peer_test(many_threads__over_broken_connections__lose_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
