/* SPDX-License-Identifier: Apache-2.0 */

/*
 * choose.h -- in which order to try the copies of an object.
 *
 *      in memory: this process, this host, elsewhere; then on disks likewise; among equals in turn;
 *      those that failed lately last
 */
#ifndef CORE_CHOOSE_H
#define CORE_CHOOSE_H

#include "transfer/base/base.h"

enum nearness { NEAR_PROCESS, NEAR_HOST, NEAR_ELSEWHERE };

struct choice {
	enum nearness nearness;
	bool is_on_disk;
	bool has_failed;
};

/*
 * choose_order -- n copies, best first.
 *
 * turn     any number; equals are rotated by it, so that callers who count spread their reads.
 * gives:   ret_order[0..n): places in choices.
 */
void choose_order(const struct choice *choices, size_t n, unsigned turn, size_t *ret_order);

#endif
