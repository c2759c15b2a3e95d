/* SPDX-License-Identifier: Apache-2.0 */

/*
 * serve.h -- the provider's side: lets others read and write lent segments, by token alone.
 *
 *      connection --> one thread: header (wire.h) -> token? range? -> move -> reply
 *      unix socket --> also: here is the memory (read-only to readers; writable to our own user)
 *
 * Fence: after serve_fence(client) has answered 0, no byte of that client can
 * reach a segment any more through a token of before: its connections are closed
 * and their threads have returned from the segment, its RDMA queue pairs that
 * could write are destroyed, and no process of it that had a writable mapping is
 * alive (pidfd).
 *
 * "A token of before" can't be told from a later one, for tokens don't say when
 * they were made.  But the master grants every write token for one and the same
 * time, write_token_ms; so one made before the fence at time F ends not later
 * than F + write_token_ms, and one made after the master has heard of the fence
 * (by a ping that tells a clock reading after F) ends later.  WRITE tokens of a
 * fenced client that end by then are refused, and after that time nothing need be
 * remembered.  The price: a token made between the fence and that ping is refused
 * too, and its put begins again.  Reading is not concerned.
 *
 * A provider that starts anew has new secrets, so tokens of before are void.  The
 * processes with writable mappings stand in the segment's own first page
 * (lent_header.h) and are found again there.
 */
#ifndef TRANSFER_SERVE_H
#define TRANSFER_SERVE_H

#include <sys/types.h>

#include "transfer/base/clock.h"
#include "transfer/lent.h"

/* needs:   the master makes no write token that lives longer. */
#define SERVE_WRITE_TOKEN_MS_MAX (60ull * 60 * 1000)

struct serve;

struct serve_config {
	const struct clock *clock; /* tokens end on this clock */
	const char *listen;        /* addresses, blank between; TCP port 0: any */
	const char *rdma; /* addresses as well, or "auto": all there are, if any; NULL: no RDMA */
	uint64_t write_token_ms; /* no write token lives longer; 0: SERVE_WRITE_TOKEN_MS_MAX */
	uint64_t idle_ms; /* a peer that stands still in the middle of an op is cut off then */
	unsigned connections_max;
	mode_t unix_mode; /* of the Unix sockets; 0: 0600.  Wider lets other users map what a token
			     shows them */
};

enum serve_outcome {
	SERVE_E_ALIVE = 1, /* a process of that client still holds a writable mapping */
	SERVE_E_BAD_ADDRESS,
	SERVE_E_IN_USE,
	SERVE_E_NO_RDMA, /* no device has that address, or it is taken; of serve_add(): the segment
			    can't be registered, serve_why() */
};

/* serve_new -- bind and start.  0, SERVE_E_BAD_ADDRESS, SERVE_E_IN_USE, SERVE_E_NO_RDMA, -errno. */
int serve_new(const struct serve_config *config, struct serve **ret_serve) MUST_CHECK;

/* serve_free -- close every connection, wait for every thread. */
void serve_free(struct serve *serve);

/* serve_endpoint -- what to tell others (target_desc.endpoint), with real ports; complete when a
 * segment was added. */
const char *serve_endpoint(const struct serve *serve);

/* serve_why -- one line on the last SERVE_E_NO_RDMA of serve_add(). */
const char *serve_why(const struct serve *serve);

/*
 * serve_add, serve_remove -- a segment comes and goes; after remove no thread or device touches it.
 *
 * result:  0; SERVE_E_NO_RDMA where RDMA was asked for by address (with "auto" it is done without);
 *          -errno.
 */
int serve_add(struct serve *serve, struct lent *lent) MUST_CHECK;
void serve_remove(struct serve *serve, struct lent *lent);

/* serve_fence -- see above.  0 or SERVE_E_ALIVE (ask again). */
int serve_fence(struct serve *serve, uint64_t client_id) MUST_CHECK;

/*
 * serve_renew -- the past is over for one segment: new secret, every connection cut, fence word
 * raised.
 *
 * Done before a segment is mounted at a master that may not remember its grants.
 * gives:   *ret_n client ids (at most cap; more are cut off and counted as -EOVERFLOW) whose
 * processes still hold a writable mapping. result:  0 or -errno.
 */
int serve_renew(struct serve *serve, struct lent *lent, uint64_t *ret_clients, size_t cap,
		size_t *ret_n) MUST_CHECK;

struct serve_counts {
	uint64_t n_connections, n_refused, bytes_read, bytes_written, ops_read, ops_write;
};
void serve_counts(struct serve *serve, struct serve_counts *ret_counts);

DEFINE_CLEANUP(struct serve, serve_free);

#endif
