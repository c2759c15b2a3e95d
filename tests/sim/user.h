/* SPDX-License-Identifier: Apache-2.0 */

/*
 * user.h -- a process that uses the client library: what it does by chance, and how it ends.
 *
 *      two fibers do one call after the other, a third beats; every outcome goes to the ledger
 */
#ifndef TESTS_SIM_USER_H
#define TESTS_SIM_USER_H

#include "tests/sim/fiber.h"

#define USERS_MAX  6
#define USER_NODES 16 /* node of user i: USER_NODES + i */

struct user_habits {
	unsigned n_keys;
	unsigned n_tenants; /* user i and key i are of tenant i % n_tenants */
	bool has_quotas;    /* which users change as they like */
	uint64_t len_max;
	bool is_strict; /* everything works: an error of a call begun in the calm is a fault */
	uint64_t calm_ns;
	bool is_over;   /* begin nothing any more */
	bool has_flips; /* sums may be found wrong */
	bool is_renaming;
};
extern struct user_habits user_habits;

void users_init(unsigned n);
void users_fini(void);
unsigned users_n(void);

/* user_kill -- and another process in its place after down_ns; UINT64_MAX: none. */
void user_kill(unsigned index, uint64_t down_ns);
void user_stop(unsigned index, uint64_t len_ns);
void user_cut(unsigned index);

/* users_idle -- has every call of every user come back, and every process ended? */
bool users_idle(void);

/* users_look -- fresh clients look at every key: get, stat, exist and list must agree. */
void users_look(void);
bool users_have_looked(void);

#endif
