/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_guest.h -- one client's connection as its provider sees it.
 *
 *      request --judge--> accepted --> up --SHOW--> up, for longer ... --> destroyed
 *                 |                     ^ is_dying: fence, segment leaves, renewed, stopped
 *                 +--> refused          | until_ms has passed; peer gone; it spoke nonsense;
 *                                       | the client came back with another life
 *
 * thread:  the serving thread's alone, but for `base` (rdma_serve.h).
 */
#ifndef TRANSFER_RDMA_GUEST_H
#define TRANSFER_RDMA_GUEST_H

#include <rdma/rdma_cma.h>

#include "transfer/rdma_cq.h"
#include "transfer/rdma_lend.h"
#include "transfer/rdma_serve.h"

#define RDMA_GUEST_ASKS 16 /* SHOWs that may be under way: a client has so many credits */

struct rdma_serve {
	struct serve *serve;
	struct rdma_event_channel *events;
	struct rdma_cm_id *listeners[RDMA_HCAS_MAX * 2];
	unsigned n_listeners;
	char endpoint[512 + 1];
	struct rdma_hca hcas[RDMA_HCAS_MAX];
	unsigned n_hcas;
	struct list lends; /* struct rdma_lend; guarded by the serve's lock */
	pthread_t thread;
	bool is_running;
	int wake_fd;
};

/* What lies in one registered page: where SHOWs come in, and answers go out. */
struct rdma_guest_page {
	uint8_t asks[RDMA_GUEST_ASKS][WIRE_REQUEST_BYTES];
	uint8_t answers[RDMA_GUEST_ASKS][WIRE_REPLY_BYTES];
};

struct rdma_guest {
	struct rdma_serve_conn base;
	struct rdma_serve *rdma;
	struct rdma_cm_id *id;
	struct rdma_lend *lend;
	enum rdma_right right;
	uint16_t life;
	bool is_up;
	uint64_t since_ms;
	uint64_t until_ms; /* when the last right ends that it has shown */
	struct rdma_cq cq;
	struct rdma_guest_page *page;
	struct ibv_mr *page_mr;
	unsigned n_answers; /* sent so far: which slot is next */
};

/* rdma_serve_find_lend -- NULL: there is none.  needs: the serve's lock. */
struct rdma_lend *rdma_serve_find_lend(struct rdma_serve *rdma, const struct lent *lent);

/*
 * rdma_guest_let_in -- answer a connection request: accept or refuse.
 *
 * takes:   id (either way).
 */
void rdma_guest_let_in(struct rdma_serve *rdma, struct rdma_cm_id *id,
		       const struct rdma_conn_param *param);

/* rdma_guest_hear -- its completions: answer what it shows.  false: destroy it. */
bool rdma_guest_hear(struct rdma_guest *guest) MUST_CHECK;

/*
 * rdma_guest_destroy -- its queue pair first: from then on the device refuses whatever still comes.
 *
 * gives:   whoever waits on serve->changed is rung.
 */
void rdma_guest_destroy(struct rdma_guest *guest);

#endif
