/* SPDX-License-Identifier: Apache-2.0 */

/*
 * greet.h -- the first words on a new connection to the master.
 *
 *      us                                   master
 *      hello(version, challenge)  ------->
 *                                 <-------  version, epoch, its answer, its challenge
 *      join(id, name, our answer) ------->
 *                                 <-------  the promises of this session
 *
 * With a key both ends prove that they hold it, and neither says it.
 */
#ifndef CORE_GREET_H
#define CORE_GREET_H

#include "core/link.h"
#include "transfer/base/frame.h"
#include "transfer/base/token.h"

struct greet_config {
	uint64_t client_id;
	const char *name, *tenant;
	struct cluster_key key;
	bool must_prove; /* a master that can't prove that it holds our key is not believed */
};

/*
 * greet -- say hello and join on a blocking socket.
 *
 * next_id  [in, out] ids of our requests; two are used.
 * gives:   *session; its n_joins has grown by one.
 * result:  0, link_outcome (but not CLOSED), -errno.
 */
int greet(int fd, const struct greet_config *config, uint64_t until_ns, uint64_t *next_id,
	  struct link_session *session) MUST_CHECK;

/*
 * greet_exchange -- send one whole frame and wait for its answer; frames of others are dropped.
 *
 * gives:   *ret_reply, whose payload lies in `in`.
 * result:  0, LINK_E_TIMEOUT, LINK_E_LOST (also for garbage), -errno.
 */
int greet_exchange(int fd, const struct buf *frame, uint64_t until_ns, struct buf *in,
		   struct frame *ret_reply) MUST_CHECK;

/* greet_read -- wait for one frame.  As above. */
int greet_read(int fd, uint64_t until_ns, struct buf *in, struct frame *ret_frame) MUST_CHECK;

/* greet_frame -- a whole request frame around an encoded payload, behind what is in `to`. */
int greet_frame(struct buf *to, uint16_t type, uint64_t request_id,
		const struct buf *payload) MUST_CHECK;

#endif
