/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_raw.h -- a client that keeps to nothing: it comes in with a token, and then posts what it
 * likes.  Over the fake devices or real ones.
 */
#ifndef TESTS_RDMA_RAW_H
#define TESTS_RDMA_RAW_H

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "tests/unit/xfer_world.h"
#include "transfer/rdma_wire.h"

#define RAW_BYTES   4096
#define RAW_WAIT_MS 60000

struct raw_client {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *bytes; /* RAW_BYTES, registered */
	struct rdma_welcome welcome;
};

/* raw_event -- the next one of the connection manager. */
static inline enum rdma_cm_event_type
raw_event(struct raw_client *raw)
{
	struct pollfd fd = {.fd = raw->events->fd, .events = POLLIN};
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;

	assert_int_equal(poll(&fd, 1, RAW_WAIT_MS), 1);
	assert_int_equal(rdma_get_cm_event(raw->events, &event), 0);
	type = event->event;
	if (type == RDMA_CM_EVENT_ESTABLISHED)
		assert_int_equal(rdma_welcome_decode(event->param.conn.private_data,
						     event->param.conn.private_data_len,
						     &raw->welcome),
				 0);
	rdma_ack_cm_event(event);
	return type;
}

static inline void
raw_make(struct raw_client *raw)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	bool is_iwarp = raw->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;

	raw->pd = ibv_alloc_pd(raw->id->verbs);
	raw->cq = ibv_create_cq(raw->id->verbs, 8, NULL, NULL, 0);
	raw->bytes = aligned_alloc(RAW_BYTES, RAW_BYTES);
	assert_true(raw->pd != NULL && raw->cq != NULL && raw->bytes != NULL);
	memset(raw->bytes, 0xbb, RAW_BYTES);
	raw->mr = ibv_reg_mr(raw->pd, raw->bytes, RAW_BYTES,
			     IBV_ACCESS_LOCAL_WRITE | (is_iwarp ? IBV_ACCESS_REMOTE_WRITE : 0u));
	assert_non_null(raw->mr);
	attr.send_cq = attr.recv_cq = raw->cq;
	assert_int_equal(rdma_create_qp(raw->id, raw->pd, &attr), 0);
}

/* raw_connect -- at the first "rdma:" address of that endpoint, with those words.  Was it let in?
 */
static inline bool
raw_connect(struct raw_client *raw, const char *endpoint, const uint8_t *words, uint8_t n_words)
{
	struct rdma_conn_param param = {.private_data = words,
					.private_data_len = n_words,
					.initiator_depth = 4,
					.retry_count = 7,
					.rnr_retry_count = 6};
	const char *at = strstr(endpoint, "rdma:");
	struct sock_addr addr;
	char text[128];

	assert_non_null(at);
	assert_int_equal(sscanf(at, "rdma:%127s", text), 1);
	assert_int_equal(sock_addr_parse(text, &addr), 0);
	raw->events = rdma_create_event_channel();
	assert_non_null(raw->events);
	assert_int_equal(rdma_create_id(raw->events, &raw->id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(raw->id, NULL, &addr.any, 2000), 0);
	assert_int_equal(raw_event(raw), RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(raw->id, 2000), 0);
	assert_int_equal(raw_event(raw), RDMA_CM_EVENT_ROUTE_RESOLVED);
	raw_make(raw);
	assert_int_equal(rdma_connect(raw->id, &param), 0);
	return raw_event(raw) == RDMA_CM_EVENT_ESTABLISHED;
}

/* raw_hello -- with that token. */
static inline void
raw_hello(const struct token *token, uint8_t ret[RDMA_HELLO_BYTES])
{
	const struct rdma_hello hello = {
		.life = 1, .epoch_low = (uint16_t)token->segment_epoch, .token = *token};

	rdma_hello_encode(&hello, ret);
}

static inline void
raw_open(struct raw_client *raw, const char *endpoint, const struct token *token)
{
	uint8_t words[RDMA_HELLO_BYTES];

	raw_hello(token, words);
	assert_true(raw_connect(raw, endpoint, words, sizeof(words)));
}

static inline void
raw_close(struct raw_client *raw)
{
	(void)rdma_disconnect(raw->id);
	rdma_destroy_qp(raw->id);
	assert_int_equal(rdma_destroy_id(raw->id), 0);
	rdma_destroy_event_channel(raw->events);
	assert_int_equal(ibv_destroy_cq(raw->cq), 0);
	assert_int_equal(ibv_dereg_mr(raw->mr), 0);
	assert_int_equal(ibv_dealloc_pd(raw->pd), 0);
	free(raw->bytes);
}

/* raw_do -- READ or WRITE len bytes at that place of the segment, or SEND them.  How it ended. */
static inline enum ibv_wc_status
raw_do(struct raw_client *raw, enum ibv_wr_opcode opcode, uint64_t offset, uint32_t len)
{
	struct ibv_sge sge = {.addr = (uintptr_t)raw->bytes, .length = len, .lkey = raw->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode}, *bad;
	struct ibv_wc wc;
	unsigned waited_ms = 0;
	int n;

	if (opcode != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = raw->welcome.address + offset;
		wr.wr.rdma.rkey = raw->welcome.rkeys[offset / raw->welcome.piece_bytes];
	}
	if (ibv_post_send(raw->id->qp, &wr, &bad) != 0)
		return IBV_WC_GENERAL_ERR;
	while ((n = ibv_poll_cq(raw->cq, 1, &wc)) == 0 && waited_ms++ < RAW_WAIT_MS)
		clock_sleep_ms(clock_real(), 1);
	assert_int_equal(n, 1);
	return wc.status;
}

/*
 * raw_reader_writes -- with a token to read, it reads; then it writes where it read, with the key
 * that it was told.  Is the WRITE refused, and the segment as it was?
 */
static inline bool
raw_reader_writes(struct world *w)
{
	struct token read = token_for(w->lent, TOKEN_READ);
	struct raw_client raw = {0};
	bool is_refused;

	raw_open(&raw, serve_endpoint(w->serve), &read);
	assert_int_equal(raw_do(&raw, IBV_WR_RDMA_READ, 100, 50), IBV_WC_SUCCESS);
	assert_memory_equal(raw.bytes, w->lent->bytes + 100, 50);
	memset(raw.bytes, 0xbb, RAW_BYTES);
	/* On iWARP a WRITE is done when it is sent: the READ behind it hears that it was refused.
	 */
	is_refused = raw_do(&raw, IBV_WR_RDMA_WRITE, 100, 50) != IBV_WC_SUCCESS ||
		     raw_do(&raw, IBV_WR_RDMA_READ, 100, 50) != IBV_WC_SUCCESS;
	for (uint64_t i = 100; i < 150; i++)
		is_refused &= w->lent->bytes[i] == pattern(i);
	raw_close(&raw);
	return is_refused;
}

#endif
