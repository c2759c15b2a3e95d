/* SPDX-License-Identifier: Apache-2.0 */

/* test_tcp_path.c -- several ways to one provider, and several providers. */
#include "tests/unit/xfer_world.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "transfer/path_stats.h"
#include "transfer/tcp_path.h"

/* ---- which way ------------------------------------------------------------------- */

static void
ways__are_those_of_use_here_in_their_order(void **state)
{
	struct target near = {.is_same_host = true}, far = {.is_same_host = false};
	struct tcp_paths paths;

	(void)state;
	snprintf(near.desc.endpoint, sizeof(near.desc.endpoint),
		 "unix:/x rdma:10.0.0.1:1 127.0.0.1:1 10.0.0.1:1 10.0.1.1:1");
	far.desc = near.desc;

	assert_true(tcp_paths_init(&paths, &near));
	assert_int_equal(paths.n, 4);
	assert_true(paths.all[0].is_unix);
	assert_true(tcp_paths_init(&paths, &far));
	assert_int_equal(paths.n, 2);
	assert_string_equal(paths.all[0].text, "10.0.0.1:1");
	assert_string_equal(paths.all[1].text, "10.0.1.1:1");
}

static void
way__that_failed__rests_twice_as_long_each_time_and_comes_behind_the_others(void **state)
{
	struct target target = {0};
	struct tcp_paths paths;
	uint64_t rest_ns;

	(void)state;
	snprintf(target.desc.endpoint, sizeof(target.desc.endpoint), "10.0.0.1:1 10.0.1.1:1");
	assert_true(tcp_paths_init(&paths, &target));
	assert_int_equal(tcp_paths_best(&paths, 0, 5), 0);
	tcp_path_failed(&paths.all[0], 5);
	rest_ns = paths.all[0].rest_until_ns - 5;

	assert_int_equal(tcp_paths_best(&paths, 0, 5), 1);
	assert_int_equal(tcp_paths_best(&paths, 1u << 1, 5), 0); /* the only one left */
	assert_int_equal(tcp_paths_best(&paths, 3, 5), paths.n);
	assert_int_equal(tcp_paths_best(&paths, 0, 5 + rest_ns), 0);
	tcp_path_failed(&paths.all[0], 5);
	assert_int_equal(paths.all[0].rest_until_ns - 5, 2 * rest_ns);
	tcp_path_works(&paths.all[0]);
	assert_int_equal(tcp_paths_best(&paths, 0, 5), 0);
}

/* ---- a clock that tells who looks at it -------------------------------------------- */

struct seen_clock {
	struct clock base;
	_Atomic uint64_t ns, n_looks;
};

static uint64_t
seen_now_ns(const struct clock *clock)
{
	struct seen_clock *seen =
		container_of((struct clock *)(uintptr_t)clock, struct seen_clock, base);

	atomic_fetch_add(&seen->n_looks, 1);
	return atomic_load(&seen->ns);
}

/* ---- a client with a thread that waits --------------------------------------------- */

struct site {
	struct world *w;
	struct seen_clock clock;
	struct engine *engine;
	struct token token;
	struct target *targets[4];
	struct scatter scatters[4];
	struct op ops[4];
	struct batch batch;
	pthread_t thread;
};

static void
site_open(struct site *s)
{
	struct transport *t;

	*s = (struct site){.w = world_open(transport_tcp_new, "127.0.0.1:0"),
			   .clock = {.base = {.now_ns = seen_now_ns}, .ns = NS_PER_S}};
	s->token = token_for(s->w->lent, TOKEN_READ);
	assert_int_equal(engine_new(&s->clock.base, &s->engine), 0);
	assert_int_equal(transport_tcp_new(&t), 0);
	engine_add(s->engine, &t);
	s->batch.ops = s->ops;
}

static void
site_close(struct site *s)
{
	for (size_t i = 0; i < array_len(s->targets); i++) {
		engine_target_unref(s->engine, s->targets[i]);
		free(s->scatters[i].area);
	}
	engine_free(s->engine);
	world_close(s->w);
}

/* add_read -- from the world's segment, said to be there. */
static void
add_read(struct site *s, const char *endpoint, uint64_t len_bytes)
{
	struct target_desc desc = desc_of(s->w->lent, endpoint);
	size_t i = s->batch.n_ops++;

	assert_int_equal(engine_target(s->engine, &desc, &s->targets[i]), 0);
	s->scatters[i] = scatter_new(&s->w->rand, len_bytes);
	s->ops[i] = op_for(s->w, OP_READ, &s->token, &s->scatters[i], 100 * i);
	s->ops[i].target = s->targets[i];
	s->ops[i].deadline_ns = atomic_load(&s->clock.ns) + 10 * NS_PER_S;
}

static void *
wait_main(void *arg)
{
	struct site *s = arg;

	engine_wait(s->engine, &s->batch);
	return NULL;
}

static void
begin(struct site *s)
{
	engine_submit(s->engine, &s->batch);
	assert_int_equal(pthread_create(&s->thread, NULL, wait_main, s), 0);
}

/* is_down_to -- are so few ops left, before the machine's clock says that it takes too long? */
static bool
is_down_to(struct site *s, size_t n_left)
{
	uint64_t until_ns = clock_ns(clock_real()) + 3 * NS_PER_S;

	while (atomic_load(&s->batch.n_left) > n_left && clock_ns(clock_real()) < until_ns)
		sched_yield();
	return atomic_load(&s->batch.n_left) <= n_left;
}

/* pass_ms -- each millisecond is seen by the one who waits, before the next one comes. */
static uint64_t
pass_ms(struct site *s, uint64_t most_ms)
{
	uint64_t n_ms = 0;

	for (; n_ms < most_ms && !batch_is_done(&s->batch); n_ms++) {
		uint64_t seen = atomic_load(&s->clock.n_looks) + 3;

		atomic_fetch_add(&s->clock.ns, NS_PER_MS);
		while (atomic_load(&s->clock.n_looks) < seen && !batch_is_done(&s->batch))
			sched_yield();
	}
	return n_ms;
}

/* ---- an address at which nobody answers any more ------------------------------------ */

struct hole {
	int listen_fd, fd;
	struct sock_addr addr;
	char endpoint[64];
	int crowd[8];
};

static void
hole_open(struct hole *hole)
{
	struct sock_addr any;
	char text[SOCK_ADDR_TEXT_MAX];

	*hole = (struct hole){.fd = -1};
	memset(hole->crowd, -1, sizeof(hole->crowd));
	assert_int_equal(sock_addr_parse("127.0.0.1:0", &any), 0);
	assert_int_equal(sock_listen(&any, 0, &hole->listen_fd, &hole->addr), 0);
	snprintf(hole->endpoint, sizeof(hole->endpoint), "%s",
		 sock_addr_show(&hole->addr, text, sizeof(text)));
}

/* hole_take -- one connection comes to be, and says what it wants. */
static void
hole_take(struct hole *hole)
{
	struct pollfd pollfd = {.fd = hole->listen_fd, .events = POLLIN};
	uint8_t head[WIRE_REQUEST_BYTES];

	assert_int_equal(poll(&pollfd, 1, 10000), 1);
	assert_int_equal(sock_accept(hole->listen_fd, &hole->fd), 0);
	assert_int_equal(sock_recv_all(hole->fd, head, sizeof(head), far_ns()), 0);
}

/* hole_shut -- the queue is full: who knocks hears nothing. */
static void
hole_shut(struct hole *hole)
{
	assert_int_equal(listen(hole->listen_fd, 0), 0);
	for (size_t i = 0; i < array_len(hole->crowd); i++)
		assert_int_equal(sock_connect_begin(&hole->addr, &hole->crowd[i]), 0);
}

static void
hole_close(struct hole *hole)
{
	for (size_t i = 0; i < array_len(hole->crowd); i++)
		sock_abort_at(&hole->crowd[i]);
	fd_close_at(&hole->fd);
	fd_close_at(&hole->listen_fd);
}

static uint64_t
n_served(struct site *s)
{
	struct serve_counts counts;

	serve_counts(s->w->serve, &counts);
	return counts.ops_read;
}

/* What is told of the way to that address. */
struct told {
	const char *address;
	unsigned n;
	uint64_t n_reads, bytes, n_moved, n_lost, n_timeout;
};

static int
tell(void *arg, const struct path_stats *path)
{
	struct told *told = arg;

	if (strcmp(path->address, told->address) != 0)
		return 0;
	assert_string_equal(path->transport, "tcp");
	told->n++;
	told->n_reads += path_n_done(path, OP_READ);
	told->bytes += path->bytes[OP_READ];
	told->n_moved += path->n_moved;
	told->n_lost += path->n_lost;
	told->n_timeout += path->n_timeout;
	return 0;
}

static struct told
told_of(struct site *s, const char *address)
{
	struct told told = {.address = address};

	assert_int_equal(engine_paths(s->engine, tell, &told), 0);
	return told;
}

/* ---- what happens -------------------------------------------------------------------- */

static void
peer__that_can_t_be_reached__delays_nobody_else(void **state)
{
	struct hole hole;
	struct site s;

	(void)state;
	site_open(&s);
	hole_open(&hole);
	hole_shut(&hole);
	add_read(&s, hole.endpoint, 5000);
	add_read(&s, serve_endpoint(s.w->serve), 5000);
	begin(&s);

	assert_true(is_down_to(&s, 1)); /* and the clock stands still */

	assert_int_equal(s.ops[1].result, OP_DONE);
	assert_int_equal(told_of(&s, serve_endpoint(s.w->serve)).n_reads, 1);
	atomic_fetch_add(&s.clock.ns, 11 * NS_PER_S);
	pthread_join(s.thread, NULL);
	assert_int_equal(s.ops[0].result, OP_E_TIMEOUT);
	hole_close(&hole);
	site_close(&s);
}

static void
way__that_ends_in_the_middle__is_left_for_another_within_50_ms(void **state)
{
	char endpoint[200];
	struct hole hole;
	struct told told;
	struct site s;

	(void)state;
	site_open(&s);
	hole_open(&hole);
	snprintf(endpoint, sizeof(endpoint), "%s %s", hole.endpoint, serve_endpoint(s.w->serve));
	add_read(&s, endpoint, 100000);
	begin(&s);
	hole_take(&hole);
	hole_shut(&hole);

	assert_true(pass_ms(&s, 51) <= 50);

	pthread_join(s.thread, NULL);
	assert_int_equal(s.ops[0].result, OP_DONE);
	assert_false(scatter_differs(&s.scatters[0], s.w->lent->bytes));
	assert_int_equal(s.ops[0].crc, crc_of(0, s.w->lent->bytes, 100000));
	told = told_of(&s, serve_endpoint(s.w->serve));
	assert_int_equal(told.n, 1);
	assert_int_equal(told.n_reads, 1);
	assert_int_equal(told.bytes, 100000);
	assert_int_equal(told.n_moved, 1);
	hole_close(&hole);
	site_close(&s);
}

/* One who is stopped: the machine answers, the program doesn't. */
static void
peer__that_is_only_slow__is_waited_for(void **state)
{
	struct wire_reply reply = {.kind = WIRE_READ, .id = 1, .len_bytes = 64};
	uint8_t bytes[WIRE_REPLY_BYTES + 64];
	char endpoint[200];
	struct hole hole;
	struct site s;

	(void)state;
	site_open(&s);
	hole_open(&hole);
	snprintf(endpoint, sizeof(endpoint), "%s %s", hole.endpoint, serve_endpoint(s.w->serve));
	add_read(&s, endpoint, 64);
	begin(&s);
	hole_take(&hole);

	assert_int_equal(pass_ms(&s, 100), 100);
	wire_reply_encode(&reply, bytes);
	memcpy(bytes + WIRE_REPLY_BYTES, s.w->lent->bytes, 64);
	assert_int_equal(sock_send_all(hole.fd, bytes, sizeof(bytes), far_ns()), 0);

	pthread_join(s.thread, NULL);
	assert_int_equal(s.ops[0].result, OP_DONE);
	assert_int_equal(n_served(&s), 0);
	hole_close(&hole);
	site_close(&s);
}

static void
first_way__that_nobody_serves__is_passed_over(void **state)
{
	char endpoint[200];
	struct hole hole;
	struct site s;

	(void)state;
	site_open(&s);
	hole_open(&hole);
	snprintf(endpoint, sizeof(endpoint), "%s %s", hole.endpoint, serve_endpoint(s.w->serve));
	hole_close(&hole);
	add_read(&s, endpoint, 64);

	assert_int_equal(engine_run(s.engine, &s.batch), OP_DONE);

	site_close(&s);
}

static void
first_way__that_is_there_again__is_taken_again(void **state)
{
	struct serve_config config = {
		.clock = clock_real(), .idle_ms = 2000, .connections_max = 16};
	char endpoint[200];
	struct serve *serve;
	struct hole hole;
	struct site s;

	(void)state;
	site_open(&s);
	hole_open(&hole);
	snprintf(endpoint, sizeof(endpoint), "%s %s", hole.endpoint, serve_endpoint(s.w->serve));
	hole_close(&hole);
	add_read(&s, endpoint, 64);
	assert_int_equal(engine_run(s.engine, &s.batch), OP_DONE);
	assert_int_equal(told_of(&s, hole.endpoint).n_reads, 0);

	config.listen = hole.endpoint;
	assert_int_equal(serve_new(&config, &serve), 0);
	assert_int_equal(serve_add(serve, s.w->lent), 0);
	for (int i = 0; i < 50 && told_of(&s, hole.endpoint).n_reads == 0; i++) {
		atomic_fetch_add(&s.clock.ns, 5 * NS_PER_MS);
		assert_int_equal(engine_run(s.engine, &s.batch), OP_DONE);
	}

	assert_int_equal(told_of(&s, hole.endpoint).n_reads, 1);
	assert_int_equal(told_of(&s, hole.endpoint).n_lost, 0);
	serve_free(serve);
	site_close(&s);
}

/* ---- how many, and what they leave behind --------------------------------------------- */

static void
connections__no_more_than_allowed__serve_more_peers_than_that(void **state)
{
	struct serve *serves[4];
	struct serve_config config = {.clock = clock_real(),
				      .listen = "127.0.0.1:0",
				      .idle_ms = 2000,
				      .connections_max = 16};
	struct transport *t;
	struct site s;

	(void)state;
	site_open(&s);
	engine_free(s.engine);
	assert_int_equal(engine_new(&s.clock.base, &s.engine), 0);
	assert_int_equal(transport_tcp_new(&t), 0);
	transport_tcp_set(t, 2);
	engine_add(s.engine, &t);
	for (size_t i = 0; i < array_len(serves); i++) {
		assert_int_equal(serve_new(&config, &serves[i]), 0);
		assert_int_equal(serve_add(serves[i], s.w->lent), 0);
		add_read(&s, serve_endpoint(serves[i]), 5000);
	}

	for (int round = 0; round < 20; round++) {
		uint64_t n_connections = 0;

		assert_int_equal(engine_run(s.engine, &s.batch), OP_DONE);
		for (size_t i = 0; i < array_len(serves); i++) {
			struct serve_counts counts;

			serve_counts(serves[i], &counts);
			n_connections += counts.n_connections;
			assert_false(scatter_differs(&s.scatters[i], s.w->lent->bytes + 100 * i));
		}
		assert_true(n_connections <= 4); /* two of them may not have heard yet */
	}
	for (size_t i = 0; i < array_len(serves); i++)
		serve_free(serves[i]);
	site_close(&s);
}

/* n_resting -- sockets towards that port which nobody has any more. */
static unsigned
n_resting(unsigned port)
{
	FILE *file = fopen("/proc/net/tcp", "r");
	unsigned n = 0, to, at;
	char line[256];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, " %*u: %*[0-9A-F]:%*x %*[0-9A-F]:%x %x", &to, &at) == 2 &&
		    to == port && at >= 4 && at <= 6)
			n++;
	fclose(file);
	return n;
}

static void
connections__given_up__leave_no_port_behind(void **state)
{
	struct hole hole;
	struct site s;
	unsigned port;

	(void)state;
	site_open(&s);
	hole_open(&hole);
	assert_int_equal(sscanf(hole.endpoint, "127.0.0.1:%u", &port), 1);
	add_read(&s, hole.endpoint, 64);

	for (int i = 0; i < 20; i++) {
		begin(&s);
		hole_take(&hole);
		atomic_fetch_add(&s.clock.ns, 11 * NS_PER_S);
		pthread_join(s.thread, NULL);
		assert_int_equal(s.ops[0].result, OP_E_TIMEOUT);
		s.ops[0].deadline_ns = atomic_load(&s.clock.ns) + 10 * NS_PER_S;
		fd_close_at(&hole.fd);
	}

	assert_int_equal(n_resting(port), 0);
	hole_close(&hole);
	site_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways__are_those_of_use_here_in_their_order),
		cmocka_unit_test(
			way__that_failed__rests_twice_as_long_each_time_and_comes_behind_the_others),
		cmocka_unit_test(peer__that_can_t_be_reached__delays_nobody_else),
		cmocka_unit_test(way__that_ends_in_the_middle__is_left_for_another_within_50_ms),
		cmocka_unit_test(peer__that_is_only_slow__is_waited_for),
		cmocka_unit_test(first_way__that_nobody_serves__is_passed_over),
		cmocka_unit_test(first_way__that_is_there_again__is_taken_again),
		cmocka_unit_test(connections__no_more_than_allowed__serve_more_peers_than_that),
		cmocka_unit_test(connections__given_up__leave_no_port_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
