/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fake_inner.h -- the things behind the handles, for the files of this folder alone.
 *
 *      fake.c         the world: lock, time, chance, complaints, the thread
 *      fake_device.c  devices, contexts, protection domains, memory regions
 *      fake_cq.c      completion queues and their channels
 *      fake_qp.c      queue pairs, what is posted, what is completed
 *      fake_act.c     what a request does in between
 *      fake_fabric.c  WRITEs that nobody waits for any more
 *      fake_cm*.c     the connection manager
 *
 * Each function here needs the world's lock, but for fake_lock() itself.
 */
#ifndef TESTS_MOCK_VERBS_FAKE_INNER_H
#define TESTS_MOCK_VERBS_FAKE_INNER_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>

#include "tests/mock/verbs/fake.h"
#include "transfer/base/list.h"
#include "transfer/base/rand.h"

#define FAKE_SGES_MAX   32
#define FAKE_INLINE_MAX 256
#define FAKE_NEVER      UINT64_MAX

struct fake_device {
	struct ibv_device device;
	struct verbs_context *verbs; /* opened once for each process, as librdmacm does */
	unsigned n_open;
	bool is_cut;
};

/* A descriptor that is readable while something waits. */
struct fake_bell {
	int fd;
	bool rings;
};

struct fake_channel {
	struct ibv_comp_channel channel;
	struct fake_bell bell;
	struct list rung; /* struct fake_cq */
};

struct fake_pd {
	struct ibv_pd pd;
	unsigned n_uses;
};

struct fake_mr {
	struct ibv_mr mr;
	struct list_link at;
	unsigned access;
	uint64_t iova;
};

/* One completion; `frees` requests of the send queue have ended with it once it is polled. */
struct fake_wc {
	struct ibv_wc wc;
	struct list_link at;
	uint32_t frees;
};

struct fake_cq {
	struct ibv_cq cq;
	struct list_link at, at_channel;
	struct list wcs;
	int n_wcs;
	struct fake_wc *held; /* comes after the next one */
	uint64_t held_until_ns;
	bool is_armed;
	unsigned n_events, n_acked, n_uses;
};

/* What the connection manager lets a queue pair answer, and what a device keeps to. */
#define FAKE_ACCESS_ALL (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

enum fake_step { FAKE_QUEUED, FAKE_ACTED };

struct fake_send {
	struct list_link at;
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	bool is_signaled, is_inline;
	struct ibv_sge sges[FAKE_SGES_MAX];
	int n_sges;
	uint8_t inlined[FAKE_INLINE_MAX];
	uint64_t remote_addr, len_bytes;
	uint32_t rkey;
	enum fake_step step;
	uint64_t act_ns, done_ns;
	unsigned n_rnr; /* times that no receive was posted */
	enum ibv_wc_status status;
};

struct fake_recv {
	struct list_link at;
	uint64_t wr_id;
	struct ibv_sge sges[FAKE_SGES_MAX];
	int n_sges;
};

struct fake_qp {
	struct ibv_qp qp;
	struct list_link at;
	struct ibv_qp_cap cap;
	bool sq_sig_all;
	unsigned access; /* what it answers: IBV_ACCESS_REMOTE_* */
	bool is_ghost;   /* destroyed, but forgotten to be (fake_forget_fences) */
	struct rand rand;
	uint32_t peer_num;
	uint8_t initiator_depth, rnr_retry;
	struct list sends, recvs;
	uint32_t n_sends, n_recvs; /* slots taken; of sends until the completion is polled */
	uint32_t n_unsignaled;     /* done since the last completion */
	uint64_t flush_ns;         /* in ERR: when the next request is flushed */
};

/* A WRITE on its way that its requester has given up. */
struct fake_late {
	struct list_link at;
	uint32_t peer_num, rkey;
	uint64_t remote_addr, len_bytes, act_ns;
	bool is_held;
	uint8_t bytes[];
};

struct fake_world {
	pthread_mutex_t lock;
	pthread_cond_t moved; /* the thread has something to do; somebody was acknowledged */
	struct fake_config config;
	struct rand rand;
	bool is_on, has_thread, is_ending;
	pthread_t thread;
	struct fake_device devices[FAKE_DEVICES_MAX];
	struct list mrs, cqs, qps, lates, ids, messages;
	uint32_t next_key, next_qp_num, next_id, next_port;
	uint64_t locked_bytes;
	unsigned n_objects;
	bool do_hold, do_forget_fences, do_lose_messages;
	struct fake_counts counts;
	unsigned n_complaints;
	char complaint[256];
	unsigned n_calls;
	const char *fail_name; /* NULL: any */
	bool will_fail;
	unsigned fail_after;
	int fail_error;
};

extern struct fake_world world;

void fake_lock(void);
void fake_unlock(void);

/* fake_call -- 0, or the error with which this call is to fail. */
int fake_call(const char *name);

uint64_t fake_now(void);

/* fake_delay -- some time from now on. */
uint64_t fake_delay(struct rand *rand);
bool fake_chance(struct rand *rand, unsigned of_10000);

/* fake_moved -- something has a time: the thread looks anew. */
void fake_moved(void);
void fake_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void fake_bell_init(struct fake_bell *bell);
void fake_bell_fini(struct fake_bell *bell);
void fake_bell_set(struct fake_bell *bell, bool rings);

/* fake_mr_find -- the region with that key which allows it all; NULL: refused. */
struct fake_mr *fake_mr_find(uint32_t key, const struct ibv_pd *pd, uint64_t addr, uint64_t len,
			     unsigned access);

/* fake_mr_at -- where an address of the region lies in this process. */
uint8_t *fake_mr_at(const struct fake_mr *mr, uint64_t addr);

struct fake_device *fake_device_of(const struct ibv_context *verbs);
struct ibv_context *fake_device_open(unsigned device);
/* fake_cq_use -- a queue pair comes or goes. */
void fake_cq_use(struct ibv_cq *cq, int n);
void fake_devices_init(void);
void fake_devices_fini(void);

/* fake_cq_push -- a completion, with the luck of the queue pair. */
void fake_cq_push(struct fake_qp *qp, struct ibv_cq *to, const struct ibv_wc *wc, uint32_t frees);

/* fake_cq_forget -- what was not polled yet of a queue pair that is gone. */
void fake_cq_forget(const struct fake_qp *qp);

/* fake_cq_tick, fake_qp_tick, ... -- what is due happens; when the next thing is. */
uint64_t fake_cq_tick(uint64_t now_ns);
uint64_t fake_qp_tick(uint64_t now_ns);
uint64_t fake_fabric_tick(uint64_t now_ns);
uint64_t fake_cm_tick(uint64_t now_ns);

int fake_poll_cq(struct ibv_cq *cq, int cap, struct ibv_wc *ret);
int fake_req_notify(struct ibv_cq *cq, int solicited_only);
int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

struct fake_qp *fake_qp_of(struct ibv_qp *qp);

/* fake_qp_find -- NULL when there is none of that number any more. */
struct fake_qp *fake_qp_find(uint32_t qp_num);
struct fake_qp *fake_qp_new(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr);
void fake_qp_free(struct fake_qp *qp);
void fake_qp_error(struct fake_qp *qp);

/* fake_qp_can_respond -- does the device answer what comes for it? */
bool fake_qp_can_respond(const struct fake_qp *qp);

/* fake_act -- the request does its work at the other end, or learns that it cannot. */
void fake_act(struct fake_qp *qp, struct fake_send *send);

/* fake_waits_for_recv -- a SEND that finds no receive tries again, so many times. */
bool fake_waits_for_recv(struct fake_qp *qp, struct fake_send *send);

/* fake_scatter_late -- a READ of a queue pair that is going down: some of its bytes still come. */
void fake_scatter_late(struct fake_qp *qp, const struct fake_send *send);
void fake_tell_recv(struct fake_qp *qp, struct fake_recv *recv, enum ibv_wc_status status,
		    uint64_t len);

/* fake_gather -- the request's local bytes, one behind the other.  false: a key refuses it. */
bool fake_gather(const struct fake_qp *qp, const struct fake_send *send, uint8_t *to);

/* fake_abandon -- a WRITE whose requester has given it up goes on by itself. */
void fake_abandon(struct fake_qp *qp, const struct fake_send *send);
void fake_fabric_fini(void);
void fake_cm_fini(void);

#endif
