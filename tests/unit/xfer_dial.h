/* SPDX-License-Identifier: Apache-2.0 */

/* xfer_dial.h -- a client of the provider's side that speaks wire.h by hand, well or badly. */
#ifndef TESTS_XFER_DIAL_H
#define TESTS_XFER_DIAL_H

#include "tests/unit/xfer_world.h"

#include <sys/socket.h>

static inline int
dial(struct world *w)
{
	struct sock_addr addr;
	int fd = -1;

	assert_int_equal(sock_addr_parse(serve_endpoint(w->serve), &addr), 0);
	assert_int_equal(sock_connect(&addr, 5000, &fd), 0);
	return fd;
}

static inline struct wire_request
request_for(struct world *w, enum wire_kind kind, uint32_t rights)
{
	return (struct wire_request){
		.kind = kind,
		.id = 1,
		.segment_id = w->lent->segment_id,
		.segment_epoch = w->lent->epoch,
		.offset_bytes = 1000,
		.len_bytes = 64,
		.token = token_for(w->lent, rights),
	};
}

static inline void
send_request(int fd, const struct wire_request *request)
{
	uint8_t bytes[WIRE_REQUEST_BYTES];

	wire_request_encode(request, bytes);
	assert_int_equal(sock_send_all(fd, bytes, sizeof(bytes), far_ns()), 0);
}

/* next_status -- of the next answer, whose bytes are thrown away; -1: the provider hung up. */
static inline int
next_status(int fd)
{
	uint8_t bytes[WIRE_REPLY_BYTES], away[4096];
	struct wire_reply reply;

	if (sock_recv_all(fd, bytes, sizeof(bytes), far_ns()) != 0)
		return -1;
	assert_int_equal(wire_reply_decode(bytes, &reply), 0);
	assert_true(reply.len_bytes <= sizeof(away));
	if (reply.len_bytes > 0 && sock_recv_all(fd, away, reply.len_bytes, far_ns()) != 0)
		return -1;
	return (int)reply.status;
}

/* ask -- on a connection of its own; with a WRITE, 64 bytes of 0xee follow. */
static inline int
ask(struct world *w, const struct wire_request *request)
{
	int fd = dial(w);
	uint8_t bytes[64];
	int status;

	memset(bytes, 0xee, sizeof(bytes));
	send_request(fd, request);
	if (request->kind == WIRE_WRITE)
		assert_int_equal(sock_send_all(fd, bytes, sizeof(bytes), far_ns()), 0);
	status = next_status(fd);
	close(fd);
	return status;
}

static inline void
sign(struct world *w, struct wire_request *request)
{
	token_sign(&request->token, w->lent->secret);
}

/* make_impatient -- a provider that cuts off who stands still for 30 ms. */
static inline void
make_impatient(struct world *w)
{
	struct serve_config config = {
		.clock = clock_real(),
		.listen = "127.0.0.1:0",
		.idle_ms = 30,
		.connections_max = 4,
	};

	serve_free(w->serve);
	assert_int_equal(serve_new(&config, &w->serve), 0);
	assert_int_equal(serve_add(w->serve, w->lent), 0);
}

#endif
