/* SPDX-License-Identifier: Apache-2.0 */

/* The RDMA transport: who may move what until when, and bad luck. */
#include "tests/mock/verbs/fake.h"
#include "tests/unit/rdma_raw.h"
#include "tests/unit/rdma_world.h"

#include <errno.h>
#include <pthread.h>

#include "transfer/rdma_group.h"

#define SOON_NS (30 * NS_PER_MS)

/* ---- rights ---- */

static void
token__that_is_not_genuine_or_of_another_epoch__is_refused(void **state)
{
	struct world *w = world_over(&calm, true);
	struct token forged = token_for(w->lent, TOKEN_READ), other = forged, over = forged;
	uint8_t bytes[100];

	(void)state;
	forged.mac[0] ^= 1;
	other.segment_epoch++;
	token_sign(&other, w->lent->secret);
	over.until_ms = clock_ms(clock_real());
	token_sign(&over, w->lent->secret);

	assert_int_equal(move(w, OP_READ, &forged, bytes, 100), OP_E_REFUSED);
	assert_int_equal(move(w, OP_READ, &other, bytes, 100), OP_E_REFUSED);
	assert_int_equal(move(w, OP_READ, &over, bytes, 100), OP_E_REFUSED);
	world_end(w);
}

static void
token__shown_on_a_connection_that_stands__is_judged_like_the_first(void **state)
{
	struct world *w = world_over(&calm, true);
	struct token good = token_for(w->lent, TOKEN_WRITE), next = good, forged = good;
	uint8_t bytes[100] = {1};

	(void)state;
	next.until_ms++;
	token_sign(&next, w->lent->secret);
	forged.mac[3] ^= 1;

	assert_int_equal(move(w, OP_WRITE, &good, bytes, 100), OP_DONE);
	assert_int_equal(move(w, OP_WRITE, &forged, bytes, 100), OP_E_REFUSED);
	assert_int_equal(move(w, OP_WRITE, &next, bytes, 100), OP_DONE);
	assert_int_equal(counts_of(w).n_broken, 0);
	world_end(w);
}

static void
op__that_its_token_does_not_allow__is_refused_before_anything_moves(void **state)
{
	struct world *w = world_over(&calm, true);
	struct token read = token_for(w->lent, TOKEN_READ), extent;
	uint8_t bytes[200] = {9};

	(void)state;
	extent = token_for(w->lent, TOKEN_WRITE);
	extent.len_bytes = 100;
	token_sign(&extent, w->lent->secret);

	assert_int_equal(move(w, OP_WRITE, &read, bytes, 100), OP_E_REFUSED);
	assert_int_equal(move(w, OP_WRITE, &extent, bytes, 101), OP_E_REFUSED);
	assert_int_equal(move(w, OP_WRITE, &extent, bytes, 100), OP_DONE);
	assert_int_equal(move(w, OP_READ, &extent, bytes, 100), OP_DONE);
	assert_int_equal(fake_counts().n_refused, 0);
	world_end(w);
}

static void
reader__that_writes_with_the_key_it_was_told__is_refused(void **state)
{
	struct fake_config iwarp = {.seed = 8, .n_devices = 1, .is_iwarp = true};
	const struct fake_config *configs[] = {&calm, &iwarp};

	(void)state;
	for (size_t i = 0; i < array_len(configs); i++) {
		struct world *w = world_over(configs[i], false);

		assert_true(raw_reader_writes(w));
		assert_int_equal(fake_counts().n_writes, 0);
		world_end(w);
	}
}

/* nonsense -- words of a client that are not quite right, or not right at all.  How many. */
static uint8_t
nonsense(struct world *w, const struct token *token, uint8_t ret[RDMA_HELLO_BYTES])
{
	uint64_t n_flips = rand_below(&w->rand, 4);

	raw_hello(token, ret);
	for (uint64_t i = 0; i < n_flips; i++)
		ret[rand_below(&w->rand, RDMA_HELLO_BYTES)] ^=
			(uint8_t)(1u << rand_below(&w->rand, 8));
	return n_flips == 0 || rand_below(&w->rand, 4) == 0
		       ? (uint8_t)rand_below(&w->rand, RDMA_HELLO_BYTES)
		       : RDMA_HELLO_BYTES;
}

/* say_nonsense -- on a connection that stands: a SHOW with bits that are wrong, of any length. */
static void
say_nonsense(struct world *w, struct raw_client *raw, const struct token *token)
{
	struct wire_request request = {.kind = WIRE_SHOW,
				       .id = 1,
				       .segment_id = token->segment_id,
				       .segment_epoch = token->segment_epoch,
				       .token = *token};

	wire_request_encode(&request, raw->bytes);
	raw->bytes[rand_below(&w->rand, WIRE_REQUEST_BYTES)] ^= 0x10;
	(void)raw_do(raw, IBV_WR_SEND, 0,
		     rand_below(&w->rand, 2) == 0 ? WIRE_REQUEST_BYTES
						  : (uint32_t)rand_below(&w->rand, RAW_BYTES));
}

static void
provider__told_nonsense_in_every_way__lets_nobody_in_and_serves_on(void **state)
{
	struct world *w = world_over(&calm, false);
	struct token write = token_for(w->lent, TOKEN_WRITE);
	uint8_t back[100], words[RDMA_HELLO_BYTES];
	unsigned n_in = 0;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		struct raw_client raw = {0};
		uint8_t n = nonsense(w, &write, words);

		if (raw_connect(&raw, serve_endpoint(w->serve), words, n))
			n_in++; /* another life is no nonsense */
		raw_close(&raw);
	}
	assert_in_range(n_in, 0, 100);
	for (unsigned i = 0; i < 50; i++) {
		struct raw_client raw = {0};

		raw_open(&raw, serve_endpoint(w->serve), &write);
		say_nonsense(w, &raw, &write);
		raw_close(&raw);
	}
	for (uint64_t i = 0; i < WORLD_SIZE; i++)
		assert_int_equal(w->lent->bytes[i], pattern(i));
	assert_int_equal(move(w, OP_READ, &write, back, sizeof(back)), OP_DONE);
	assert_memory_equal(back, w->lent->bytes, sizeof(back));
	world_end(w);
}

/* is_turned_down -- a WRITE that was posted before the client heard of the end is lost, not
 * refused.
 */
static bool
is_turned_down(enum op_result result)
{
	return result == OP_E_REFUSED || result == OP_E_LOST;
}

static void
fence__ends_tokens_of_before_and_lets_readers_go_on(void **state)
{
	struct world *w = world_over(&calm, true);
	struct token write = token_for(w->lent, TOKEN_WRITE), read = token_for(w->lent, TOKEN_READ);
	uint8_t bytes[100] = {1};

	(void)state;
	assert_int_equal(move(w, OP_WRITE, &write, bytes, 100), OP_DONE);
	assert_int_equal(move(w, OP_READ, &read, bytes, 100), OP_DONE);

	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);

	bytes[0] = 2;
	assert_true(is_turned_down(move(w, OP_WRITE, &write, bytes, 100)));
	assert_int_equal(w->lent->bytes[0], 1);
	assert_int_equal(move(w, OP_READ, &read, bytes, 100), OP_DONE);
	world_end(w);
}

/* late_write -- a WRITE that its client gave up, fenced, and then let go.  Did it land? */
static bool
late_write(bool forgets_fences)
{
	struct world *w = world_over(&calm, false);
	struct token write = token_for(w->lent, TOKEN_WRITE);
	uint8_t bytes[100];
	struct iovec slice = {bytes, sizeof(bytes)};
	struct op op = {.kind = OP_WRITE,
			.target = w->target,
			.token = &write,
			.len_bytes = sizeof(bytes),
			.slices = &slice,
			.n_slices = 1};
	bool has_landed;

	memset(bytes, 0xdd, sizeof(bytes));
	assert_int_equal(move(w, OP_WRITE, &write, bytes, 1), OP_DONE); /* opens it */
	w->lent->bytes[0] = pattern(0);
	fake_forget_fences(forgets_fences);
	fake_hold(true);
	fake_lose_messages(true); /* the provider does not hear that we are gone */
	op.deadline_ns = clock_ns(clock_real()) + SOON_NS;
	assert_int_equal(run(w, &op), OP_E_TIMEOUT);
	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);
	fake_lose_messages(false);
	fake_hold(false);
	while (fake_n_in_fabric() > 0)
		clock_sleep_ms(clock_real(), 1);
	has_landed = w->lent->bytes[50] == 0xdd;
	assert_int_equal(fake_counts().n_late, has_landed);
	world_end(w);
	return has_landed;
}

static void
write__given_up_and_fenced__never_lands(void **state)
{
	(void)state;
	assert_false(late_write(false));
}

static void
write__given_up_where_fences_are_forgotten__lands_late(void **state)
{
	(void)state;
	assert_true(late_write(true));
}

static void
segment__that_is_renewed__knows_no_connection_of_before(void **state)
{
	struct world *w = world_over(&calm, true);
	struct token read = token_for(w->lent, TOKEN_READ);
	uint64_t clients[4];
	uint8_t bytes[100];
	size_t n;

	(void)state;
	assert_int_equal(move(w, OP_READ, &read, bytes, 100), OP_DONE);

	assert_int_equal(serve_renew(w->serve, w->lent, clients, 4, &n), 0);

	assert_int_equal(move(w, OP_READ, &read, bytes, 100), OP_E_REFUSED);
	read = token_for(w->lent, TOKEN_READ);
	assert_int_equal(move(w, OP_READ, &read, bytes, 100), OP_DONE);
	world_end(w);
}

static void
token__of_the_past__ends_its_connection(void **state)
{
	struct world *w = world_over(&calm, true);
	struct token read = token_for(w->lent, TOKEN_READ);
	enum op_result result = OP_DONE;
	uint8_t bytes[100];

	(void)state;
	read.until_ms = clock_ms(clock_real()) + 1500; /* enough for one op on a busy machine */
	token_sign(&read, w->lent->secret);
	assert_int_equal(move(w, OP_READ, &read, bytes, 100), OP_DONE);
	while (clock_ms(clock_real()) < read.until_ms)
		clock_sleep_ms(clock_real(), 10);
	for (unsigned i = 0; i < 500 && result == OP_DONE;
	     i++) { /* its provider is not that swift */
		result = move(w, OP_READ, &read, bytes, 100);
		clock_sleep_ms(clock_real(), 10);
	}

	assert_int_equal(result, OP_E_REFUSED);
	read = token_for(w->lent, TOKEN_READ);
	assert_int_equal(move(w, OP_READ, &read, bytes, 100), OP_DONE);
	world_end(w);
}

/* ---- bad luck ---- */

static void
cable__that_is_out__leaves_reads_and_writes_to_tcp(void **state)
{
	struct world *w = world_over(&calm, true);
	struct token write = token_for(w->lent, TOKEN_WRITE), read = token_for(w->lent, TOKEN_READ);
	uint8_t bytes[100] = {1}, back[100];

	(void)state;
	assert_int_equal(move(w, OP_WRITE, &write, bytes, 100), OP_DONE);
	assert_int_equal(move(w, OP_READ, &read, back, 100), OP_DONE);
	fake_cut(0, true);
	bytes[7] = 8;

	assert_int_equal(move(w, OP_WRITE, &write, bytes, 100), OP_DONE);
	assert_int_equal(move(w, OP_READ, &read, back, 100), OP_DONE);

	assert_memory_equal(back, bytes, 100);
	assert_int_equal(counts_of(w).n_passed, 2);
	world_end(w);
}

static void
write__left_to_tcp__has_those_under_way_cut_first(void **state)
{
	struct world *w = world_over(&calm, true);
	struct token write = token_for(w->lent, TOKEN_WRITE);
	uint8_t first[100], next[100];
	struct iovec slice = {first, sizeof(first)};
	struct op ops[2] = {{.kind = OP_WRITE,
			     .target = w->target,
			     .token = &write,
			     .len_bytes = sizeof(first),
			     .slices = &slice,
			     .n_slices = 1,
			     .deadline_ns = far_ns()}};
	struct batch batch = {.ops = ops, .n_ops = 2};

	(void)state;
	memset(first, 1, sizeof(first));
	memset(next, 2, sizeof(next));
	assert_int_equal(move(w, OP_WRITE, &write, first, 1), OP_DONE); /* opens it */
	ops[1] = ops[0];
	ops[1].offset_bytes = 4096;
	ops[1].deadline_ns = clock_ns(clock_real()) + SOON_NS; /* ends the life of both */
	fake_hold(true);
	engine_submit(w->engine, &batch); /* they are in the fabric, and stay there */
	fake_cut(0, true);
	(void)engine_wait(w->engine, &batch);
	assert_int_equal(ops[0].result, OP_DONE); /* by TCP */
	assert_int_equal(ops[1].result, OP_E_TIMEOUT);
	memcpy(w->lent->bytes, next, sizeof(next)); /* whoever has that room then */
	fake_cut(0, false);
	fake_hold(false);
	while (fake_n_in_fabric() > 0)
		clock_sleep_ms(clock_real(), 1);

	assert_memory_equal(w->lent->bytes, next, sizeof(next));
	assert_int_equal(fake_counts().n_late, 0);
	world_end(w);
}

static void
way__on_which_nothing_comes_back__is_left_to_tcp_long_before_the_deadline(void **state)
{
	struct world *w = world_over(&calm, true);
	struct token write = token_for(w->lent, TOKEN_WRITE), read = token_for(w->lent, TOKEN_READ);
	struct transport *t, *tcp;
	uint8_t bytes[100], back[100] = {0};

	(void)state;
	engine_target_unref(w->engine, take(&w->target));
	engine_free(take(&w->engine));
	assert_int_equal(engine_new(clock_real(), &w->engine), 0);
	assert_int_equal(transport_rdma_new(&t) + transport_tcp_new(&tcp), 0);
	container_of(t, struct rdma, base)->stall_ns = SOON_NS;
	engine_add(w->engine, &t);
	engine_add(w->engine, &tcp);
	world_target(w, serve_endpoint(w->serve));
	memset(bytes, 7, sizeof(bytes));
	assert_int_equal(move(w, OP_WRITE, &write, back, 1), OP_DONE); /* opens it */
	fake_hold(true); /* the device goes on trying, and says nothing */

	assert_int_equal(move(w, OP_WRITE, &write, bytes, sizeof(bytes)), OP_DONE);

	assert_int_equal(counts_of(w).n_broken, 1);
	assert_int_equal(counts_of(w).n_passed, 1);
	fake_hold(false);
	while (fake_n_in_fabric() > 0)
		clock_sleep_ms(clock_real(), 1);
	assert_int_equal(fake_counts().n_late, 0);
	assert_int_equal(move(w, OP_READ, &read, back, sizeof(back)), OP_DONE);
	assert_memory_equal(back, bytes, sizeof(bytes));
	world_end(w);
}

static void
provider__gone__loses_ops_soon(void **state)
{
	struct world *w = world_over(&calm, true);
	struct token read = token_for(w->lent, TOKEN_READ);
	uint8_t bytes[100];

	(void)state;
	assert_int_equal(move(w, OP_READ, &read, bytes, 100), OP_DONE);
	serve_free(take(&w->serve));

	assert_int_equal(move(w, OP_READ, &read, bytes, 100), OP_E_LOST);
	world_end(w);
}

static void
engine__freed_with_ops_under_way__cancels_them(void **state)
{
	struct world *w = world_over(&calm, false);
	struct token write = token_for(w->lent, TOKEN_WRITE);
	struct scatter s = scatter_new(&w->rand, 100000);
	struct op op = op_for(w, OP_WRITE, &write, &s, 0);
	struct batch batch = {.ops = &op, .n_ops = 1};

	(void)state;
	fake_hold(true);
	engine_submit(w->engine, &batch);
	engine_target_unref(w->engine, take(&w->target));
	engine_free(take(&w->engine));

	assert_true(batch_is_done(&batch));
	assert_int_equal(op.result, OP_E_CANCELLED);
	free(s.area);
	fake_hold(false);
	world_end(w);
}

static void
machine__without_a_device__uses_tcp(void **state)
{
	struct fake_config none = {.seed = 6};
	struct world *w = world_over(&calm, true);
	struct token read;
	char endpoint[TARGET_ENDPOINT_MAX + 1];

	(void)state;
	snprintf(endpoint, sizeof(endpoint), "%s", serve_endpoint(w->serve));
	world_end(w);

	fake_init(&none);
	world_rdma = NULL;
	w = world_open(transport_rdma_new, "127.0.0.1:0");
	{
		struct transport *tcp;

		assert_int_equal(transport_tcp_new(&tcp), 0);
		engine_add(w->engine, &tcp);
	}
	read = token_for(w->lent, TOKEN_READ);
	snprintf(endpoint, sizeof(endpoint), "%s rdma:127.0.0.1:7", serve_endpoint(w->serve));
	world_target(w, endpoint);
	for (unsigned i = 0; i < 3; i++) {
		uint8_t bytes[100];

		assert_int_equal(move(w, OP_READ, &read, bytes, 100), OP_DONE);
		assert_memory_equal(bytes, w->lent->bytes, 100);
	}
	world_end(w);
}

/* with_failure -- the n-th call that can fail does so.  false: there were not so many. */
static bool
with_failure(unsigned n)
{
	struct world *w = world_over(&calm, true);
	struct token read = token_for(w->lent, TOKEN_READ);
	unsigned before = fake_n_calls();
	uint8_t bytes[70000];
	enum op_result result;

	fake_fail_call(NULL, n, ENOMEM);
	result = move(w, OP_READ, &read, bytes, sizeof(bytes));
	assert_true(result == OP_DONE || result == OP_E_LOST);
	if (result == OP_DONE)
		assert_memory_equal(bytes, w->lent->bytes, sizeof(bytes));
	before = fake_n_calls() - before;
	world_end(w);
	return n < before;
}

static void
call__that_fails_whichever_it_is__costs_no_more_than_a_way(void **state)
{
	unsigned n = 0;

	(void)state;
	while (with_failure(n))
		n++;
	assert_true(n > 20);
}

struct reader {
	struct world *w;
	pthread_t thread;
	uint64_t seed;
	bool is_fine;
};

static void *
read_much(void *arg)
{
	struct reader *reader = arg;
	struct token read = token_for(reader->w->lent, TOKEN_READ);
	struct rand rand;

	rand_init(&rand, reader->seed);
	reader->is_fine = true;
	for (unsigned i = 0; i < 50; i++) {
		uint64_t len = 1 + rand_below(&rand, 100000);
		uint64_t offset = rand_below(&rand, WORLD_SIZE - len);
		struct scatter s = scatter_new(&rand, len);
		struct op op = op_for(reader->w, OP_READ, &read, &s, offset);

		reader->is_fine &= run(reader->w, &op) == OP_DONE &&
				   !scatter_differs(&s, reader->w->lent->bytes + offset);
		free(s.area);
	}
	return NULL;
}

static void
threads__on_the_same_connection__get_each_its_own(void **state)
{
	struct fake_config config = {.seed = 7, .n_devices = 1, .delay_ns_max = 30000};
	struct world *w = world_over(&config, false);
	struct reader readers[6];

	(void)state;
	for (size_t i = 0; i < array_len(readers); i++) {
		readers[i] = (struct reader){.w = w, .seed = i + 1};
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_much, &readers[i]),
				 0);
	}
	for (size_t i = 0; i < array_len(readers); i++) {
		pthread_join(readers[i].thread, NULL);
		assert_true(readers[i].is_fine);
	}
	world_end(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(token__that_is_not_genuine_or_of_another_epoch__is_refused),
		cmocka_unit_test(
			token__shown_on_a_connection_that_stands__is_judged_like_the_first),
		cmocka_unit_test(
			op__that_its_token_does_not_allow__is_refused_before_anything_moves),
		cmocka_unit_test(
			provider__told_nonsense_in_every_way__lets_nobody_in_and_serves_on),
		cmocka_unit_test(reader__that_writes_with_the_key_it_was_told__is_refused),
		cmocka_unit_test(fence__ends_tokens_of_before_and_lets_readers_go_on),
		cmocka_unit_test(write__given_up_and_fenced__never_lands),
		cmocka_unit_test(write__given_up_where_fences_are_forgotten__lands_late),
		cmocka_unit_test(segment__that_is_renewed__knows_no_connection_of_before),
		cmocka_unit_test(token__of_the_past__ends_its_connection),
		cmocka_unit_test(cable__that_is_out__leaves_reads_and_writes_to_tcp),
		cmocka_unit_test(write__left_to_tcp__has_those_under_way_cut_first),
		cmocka_unit_test(
			way__on_which_nothing_comes_back__is_left_to_tcp_long_before_the_deadline),
		cmocka_unit_test(provider__gone__loses_ops_soon),
		cmocka_unit_test(engine__freed_with_ops_under_way__cancels_them),
		cmocka_unit_test(machine__without_a_device__uses_tcp),
		cmocka_unit_test(call__that_fails_whichever_it_is__costs_no_more_than_a_way),
		cmocka_unit_test(threads__on_the_same_connection__get_each_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
