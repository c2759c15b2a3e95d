/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mapping.h -- a file of shared memory in this process, placed so that 2 MiB pages can be used.
 *
 * Pages that were never touched here cost a fault each (2 to 20 us); mapping_warm()
 * fetches them 2 MiB at a time, once.  A forked child does not inherit it.
 */
#ifndef TRANSFER_MAPPING_H
#define TRANSFER_MAPPING_H

#include <stdatomic.h>

#include "transfer/base/base.h"

#define MAPPING_ALIGN (2ull << 20)

struct mapping {
	uint8_t *bytes;
	size_t len_bytes;
	bool is_writable;
	_Atomic uint64_t *warm; /* one bit for each 2 MiB; any thread sets them, twice is no harm */
};

/* mapping_open -- the first len_bytes of fd, which stays the caller's.  0 or -errno. */
int mapping_open(int fd, size_t len_bytes, bool is_writable,
		 struct mapping *ret_mapping) MUST_CHECK;
void mapping_close(struct mapping *mapping);

/* mapping_warm -- have the pages under [offset, offset + len) at hand.  Any thread. */
void mapping_warm(struct mapping *mapping, uint64_t offset_bytes, uint64_t len_bytes);

#endif
