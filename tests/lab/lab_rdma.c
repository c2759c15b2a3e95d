/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lab_rdma -- provider and client over a real device, of which the first word is an address.
 *
 *      lab_rdma 192.0.2.1:0 [ROUNDS [CONNECTIONS]]
 *
 * ROUNDS (20) is how often what is done again and again is done: random slices, lost queue pairs.
 * CONNECTIONS (100) are made and ended, one after the other.
 */
#include "tests/unit/rdma_raw.h"

#include <signal.h>

#include <dirent.h>

#include "transfer/base/log.h"
#include "transfer/rdma_group.h"

/* The machine is emulated, and its host busy: nothing here depends on how fast it is. */
#define STEP_NS (60 * NS_PER_S)

static unsigned n_rounds = 20, n_connections = 100;

static struct world *
rdma_world(void)
{
	return world_open(transport_rdma_new, "unix");
}

/* run_on -- a peer that can't be reached at once is tried again until the step is over. */
static enum op_result
run_on(struct engine *engine, struct op *op)
{
	struct batch batch = {.ops = op, .n_ops = 1};
	enum op_result result;

	op->deadline_ns = clock_ns(clock_real()) + STEP_NS;
	do
		result = engine_run(engine, &batch);
	while (result == OP_E_LOST && clock_ns(clock_real()) < op->deadline_ns &&
	       (clock_sleep_ms(clock_real(), 100), true));
	return result;
}

static enum op_result
run_for(struct world *w, struct op *op)
{
	return run_on(w->engine, op);
}

static struct transport_counts
counts_of(struct world *w)
{
	struct transport_counts counts;

	engine_counts(w->engine, "rdma", &counts);
	return counts;
}

/* ---- bytes ---- */

static void
ops__of_every_size__arrive_whole(void **state)
{
	struct world *w = rdma_world();

	(void)state;
	world_moves_every_size(w);
	assert_int_equal(counts_of(w).n_broken, 0);
	world_close(w);
}

/* there_and_back -- random bytes in random slices, written and read again. */
static void
there_and_back(struct world *w, uint8_t salt)
{
	struct token write = token_for(w->lent, TOKEN_WRITE);
	uint64_t len = 1 + rand_below(&w->rand, 1ull << rand_below(&w->rand, 23));
	uint64_t offset = rand_below(&w->rand, WORLD_SIZE - len + 1);
	struct scatter out = scatter_new(&w->rand, len), in = scatter_new(&w->rand, len);
	struct op op = op_for(w, OP_WRITE, &write, &out, offset);

	scatter_fill(&out, salt);
	assert_int_equal(run_for(w, &op), OP_DONE);
	assert_false(scatter_differs(&out, w->lent->bytes + offset));
	op = op_for(w, OP_READ, &write, &in, offset);
	assert_int_equal(run_for(w, &op), OP_DONE);
	assert_false(scatter_differs(&in, w->lent->bytes + offset));
	free(out.area);
	free(in.area);
}

static void
slices__of_every_kind__go_there_and_back(void **state)
{
	struct world *w = rdma_world();

	(void)state;
	for (unsigned i = 0; i < n_rounds; i++)
		there_and_back(w, (uint8_t)i);
	world_close(w);
}

static void
memory__told_of__is_reached_directly(void **state)
{
	struct world *w = rdma_world();
	struct token read = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 2 << 20);
	const struct memory memory = {s.area, s.area_bytes, -1, 0};
	struct op op = op_for(w, OP_READ, &read, &s, 12345);

	(void)state;
	assert_int_equal(engine_learn(w->engine, &memory), 0);
	assert_int_equal(run_for(w, &op), OP_DONE);
	assert_false(scatter_differs(&s, w->lent->bytes + 12345));
	assert_int_equal(counts_of(w).bytes_direct, 2 << 20);
	engine_unlearn(w->engine, s.area);
	free(s.area);
	world_close(w);
}

static void
queue_pairs__several_to_one_peer__share_the_work(void **state)
{
	struct world *w = rdma_world();
	struct transport *t;

	(void)state;
	engine_target_unref(w->engine, take(&w->target));
	engine_free(take(&w->engine));
	assert_int_equal(engine_new(clock_real(), &w->engine), 0);
	assert_int_equal(transport_rdma_new(&t), 0);
	transport_rdma_set(t, 3);
	engine_add(w->engine, &t);
	world_target(w, serve_endpoint(w->serve));
	world_moves_every_size(w);
	world_close(w);
}

/* ---- life ---- */

static size_t
n_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/* one_connection -- made for one op, and ended. */
static void
one_connection(struct world *w, const char *endpoint, uint64_t offset)
{
	struct token read = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 100);
	struct target_desc desc = desc_of(w->lent, endpoint);
	struct op op;

	assert_int_equal(engine_target(w->engine, &desc, &w->target), 0);
	op = op_for(w, OP_READ, &read, &s, offset);
	assert_int_equal(run_for(w, &op), OP_DONE);
	assert_false(scatter_differs(&s, w->lent->bytes + offset));
	free(s.area);
	engine_target_unref(w->engine, take(&w->target)); /* and with it the connection */
}

static void
connections__made_and_ended_again_and_again__leave_nothing(void **state)
{
	struct world *w = rdma_world();
	uint64_t began_ms = clock_ms(clock_real());
	char endpoint[TARGET_ENDPOINT_MAX + 1];
	size_t n_before;

	(void)state;
	snprintf(endpoint, sizeof(endpoint), "%s", serve_endpoint(w->serve));
	engine_target_unref(w->engine, take(&w->target));
	one_connection(w, endpoint, 0); /* opens what stays */
	n_before = n_fds();
	for (unsigned i = 0; i < n_connections; i++) {
		one_connection(w, endpoint, i);
		if (i % 1000 == 999)
			print_message("%u connections, %lu ms\n", i + 1,
				      clock_ms(clock_real()) - began_ms);
	}
	assert_in_range(n_fds(), 0, n_before);
	assert_int_equal(counts_of(w).n_broken, 0);
	world_close(w);
}

/* lose_all -- the client's queue pairs fall into ERR under it, as they do when a device is reset.
 * How many were up. */
static unsigned
lose_all(struct rdma *rdma)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	unsigned n = 0;

	lock_take(&rdma->lock);
	list_each(&rdma->peers, link) {
		struct rdma_peer *peer = list_of(link, struct rdma_peer, at);

		for (size_t i = 0; i < array_len(peer->groups) * RDMA_CONNS_MAX; i++) {
			struct rdma_conn *conn =
				&peer->groups[i / RDMA_CONNS_MAX].conns[i % RDMA_CONNS_MAX];

			if (conn->state == RDMA_UP)
				n += ibv_modify_qp(conn->id->qp, &attr, IBV_QP_STATE) == 0;
		}
	}
	lock_drop(&rdma->lock);
	return n;
}

static void
queue_pairs__lost_under_way_again_and_again__cost_no_op(void **state)
{
	struct world *w = rdma_world();
	struct token write = token_for(w->lent, TOKEN_WRITE);
	const uint64_t len = 2 << 20;
	struct scatter out = scatter_new(&w->rand, len);
	struct transport *t;
	struct rdma *rdma;
	unsigned n_lost = 0;

	(void)state;
	engine_target_unref(w->engine, take(&w->target));
	engine_free(take(&w->engine));
	assert_int_equal(engine_new(clock_real(), &w->engine), 0);
	assert_int_equal(transport_rdma_new(&t), 0);
	rdma = container_of(t, struct rdma, base);
	engine_add(w->engine, &t);
	world_target(w, serve_endpoint(w->serve));
	for (unsigned i = 0; i < n_rounds; i++) {
		struct op op = op_for(w, i % 2 == 0 ? OP_WRITE : OP_READ, &write, &out, i * 4096);
		struct batch batch = {.ops = &op, .n_ops = 1};
		enum op_result result;

		if (op.kind == OP_WRITE)
			scatter_fill(&out, (uint8_t)i);
		op.deadline_ns = clock_ns(clock_real()) + STEP_NS;
		engine_submit(w->engine, &batch);
		n_lost += lose_all(rdma);
		result = engine_wait(w->engine, &batch);
		if (result != OP_DONE)
			result = run_for(w, &op); /* its life was over before it was begun */
		assert_int_equal(result, OP_DONE);
		assert_false(scatter_differs(&out, w->lent->bytes + i * 4096));
	}
	/* An op may be over before its queue pair is lost: then the next one finds that. */
	assert_true(n_lost >= n_rounds / 4);
	assert_true(counts_of(w).n_broken >= n_rounds / 4);
	free(out.area);
	world_close(w);
}

static void
reader__that_writes_with_the_key_it_was_told__is_refused(void **state)
{
	struct world *w = rdma_world();

	(void)state;
	assert_true(raw_reader_writes(w));
	world_close(w);
}

static void
fence__ends_the_writer_and_not_the_reader(void **state)
{
	struct world *w = rdma_world();
	struct token write = token_for(w->lent, TOKEN_WRITE), read = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 5000);
	struct op op = op_for(w, OP_WRITE, &write, &s, 0);

	(void)state;
	assert_int_equal(run_for(w, &op), OP_DONE);
	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);
	memset(w->lent->bytes, 0x11, 5000);
	assert_int_equal(run_for(w, &op), OP_E_REFUSED);
	for (unsigned i = 0; i < 5000; i++)
		assert_int_equal(w->lent->bytes[i], 0x11);
	op = op_for(w, OP_READ, &read, &s, 0);
	assert_int_equal(run_for(w, &op), OP_DONE);
	free(s.area);
	world_close(w);
}

static void
token__that_ends__takes_its_connection_with_it(void **state)
{
	struct world *w = rdma_world();
	struct token write = token_for(w->lent, TOKEN_WRITE);
	struct scatter s = scatter_new(&w->rand, 5000);
	struct op op = op_for(w, OP_WRITE, &write, &s, 0);
	enum op_result result = OP_DONE;

	(void)state;
	write.until_ms = clock_ms(clock_real()) + 10000;
	token_sign(&write, w->lent->secret);
	assert_int_equal(run_for(w, &op), OP_DONE);
	while (clock_ms(clock_real()) < write.until_ms)
		clock_sleep_ms(clock_real(), 50);
	for (unsigned i = 0; i < 100 && result == OP_DONE;
	     i++) { /* its provider is not that swift */
		result = run_for(w, &op);
		clock_sleep_ms(clock_real(), 50);
	}
	assert_int_equal(result, OP_E_REFUSED);
	write = token_for(w->lent, TOKEN_WRITE);
	assert_int_equal(run_for(w, &op), OP_DONE);
	free(s.area);
	world_close(w);
}

/* ---- killed peers ---- */

/* A process of its own, made before this one has anything of a device: what is open there is no
 * good in a child. */
struct helper {
	pid_t pid;
	int to[2], from[2];
};

static struct helper provider, writer;

static void
helper_start(struct helper *helper, void (*main_of)(struct helper *))
{
	assert_int_equal(pipe(helper->to), 0);
	assert_int_equal(pipe(helper->from), 0);
	helper->pid = fork();
	assert_true(helper->pid >= 0);
	if (helper->pid == 0) {
		main_of(helper);
		_exit(1);
	}
}

static void
helper_kill(struct helper *helper)
{
	if (helper->pid == 0)
		return;
	kill(helper->pid, SIGKILL);
	waitpid(helper->pid, NULL, 0);
	helper->pid = 0;
}

/* What a provider in a process of its own tells of itself. */
struct told {
	struct target_desc desc;
	uint8_t secret[TOKEN_SECRET_BYTES];
};

/* provider_main -- until it is killed. */
static void
provider_main(struct helper *helper)
{
	struct world *w;
	struct told told = {0};
	char byte;

	if (read(helper->to[0], &byte, 1) != 1)
		return;
	w = rdma_world();
	told.desc = desc_of(w->lent, serve_endpoint(w->serve));
	memcpy(told.secret, w->lent->secret, sizeof(told.secret));
	if (write(helper->from[1], &told, sizeof(told)) != sizeof(told))
		return;
	for (;;)
		pause();
}

static void
provider__killed__loses_its_ops_before_their_time_is_over(void **state)
{
	struct told told;
	struct engine *engine;
	struct transport *t;
	struct target *target;
	struct token token;
	uint8_t bytes[4096];
	struct iovec slice = {bytes, sizeof(bytes)};
	struct op op;
	struct batch batch = {.ops = &op, .n_ops = 1};

	(void)state;
	assert_int_equal(write(provider.to[1], "g", 1), 1);
	assert_int_equal(read(provider.from[0], &told, sizeof(told)), sizeof(told));
	assert_int_equal(engine_new(clock_real(), &engine), 0);
	assert_int_equal(transport_rdma_new(&t), 0);
	engine_add(engine, &t);
	assert_int_equal(engine_target(engine, &told.desc, &target), 0);
	token = (struct token){.client_id = WORLD_CLIENT,
			       .segment_id = told.desc.segment_id,
			       .segment_epoch = told.desc.segment_epoch,
			       .until_ms = clock_ms(clock_real()) + FAR_MS,
			       .rights = TOKEN_READ};
	token_sign(&token, told.secret);
	op = (struct op){.kind = OP_READ,
			 .target = target,
			 .token = &token,
			 .len_bytes = sizeof(bytes),
			 .slices = &slice,
			 .n_slices = 1,
			 .deadline_ns = clock_ns(clock_real()) + STEP_NS};
	assert_int_equal(run_on(engine, &op), OP_DONE);
	assert_int_equal(bytes[100], pattern(100));

	helper_kill(&provider);
	op.deadline_ns = clock_ns(clock_real()) + STEP_NS;
	assert_int_equal(engine_run(engine, &batch), OP_E_LOST);

	engine_target_unref(engine, target);
	engine_free(engine);
}

/* write_on -- writes 0xbb all over the segment until it is killed. */
static void
write_on(const struct told *told, int out)
{
	static uint8_t bytes[1 << 20];
	struct iovec slice = {bytes, sizeof(bytes)};
	struct token token = {.client_id = WORLD_CLIENT,
			      .segment_id = told->desc.segment_id,
			      .segment_epoch = told->desc.segment_epoch,
			      .until_ms = clock_ms(clock_real()) + FAR_MS,
			      .rights = TOKEN_WRITE};
	struct engine *engine;
	struct transport *t;
	struct target *target;

	memset(bytes, 0xbb, sizeof(bytes));
	token_sign(&token, told->secret);
	if (engine_new(clock_real(), &engine) != 0 || transport_rdma_new(&t) != 0)
		_exit(1);
	engine_add(engine, &t);
	if (engine_target(engine, &told->desc, &target) != 0)
		_exit(1);
	for (uint64_t i = 0;; i++) {
		struct op op = {.kind = OP_WRITE,
				.target = target,
				.token = &token,
				.offset_bytes = i % 7 << 20,
				.len_bytes = sizeof(bytes),
				.slices = &slice,
				.n_slices = 1,
				.deadline_ns = clock_ns(clock_real()) + STEP_NS};

		if (run_on(engine, &op) != OP_DONE || (i == 2 && write(out, "w", 1) != 1))
			_exit(1);
	}
}

static void
writer_main(struct helper *helper)
{
	struct told told;

	if (read(helper->to[0], &told, sizeof(told)) == sizeof(told))
		write_on(&told, helper->from[1]);
}

static void
writer__killed_in_the_middle_and_fenced__writes_no_more(void **state)
{
	struct world *w = rdma_world();
	struct told told = {0};
	char byte;

	(void)state;
	told.desc = desc_of(w->lent, serve_endpoint(w->serve));
	memcpy(told.secret, w->lent->secret, sizeof(told.secret));
	assert_int_equal(write(writer.to[1], &told, sizeof(told)), sizeof(told));
	assert_int_equal(poll(&(struct pollfd){.fd = writer.from[0], .events = POLLIN}, 1,
			      STEP_NS / NS_PER_MS),
			 1);
	assert_int_equal(read(writer.from[0], &byte, 1), 1);
	kill(writer.pid, SIGKILL);
	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);
	memset(w->lent->bytes, 0x22, WORLD_SIZE);
	helper_kill(&writer);
	clock_sleep_ms(clock_real(), 1000); /* what was on its way would be there by now */
	for (uint64_t i = 0; i < WORLD_SIZE; i++)
		assert_int_equal(w->lent->bytes[i], 0x22);
	world_close(w);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(provider__killed__loses_its_ops_before_their_time_is_over),
		cmocka_unit_test(writer__killed_in_the_middle_and_fenced__writes_no_more),
		cmocka_unit_test(ops__of_every_size__arrive_whole),
		cmocka_unit_test(slices__of_every_kind__go_there_and_back),
		cmocka_unit_test(memory__told_of__is_reached_directly),
		cmocka_unit_test(queue_pairs__several_to_one_peer__share_the_work),
		cmocka_unit_test(connections__made_and_ended_again_and_again__leave_nothing),
		cmocka_unit_test(queue_pairs__lost_under_way_again_and_again__cost_no_op),
		cmocka_unit_test(reader__that_writes_with_the_key_it_was_told__is_refused),
		cmocka_unit_test(fence__ends_the_writer_and_not_the_reader),
		cmocka_unit_test(token__that_ends__takes_its_connection_with_it),
	};

	int failed;

	if (argc < 2 || argc > 4) {
		fprintf(stderr, "usage: lab_rdma HOST:PORT [ROUNDS [CONNECTIONS]]\n");
		return 2;
	}
	world_rdma = argv[1];
	if (argc >= 3)
		n_rounds = (unsigned)strtoul(argv[2], NULL, 10);
	if (argc == 4)
		n_connections = (unsigned)strtoul(argv[3], NULL, 10);
	helper_start(&provider, provider_main);
	helper_start(&writer, writer_main);
	log_set_sink(log_to_stderr, NULL, LOG_INFO);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	helper_kill(&provider);
	helper_kill(&writer);
	return failed;
}
