/* SPDX-License-Identifier: Apache-2.0 */

/* each.h -- requests that ask the same of many keys and get a fate for each. */
#ifndef CORE_EACH_H
#define CORE_EACH_H

#include "core/ask.h"

/* Encode one request about these keys into ask->payload. */
typedef int (*each_encode_fn)(struct buf *to, const struct rec_key_only *keys, uint32_t n_keys,
			      uint64_t arg);

/* What is asked, and how. */
struct each {
	uint16_t type;
	each_encode_fn encode;
	uint64_t arg; /* for encode */
};

/*
 * each_run -- ask for n_keys keys, BATCH_MAX at a time.
 *
 * gives:   ret_results[i]: 0 or TIFFIN_E_*; a key that breaks the rules is INVALID and not asked
 * for. result:  0, or TIFFIN_E_* when the master could not be asked at all.
 */
int each_run(struct tiffin_client *client, const struct each *each, const char *const *keys,
	     size_t n_keys, int *ret_results);

#endif
