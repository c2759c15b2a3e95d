/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/xfer_dial.h"

#include <errno.h>
#include <sched.h>

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

/* wait_until -- a byte of the segment has come; read as another process would. */
static void
wait_until(struct world *w, off_t offset, uint8_t value)
{
	uint8_t byte;

	do {
		sched_yield();
		assert_int_equal(pread(w->lent->fd, &byte, 1, LENT_HEADER_BYTES + offset), 1);
	} while (byte != value);
}

/* ---- time ---- */

static void
write__whose_token_ends_on_the_way__goes_no_further(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_WRITE, TOKEN_WRITE);
	struct clock_fake fake;
	struct serve_config config = {
		.clock = &fake.base,
		.listen = "127.0.0.1:0",
		.idle_ms = 5000,
		.connections_max = 4,
	};
	uint8_t *piece = calloc(1, 1 << 20);
	int fd;

	clock_fake_init(&fake, 1000);
	serve_free(w->serve);
	assert_int_equal(serve_new(&config, &w->serve), 0);
	assert_int_equal(serve_add(w->serve, w->lent), 0);
	request.offset_bytes = 0;
	request.len_bytes = 3 << 20;
	request.token.until_ms = 1001;
	sign(w, &request);
	fd = dial(w);
	send_request(fd, &request);
	assert_int_equal(sock_send_all(fd, piece, 1 << 20, far_ns()), 0);
	wait_until(w, (1 << 20) - 1, 0); /* the first piece is in place */

	clock_fake_advance_ms(&fake, 1);
	(void)!sock_send_all(fd, piece, 1 << 20, far_ns());
	(void)!sock_send_all(fd, piece, 1 << 20, far_ns());

	assert_int_equal(next_status(fd), -1);
	assert_int_equal(w->lent->bytes[(3 << 20) - 1], pattern((3 << 20) - 1));
	close(fd);
	free(piece);
}

/* ---- fence ---- */

static void
fence__cuts_the_client_and_refuses_its_old_write_tokens(void **state)
{
	struct world *w = *state;
	struct wire_request write = request_for(w, WIRE_WRITE, TOKEN_WRITE);
	struct wire_request read = request_for(w, WIRE_READ, TOKEN_READ);
	uint8_t bytes[64] = {0};
	int fd = dial(w);

	send_request(fd, &write);
	assert_int_equal(sock_send_all(fd, bytes, sizeof(bytes), far_ns()), 0);
	assert_int_equal(next_status(fd), WIRE_DONE);

	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);

	assert_int_equal(next_status(fd), -1);
	assert_int_equal(ask(w, &write), WIRE_REFUSED);
	assert_int_equal(ask(w, &read), WIRE_DONE); /* reading is not concerned */
	close(fd);
}

static void
fence__in_the_middle_of_a_write__no_byte_comes_after_it(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_WRITE, TOKEN_WRITE);
	uint8_t bytes[64];
	int fd = dial(w);

	memset(bytes, 0xee, sizeof(bytes));
	send_request(fd, &request);
	assert_int_equal(sock_send_all(fd, bytes, 32, far_ns()), 0);
	wait_until(w, 1031, 0xee);
	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);
	memset(w->lent->bytes + 1000, 0x55, 64); /* the range has another owner now */

	(void)!sock_send_all(fd, bytes, 32, far_ns());
	assert_int_equal(next_status(fd), -1);

	for (size_t i = 1000; i < 1064; i++)
		assert_int_equal(w->lent->bytes[i], 0x55);
	close(fd);
}

static void
fence__leaves_other_clients_alone(void **state)
{
	struct world *w = *state;
	struct wire_request write = request_for(w, WIRE_WRITE, TOKEN_WRITE);
	uint8_t bytes[64] = {0};
	int fd = dial(w);

	write.token.client_id = 99;
	sign(w, &write);
	send_request(fd, &write);
	assert_int_equal(sock_send_all(fd, bytes, sizeof(bytes), far_ns()), 0);
	assert_int_equal(next_status(fd), WIRE_DONE);

	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);

	send_request(fd, &write);
	assert_int_equal(sock_send_all(fd, bytes, sizeof(bytes), far_ns()), 0);
	assert_int_equal(next_status(fd), WIRE_DONE);
	close(fd);
}

static void
fence__of_a_client_never_seen__is_confirmed(void **state)
{
	struct world *w = *state;

	assert_int_equal(serve_fence(w->serve, 123456), 0);
}

static void
write_token__that_ends_after_any_of_before_could__is_accepted_again(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_WRITE, TOKEN_WRITE);

	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);
	request.token.until_ms = clock_ms(clock_real()) + SERVE_WRITE_TOKEN_MS_MAX + 60000;
	sign(w, &request);

	assert_int_equal(ask(w, &request), WIRE_DONE);
}

/* ---- processes that may write ---- */

/* writer_child -- a process that has the segment mapped for writing, until *ret_end is closed. */
static pid_t
writer_child(struct world *w, int *ret_end)
{
	int ready[2], end[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct token token = token_for(w->lent, TOKEN_WRITE);
		struct scatter s = scatter_new(&w->rand, 1);
		struct op op;
		struct transport *t;

		close(end[1]);
		close(w->lent->fd); /* a fork's, and with it the lock */
		/* The parent's engine stays the parent's. */
		if (engine_new(clock_real(), &w->engine) < 0 || transport_shm_new(&t) < 0)
			_exit(1);
		engine_add(w->engine, &t);
		w->target = NULL;
		world_target(w, serve_endpoint(w->serve));
		op = op_for(w, OP_WRITE, &token, &s, 0);
		if (run(w, &op) != OP_DONE || write(ready[1], &byte, 1) != 1)
			_exit(1);
		_exit(read(end[0], &byte, 1) == 0 ? 0 : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	close(end[0]);
	*ret_end = end[1];
	return pid;
}

static void
fence__after_the_provider_was_started_anew__still_knows_who_may_write(void **state)
{
	struct world *w = *state;
	char path[128], socket[160];
	struct lent_config config = {.path = path, .size_bytes = LENT_SIZE_MIN};
	int end;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/named", w->dir);
	snprintf(socket, sizeof(socket), "unix:%s/s", w->dir);
	serve_free(take(&w->serve));
	lent_close(take(&w->lent));
	assert_int_equal(lent_open(&config, &w->rand, &w->lent), 0);
	world_serve(w, socket);
	pid = writer_child(w, &end);

	serve_free(take(&w->serve));
	lent_close(take(&w->lent));
	assert_int_equal(lent_open(&config, &w->rand, &w->lent), 0); /* its lock went with us */
	assert_true(w->lent->was_adopted);
	world_serve(w, socket);
	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), SERVE_E_ALIVE);
	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT + 1), 0);
	close(end);
	assert_int_equal(waitpid(pid, NULL, 0), pid);

	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);
	unlink(path);
}

/* ---- life ---- */

static void
remove__while_a_reader_stands_still__does_not_wait_for_it(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);
	uint64_t begin_ns = clock_ns(clock_real());
	uint8_t byte;
	int fd = dial(w);

	request.offset_bytes = 0;
	request.len_bytes = WORLD_SIZE;
	for (int i = 0; i < 8; i++)
		send_request(fd, &request);
	assert_int_equal(sock_recv_all(fd, &byte, 1, far_ns()), 0);

	serve_remove(w->serve, w->lent);

	assert_true(clock_ns(clock_real()) - begin_ns < NS_PER_S);
	close(fd);
}

static void
segment__that_was_removed__is_refused(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);

	serve_remove(w->serve, w->lent);

	assert_int_equal(ask(w, &request), WIRE_REFUSED);
}

static void
segment__added_twice__is_an_error(void **state)
{
	struct world *w = *state;

	assert_int_equal(serve_add(w->serve, w->lent), -EEXIST);
}

static int
new_outcome(const char *listen)
{
	struct serve_config config = {
		.clock = clock_real(), .listen = listen, .idle_ms = 1000, .connections_max = 4};
	struct serve *serve = NULL;
	int r = serve_new(&config, &serve);

	serve_free(serve);
	return r;
}

static void
listen__at_what_is_no_address__is_told(void **state)
{
	(void)state;
	assert_int_equal(new_outcome(""), SERVE_E_BAD_ADDRESS);
	assert_int_equal(new_outcome("   "), SERVE_E_BAD_ADDRESS);
	assert_int_equal(new_outcome("nonsense"), SERVE_E_BAD_ADDRESS);
	assert_int_equal(new_outcome("127.0.0.1:99999"), SERVE_E_BAD_ADDRESS);
	assert_int_equal(new_outcome("127.0.0.1:0 unix:"), SERVE_E_BAD_ADDRESS);
	assert_int_equal(new_outcome("192.0.2.1:0"), SERVE_E_BAD_ADDRESS); /* not of this machine */
}

static void
listen__where_another_does__is_told(void **state)
{
	struct world *w = *state;

	assert_int_equal(new_outcome(serve_endpoint(w->serve)), SERVE_E_IN_USE);
}

static void
counts__tell_what_was_done(void **state)
{
	struct world *w = *state;
	struct wire_request read = request_for(w, WIRE_READ, TOKEN_READ);
	struct wire_request bad = request_for(w, WIRE_WRITE, TOKEN_READ);
	struct serve_counts counts;
	int fd = dial(w);

	for (int i = 0; i < 2; i++) {
		send_request(fd, &read);
		assert_int_equal(next_status(fd), WIRE_DONE);
	}
	assert_int_equal(ask(w, &bad), WIRE_REFUSED);
	send_request(fd, &read);
	assert_int_equal(next_status(fd), WIRE_DONE);

	serve_counts(w->serve, &counts);

	assert_true(counts.ops_read >= 2); /* the last one is counted after it was answered */
	assert_true(counts.bytes_read >= 128);
	assert_int_equal(counts.ops_write, 0);
	assert_int_equal(counts.n_refused, 1);
	close(fd);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define U(name) cmocka_unit_test_setup_teardown(name, setup_unix, teardown)
	const struct CMUnitTest tests[] = {
		T(write__whose_token_ends_on_the_way__goes_no_further),
		T(fence__cuts_the_client_and_refuses_its_old_write_tokens),
		T(fence__in_the_middle_of_a_write__no_byte_comes_after_it),
		T(fence__leaves_other_clients_alone),
		T(fence__of_a_client_never_seen__is_confirmed),
		T(write_token__that_ends_after_any_of_before_could__is_accepted_again),
		T(remove__while_a_reader_stands_still__does_not_wait_for_it),
		T(segment__that_was_removed__is_refused),
		T(segment__added_twice__is_an_error),
		T(listen__at_what_is_no_address__is_told),
		T(listen__where_another_does__is_told),
		T(counts__tell_what_was_done),
		U(fence__after_the_provider_was_started_anew__still_knows_who_may_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
