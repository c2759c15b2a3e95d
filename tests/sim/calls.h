/* SPDX-License-Identifier: Apache-2.0 */

/*
 * calls.h -- what a user does by chance: each call of the library, and its outcome to the ledger.
 */
#ifndef TESTS_SIM_CALLS_H
#define TESTS_SIM_CALLS_H

#include "core/client.h"
#include "tests/sim/user.h"

/* One life of one user. */
struct user {
	unsigned index;
	struct proc proc;
	struct node_clock clock;
	struct link *link;
	struct transport *ferry;
	struct tiffin_client *client;
	unsigned n_fibers;
	bool is_leaving;
	char host[24], tenant[16];
};

/* One call: when it began, and under which circumstances. */
struct call {
	struct user *user;
	uint64_t t0;
	unsigned n_starts;
	uint32_t n_joins;
};
struct call call_begin(struct user *user);

/* call_judge_error -- may that call end so, as things are?  If not, the run ends. */
void call_judge_error(const struct call *call, const char *what, unsigned key, int r);

/* call_some -- one call, which one and with what: by chance. */
void call_some(struct user *user);

/* call_look -- get, stat, exist and list must agree on that key. */
void call_look(struct user *user, unsigned key);

uint64_t calls_made(void);

#endif
