/* SPDX-License-Identifier: Apache-2.0 */

/*
 * map_ask.h -- to ask a provider of this host for its segment's descriptor: a token goes to its
 * Unix socket, a descriptor comes back.
 *
 * thread:  any; asks one peer, and waits for it.
 */
#ifndef TRANSFER_MAP_ASK_H
#define TRANSFER_MAP_ASK_H

#include "transfer/op.h"
#include "transfer/target.h"
#include "transfer/wire.h"

#define MAP_ASK_MS_MAX 2000

enum { MAP_READING, MAP_WRITING, MAP_N_USES };

/* What an op, or a look, wants of a segment. */
struct map_wish {
	struct target *target;
	const struct token *token;
	int use; /* MAP_READING, MAP_WRITING */
	uint64_t offset_bytes, len_bytes;
	uint64_t deadline_ns; /* on the engine's clock */
};

enum map_ask_outcome {
	MAP_ASK_E_NO = 1,  /* nobody there, or not for us: no use in asking again soon */
	MAP_ASK_E_REFUSED, /* this token does not open it; another may */
};

/* map_ask -- 0 with the answer and its descriptor, which is the caller's; or one of the outcomes.
 */
int map_ask(const struct map_wish *wish, uint64_t now_ns, struct wire_reply *ret_reply,
	    int *ret_fd) MUST_CHECK;

/* map_may_ask -- is there a socket on this host, and a token to show? */
bool map_may_ask(const struct target *target, const struct token *token);

/* map_can_open -- is it a token that a provider answers with a descriptor at all? */
bool map_can_open(const struct map_wish *wish);

/* map_may -- our own library, too, uses what it was given only with the master's word for it. */
bool map_may(const struct op *op);

#endif
