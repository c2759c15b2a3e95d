/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/mock/verbs/fake.h"
#include "transfer/base/base.h"

#define ROOM_BYTES 4096
#define DEPTH      8

/* Two ends of one connection, on a clock that a test moves. */
struct end {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t room[ROOM_BYTES];
};

struct pair {
	struct clock_fake clock;
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
	struct end client, server;
};

static void
step(struct pair *p, uint64_t ms)
{
	clock_fake_advance_ms(&p->clock, ms);
	fake_pump();
}

/* expect -- the next event is this one; it is acknowledged, and so are its bytes gone. */
static struct rdma_cm_id *
expect(struct pair *p, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	step(p, 100);
	step(p, 100); /* an answer is a message of its own */
	assert_int_equal(rdma_get_cm_event(p->events, &event), 0);
	assert_int_equal(event->event, type);
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void
open_end(struct end *end, unsigned access)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 2,
			.max_recv_sge = 1,
			.max_inline_data = 64},
		.qp_type = IBV_QPT_RC,
	};

	end->pd = ibv_alloc_pd(end->id->verbs);
	end->channel = ibv_create_comp_channel(end->id->verbs);
	end->cq = ibv_create_cq(end->id->verbs, 2 * DEPTH, end, end->channel, 0);
	end->mr = ibv_reg_mr(end->pd, end->room, ROOM_BYTES, access);
	attr.send_cq = attr.recv_cq = end->cq;
	assert_int_equal(rdma_create_qp(end->id, end->pd, &attr), 0);
}

static void
close_end(struct end *end)
{
	if (end->id->qp != NULL)
		rdma_destroy_qp(end->id);
	assert_int_equal(ibv_destroy_cq(end->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(end->channel), 0);
	assert_int_equal(ibv_dereg_mr(end->mr), 0);
	assert_int_equal(ibv_dealloc_pd(end->pd), 0);
	assert_int_equal(rdma_destroy_id(end->id), 0);
}

static void
listen_at(struct pair *p, struct sockaddr_in *address)
{
	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(7000)};
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p->events = rdma_create_event_channel();
	assert_int_equal(fcntl(p->events->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rdma_create_id(p->events, &p->listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(p->listener, (struct sockaddr *)address), 0);
	assert_int_equal(rdma_listen(p->listener, 1), 0);
}

static struct pair *
pair_open(const struct fake_config *like)
{
	struct pair *p = calloc(1, sizeof(*p));
	struct rdma_conn_param param = {.private_data = "hello",
					.private_data_len = 5,
					.initiator_depth = 4,
					.responder_resources = 4};
	struct fake_config config = *like;
	struct sockaddr_in address;

	assert_non_null(p);
	clock_fake_init(&p->clock, 1000);
	config.clock = &p->clock.base;
	config.n_devices = 1;
	fake_init(&config);
	listen_at(p, &address);

	assert_int_equal(rdma_create_id(p->events, &p->client.id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(p->client.id, NULL, (struct sockaddr *)&address, 1), 0);
	expect(p, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(p->client.id, 1), 0);
	expect(p, RDMA_CM_EVENT_ROUTE_RESOLVED);
	open_end(&p->client, IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(rdma_connect(p->client.id, &param), 0);
	p->server.id = expect(p, RDMA_CM_EVENT_CONNECT_REQUEST);
	open_end(&p->server,
		 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(rdma_accept(p->server.id, &param), 0);
	assert_ptr_equal(expect(p, RDMA_CM_EVENT_ESTABLISHED), p->client.id);
	assert_ptr_equal(expect(p, RDMA_CM_EVENT_ESTABLISHED), p->server.id);
	return p;
}

static void
pair_close(struct pair *p)
{
	const char *complaint;

	close_end(&p->client);
	close_end(&p->server);
	assert_int_equal(rdma_destroy_id(p->listener), 0);
	rdma_destroy_event_channel(p->events);
	if (fake_complaints(&complaint) > 0)
		fail_msg("%s", complaint);
	assert_int_equal(fake_fini(), 0);
	free(p);
}

/* post -- len bytes between the start of the client's room and byte `at` of the server's. */
static int
post(struct pair *p, enum ibv_wr_opcode opcode, uint64_t at, uint32_t len, uint64_t wr_id)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->client.room, .length = len, .lkey = p->client.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = wr_id,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)p->server.room + at;
	wr.wr.rdma.rkey = p->server.mr->rkey;
	return ibv_post_send(p->client.id->qp, &wr, &bad);
}

static void
expect_wc(struct end *end, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(end->cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, status);
}

static const struct fake_config good = {.seed = 1, .delay_ns_max = 1000};

static void
write_and_read__move_the_bytes__and_complete_in_order(void **state)
{
	struct pair *p = pair_open(&good);

	(void)state;
	memset(p->client.room, 7, 100);
	assert_int_equal(post(p, IBV_WR_RDMA_WRITE, 50, 100, 1), 0);
	assert_int_equal(p->server.room[50], 0);
	step(p, 1);
	assert_int_equal(p->server.room[50], 7);
	assert_int_equal(p->server.room[149], 7);
	assert_int_equal(p->server.room[150], 0);
	memset(p->server.room, 9, 10);
	assert_int_equal(post(p, IBV_WR_RDMA_READ, 0, 10, 2), 0);
	step(p, 1);
	step(p, 1);
	assert_int_equal(p->client.room[9], 9);
	expect_wc(&p->client, 1, IBV_WC_SUCCESS);
	expect_wc(&p->client, 2, IBV_WC_SUCCESS);
	assert_int_equal(ibv_poll_cq(p->client.cq, 1, &(struct ibv_wc){0}), 0);
	pair_close(p);
}

static void
send__fills_a_receive__or_tries_again_until_its_tries_are_over(void **state)
{
	struct pair *p = pair_open(&good);
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->server.room, .length = 64, .lkey = p->server.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 5, .sg_list = &sge, .num_sge = 1}, *bad;

	(void)state;
	p->client.room[0] = 3;
	assert_int_equal(ibv_post_recv(p->server.id->qp, &wr, &bad), 0);
	assert_int_equal(post(p, IBV_WR_SEND, 0, 16, 1), 0);
	step(p, 1);
	step(p, 1);
	expect_wc(&p->server, 5, IBV_WC_SUCCESS);
	assert_int_equal(p->server.room[0], 3);
	expect_wc(&p->client, 1, IBV_WC_SUCCESS);
	/* the param of this pair allows no tries */
	assert_int_equal(post(p, IBV_WR_SEND, 0, 16, 2), 0);
	step(p, 10);
	step(p, 10);
	expect_wc(&p->client, 2, IBV_WC_RNR_RETRY_EXC_ERR);
	pair_close(p);
}

static void
access__beyond_the_bounds_or_by_a_wrong_key__breaks_both_ends(void **state)
{
	struct pair *p = pair_open(&good);

	(void)state;
	assert_int_equal(post(p, IBV_WR_RDMA_WRITE, ROOM_BYTES - 99, 100, 1), 0);
	assert_int_equal(post(p, IBV_WR_RDMA_WRITE, 0, 100, 2), 0);
	step(p, 1);
	step(p, 1);
	step(p, 1);
	expect_wc(&p->client, 1, IBV_WC_REM_ACCESS_ERR);
	expect_wc(&p->client, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(p->server.room[0], 0);
	assert_int_equal(p->server.id->qp->state, IBV_QPS_ERR);
	assert_int_equal(fake_counts().n_refused, 1);
	pair_close(p);
}

static void
own_memory__that_is_not_registered__is_refused(void **state)
{
	struct pair *p = pair_open(&good);
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->client.room - 1, .length = 8, .lkey = p->client.mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE}, *bad;

	(void)state;
	wr.wr.rdma.remote_addr = (uintptr_t)p->server.room;
	wr.wr.rdma.rkey = p->server.mr->rkey;
	assert_int_equal(ibv_post_send(p->client.id->qp, &wr, &bad), 0);
	step(p, 1);
	step(p, 1);
	expect_wc(&p->client, 0, IBV_WC_LOC_PROT_ERR);
	pair_close(p);
}

static void
send_queue__is_full__until_a_completion_is_polled(void **state)
{
	struct pair *p = pair_open(&good);

	(void)state;
	for (uint64_t i = 0; i < DEPTH; i++)
		assert_int_equal(post(p, IBV_WR_RDMA_WRITE, 0, 1, i), 0);
	assert_int_equal(post(p, IBV_WR_RDMA_WRITE, 0, 1, 99), ENOMEM);
	step(p, 1);
	step(p, 1);
	assert_int_equal(post(p, IBV_WR_RDMA_WRITE, 0, 1, 99), ENOMEM);
	expect_wc(&p->client, 0, IBV_WC_SUCCESS);
	assert_int_equal(post(p, IBV_WR_RDMA_WRITE, 0, 1, 99), 0);
	pair_close(p);
}

static void
bell__rings_once_for_the_first_completion_after_it_was_armed(void **state)
{
	struct pair *p = pair_open(&good);
	struct pollfd one = {.fd = p->client.channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *context;

	(void)state;
	assert_int_equal(post(p, IBV_WR_RDMA_WRITE, 0, 1, 1), 0);
	step(p, 1);
	step(p, 1);
	assert_int_equal(ibv_req_notify_cq(p->client.cq, 0), 0);
	assert_int_equal(poll(&one, 1, 0), 0); /* it was there before */
	assert_int_equal(post(p, IBV_WR_RDMA_WRITE, 0, 1, 2), 0);
	assert_int_equal(post(p, IBV_WR_RDMA_WRITE, 0, 1, 3), 0);
	step(p, 1);
	step(p, 1);
	assert_int_equal(poll(&one, 1, 0), 1);
	assert_int_equal(ibv_get_cq_event(p->client.channel, &cq, &context), 0);
	assert_ptr_equal(context, &p->client);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(poll(&one, 1, 0), 0);
	pair_close(p);
}

/* late_write -- one that its requester has given up; byte 0 of the server's room afterwards. */
static uint8_t
late_write(bool is_fenced, bool forgets)
{
	struct pair *p = pair_open(&good);
	uint8_t seen;

	p->client.room[0] = 1;
	fake_hold(true);
	assert_int_equal(post(p, IBV_WR_RDMA_WRITE, 0, 1, 1), 0);
	step(p, 1);
	rdma_destroy_qp(p->client.id); /* the client has had enough */
	assert_int_equal(fake_n_in_fabric(), 1);
	fake_forget_fences(forgets);
	if (is_fenced)
		rdma_destroy_qp(p->server.id);
	fake_forget_fences(false);
	fake_hold(false);
	step(p, 1);
	assert_int_equal(fake_n_in_fabric(), 0);
	assert_int_equal(fake_counts().n_late + fake_counts().n_fenced, 1);
	seen = p->server.room[0];
	pair_close(p);
	return seen;
}

static void
late_write__lands__unless_the_responder_has_destroyed_its_queue_pair(void **state)
{
	(void)state;
	assert_int_equal(late_write(false, false), 1);
	assert_int_equal(late_write(true, false), 0);
	assert_int_equal(late_write(true, true), 1); /* the mutation */
}

static void
cable__cut__is_told_after_some_time(void **state)
{
	struct pair *p = pair_open(&good);
	struct ibv_wc wc;

	(void)state;
	fake_cut(0, true);
	assert_int_equal(post(p, IBV_WR_RDMA_WRITE, 0, 1, 1), 0);
	clock_fake_advance_ms(&p->clock, 1);
	fake_pump();
	assert_int_equal(ibv_poll_cq(p->client.cq, 1, &wc), 0);
	step(p, 10);
	expect_wc(&p->client, 1, IBV_WC_RETRY_EXC_ERR);
	fake_cut(0, false);
	pair_close(p);
}

static void
nth_call__that_is_told_to_fail__fails(void **state)
{
	struct pair *p = pair_open(&good);
	struct ibv_pd *pd;

	(void)state;
	fake_fail_call("ibv_alloc_pd", 1, ENOMEM);
	pd = ibv_alloc_pd(p->client.id->verbs);
	assert_non_null(pd);
	assert_null(ibv_alloc_pd(p->client.id->verbs));
	assert_int_equal(errno, ENOMEM);
	ibv_dealloc_pd(pd);
	pair_close(p);
}

static void
registration__beyond_the_limits__is_refused(void **state)
{
	const struct fake_config config = {
		.seed = 1, .max_mr_bytes = ROOM_BYTES, .max_locked_bytes = 3 * ROOM_BYTES};
	struct pair *p = pair_open(&config); /* two of them are in use */
	uint8_t *more = calloc(2, ROOM_BYTES);
	struct ibv_mr *mr;

	(void)state;
	assert_non_null(more);
	assert_null(ibv_reg_mr(p->client.pd, more, ROOM_BYTES + 1, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(p->client.pd, more, ROOM_BYTES, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	mr = ibv_reg_mr(p->client.pd, more, ROOM_BYTES, 0);
	assert_non_null(mr);
	assert_null(ibv_reg_mr(p->client.pd, more + ROOM_BYTES, 1, 0));
	assert_int_equal(errno, ENOMEM);
	ibv_dereg_mr(mr);
	free(more);
	pair_close(p);
}

static void
teardown__in_the_wrong_order__is_complained_of(void **state)
{
	struct pair *p = pair_open(&good);
	const char *complaint;

	(void)state;
	assert_int_equal(ibv_dealloc_pd(p->client.pd), EBUSY);
	assert_int_equal(fake_complaints(&complaint), 1);
	assert_int_equal(ibv_destroy_cq(p->client.cq), EBUSY);
	assert_int_equal(fake_complaints(&complaint), 2);
	assert_non_null(strstr(complaint, "queue pair"));
	close_end(&p->client);
	close_end(&p->server);
	rdma_destroy_id(p->listener);
	rdma_destroy_event_channel(p->events);
	assert_int_equal(fake_fini(), 0);
	free(p);
}

static void
connection__to_nobody_or_refused__is_told_with_the_reason(void **state)
{
	struct pair *p = pair_open(&good);
	struct rdma_conn_param param = {0};
	struct end end = {0};
	struct sockaddr_in address = p->client.id->route.addr.dst_sin;

	(void)state;
	for (int i = 0; i < 2; i++) {
		address.sin_port = htons(i == 0 ? 7001 : 7000); /* nobody; the listener */
		assert_int_equal(rdma_create_id(p->events, &end.id, NULL, RDMA_PS_TCP), 0);
		assert_int_equal(rdma_resolve_addr(end.id, NULL, (struct sockaddr *)&address, 1),
				 0);
		expect(p, RDMA_CM_EVENT_ADDR_RESOLVED);
		assert_int_equal(rdma_resolve_route(end.id, 1), 0);
		expect(p, RDMA_CM_EVENT_ROUTE_RESOLVED);
		open_end(&end, 0);
		assert_int_equal(rdma_connect(end.id, &param), 0);
		if (i == 1) {
			struct rdma_cm_id *asked = expect(p, RDMA_CM_EVENT_CONNECT_REQUEST);

			assert_int_equal(rdma_reject(asked, "no", 2), 0);
			rdma_destroy_id(asked);
		}
		assert_ptr_equal(expect(p, RDMA_CM_EVENT_REJECTED), end.id);
		close_end(&end);
	}
	pair_close(p);
}

static void
end__that_disconnects__is_heard_of_at_the_other(void **state)
{
	struct pair *p = pair_open(&good);

	(void)state;
	assert_int_equal(rdma_disconnect(p->client.id), 0);
	assert_int_equal(p->client.id->qp->state, IBV_QPS_ERR);
	assert_int_equal(p->server.id->qp->state, IBV_QPS_RTS);
	assert_ptr_equal(expect(p, RDMA_CM_EVENT_DISCONNECTED), p->server.id);
	assert_ptr_equal(expect(p, RDMA_CM_EVENT_DISCONNECTED), p->client.id);
	pair_close(p);
}

/* story -- 100 writes with bad luck; the counts tell what happened. */
static struct fake_counts
story(uint64_t seed)
{
	const struct fake_config config = {
		.seed = seed,
		.delay_ns_max = NS_PER_MS,
		.luck = {.drop = 500, .twice = 500, .reorder = 500},
	};
	struct pair *p = pair_open(&config);
	struct fake_counts counts;

	for (uint64_t i = 0; i < 100; i++) {
		struct ibv_wc wc;

		(void)post(p, IBV_WR_RDMA_WRITE, i, 1, i);
		step(p, 1);
		while (ibv_poll_cq(p->client.cq, 1, &wc) > 0)
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	counts = fake_counts();
	pair_close(p);
	return counts;
}

static void
luck__of_a_seed__is_the_same_every_time(void **state)
{
	struct fake_counts all = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct fake_counts a = story(seed), b = story(seed);

		assert_memory_equal(&a, &b, sizeof(a));
		all.n_dropped += a.n_dropped;
		all.n_twice += a.n_twice;
		all.n_reordered += a.n_reordered;
	}
	assert_true(all.n_dropped > 0 && all.n_twice > 0 && all.n_reordered > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_and_read__move_the_bytes__and_complete_in_order),
		cmocka_unit_test(send__fills_a_receive__or_tries_again_until_its_tries_are_over),
		cmocka_unit_test(access__beyond_the_bounds_or_by_a_wrong_key__breaks_both_ends),
		cmocka_unit_test(own_memory__that_is_not_registered__is_refused),
		cmocka_unit_test(send_queue__is_full__until_a_completion_is_polled),
		cmocka_unit_test(bell__rings_once_for_the_first_completion_after_it_was_armed),
		cmocka_unit_test(
			late_write__lands__unless_the_responder_has_destroyed_its_queue_pair),
		cmocka_unit_test(cable__cut__is_told_after_some_time),
		cmocka_unit_test(nth_call__that_is_told_to_fail__fails),
		cmocka_unit_test(registration__beyond_the_limits__is_refused),
		cmocka_unit_test(teardown__in_the_wrong_order__is_complained_of),
		cmocka_unit_test(connection__to_nobody_or_refused__is_told_with_the_reason),
		cmocka_unit_test(end__that_disconnects__is_heard_of_at_the_other),
		cmocka_unit_test(luck__of_a_seed__is_the_same_every_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
