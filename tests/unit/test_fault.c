/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/xfer_world.h"

#include "transfer/fault.h"

#define ALWAYS 65536

static struct fault_plan plan; /* of the world to be opened next */

static int
make_faulty(struct transport **ret_t)
{
	struct transport *inner;
	int r = transport_tcp_new(&inner);

	return r < 0 ? r : transport_fault_new(&inner, &plan, ret_t);
}

static struct world *
faulty(struct fault_plan with)
{
	plan = with;
	return world_open(make_faulty, "127.0.0.1:0");
}

static enum op_result
move(struct world *w, enum op_kind kind, struct scatter *s, uint32_t *ret_crc)
{
	struct token token = token_for(w->lent, kind == OP_READ ? TOKEN_READ : TOKEN_WRITE);
	struct op op = op_for(w, kind, &token, s, 777);
	enum op_result result = run(w, &op);

	assert_ptr_equal(op.slices, s->slices);
	assert_int_equal(op.n_slices, s->n);
	*ret_crc = op.crc;
	return result;
}

static uint64_t
bits_between(const struct scatter *s, const uint8_t *bytes)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->slices[i].iov_len; k++)
			n += (uint64_t)__builtin_popcount(((uint8_t *)s->slices[i].iov_base)[k] ^
							  *bytes++);
	return n;
}

static void
plan_of_nothing__changes_nothing(void **state)
{
	struct world *w = faulty((struct fault_plan){.seed = 1});

	(void)state;
	world_moves_every_size(w);
	world_close(w);
}

static void
lost__moves_nothing(void **state)
{
	struct world *w = faulty((struct fault_plan){.lost = ALWAYS});
	struct scatter s = scatter_new(&w->rand, 1000);
	uint32_t crc;

	(void)state;
	assert_int_equal(move(w, OP_WRITE, &s, &crc), OP_E_LOST);
	assert_int_equal(w->lent->bytes[777], pattern(777));
	free(s.area);
	world_close(w);
}

static void
lost_late__moves_the_bytes_all_the_same(void **state)
{
	struct world *w = faulty((struct fault_plan){.lost_late = ALWAYS});
	struct scatter s = scatter_new(&w->rand, 1000);
	uint32_t crc;

	(void)state;
	scatter_fill(&s, 3);
	assert_int_equal(move(w, OP_WRITE, &s, &crc), OP_E_LOST);
	assert_false(scatter_differs(&s, w->lent->bytes + 777));
	free(s.area);
	world_close(w);
}

static void
timeout__is_told(void **state)
{
	struct world *w = faulty((struct fault_plan){.timeout = ALWAYS});
	struct scatter s = scatter_new(&w->rand, 1000);
	uint32_t crc;

	(void)state;
	assert_int_equal(move(w, OP_READ, &s, &crc), OP_E_TIMEOUT);
	free(s.area);
	world_close(w);
}

static void
flip__of_a_read__turns_one_bit_that_the_sum_shows(void **state)
{
	struct world *w = faulty((struct fault_plan){.flip = ALWAYS});
	struct scatter s = scatter_new(&w->rand, 1000);
	uint32_t crc;

	(void)state;
	assert_int_equal(move(w, OP_READ, &s, &crc), OP_DONE);
	assert_int_equal(bits_between(&s, w->lent->bytes + 777), 1);
	free(s.area);
	world_close(w);
}

static void
flip__of_a_write__turns_one_bit_in_the_segment_and_none_of_the_caller_s(void **state)
{
	struct world *w = faulty((struct fault_plan){.flip = ALWAYS, .seed = 9});
	struct scatter s = scatter_new(&w->rand, 1000);
	struct scatter same = scatter_new(&w->rand, 1000);
	uint8_t meant[1000];
	uint32_t crc;

	(void)state;
	scatter_fill(&s, 3);
	for (size_t i = 0; i < sizeof(meant); i++)
		meant[i] = pattern(i) ^ 3;

	assert_int_equal(move(w, OP_WRITE, &s, &crc), OP_DONE);

	assert_int_equal(bits_between(&s, w->lent->bytes + 777), 1);
	assert_false(scatter_differs(&s, meant));
	assert_int_equal(crc, crc_of(0, meant, sizeof(meant)));
	free(same.area);
	free(s.area);
	world_close(w);
}

static void
chances__come_from_the_seed(void **state)
{
	enum op_result results[2][40];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct world *w = faulty((struct fault_plan){.lost = 30000, .seed = 5});
		struct scatter s = scatter_new(&w->rand, 10);
		uint32_t crc;

		for (size_t k = 0; k < 40; k++)
			results[i][k] = move(w, OP_READ, &s, &crc);
		free(s.area);
		world_close(w);
	}

	assert_memory_equal(results[0], results[1], sizeof(results[0]));
}

/* ---- delay ---- */

struct delayed {
	struct clock_fake fake;
	struct engine *engine;
	struct lent *lent;
	struct target *target;
	uint8_t byte;
	struct iovec slice;
};

static int
setup(void **state)
{
	struct delayed *d = calloc(1, sizeof(*d));
	struct lent_config config = {.size_bytes = LENT_SIZE_MIN};
	struct transport *t;
	struct target_desc desc;
	struct rand rand;

	assert_non_null(d);
	rand_init(&rand, 1);
	clock_fake_init(&d->fake, 1000);
	assert_int_equal(lent_open(&config, &rand, &d->lent), 0);
	d->lent->bytes[0] = 42;
	assert_int_equal(engine_new(&d->fake.base, &d->engine), 0);
	assert_int_equal(transport_local_new(&t), 0);
	assert_int_equal(transport_delay_new(&t, 5 * NS_PER_MS, &t), 0);
	engine_add(d->engine, &t);
	assert_int_equal(engine_lend(d->engine, d->lent), 0);
	desc = desc_of(d->lent, "");
	assert_int_equal(engine_target(d->engine, &desc, &d->target), 0);
	d->slice = (struct iovec){&d->byte, 1};
	*state = d;
	return 0;
}

static int
teardown(void **state)
{
	struct delayed *d = *state;

	if (d->engine != NULL) {
		engine_target_unref(d->engine, d->target);
		engine_unlend(d->engine, d->lent);
	}
	engine_free(d->engine);
	lent_close(d->lent);
	free(d);
	return 0;
}

static struct op
read_one(struct delayed *d, uint64_t deadline_ms)
{
	return (struct op){
		.kind = OP_READ,
		.target = d->target,
		.len_bytes = 1,
		.slices = &d->slice,
		.n_slices = 1,
		.deadline_ns = deadline_ms * NS_PER_MS,
	};
}

static void
delay__hands_an_op_on_when_its_time_has_come(void **state)
{
	struct delayed *d = *state;
	struct op op = read_one(d, 2000);
	struct batch batch = {.ops = &op, .n_ops = 1};

	engine_submit(d->engine, &batch);
	assert_false(batch_is_done(&batch));

	assert_int_equal(engine_wait(d->engine, &batch), OP_DONE);

	assert_int_equal(clock_ms(&d->fake.base), 1005);
	assert_int_equal(d->byte, 42);
}

static void
delay__longer_than_the_deadline__times_out_at_the_deadline(void **state)
{
	struct delayed *d = *state;
	struct op op = read_one(d, 1003);
	struct batch batch = {.ops = &op, .n_ops = 1};

	assert_int_equal(engine_run(d->engine, &batch), OP_E_TIMEOUT);

	assert_int_equal(clock_ms(&d->fake.base), 1003);
	assert_int_equal(d->byte, 0);
}

static void
delay__of_what_the_inner_one_can_t_move__asks_the_next_transport(void **state)
{
	struct delayed *d = *state;
	struct op op = read_one(d, 2000);
	struct batch batch = {.ops = &op, .n_ops = 1};

	engine_unlend(d->engine, d->lent);

	assert_int_equal(engine_run(d->engine, &batch), OP_E_LOST); /* there is none */
}

static void
delay__freed_with_ops_under_way__cancels_them(void **state)
{
	struct delayed *d = *state;
	struct op op = read_one(d, 2000);
	struct batch batch = {.ops = &op, .n_ops = 1};

	engine_submit(d->engine, &batch);
	engine_target_unref(d->engine, d->target);
	engine_unlend(d->engine, d->lent);
	engine_free(take(&d->engine));

	assert_int_equal(op.result, OP_E_CANCELLED);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plan_of_nothing__changes_nothing),
		cmocka_unit_test(lost__moves_nothing),
		cmocka_unit_test(lost_late__moves_the_bytes_all_the_same),
		cmocka_unit_test(timeout__is_told),
		cmocka_unit_test(flip__of_a_read__turns_one_bit_that_the_sum_shows),
		cmocka_unit_test(
			flip__of_a_write__turns_one_bit_in_the_segment_and_none_of_the_caller_s),
		cmocka_unit_test(chances__come_from_the_seed),
		T(delay__hands_an_op_on_when_its_time_has_come),
		T(delay__longer_than_the_deadline__times_out_at_the_deadline),
		T(delay__of_what_the_inner_one_can_t_move__asks_the_next_transport),
		T(delay__freed_with_ops_under_way__cancels_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
