/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fake.h -- libibverbs and librdmacm without a device: one process, both ends, and bad luck.
 *
 *      requester's QP                     the fabric                      responder's QP
 *      post_send ---> queue ---> in flight ............ acts: bytes move ---> MR, keys, bounds
 *                                   |                        |
 *                                   | QP dies: flushed,      | QP dies first: nothing moves any
 *                                   | yet a WRITE under way  | more, whoever asks
 *                                   v lands all the same     v
 *      CQ <---- completion, late, lost, twice, or in another order
 *
 * Linked in front of the real libraries (tests.cmake), it defines their symbols.  Keys, bounds,
 * access, protection domains, room in queues, the order of teardown: what a real device or kernel
 * refuses is refused here, and what no correct program does is a complaint (fake_complaints()).
 *
 * Time and chance come from outside.  With the real clock a thread of the fake's own moves things;
 * with a test's clock nothing moves until fake_pump().
 *
 * Device d (0, 1, ...) is "fakeD" and has the address 127.0.0.(d+1).
 *
 * thread:  any, between fake_init() and fake_fini().
 */
#ifndef TESTS_MOCK_VERBS_FAKE_H
#define TESTS_MOCK_VERBS_FAKE_H

#include "transfer/base/clock.h"

#define FAKE_DEVICES_MAX 4

/* Of 10 000. */
struct fake_luck {
	unsigned drop;    /* a completion is lost */
	unsigned twice;   /* a completion comes twice */
	unsigned reorder; /* a completion comes after the next one of its queue */
	unsigned fail; /* a work request fails as when the way is lost: part of it may have moved */
	unsigned cm_drop; /* a message of the connection manager is lost: told after its time-out */
};

struct fake_config {
	uint64_t seed;
	const struct clock *clock; /* NULL: the real one */
	unsigned n_devices;        /* 0: no device at all, as on most machines */
	bool is_iwarp;
	uint64_t delay_ns_max; /* of each act, completion and message; 0: at once */
	uint64_t lost_ns;      /* how long a requester tries before it says RETRY_EXC; 0: 1 ms */
	uint64_t max_mr_bytes; /* 0: no limit */
	uint64_t max_locked_bytes; /* registered at once; more is ENOMEM; 0: no limit */
	int max_qp_rd_atom;        /* 0: 16 */
	struct fake_luck luck;
};

void fake_init(const struct fake_config *config);

/*
 * fake_fini -- the end of a story.
 *
 * result:  how many objects were never given back.
 */
unsigned fake_fini(void);

/* fake_pump -- everything that is due by the test's clock happens.  needs: a test's clock. */
void fake_pump(void);

/* fake_fail_call -- the n-th call from now on (0: the next) of that name fails; NULL: of any name.
 * Only functions that can fail are counted. */
void fake_fail_call(const char *name, unsigned n, int error);

/* fake_n_calls -- calls that could have failed since fake_init(). */
unsigned fake_n_calls(void);

/* fake_cut -- the device's cable is out (or in again): what is sent over it is lost. */
void fake_cut(unsigned device, bool is_cut);

/* fake_lose_messages -- every message of the connection manager is lost: nobody hears of an end. */
void fake_lose_messages(bool do_lose);

/* fake_hold -- WRITEs stay in the fabric until they are let go. */
void fake_hold(bool do_hold);

/*
 * fake_forget_fences -- the mutation that a test of the fence must notice: a responder's queue pair
 * goes on as if nobody had destroyed it.
 */
void fake_forget_fences(bool do_forget);

struct fake_counts {
	uint64_t n_writes, n_reads, n_sends; /* acted */
	uint64_t n_late;   /* WRITEs that landed after their requester had given them up */
	uint64_t n_fenced; /* WRITEs given up that did not land, for the responder was gone */
	uint64_t n_dropped, n_twice, n_reordered, n_failed, n_flushed;
	uint64_t n_refused; /* by key, bounds or access */
};
struct fake_counts fake_counts(void);

/* fake_n_in_fabric -- WRITEs that have been given up and may still land. */
size_t fake_n_in_fabric(void);

/* fake_complaints -- what no correct program does; the last one in words. */
unsigned fake_complaints(const char **ret_last);

#endif
