/* SPDX-License-Identifier: Apache-2.0 */

/* The RDMA transport: bytes and memory. */
#include "tests/mock/verbs/fake.h"
#include "tests/unit/rdma_world.h"

#include <errno.h>

#include "transfer/rdma_nic.h"

/* ---- bytes ---- */

static void
ops__of_every_size__arrive_whole(void **state)
{
	struct world *w = world_over(&calm, false);

	(void)state;
	world_moves_every_size(w);
	assert_true(fake_counts().n_reads > 0 && fake_counts().n_writes > 0);
	world_end(w);
}

static void
ops__over_iwarp__arrive_whole(void **state)
{
	struct fake_config config = {.seed = 2,
				     .n_devices = 1,
				     .is_iwarp = true,
				     .delay_ns_max = 20000,
				     .luck = {.reorder = 2000}};
	struct world *w = world_over(&config, false);

	(void)state;
	world_moves_every_size(w);
	assert_true(fake_counts().n_reads > fake_counts().n_writes); /* each WRITE has its proof */
	world_end(w);
}

static void
ops__over_several_queue_pairs__arrive_whole(void **state)
{
	struct fake_config config = {.seed = 3, .n_devices = 2, .delay_ns_max = 20000};
	struct transport *t;
	struct world *w;

	(void)state;
	fake_init(&config);
	world_rdma = "127.0.0.1:0 127.0.0.2:0";
	w = world_open(transport_rdma_new, "unix");
	engine_target_unref(w->engine, w->target);
	engine_free(w->engine);
	w->target = NULL;
	assert_int_equal(engine_new(clock_real(), &w->engine), 0);
	assert_int_equal(transport_rdma_new(&t), 0);
	transport_rdma_set(t, TRANSPORT_RDMA_CONNS_MAX);
	engine_add(w->engine, &t);
	world_target(w, serve_endpoint(w->serve));

	for (unsigned i = 0; i < 3; i++)
		world_moves_every_size(w);
	world_end(w);
}

static void
segment__larger_than_a_device_takes_at_once__is_registered_in_pieces(void **state)
{
	struct fake_config config = {.seed = 4, .n_devices = 1, .max_mr_bytes = 4ull << 20};
	struct token read;
	struct world *w = world_over(&config, false);
	struct scatter s = scatter_new(&w->rand, 6ull << 20);
	struct op op;

	(void)state;
	world_moves_every_size(w);
	read = token_for(w->lent, TOKEN_READ);
	op = op_for(w, OP_READ, &read, &s, 1ull << 20); /* over the seam, slices as well */
	assert_int_equal(run(w, &op), OP_DONE);
	assert_false(scatter_differs(&s, w->lent->bytes + (1ull << 20)));
	free(s.area);
	world_end(w);
}

/* ---- memory ---- */

static void
memory__small_and_not_told_of__is_staged(void **state)
{
	struct world *w = world_over(&calm, false);
	struct token read = token_for(w->lent, TOKEN_READ);
	uint8_t bytes[5000];

	(void)state;
	assert_int_equal(move(w, OP_READ, &read, bytes, sizeof(bytes)), OP_DONE);

	assert_memory_equal(bytes, w->lent->bytes, sizeof(bytes));
	assert_int_equal(counts_of(w).bytes_staged, sizeof(bytes));
	assert_int_equal(counts_of(w).n_loans, 0);
	world_end(w);
}

static void
memory__large_and_not_told_of__is_registered_for_one_op(void **state)
{
	const size_t len = 1 << 20;
	struct world *w = world_over(&calm, false);
	struct token read = token_for(w->lent, TOKEN_READ);
	uint8_t *bytes = malloc(len);

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(move(w, OP_READ, &read, bytes, len), OP_DONE);

	assert_memory_equal(bytes, w->lent->bytes, len);
	assert_int_equal(counts_of(w).bytes_loaned, 2 * len);
	assert_int_equal(counts_of(w).n_loans, 2);
	free(bytes);
	world_end(w);
}

static void
memory__told_of__is_registered_once_and_reached_directly(void **state)
{
	const size_t len = 1 << 20;
	struct world *w = world_over(&calm, false);
	struct token write = token_for(w->lent, TOKEN_WRITE);
	uint8_t *bytes = malloc(len);
	const struct memory memory = {bytes, len, -1, 0};

	(void)state;
	memset(bytes, 0x5a, len);
	assert_int_equal(engine_learn(w->engine, &memory), 0);
	assert_int_equal(move(w, OP_WRITE, &write, bytes, len), OP_DONE);
	assert_int_equal(move(w, OP_WRITE, &write, bytes + 100, 5000), OP_DONE);

	assert_memory_equal(bytes, w->lent->bytes, len);
	assert_int_equal(counts_of(w).bytes_direct, len + 5000);
	assert_int_equal(counts_of(w).bytes_staged + counts_of(w).bytes_loaned, 0);
	engine_unlearn(w->engine, bytes);
	assert_int_equal(move(w, OP_WRITE, &write, bytes, 5000), OP_DONE);
	assert_int_equal(counts_of(w).bytes_staged, 5000);
	free(bytes);
	world_end(w);
}

/* device_op -- of memory that only a device reaches. */
static enum op_result
device_op(struct world *w, const struct token *token, uint8_t *bytes, size_t len, bool *ret_skipped)
{
	struct iovec slice = {bytes, len};
	struct op op = {.kind = OP_WRITE,
			.want_crc = true,
			.is_device = true,
			.target = w->target,
			.token = token,
			.len_bytes = len,
			.slices = &slice,
			.n_slices = 1,
			.deadline_ns = far_ns()};
	enum op_result result = run(w, &op);

	*ret_skipped = op.skipped_crc;
	return result;
}

static void
memory__of_a_dmabuf__goes_directly_and_is_not_summed(void **state)
{
	const size_t len = 256 << 10;
	struct world *w = world_over(&calm, true);
	struct token write = token_for(w->lent, TOKEN_WRITE);
	int fd = memfd_create("dmabuf", MFD_CLOEXEC);
	uint8_t *bytes = malloc(len);
	const struct memory memory = {bytes, len, fd, 4096};
	bool skipped;

	(void)state;
	memset(bytes, 0x77, len);
	assert_int_equal(engine_learn(w->engine, &memory), 0);
	close(fd); /* ours is not needed any more */

	assert_int_equal(device_op(w, &write, bytes, len, &skipped), OP_DONE);

	assert_true(skipped);
	assert_memory_equal(bytes, w->lent->bytes, len);
	assert_int_equal(counts_of(w).bytes_direct, len);
	free(bytes);
	world_end(w);
}

static void
memory__of_a_dmabuf_that_the_device_does_not_take__is_never_touched(void **state)
{
	struct world *w = world_over(&calm, true);
	struct token write = token_for(w->lent, TOKEN_WRITE);
	int fd = memfd_create("dmabuf", MFD_CLOEXEC);
	uint8_t *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct memory memory = {nowhere, 4096, fd, 0};
	uint8_t bytes[16] = {1};
	bool skipped;

	(void)state;
	assert_int_equal(move(w, OP_WRITE, &write, bytes, sizeof(bytes)), OP_DONE); /* opens it */
	assert_int_equal(engine_learn(w->engine, &memory), 0);
	close(fd);
	fake_fail_call("ibv_reg_mr", 0, ENOTSUP); /* the next one is the dmabuf's */

	assert_int_equal(device_op(w, &write, nowhere, 4096, &skipped), OP_E_IO);
	munmap(nowhere, 4096);
	world_end(w);
}

static void
read__that_may_go_unsummed__is_not_summed_and_one_that_may_not_is(void **state)
{
	struct world *w = world_over(&calm, false);
	struct token read = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 10000);
	struct op op = op_for(w, OP_READ, &read, &s, 0);

	(void)state;
	op.may_skip_crc = true;
	assert_int_equal(run(w, &op), OP_DONE);
	assert_true(op.skipped_crc);

	op.may_skip_crc = false;
	assert_int_equal(run(w, &op), OP_DONE);
	assert_false(op.skipped_crc);
	assert_int_equal(op.crc, crc_of(0, w->lent->bytes, 10000));
	free(s.area);
	world_end(w);
}

static void
segment__lent_to_readers_and_writers__is_registered_once(void **state)
{
	struct fake_config config = {.seed = 9,
				     .n_devices = 1,
				     .max_locked_bytes =
					     WORLD_SIZE + RDMA_STAGE_BYTES + (64 << 10)};
	struct world *w = world_over(&config, false);
	struct token write = token_for(w->lent, TOKEN_WRITE), read = token_for(w->lent, TOKEN_READ);
	uint8_t bytes[100] = {1}, back[100];

	(void)state;
	assert_int_equal(move(w, OP_WRITE, &write, bytes, sizeof(bytes)), OP_DONE);
	assert_int_equal(move(w, OP_READ, &read, back, sizeof(back)), OP_DONE);
	assert_memory_equal(back, bytes, sizeof(bytes));
	assert_int_equal(fake_counts().n_reads, 1);
	world_end(w);
}

static void
limit_of_locked_memory__too_low_for_a_segment__is_named_and_it_is_not_served(void **state)
{
	struct fake_config config = {.seed = 5, .n_devices = 1, .max_locked_bytes = 4ull << 20};
	struct serve_config serving = {.clock = clock_real(),
				       .listen = "127.0.0.1:0",
				       .rdma = "127.0.0.1:0",
				       .idle_ms = 1000,
				       .connections_max = 4};
	struct lent_config lending = {.size_bytes = WORLD_SIZE};
	struct lent *lent;
	struct serve *serve;
	struct rand rand;

	(void)state;
	fake_init(&config);
	rand_init(&rand, 1);
	assert_int_equal(lent_open(&lending, &rand, &lent), 0);
	assert_int_equal(serve_new(&serving, &serve), 0);

	assert_int_equal(serve_add(serve, lent), SERVE_E_NO_RDMA);

	assert_non_null(strstr(serve_why(serve), "8.0 MiB"));
	assert_non_null(strstr(serve_why(serve), "fake0"));
	assert_null(strstr(serve_endpoint(serve), "rdma:"));
	serve_free(serve);
	lent_close(lent);
	assert_int_equal(fake_fini(), 0);
}

static void
address__that_no_device_has__is_refused_and_auto_does_without(void **state)
{
	struct serve_config config = {.clock = clock_real(),
				      .listen = "127.0.0.1:0",
				      .rdma = "127.0.0.9:0",
				      .idle_ms = 1000,
				      .connections_max = 4};
	struct serve *serve = NULL;

	(void)state;
	fake_init(&calm);
	assert_int_equal(serve_new(&config, &serve), SERVE_E_NO_RDMA);
	config.rdma = "unix:/nowhere";
	assert_int_equal(serve_new(&config, &serve), SERVE_E_NO_RDMA);
	config.rdma = "auto"; /* an address of the loopback is none for others */
	assert_int_equal(serve_new(&config, &serve), 0);
	assert_null(strstr(serve_endpoint(serve), "rdma:"));
	serve_free(serve);
	assert_int_equal(fake_fini(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops__of_every_size__arrive_whole),
		cmocka_unit_test(ops__over_iwarp__arrive_whole),
		cmocka_unit_test(ops__over_several_queue_pairs__arrive_whole),
		cmocka_unit_test(
			segment__larger_than_a_device_takes_at_once__is_registered_in_pieces),
		cmocka_unit_test(memory__small_and_not_told_of__is_staged),
		cmocka_unit_test(memory__large_and_not_told_of__is_registered_for_one_op),
		cmocka_unit_test(memory__told_of__is_registered_once_and_reached_directly),
		cmocka_unit_test(memory__of_a_dmabuf__goes_directly_and_is_not_summed),
		cmocka_unit_test(
			memory__of_a_dmabuf_that_the_device_does_not_take__is_never_touched),
		cmocka_unit_test(read__that_may_go_unsummed__is_not_summed_and_one_that_may_not_is),
		cmocka_unit_test(segment__lent_to_readers_and_writers__is_registered_once),
		cmocka_unit_test(
			limit_of_locked_memory__too_low_for_a_segment__is_named_and_it_is_not_served),
		cmocka_unit_test(address__that_no_device_has__is_refused_and_auto_does_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
