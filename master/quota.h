/* SPDX-License-Identifier: Apache-2.0 */

/*
 * quota.h -- a tenant wants more than it may hold (what is counted: tenant.h).
 *
 *      put_start, put_extend over quota --> evict, of this tenant alone --> wait until it is free
 *                                             |                                |        |
 *                                             | nothing may go or is coming,   |  again <+
 *                                             v or the time is over            v
 *                                           QUOTA_EXCEEDED, with who holds the bytes
 *
 * A quota that was lowered, or a database that was put back, may leave a tenant above it: its next
 * put makes all of the room that lacks, and until then nothing of it goes.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_QUOTA_H
#define MASTER_QUOTA_H

#include "master/master.h"

struct quota_wish {
	uint64_t one_bytes; /* room of all copies of the item that was refused */
	uint64_t all_bytes; /* of it and those behind it in its request */
	uint64_t n_objects; /* of them; 0: no more than it has */
};

/* quota_make_room -- true: something may come of it, the request is to be tried again. */
bool quota_make_room(struct master *master, struct tenant *tenant, const struct quota_wish *wish);

/* quota_say_why -- the answer at hand says that its quota is used up, and by what. */
void quota_say_why(struct master *master, struct tenant *tenant, uint64_t one_bytes);

#endif
