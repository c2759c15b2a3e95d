/* SPDX-License-Identifier: Apache-2.0 */

/*
 * allocs.h -- stands in front of the C library's allocator and slabs, and fails when it is told to.
 *
 *      for (unsigned n = 0;; n++) {
 *              allocs_fail_after(n);
 *              r = story();
 *              allocs_succeed();
 *              if (r == 0)
 *                      return;                 nothing was left to fail
 *              assert_int_equal(r, -ENOMEM);
 *      }
 *
 * A test that includes this file is linked with --wrap for these names (tests.cmake).
 * thread:  tests with one thread only.
 */
#ifndef TESTS_UNIT_ALLOCS_H
#define TESTS_UNIT_ALLOCS_H

#include <limits.h>
#include <string.h>

#include "transfer/base/slab.h"

static unsigned allocs_left = UINT_MAX; /* UINT_MAX: for ever */

static inline void
allocs_fail_after(unsigned n)
{
	allocs_left = n;
}

static inline void
allocs_succeed(void)
{
	allocs_left = UINT_MAX;
}

static inline bool
allocs_take_one(void)
{
	if (allocs_left == 0)
		return false;
	if (allocs_left != UINT_MAX)
		allocs_left--;
	return true;
}

void *__real_malloc(size_t len_bytes);
void *__real_calloc(size_t n, size_t item_bytes);
void *__real_realloc(void *p, size_t len_bytes);
void *__real_aligned_alloc(size_t align_bytes, size_t len_bytes);
char *__real_strdup(const char *text);
void *__real_slab_alloc(struct slab *slab, size_t len_bytes);
void *__wrap_malloc(size_t len_bytes);
void *__wrap_calloc(size_t n, size_t item_bytes);
void *__wrap_realloc(void *p, size_t len_bytes);
void *__wrap_aligned_alloc(size_t align_bytes, size_t len_bytes);
char *__wrap_strdup(const char *text);
void *__wrap_slab_alloc(struct slab *slab, size_t len_bytes);

void *
__wrap_malloc(size_t len_bytes)
{
	return allocs_take_one() ? __real_malloc(len_bytes) : NULL;
}

void *
__wrap_calloc(size_t n, size_t item_bytes)
{
	return allocs_take_one() ? __real_calloc(n, item_bytes) : NULL;
}

void *
__wrap_realloc(void *p, size_t len_bytes)
{
	return allocs_take_one() ? __real_realloc(p, len_bytes) : NULL;
}

void *
__wrap_aligned_alloc(size_t align_bytes, size_t len_bytes)
{
	return allocs_take_one() ? __real_aligned_alloc(align_bytes, len_bytes) : NULL;
}

void *
__wrap_slab_alloc(struct slab *slab, size_t len_bytes)
{
	return allocs_take_one() ? __real_slab_alloc(slab, len_bytes) : NULL;
}

char *
__wrap_strdup(const char *text)
{
	return allocs_take_one() ? __real_strdup(text) : NULL;
}

#endif
