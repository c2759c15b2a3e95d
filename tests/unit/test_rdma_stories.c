/* SPDX-License-Identifier: Apache-2.0 */

/*
 * test_rdma_stories -- the RDMA transport over devices that have bad luck, a story a seed.
 *
 *      test_rdma_stories             some seeds
 *      test_rdma_stories 1..3000     those; tests/run has many processes at it, for they mostly
 * wait
 *
 *      ops both ways, with lost completions, requests and messages     each ends in time, right or
 * not a WRITE that stays in the fabric until its client gives it up the fence; the room is
 * another's the WRITE is let go                                             no byte of that room
 * changes
 */
#define WORLD_SIZE (1ull << 20)

#include "tests/mock/verbs/fake.h"
#include "tests/unit/rdma_world.h"

#include <errno.h>

#define N_OPS      6
#define LEN_MAX    400000
#define OP_NS      (150 * NS_PER_MS)
#define GIVE_UP_NS (20 * NS_PER_MS)
#define LATE_NS    (5 * NS_PER_S) /* so much later than it should an op may end on a busy machine */
#define NEXT_OWNER 0x33

static uint64_t first_seed = 1, last_seed = 40;

static struct fake_config
config_of(uint64_t seed)
{
	return (struct fake_config){
		.seed = seed,
		.n_devices = 1,
		.is_iwarp = seed % 3 == 0,
		.delay_ns_max = 50000,
		.lost_ns = NS_PER_MS,
		.luck = {.drop = 30, .fail = 100, .cm_drop = 200},
	};
}

/* one_op -- at random; what it says it did is so. */
static void
one_op(struct world *w, uint64_t seed, enum op_kind kind)
{
	struct token token = token_for(w->lent, kind == OP_READ ? TOKEN_READ : TOKEN_WRITE);
	uint64_t len = 1 + rand_below(&w->rand, LEN_MAX);
	uint64_t offset = rand_below(&w->rand, WORLD_SIZE - len);
	struct scatter s = scatter_new(&w->rand, len);
	struct op op = op_for(w, kind, &token, &s, offset);
	enum op_result result;

	if (kind == OP_WRITE)
		scatter_fill(&s, (uint8_t)seed);
	op.deadline_ns = clock_ns(clock_real()) + OP_NS;
	result = run(w, &op);
	assert_true(clock_ns(clock_real()) < op.deadline_ns + LATE_NS);
	if (result != OP_DONE && result != OP_E_TIMEOUT && result != OP_E_LOST)
		fail_msg("seed %lu: an op ended with %d", seed, (int)result);
	if (result == OP_DONE && scatter_differs(&s, w->lent->bytes + offset))
		fail_msg("seed %lu: other bytes", seed);
	free(s.area);
}

/* give_up_a_write -- it is in the fabric, unless the way was lost before; and the provider does not
 * hear that its client is gone. */
static void
give_up_a_write(struct world *w)
{
	struct token token = token_for(w->lent, TOKEN_WRITE);
	uint64_t len = 1 + rand_below(&w->rand, LEN_MAX);
	struct scatter s = scatter_new(&w->rand, len);
	struct op op = op_for(w, OP_WRITE, &token, &s, 0);

	scatter_fill(&s, 1);
	fake_hold(true);
	fake_lose_messages(true);
	op.deadline_ns = clock_ns(clock_real()) + GIVE_UP_NS;
	(void)run(w, &op);
	free(s.area);
}

/* bytes_after_fence -- of a whole story: how many bytes changed that were another's already. */
static uint64_t
bytes_after_fence(uint64_t seed, bool forgets_fences)
{
	const struct fake_config config = config_of(seed);
	struct world *w = world_over(&config, /* has_tcp: */ true);
	uint64_t n = 0;

	rand_init(&w->rand, seed);
	for (unsigned i = 0; i < N_OPS; i++)
		one_op(w, seed, i % 2 == 0 ? OP_READ : OP_WRITE);
	fake_forget_fences(forgets_fences);
	give_up_a_write(w);
	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);
	fake_lose_messages(false);
	memset(w->lent->bytes, NEXT_OWNER, WORLD_SIZE);
	fake_hold(false);
	while (fake_n_in_fabric() > 0)
		clock_sleep_ms(clock_real(), 1);
	for (uint64_t i = 0; i < WORLD_SIZE; i++)
		n += w->lent->bytes[i] != NEXT_OWNER;
	world_end(w);
	return n;
}

static void
stories__of_lost_completions_requests_and_messages__end_well(void **state)
{
	(void)state;
	for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
		uint64_t n = bytes_after_fence(seed, /* forgets_fences: */ false);

		if (n > 0)
			fail_msg("seed %lu: %lu bytes were written after the fence", seed, n);
	}
}

/* The law that all of them rest on is the fence's: without it, it is not kept. */
static void
stories__where_fences_are_forgotten__end_badly(void **state)
{
	unsigned n_bad = 0, n = 0;

	(void)state;
	for (uint64_t seed = first_seed; seed <= last_seed && n < 10; seed++, n++)
		n_bad += bytes_after_fence(seed, /* forgets_fences: */ true) > 0;
	assert_true(n_bad > n / 2);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stories__of_lost_completions_requests_and_messages__end_well),
		cmocka_unit_test(stories__where_fences_are_forgotten__end_badly),
	};

	if (argc > 2 || (argc == 2 && sscanf(argv[1], "%lu..%lu", &first_seed, &last_seed) != 2)) {
		fprintf(stderr, "usage: test_rdma_stories [FIRST..LAST]\n");
		return 2;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
