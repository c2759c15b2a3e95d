/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/xfer_world.h"

#include <errno.h>
#include <pthread.h>

/* ---- a transport that does what a test tells it ---- */

struct puppet {
	struct transport base;
	int answer;             /* of submit() */
	bool completes_at_once; /* else the next progress() does */
	enum op_result result;
	unsigned n_submits, n_drops, n_progresses, n_learnt, n_unlearnt;
	int learn_answer;
	bool leaves_writes; /* progress() hands ops on with WRITEs under way */
	bool passes;        /* progress() hands ops on instead */
	uint64_t last_until_ns;
	struct list held;
};

static int
puppet_submit(struct transport *t, struct op *op)
{
	struct puppet *p = container_of(t, struct puppet, base);

	p->n_submits++;
	if (p->answer != 0)
		return p->answer;
	if (p->completes_at_once)
		engine_complete(t->engine, op, p->result);
	else
		list_push_back(&p->held, &op->at);
	return 0;
}

static void
puppet_progress(struct transport *t, struct batch *batch, uint64_t until_ns)
{
	struct puppet *p = container_of(t, struct puppet, base);

	(void)batch;
	p->n_progresses++;
	p->last_until_ns = until_ns;
	while (!list_is_empty(&p->held)) {
		struct op *op = list_of(list_first(&p->held), struct op, at);

		list_remove(&op->at);
		op->must_cut = p->leaves_writes;
		if (p->passes)
			engine_pass(t->engine, op);
		else
			engine_complete(t->engine, op, p->result);
	}
}

static int
puppet_learn(struct transport *t, const struct memory *memory)
{
	struct puppet *p = container_of(t, struct puppet, base);

	(void)memory;
	p->n_learnt++;
	return p->learn_answer;
}

static void
puppet_unlearn(struct transport *t, const void *at)
{
	(void)at;
	container_of(t, struct puppet, base)->n_unlearnt++;
}

static void
puppet_drop(struct transport *t, struct target *target)
{
	(void)target;
	container_of(t, struct puppet, base)->n_drops++;
}

static void
puppet_free(struct transport *t)
{
	(void)t; /* the test's own */
}

static const struct transport_ops puppet_ops = {
	.name = "puppet",
	.submit = puppet_submit,
	.progress = puppet_progress,
	.learn = puppet_learn,
	.unlearn = puppet_unlearn,
	.drop = puppet_drop,
	.free = puppet_free,
};

struct bench {
	struct engine *engine;
	struct puppet first, second;
	struct target *target;
	uint8_t bytes[4096];
	struct iovec slice;
};

static const struct target_desc some_desc = {
	.segment_id = 5, .segment_epoch = 6, .size_bytes = 1 << 20, .host = "h", .endpoint = "a:1"};

static int
setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct puppet *puppets[] = {&b->first, &b->second};

	assert_non_null(b);
	assert_int_equal(engine_new(clock_real(), &b->engine), 0);
	for (size_t i = 0; i < 2; i++) {
		struct transport *t = &puppets[i]->base;

		t->ops = &puppet_ops;
		list_init(&puppets[i]->held);
		engine_add(b->engine, &t);
	}
	assert_int_equal(engine_target(b->engine, &some_desc, &b->target), 0);
	b->slice = (struct iovec){b->bytes, sizeof(b->bytes)};
	*state = b;
	return 0;
}

static int
teardown(void **state)
{
	struct bench *b = *state;

	engine_target_unref(b->engine, b->target);
	engine_free(b->engine);
	free(b);
	return 0;
}

static struct op
some_op(struct bench *b)
{
	return (struct op){
		.kind = OP_READ,
		.target = b->target,
		.len_bytes = 100,
		.slices = &b->slice,
		.n_slices = 1,
		.deadline_ns = far_ns(),
	};
}

/* ---- the way of an op ---- */

static void
op__taken_by_the_first_transport__is_not_shown_to_the_second(void **state)
{
	struct bench *b = *state;
	struct op op = some_op(b);
	struct batch batch = {.ops = &op, .n_ops = 1};

	b->first.completes_at_once = true;

	assert_int_equal(engine_run(b->engine, &batch), OP_DONE);

	assert_int_equal(b->first.n_submits, 1);
	assert_int_equal(b->second.n_submits, 0);
}

static void
op__that_the_first_transport_can_t_move__goes_to_the_second(void **state)
{
	struct bench *b = *state;
	struct op op = some_op(b);
	struct batch batch = {.ops = &op, .n_ops = 1};

	b->first.answer = TRANSPORT_E_CANT;
	b->second.result = OP_E_IO;

	assert_int_equal(engine_run(b->engine, &batch), OP_E_IO);
	assert_int_equal(op.result, OP_E_IO);
}

static void
op__that_no_transport_can_move__is_lost(void **state)
{
	struct bench *b = *state;
	struct op op = some_op(b);
	struct batch batch = {.ops = &op, .n_ops = 1};

	b->first.answer = b->second.answer = TRANSPORT_E_CANT;

	assert_int_equal(engine_run(b->engine, &batch), OP_E_LOST);
}

static void
wait__for_ops_of_one_transport__drives_that_one_alone_without_turns(void **state)
{
	struct bench *b = *state;
	struct op op = some_op(b);
	struct batch batch = {.ops = &op, .n_ops = 1};

	b->first.answer = TRANSPORT_E_CANT;

	assert_int_equal(engine_run(b->engine, &batch), OP_DONE);

	assert_int_equal(b->first.n_progresses, 0);
	assert_int_equal(b->second.n_progresses, 1);
	assert_true(b->second.last_until_ns == UINT64_MAX);
}

static void
op__handed_on_while_it_is_waited_for__is_driven_where_it_is(void **state)
{
	struct bench *b = *state;
	struct op ops[2] = {some_op(b), some_op(b)};
	struct batch batch = {.ops = ops, .n_ops = 2};

	b->first.passes = true;

	assert_int_equal(engine_run(b->engine, &batch), OP_DONE);

	assert_int_equal(b->first.n_progresses, 1);
	assert_int_equal(b->second.n_submits, 2);
	assert_int_equal(b->second.n_progresses, 1);
}

static void
op__with_one_sided_writes_under_way__goes_to_nobody_who_can_t_cut_them(void **state)
{
	struct bench *b = *state;
	struct op op = some_op(b);
	struct batch batch = {.ops = &op, .n_ops = 1};

	b->first.passes = b->first.leaves_writes = true;

	assert_int_equal(engine_run(b->engine, &batch), OP_E_LOST);

	assert_int_equal(b->second.n_submits, 0);
}

static void
memory__that_one_transport_can_t_learn__is_unlearnt_by_all(void **state)
{
	struct bench *b = *state;
	const struct memory memory = {b->bytes, sizeof(b->bytes), -1, 0};

	assert_int_equal(engine_learn(b->engine, &memory), 0);
	assert_int_equal(b->first.n_learnt, 1);
	assert_int_equal(b->second.n_learnt, 1);
	assert_int_equal(b->first.n_unlearnt, 0);

	b->second.learn_answer = -ENOMEM;
	assert_int_equal(engine_learn(b->engine, &memory), -ENOMEM);
	assert_int_equal(b->first.n_unlearnt, 1);
	assert_int_equal(b->second.n_unlearnt, 1);
}

static void
target__with_an_address_for_rdma__is_none_for_sockets(void **state)
{
	struct target here = {.is_same_host = true};

	(void)state;
	assert_false(target_can_use(&here, "rdma:127.0.0.1:1"));
	assert_true(target_can_use(&here, "127.0.0.1:1"));
}

static void
op__outside_of_its_segment__is_invalid_and_shown_to_nobody(void **state)
{
	static const uint64_t ranges[][2] = {{1 << 20, 1},
					     {(1 << 20) - 1, 2},
					     {UINT64_MAX, 1},
					     {UINT64_MAX, 100},
					     {0, UINT64_MAX}};
	struct bench *b = *state;

	for (size_t i = 0; i < array_len(ranges); i++) {
		struct op op = some_op(b);
		struct batch batch = {.ops = &op, .n_ops = 1};

		op.offset_bytes = ranges[i][0];
		op.len_bytes = ranges[i][1];
		assert_int_equal(engine_run(b->engine, &batch), OP_E_INVALID);
	}
	assert_int_equal(b->first.n_submits, 0);
}

static void
op__without_bytes__is_done_by_nobody(void **state)
{
	struct bench *b = *state;
	struct op op = some_op(b);
	struct batch batch = {.ops = &op, .n_ops = 1};

	op.len_bytes = 0;
	op.crc = 4711;

	assert_int_equal(engine_run(b->engine, &batch), OP_DONE);

	assert_int_equal(op.crc, 0);
	assert_int_equal(b->first.n_submits, 0);
}

static void
batch__without_ops__is_done(void **state)
{
	struct bench *b = *state;
	struct batch batch = {.n_left = 99};

	assert_int_equal(engine_run(b->engine, &batch), OP_DONE);
	assert_true(batch_is_done(&batch));
}

static void
batch__is_done_when_the_last_op_is(void **state)
{
	struct bench *b = *state;
	struct op ops[3] = {some_op(b), some_op(b), some_op(b)};
	struct batch batch = {.ops = ops, .n_ops = 3};

	engine_submit(b->engine, &batch);
	for (size_t i = 0; i < 3; i++) {
		struct op *op = list_of(list_first(&b->first.held), struct op, at);

		assert_false(batch_is_done(&batch));
		list_remove(&op->at);
		engine_complete(b->engine, op, i == 1 ? OP_E_TIMEOUT : OP_DONE);
	}

	assert_true(batch_is_done(&batch));
	assert_int_equal(engine_wait(b->engine, &batch), OP_E_TIMEOUT);
}

static void
op_result__each__has_a_name(void **state)
{
	(void)state;
	for (int r = OP_DONE; r <= OP_E_CANCELLED; r++)
		assert_string_not_equal(op_result_name((enum op_result)r), "unknown");
}

/* ---- targets ---- */

static void
target__of_the_same_place__is_the_same(void **state)
{
	struct bench *b = *state;
	struct target *again;

	assert_int_equal(engine_target(b->engine, &some_desc, &again), 0);

	assert_ptr_equal(again, b->target);
	engine_target_unref(b->engine, again);
	assert_int_equal(b->first.n_drops, 0);
}

static void
target__of_another_epoch_or_endpoint__is_another(void **state)
{
	struct bench *b = *state;
	struct target_desc epoch = some_desc, endpoint = some_desc;
	struct target *a, *c;

	epoch.segment_epoch++;
	endpoint.endpoint[2] = '2';
	assert_int_equal(engine_target(b->engine, &epoch, &a), 0);
	assert_int_equal(engine_target(b->engine, &endpoint, &c), 0);

	assert_ptr_not_equal(a, b->target);
	assert_ptr_not_equal(c, b->target);
	engine_target_unref(b->engine, a);
	engine_target_unref(b->engine, c);
	assert_int_equal(b->first.n_drops, 2);
	assert_int_equal(b->second.n_drops, 2);
}

static void
target_address__walks_the_endpoint(void **state)
{
	struct target_desc desc = {.endpoint = "  unix:/a  127.0.0.1:1 host:22"};
	char text[12];

	(void)state;
	assert_true(target_address(&desc, 0, text, sizeof(text)));
	assert_string_equal(text, "unix:/a");
	assert_true(target_address(&desc, 1, text, sizeof(text)));
	assert_string_equal(text, "127.0.0.1:1");
	assert_true(target_address(&desc, 2, text, sizeof(text)));
	assert_string_equal(text, "host:22");
	assert_false(target_address(&desc, 3, text, sizeof(text)));
	assert_false(target_address(&desc, 1, text, 11)); /* does not fit */
}

static void
host_id__is_32_digits_and_always_the_same(void **state)
{
	(void)state;
	assert_int_equal(strlen(host_id()), 32);
	assert_int_equal(strspn(host_id(), "0123456789abcdef"), 32);
	assert_string_equal(host_id(), host_id());
}

/* ---- slices ---- */

static void
op_slices__skips_and_cuts(void **state)
{
	uint8_t area[100];
	struct iovec slices[] = {{area, 10}, {NULL, 0}, {area + 20, 5}, {area + 50, 10}};
	struct op op = {.slices = slices, .n_slices = 4, .skip_bytes = 3, .len_bytes = 20};
	struct iovec got[4];

	(void)state;
	assert_int_equal(op_slices(&op, 5, 10, got, 4), 3);
	assert_ptr_equal(got[0].iov_base, area + 8);
	assert_int_equal(got[0].iov_len, 2);
	assert_ptr_equal(got[1].iov_base, area + 20);
	assert_int_equal(got[1].iov_len, 5);
	assert_ptr_equal(got[2].iov_base, area + 50);
	assert_int_equal(got[2].iov_len, 3);
	assert_int_equal(op_slices(&op, 5, 10, got, 1), 1);
	assert_int_equal(op_slices(&op, 20, 0, got, 4), 0);
}

/* ---- segments of this process ---- */

static struct world *
local_world(void)
{
	struct world *w = world_open(transport_local_new, "unix");

	assert_int_equal(engine_lend(w->engine, w->lent), 0);
	return w;
}

static void
local__moves_every_size_both_ways(void **state)
{
	struct world *w = local_world();

	(void)state;
	world_moves_every_size(w);
	engine_unlend(w->engine, w->lent);
	world_close(w);
}

static void
local__after_unlend__loses_ops(void **state)
{
	struct world *w = local_world();
	struct scatter s = scatter_new(&w->rand, 10);
	struct op op = op_for(w, OP_READ, NULL, &s, 0);

	(void)state;
	assert_int_equal(run(w, &op), OP_DONE);
	engine_unlend(w->engine, w->lent);
	op = op_for(w, OP_READ, NULL, &s, 0);

	assert_int_equal(run(w, &op), OP_E_LOST);

	free(s.area);
	world_close(w);
}

static void
local__of_another_epoch__loses_ops(void **state)
{
	struct world *w = local_world();
	struct scatter s = scatter_new(&w->rand, 10);
	struct target_desc desc = desc_of(w->lent, "");
	struct op op;

	(void)state;
	desc.segment_epoch++;
	engine_target_unref(w->engine, w->target);
	assert_int_equal(engine_target(w->engine, &desc, &w->target), 0);
	op = op_for(w, OP_READ, NULL, &s, 0);

	assert_int_equal(run(w, &op), OP_E_LOST);

	free(s.area);
	engine_unlend(w->engine, w->lent);
	world_close(w);
}

static void
local_map__outlives_the_segment_s_owner(void **state)
{
	struct world *w = local_world();
	const uint8_t *bytes;

	(void)state;
	assert_int_equal(engine_map(w->engine, w->target, NULL, (const void **)&bytes), 0);
	assert_memory_equal(bytes, w->lent->bytes, WORLD_SIZE);
	engine_unlend(w->engine, w->lent);
	serve_free(take(&w->serve));
	lent_close(take(&w->lent));

	for (uint64_t i = 0; i < WORLD_SIZE; i += 1001)
		assert_int_equal(bytes[i], pattern(i));

	world_close(w);
}

static void
segment__lent_twice__is_an_error(void **state)
{
	struct world *w = local_world();

	(void)state;
	assert_int_equal(engine_lend(w->engine, w->lent), -17 /* EEXIST */);
	engine_unlend(w->engine, w->lent);
	world_close(w);
}

/* ---- all of it ---- */

static void
default_engine__falls_back_from_shm_to_tcp_when_it_may_not_map(void **state)
{
	struct world *w = world_open(transport_tcp_new, "unix");
	struct token token = token_for(w->lent, TOKEN_READ); /* no TOKEN_MAP */
	struct scatter s = scatter_new(&w->rand, 100000);
	struct serve_counts counts;
	struct op op;

	(void)state;
	engine_target_unref(w->engine, take(&w->target));
	engine_free(w->engine);
	assert_int_equal(engine_new(clock_real(), &w->engine), 0);
	assert_int_equal(engine_add_default(w->engine, 1), 0);
	world_target(w, serve_endpoint(w->serve));
	op = op_for(w, OP_READ, &token, &s, 333);

	assert_int_equal(run(w, &op), OP_DONE);

	assert_false(scatter_differs(&s, w->lent->bytes + 333));
	serve_counts(w->serve, &counts);
	assert_int_equal(counts.n_connections, 1);
	free(s.area);
	world_close(w);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(op__taken_by_the_first_transport__is_not_shown_to_the_second),
		T(op__that_the_first_transport_can_t_move__goes_to_the_second),
		T(op__that_no_transport_can_move__is_lost),
		T(wait__for_ops_of_one_transport__drives_that_one_alone_without_turns),
		T(op__with_one_sided_writes_under_way__goes_to_nobody_who_can_t_cut_them),
		T(memory__that_one_transport_can_t_learn__is_unlearnt_by_all),
		T(target__with_an_address_for_rdma__is_none_for_sockets),
		T(op__handed_on_while_it_is_waited_for__is_driven_where_it_is),
		T(op__outside_of_its_segment__is_invalid_and_shown_to_nobody),
		T(op__without_bytes__is_done_by_nobody),
		T(batch__without_ops__is_done),
		T(batch__is_done_when_the_last_op_is),
		T(op_result__each__has_a_name),
		T(target__of_the_same_place__is_the_same),
		T(target__of_another_epoch_or_endpoint__is_another),
		cmocka_unit_test(target_address__walks_the_endpoint),
		cmocka_unit_test(host_id__is_32_digits_and_always_the_same),
		cmocka_unit_test(op_slices__skips_and_cuts),
		cmocka_unit_test(local__moves_every_size_both_ways),
		cmocka_unit_test(local__after_unlend__loses_ops),
		cmocka_unit_test(local__of_another_epoch__loses_ops),
		cmocka_unit_test(local_map__outlives_the_segment_s_owner),
		cmocka_unit_test(segment__lent_twice__is_an_error),
		cmocka_unit_test(default_engine__falls_back_from_shm_to_tcp_when_it_may_not_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
