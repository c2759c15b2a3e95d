/* SPDX-License-Identifier: Apache-2.0 */

/*
 * worker.h -- a provider's second fiber: it carries out the master's tasks, as core/work.c does.
 *
 *      fetch -> each piece: a delay on the network, then into the own bytes -> give the lease back
 *            -> report with the sum, or that it was given up
 *
 * Its process may be stopped or killed anywhere in between.  Both leases are looked at before each
 * piece, by the provider's own clock; a fence of the provider itself waits for the piece under way.
 */
#ifndef TESTS_SIM_WORKER_H
#define TESTS_SIM_WORKER_H

#include "tests/sim/depot.h"

/* worker_start -- one for each process of a provider. */
void worker_start(struct depot *depot);

/* worker_is_writing -- is a piece on its way into the provider's own bytes? */
bool worker_is_writing(const struct depot *depot);

uint64_t worker_n_done(void); /* tasks of all workers that the master took as done */

#endif
