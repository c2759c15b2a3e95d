/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fake_cm.h -- what the connection manager's two files share.
 *
 *      fake_cm.c       identifiers: made, bound, connected, destroyed
 *      fake_cm_wire.c  messages between them, and the events their owners hear of
 *
 * Each function needs the world's lock.
 */
#ifndef TESTS_MOCK_VERBS_FAKE_CM_H
#define TESTS_MOCK_VERBS_FAKE_CM_H

#include "tests/mock/verbs/fake_inner.h"

#define REQ_BYTES    56
#define REP_BYTES    196
#define REJ_BYTES    148
#define BYTES_MAX    256
#define REJ_NO_SUCH  8  /* nobody listens there */
#define REJ_CONSUMER 28 /* the program said no */

enum state {
	IDLE,
	BOUND,
	RESOLVED,
	LISTENING,
	CONNECTING, /* client, REQ sent */
	ASKED,      /* server, REQ heard */
	ACCEPTING,  /* server, REP sent */
	UP,
	DOWN,
};

struct fake_event_channel {
	struct rdma_event_channel channel;
	struct fake_bell bell;
	struct list events;
	unsigned n_ids;
};

struct fake_id {
	struct rdma_cm_id id;
	struct list_link at;
	uint32_t number, peer; /* 0: none */
	enum state state;
	unsigned device;
	uint16_t port; /* host's order */
	uint64_t last_due_ns;
	unsigned n_events; /* given out and not acknowledged */
	uint32_t peer_qp_num;
	uint8_t initiator_depth, peer_responder_resources, peer_rnr_retry;
};

struct fake_event {
	struct rdma_cm_event event;
	struct list_link at;
	struct fake_id *owner; /* who cannot go before it is acknowledged */
	uint8_t bytes[BYTES_MAX];
};

enum kind { ADDRESS, ROUTE, REQ, REP, RTU, REJ, DREQ, DREP, UNREACHABLE };

struct fake_message {
	struct list_link at;
	uint64_t due_ns;
	enum kind kind;
	uint32_t from, to;
	unsigned device; /* REQ: who listens here */
	uint16_t port;
	int status;
	uint32_t qp_num;
	uint8_t responder_resources, initiator_depth, rnr_retry;
	uint8_t bytes[BYTES_MAX], n_bytes;
};

/* fake_id_new, fake_id_free -- not told to the other end. */
struct fake_id *fake_id_new(struct rdma_event_channel *channel, void *context,
			    enum rdma_port_space ps);
void fake_id_free(struct fake_id *id);

struct fake_id *fake_id_find(uint32_t number);
struct fake_id *fake_id_find_listener(unsigned device, uint16_t port);
void fake_id_set_device(struct fake_id *id, unsigned device);

/* fake_message_new -- from an identifier, with its queue pair's number; fake_message_send() takes
 * it. What one identifier sends comes in order. */
struct fake_message *fake_message_new(struct fake_id *from, uint32_t to, enum kind kind);
void fake_message_send(struct fake_id *from, struct fake_message *message);
void fake_message_rej(struct fake_id *from, uint32_t to, int status);

/* fake_connect_qp -- to RTS.  READs need depth on this side and resources on the other. */
void fake_connect_qp(struct fake_id *id, uint32_t peer_num, unsigned depth, unsigned resources);

/* fake_events_forget -- nobody has taken them; a connection request among them is refused. */
void fake_events_forget(struct fake_id *id);

#endif
