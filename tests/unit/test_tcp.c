/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/xfer_world.h"

#include <pthread.h>

static int
setup(void **state)
{
	*state = world_open(transport_tcp_new, "127.0.0.1:0");
	return 0;
}

static int
setup_unix(void **state)
{
	*state = world_open(transport_tcp_new, "unix");
	return 0;
}

static int
teardown(void **state)
{
	world_close(*state);
	return 0;
}

/* ---- the peer is good ---- */

static void
ops__of_every_size_and_both_ways__move_the_right_bytes(void **state)
{
	world_moves_every_size(*state);
}

static void
ops__over_a_unix_socket__move_the_right_bytes(void **state)
{
	world_moves_every_size(*state);
}

static void
batch__of_many_reads__is_done_in_one_wait(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	uint8_t *to = calloc(500, 1000);
	struct iovec slice = {to, 500 * 1000};
	struct op *ops = calloc(500, sizeof(*ops));
	struct batch batch = {.ops = ops, .n_ops = 500};

	for (size_t i = 0; i < 500; i++)
		ops[i] = (struct op){
			.kind = OP_READ,
			.target = w->target,
			.token = &token,
			.offset_bytes = (499 - i) * 1000,
			.len_bytes = 1000,
			.slices = &slice,
			.n_slices = 1,
			.skip_bytes = i * 1000,
			.deadline_ns = far_ns(),
		};

	assert_int_equal(engine_run(w->engine, &batch), OP_DONE);

	for (size_t i = 0; i < 500; i++)
		assert_memory_equal(to + i * 1000, w->lent->bytes + (499 - i) * 1000, 1000);
	free(ops);
	free(to);
}

static void
large_reads_and_writes_mixed__do_not_wait_for_each_other(void **state)
{
	struct world *w = *state;
	struct token read = token_for(w->lent, TOKEN_READ);
	struct token write = token_for(w->lent, TOKEN_WRITE);
	uint8_t *area = calloc(24, 1 << 20);
	struct iovec slice = {area, 24 << 20};
	struct op ops[24];
	struct batch batch = {.ops = ops, .n_ops = 24};

	for (size_t i = 0; i < 24; i++)
		ops[i] = (struct op){
			.kind = i % 2 ? OP_READ : OP_WRITE,
			.target = w->target,
			.token = i % 2 ? &read : &write,
			.offset_bytes = i % 2 ? 4 << 20 : i << 17,
			.len_bytes = i % 2 ? 1 << 20 : 1 << 18,
			.slices = &slice,
			.n_slices = 1,
			.skip_bytes = i << 20,
			.deadline_ns = far_ns(),
		};

	assert_int_equal(engine_run(w->engine, &batch), OP_DONE);

	for (size_t i = 1; i < 24; i += 2)
		assert_memory_equal(area + (i << 20), w->lent->bytes + (4 << 20), 1 << 20);
	free(area);
}

static void
op__outside_of_the_segment__is_invalid(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 100);
	struct op op = op_for(w, OP_READ, &token, &s, UINT64_MAX - 50);

	assert_int_equal(run(w, &op), OP_E_INVALID);

	free(s.area);
}

static void
write__with_a_reader_s_token__is_refused_and_the_next_one_goes_well(void **state)
{
	struct world *w = *state;
	struct token read = token_for(w->lent, TOKEN_READ);
	struct token write = token_for(w->lent, TOKEN_WRITE);
	struct scatter s = scatter_new(&w->rand, 300000);
	struct op op = op_for(w, OP_WRITE, &read, &s, 0);

	assert_int_equal(run(w, &op), OP_E_REFUSED);
	assert_int_equal(w->lent->bytes[0], pattern(0));
	op = op_for(w, OP_WRITE, &write, &s, 0);

	assert_int_equal(run(w, &op), OP_DONE);

	free(s.area);
}

static void
target__of_another_epoch__is_refused(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 100);
	struct target_desc desc = desc_of(w->lent, serve_endpoint(w->serve));
	struct op op;

	desc.segment_epoch++;
	engine_target_unref(w->engine, w->target);
	assert_int_equal(engine_target(w->engine, &desc, &w->target), 0);
	op = op_for(w, OP_READ, &token, &s, 0);

	assert_int_equal(run(w, &op), OP_E_REFUSED);

	free(s.area);
}

static void
loopback_address__of_another_host__is_not_used(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 100);
	struct target_desc desc = desc_of(w->lent, serve_endpoint(w->serve));
	struct serve_counts counts;
	struct op op;

	desc.host[0] ^= 1;
	engine_target_unref(w->engine, w->target);
	assert_int_equal(engine_target(w->engine, &desc, &w->target), 0);
	op = op_for(w, OP_READ, &token, &s, 0);

	assert_int_equal(run(w, &op), OP_E_LOST);

	serve_counts(w->serve, &counts);
	assert_int_equal(counts.n_connections, 0);
	free(s.area);
}

static void
client_under_a_new_id__gets_a_new_connection(void **state)
{
	struct world *w = *state;
	struct token a = token_for(w->lent, TOKEN_READ), b = a;
	struct scatter s = scatter_new(&w->rand, 100);
	struct op op;

	b.client_id = WORLD_CLIENT + 1;
	token_sign(&b, w->lent->secret);
	op = op_for(w, OP_READ, &a, &s, 0);
	assert_int_equal(run(w, &op), OP_DONE);
	op = op_for(w, OP_READ, &b, &s, 0);
	assert_int_equal(run(w, &op), OP_DONE);
	op = op_for(w, OP_READ, &a, &s, 0);
	assert_int_equal(run(w, &op), OP_DONE); /* a connection serves one client: serve.h */

	free(s.area);
}

static void
provider_started_anew__is_reached_again(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 100);
	char endpoint[TARGET_ENDPOINT_MAX + 1];
	struct op op = op_for(w, OP_READ, &token, &s, 0);
	enum op_result result = OP_E_LOST;

	assert_int_equal(run(w, &op), OP_DONE);
	snprintf(endpoint, sizeof(endpoint), "%s", serve_endpoint(w->serve));
	serve_free(w->serve);
	world_serve(w, endpoint);

	for (int i = 0; i < 3 && result == OP_E_LOST;
	     i++) { /* the first one may find the old end */
		op = op_for(w, OP_READ, &token, &s, 0);
		result = run(w, &op);
	}

	assert_int_equal(result, OP_DONE);
	free(s.area);
}

static void
provider_gone__loses_ops_at_once(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 100);
	struct op op = op_for(w, OP_READ, &token, &s, 0);
	uint64_t begin_ns = clock_ns(clock_real());

	serve_free(take(&w->serve));

	assert_int_equal(run(w, &op), OP_E_LOST);
	op = op_for(w, OP_READ, &token, &s, 0);
	assert_int_equal(run(w, &op), OP_E_LOST);

	assert_true(clock_ns(clock_real()) - begin_ns < 10 * NS_PER_S);
	free(s.area);
}

/* ---- many threads ---- */

struct worker {
	pthread_t thread;
	struct world *w;
	unsigned n;
	const struct token *read, *write;
	bool failed;
};

#define PART_BYTES 170000

/* Each has its own parts of the segment, writes them and reads them back. */
static void *
worker_main(void *arg)
{
	struct worker *worker = arg;
	struct world *w = worker->w;
	struct rand rand;

	rand_init(&rand, worker->n);
	for (unsigned i = 0; i < 6 && !worker->failed; i++) {
		uint64_t offset = (worker->n * 6 + i) * (uint64_t)PART_BYTES;
		struct scatter out = scatter_new(&rand, 1 + rand_below(&rand, PART_BYTES));
		struct scatter in = scatter_new(&rand, out.len_bytes);
		struct op ops[2];

		scatter_fill(&out, (uint8_t)(worker->n * 16 + i));
		ops[0] = op_for(w, OP_WRITE, worker->write, &out, offset);
		worker->failed |= run(w, &ops[0]) != OP_DONE;
		ops[1] = op_for(w, OP_READ, worker->read, &in, offset);
		worker->failed |= run(w, &ops[1]) != OP_DONE;
		worker->failed |= ops[0].crc != ops[1].crc;
		free(in.area);
		free(out.area);
	}
	return NULL;
}

static void
threads__on_the_same_connections__do_not_mix_their_bytes(void **state)
{
	struct world *w = *state;
	struct token read = token_for(w->lent, TOKEN_READ);
	struct token write = token_for(w->lent, TOKEN_WRITE);
	struct worker workers[8];

	for (unsigned i = 0; i < array_len(workers); i++) {
		workers[i] = (struct worker){.w = w, .n = i, .read = &read, .write = &write};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]),
				 0);
	}
	for (unsigned i = 0; i < array_len(workers); i++) {
		pthread_join(workers[i].thread, NULL);
		assert_false(workers[i].failed);
	}
}

static void *
small_main(void *arg)
{
	struct worker *worker = arg;
	struct world *w = worker->w;
	struct rand rand;

	rand_init(&rand, worker->n);
	for (unsigned i = 0; i < 300 && !worker->failed; i++) {
		uint64_t offset = rand_below(&rand, WORLD_SIZE - 5000);
		struct scatter s = scatter_new(&rand, 1 + rand_below(&rand, 4096));
		struct op op = op_for(w, OP_READ, worker->read, &s, offset);

		worker->failed |=
			run(w, &op) != OP_DONE || scatter_differs(&s, w->lent->bytes + offset);
		free(s.area);
	}
	return NULL;
}

static void
threads__with_many_small_reads__get_each_its_own(void **state)
{
	struct world *w = *state;
	struct token read = token_for(w->lent, TOKEN_READ);
	struct worker workers[8];

	for (unsigned i = 0; i < array_len(workers); i++) {
		workers[i] = (struct worker){.w = w, .n = i, .read = &read};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, small_main, &workers[i]),
				 0);
	}
	for (unsigned i = 0; i < array_len(workers); i++) {
		pthread_join(workers[i].thread, NULL);
		assert_false(workers[i].failed);
	}
}

static void
engine__freed_with_ops_under_way__cancels_them(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 100);
	struct op op = op_for(w, OP_READ, &token, &s, 0);
	struct batch batch = {.ops = &op, .n_ops = 1};

	engine_submit(w->engine, &batch);
	engine_target_unref(w->engine, take(&w->target));
	engine_free(take(&w->engine));

	assert_true(batch_is_done(&batch));
	assert_int_equal(op.result, OP_E_CANCELLED);
	free(s.area);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(ops__of_every_size_and_both_ways__move_the_right_bytes),
		cmocka_unit_test_setup_teardown(ops__over_a_unix_socket__move_the_right_bytes,
						setup_unix, teardown),
		T(batch__of_many_reads__is_done_in_one_wait),
		T(large_reads_and_writes_mixed__do_not_wait_for_each_other),
		T(op__outside_of_the_segment__is_invalid),
		T(write__with_a_reader_s_token__is_refused_and_the_next_one_goes_well),
		T(target__of_another_epoch__is_refused),
		T(loopback_address__of_another_host__is_not_used),
		T(client_under_a_new_id__gets_a_new_connection),
		T(provider_started_anew__is_reached_again),
		T(provider_gone__loses_ops_at_once),
		T(threads__on_the_same_connections__do_not_mix_their_bytes),
		T(threads__with_many_small_reads__get_each_its_own),
		T(engine__freed_with_ops_under_way__cancels_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
