/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/large.h"

#include <sys/mman.h>

#include "transfer/base/num.h"

#define PAGE_BYTES  ((size_t)2 << 20)
#define LARGE_BYTES (2 * PAGE_BYTES) /* smaller ones are malloc's */

/* Whole pages at their own boundaries: what is mapped around them is given back. */
static void *
map_pages(size_t len_bytes)
{
	size_t before;
	char *at;

	at = mmap(NULL, len_bytes + PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		  -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	before = num_align_up((uintptr_t)at, PAGE_BYTES) - (uintptr_t)at;
	if (before > 0)
		munmap(at, before);
	if (before < PAGE_BYTES)
		munmap(at + before + len_bytes, PAGE_BYTES - before);
	(void)madvise(at + before, len_bytes, MADV_HUGEPAGE); /* it goes without, too */
	return at + before;
}

void *
large_new(size_t len_bytes)
{
	assert(len_bytes > 0);
	if (len_bytes < LARGE_BYTES)
		return calloc(1, len_bytes);
	if (len_bytes > SIZE_MAX - 2 * PAGE_BYTES)
		return NULL;
	return map_pages(num_align_up(len_bytes, PAGE_BYTES));
}

void
large_free(void *memory, size_t len_bytes)
{
	if (memory == NULL)
		return;
	if (len_bytes < LARGE_BYTES)
		free(memory);
	else
		munmap(memory, num_align_up(len_bytes, PAGE_BYTES));
}
