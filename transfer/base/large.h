/* SPDX-License-Identifier: Apache-2.0 */

/*
 * large.h -- zeroed memory for tables: what is large lies on pages of 2 MiB, when there are any.
 *
 * A table that is asked at random and spans thousands of small pages costs a miss for the page
 * beside the one for the line, and asking early (prefetch) does not hide that one.
 *
 * thread:  any.
 */
#ifndef TRANSFER_BASE_LARGE_H
#define TRANSFER_BASE_LARGE_H

#include "transfer/base/base.h"

/* large_new -- len_bytes of zeroes, > 0; to be freed with large_free().  NULL: no memory. */
void *large_new(size_t len_bytes);
void large_free(void *memory, size_t len_bytes);

#endif
