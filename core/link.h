/* SPDX-License-Identifier: Apache-2.0 */

/*
 * link.h -- requests to the master, and their answers, whatever lies between.
 *
 *      core --call--> link_sock: one connection, many requests under way      (programs)
 *           --call--> a simulated network                                     (tests/sim)
 *
 * A link reconnects, says hello and joins by itself, and repeats under the same
 * request id what was under way when the connection broke.
 */
#ifndef CORE_LINK_H
#define CORE_LINK_H

#include "master/proto/codec.h"
#include "master/proto/status.h"
#include "transfer/base/clock.h"

struct link;

enum link_outcome {
	LINK_E_TIMEOUT = 1,
	LINK_E_LOST,   /* the master can't be reached */
	LINK_E_CLOSED, /* link_close() was called */
	LINK_E_DENIED, /* key, tenant */
	LINK_E_VERSION,
	LINK_E_TENANT, /* the master does not know ours, and makes none */
};

/* What the master promised when it let us in; changes when we rejoin. */
struct link_session {
	uint64_t master_epoch;
	uint64_t cluster_id; /* within it an object id means the same bytes for ever */
	uint32_t lease_ms, write_lease_ms, ping_ms, client_ttl_ms;
	uint32_t
		n_joins; /* grows with each join: > 1 means mounts and watches must be said again */
	bool was_known;  /* at the last join the master still had what is ours */
	uint32_t fresh_join; /* n_joins of the last one where it had not: what it granted before
				that is void */
};

/* One answer; the payload lives in `reply` until link_reply_fini(). */
struct link_reply {
	uint32_t status; /* enum status, of the whole request */
	bool is_repeat;  /* the request had gone out before, over a connection that broke: it may
			    have  been carried out then, by a master that has forgotten it */
	uint64_t cluster_id; /* of the master that answered: its object ids are meant; 0: not known
			      */
	struct cursor payload;
	struct buf bytes;    /* the frame it came in */
	struct arena *arena; /* for decoding; freed with the reply */
	struct arena arena_own;
};

struct link_ops {
	/*
	 * call -- send one request (encoded payload), wait for its answer.
	 *
	 * gives:   *ret_reply on 0.
	 * result:  0 (also with a status other than OK), link_outcome, -errno.
	 * thread:  any, many at once.
	 */
	int (*call)(struct link *link, uint16_t type, const struct buf *payload, uint64_t until_ns,
		    struct link_reply *ret_reply) MUST_CHECK;

	/* post -- send one request whose answer nobody waits for (release_lease).  May be dropped.
	 */
	void (*post)(struct link *link, uint16_t type, const struct buf *payload);

	/* session -- as promised at the last join. */
	void (*session)(struct link *link, struct link_session *ret_session);

	/* stop -- end all calls with LINK_E_CLOSED, now and from now on. */
	void (*stop)(struct link *link);
	void (*free)(struct link *link);
};

struct link {
	const struct link_ops *ops;
};

/*
 * link_reply_init -- empty, with memory that this thread may have kept; for those who make replies.
 * link_reply_fini -- give the memory back.
 */
void link_reply_init(struct link_reply *reply);
void link_reply_fini(struct link_reply *reply);

#endif
