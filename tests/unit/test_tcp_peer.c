/* SPDX-License-Identifier: Apache-2.0 */

/* test_tcp_peer.c -- the TCP transport with a peer that does not keep to the protocol. */
#include "tests/unit/xfer_world.h"

#include <pthread.h>
#include <sys/socket.h>

static int
setup(void **state)
{
	*state = world_open(transport_tcp_new, "127.0.0.1:0");
	return 0;
}

static int
teardown(void **state)
{
	world_close(*state);
	return 0;
}

/*
 * A puppet: it accepts one connection, reads n_requests heads, sends bytes_to_send of `reply`
 * and then, when told to, hangs up; or else stands still until the test is over.
 */
struct puppet {
	pthread_t thread;
	int listen_fd, fd;
	char endpoint[64];
	unsigned n_requests;
	struct wire_reply reply;
	bool reply_to_last_id, hangs_up;
	uint64_t bytes_to_send;
	uint8_t fill;
	int end[2]; /* closed by the test: the puppet is done */
};

static void *
puppet_main(void *arg)
{
	struct puppet *p = arg;
	struct pollfd pollfd = {.fd = p->listen_fd, .events = POLLIN};
	uint8_t head[WIRE_REQUEST_BYTES], bytes[WIRE_REPLY_BYTES + 100000];
	struct wire_request request;
	char byte;

	if (poll(&pollfd, 1, 10000) != 1 || sock_accept(p->listen_fd, &p->fd) != 0)
		return NULL;
	for (unsigned i = 0; i < p->n_requests; i++)
		if (sock_recv_all(p->fd, head, sizeof(head), far_ns()) != 0 ||
		    wire_request_decode(head, &request) != 0)
			return NULL;
	if (p->reply_to_last_id)
		p->reply.id = request.id;
	memset(bytes, p->fill, sizeof(bytes));
	wire_reply_encode(&p->reply, bytes);
	(void)!sock_send_all(p->fd, bytes, p->bytes_to_send, far_ns());
	if (p->hangs_up)
		shutdown(p->fd, SHUT_RDWR);
	(void)!read(p->end[0], &byte, 1);
	return NULL;
}

static void
puppet_start(struct puppet *p, struct world *w)
{
	struct sock_addr addr, bound;
	char text[SOCK_ADDR_TEXT_MAX];

	assert_int_equal(sock_addr_parse("127.0.0.1:0", &addr), 0);
	assert_int_equal(sock_listen(&addr, 0, &p->listen_fd, &bound), 0);
	snprintf(p->endpoint, sizeof(p->endpoint), "%s",
		 sock_addr_show(&bound, text, sizeof(text)));
	assert_int_equal(pipe(p->end), 0);
	p->fd = -1;
	assert_int_equal(pthread_create(&p->thread, NULL, puppet_main, p), 0);
	world_target(w, p->endpoint);
}

static void
puppet_stop(struct puppet *p)
{
	close(p->end[1]);
	pthread_join(p->thread, NULL);
	close(p->end[0]);
	fd_close_at(&p->fd);
	close(p->listen_fd);
}

static void
peer__that_never_answers__costs_no_more_than_the_deadline(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct puppet p = {.n_requests = 1};
	struct scatter s = scatter_new(&w->rand, 5000);
	uint64_t begin_ns = clock_ns(clock_real());
	struct op op;

	puppet_start(&p, w);
	op = op_for(w, OP_READ, &token, &s, 0);
	op.deadline_ns = begin_ns + 50 * NS_PER_MS;

	assert_int_equal(run(w, &op), OP_E_TIMEOUT);

	assert_true(clock_ns(clock_real()) >= begin_ns + 50 * NS_PER_MS);
	assert_true(clock_ns(clock_real()) < begin_ns + 3000 * NS_PER_MS);
	puppet_stop(&p);
	free(s.area);
}

static void
op__that_is_late_before_it_is_sent__costs_others_nothing(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 5000);
	struct op ops[2];
	struct batch batch = {.ops = ops, .n_ops = 2};

	ops[0] = ops[1] = op_for(w, OP_READ, &token, &s, 0);
	ops[1].deadline_ns = clock_ns(clock_real());

	assert_int_equal(engine_run(w->engine, &batch), OP_E_TIMEOUT);

	assert_int_equal(ops[0].result, OP_DONE);
	assert_int_equal(ops[1].result, OP_E_TIMEOUT);
	free(s.area);
}

static void
deadline__that_passed_before_anybody_waited__is_kept_all_the_same(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct puppet p = {.n_requests = 1};
	struct scatter s = scatter_new(&w->rand, 5000);
	struct op op;
	struct batch batch = {.ops = &op, .n_ops = 1};

	puppet_start(&p, w);
	op = op_for(w, OP_READ, &token, &s, 0);
	op.deadline_ns = clock_ns(clock_real()) + 5 * NS_PER_MS;
	engine_submit(w->engine, &batch);
	while (clock_ns(clock_real()) < op.deadline_ns)
		;

	assert_int_equal(engine_wait(w->engine, &batch), OP_E_TIMEOUT);

	puppet_stop(&p);
	free(s.area);
}

static void
timeout_of_one_op__loses_the_others_on_its_connection(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct puppet p = {.n_requests = 2};
	struct scatter s = scatter_new(&w->rand, 100);
	struct op ops[2];
	struct batch batch = {.ops = ops, .n_ops = 2};

	puppet_start(&p, w);
	ops[0] = ops[1] = op_for(w, OP_READ, &token, &s, 0);
	ops[0].deadline_ns = clock_ns(clock_real()) + 50 * NS_PER_MS;

	assert_int_equal(engine_run(w->engine, &batch), OP_E_TIMEOUT);

	assert_int_equal(ops[0].result, OP_E_TIMEOUT);
	assert_int_equal(ops[1].result, OP_E_LOST);
	puppet_stop(&p);
	free(s.area);
}

static void
peer__that_stops_in_the_middle__costs_no_more_than_the_deadline(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct puppet p = {.n_requests = 1,
			   .reply = {.kind = WIRE_READ, .len_bytes = 90000},
			   .reply_to_last_id = true,
			   .bytes_to_send = WIRE_REPLY_BYTES + 40000};
	struct scatter s = scatter_new(&w->rand, 90000);
	struct op op;

	puppet_start(&p, w);
	op = op_for(w, OP_READ, &token, &s, 0);
	op.deadline_ns = clock_ns(clock_real()) + 60 * NS_PER_MS;

	assert_int_equal(run(w, &op), OP_E_TIMEOUT);

	puppet_stop(&p);
	free(s.area);
}

static void
late_bytes__never_reach_slices_that_were_given_back(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct puppet p = {.n_requests = 1,
			   .reply = {.kind = WIRE_READ, .len_bytes = 90000},
			   .reply_to_last_id = true,
			   .bytes_to_send = WIRE_REPLY_BYTES + 40000,
			   .fill = 0x11};
	struct scatter s = scatter_new(&w->rand, 90000);
	struct iovec all = {malloc(90000), 90000};
	uint8_t more[50000];
	struct op op;

	puppet_start(&p, w);
	op = op_for(w, OP_READ, &token, &s, 0);
	op.slices = &all;
	op.n_slices = 1;
	op.deadline_ns = clock_ns(clock_real()) + 60 * NS_PER_MS;
	assert_int_equal(run(w, &op), OP_E_TIMEOUT);
	memset(all.iov_base, GAP, all.iov_len); /* the caller uses its memory again */

	memset(more, 0x22, sizeof(more));
	(void)!send(p.fd, more, sizeof(more), MSG_NOSIGNAL);
	op = op_for(w, OP_READ, &token, &s, 0);
	op.deadline_ns = clock_ns(clock_real()) + 20 * NS_PER_MS;
	assert_int_not_equal(run(w, &op), OP_DONE);

	for (size_t i = 0; i < all.iov_len; i++)
		assert_int_equal(((uint8_t *)all.iov_base)[i], GAP);
	puppet_stop(&p);
	free(all.iov_base);
	free(s.area);
}

static enum op_result
read_from(struct world *w, struct puppet *p)
{
	struct token token = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 90000);
	struct op op;
	enum op_result result;

	puppet_start(p, w);
	op = op_for(w, OP_READ, &token, &s, 0);
	result = run(w, &op);
	puppet_stop(p);
	free(s.area);
	return result;
}

static void
peer__that_hangs_up_in_the_middle__loses_the_op(void **state)
{
	struct puppet p = {.n_requests = 1,
			   .reply = {.kind = WIRE_READ, .len_bytes = 90000},
			   .reply_to_last_id = true,
			   .bytes_to_send = WIRE_REPLY_BYTES + 40000,
			   .hangs_up = true};

	assert_int_equal(read_from(*state, &p), OP_E_LOST);
}

static void
peer__that_hangs_up_before_it_answers__loses_the_op(void **state)
{
	struct puppet p = {.n_requests = 1, .hangs_up = true};

	assert_int_equal(read_from(*state, &p), OP_E_LOST);
}

static void
peer__that_answers_another_request__loses_the_op(void **state)
{
	struct puppet p = {.n_requests = 1,
			   .reply = {.kind = WIRE_READ, .id = 999999, .len_bytes = 90000},
			   .bytes_to_send = WIRE_REPLY_BYTES + 90000};

	assert_int_equal(read_from(*state, &p), OP_E_LOST);
}

static void
peer__that_sends_more_than_was_asked__loses_the_op(void **state)
{
	struct puppet p = {.n_requests = 1,
			   .reply = {.kind = WIRE_READ, .len_bytes = 90001},
			   .reply_to_last_id = true,
			   .bytes_to_send = WIRE_REPLY_BYTES + 90001};

	assert_int_equal(read_from(*state, &p), OP_E_LOST);
}

static void
peer__that_is_busy__loses_the_op(void **state)
{
	struct puppet p = {.n_requests = 0,
			   .reply = {.kind = WIRE_NONE, .status = WIRE_BUSY},
			   .bytes_to_send = WIRE_REPLY_BYTES,
			   .hangs_up = true};

	assert_int_equal(read_from(*state, &p), OP_E_LOST);
}

static void
write__answered_before_it_was_sent__loses_the_op(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_WRITE);
	struct puppet p = {.n_requests = 1,
			   .reply = {.kind = WIRE_WRITE},
			   .reply_to_last_id = true,
			   .bytes_to_send = WIRE_REPLY_BYTES};
	struct iovec slice = {calloc(1, WORLD_SIZE), WORLD_SIZE};
	struct scatter s = scatter_new(&w->rand, 1);
	struct op op;

	puppet_start(&p, w);
	op = op_for(w, OP_WRITE, &token, &s, 0);
	op.slices = &slice;
	op.len_bytes = WORLD_SIZE; /* more than the sockets hold */

	assert_int_equal(run(w, &op), OP_E_LOST);

	puppet_stop(&p);
	free(slice.iov_base);
	free(s.area);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(peer__that_never_answers__costs_no_more_than_the_deadline),
		T(op__that_is_late_before_it_is_sent__costs_others_nothing),
		T(deadline__that_passed_before_anybody_waited__is_kept_all_the_same),
		T(timeout_of_one_op__loses_the_others_on_its_connection),
		T(peer__that_stops_in_the_middle__costs_no_more_than_the_deadline),
		T(late_bytes__never_reach_slices_that_were_given_back),
		T(peer__that_hangs_up_in_the_middle__loses_the_op),
		T(peer__that_hangs_up_before_it_answers__loses_the_op),
		T(peer__that_answers_another_request__loses_the_op),
		T(peer__that_sends_more_than_was_asked__loses_the_op),
		T(peer__that_is_busy__loses_the_op),
		T(write__answered_before_it_was_sent__loses_the_op),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
