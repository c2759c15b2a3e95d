/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/mapping.h"

#include <errno.h>
#include <sys/mman.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"

/* place -- address space of len_bytes that begins at a multiple of 2 MiB.  NULL: none left. */
static uint8_t *
place(size_t len_bytes)
{
	size_t all = len_bytes + MAPPING_ALIGN;
	uint8_t *area, *at;

	area = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		return NULL;

	at = (uint8_t *)num_align_up((uintptr_t)area, MAPPING_ALIGN);
	if (at > area)
		munmap(area, (size_t)(at - area));
	if (at + len_bytes < area + all)
		munmap(at + len_bytes, (size_t)(area + all - at) - len_bytes);
	return at;
}

int
mapping_open(int fd, size_t len_bytes, bool is_writable, struct mapping *ret_mapping)
{
	int prot = PROT_READ | (is_writable ? PROT_WRITE : 0);
	size_t len = num_align_up(len_bytes, 4096);
	struct mapping mapping = {.len_bytes = len, .is_writable = is_writable};
	uint64_t n_bits = num_align_up(len, MAPPING_ALIGN) / MAPPING_ALIGN;
	int r;

	mapping.warm = calloc((n_bits + 63) / 64, sizeof(*mapping.warm));
	if (mapping.warm == NULL)
		return err_new(-ENOMEM);
	mapping.bytes = place(len);
	if (mapping.bytes == NULL) {
		free(mapping.warm);
		return err_new(-ENOMEM);
	}
	if (mmap(mapping.bytes, len, prot, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		r = err_new(-errno);
		mapping_close(&mapping);
		return r;
	}

	/* Niceties: without them it works, too. */
	(void)madvise(mapping.bytes, len, MADV_DONTFORK);
	(void)madvise(mapping.bytes, len, MADV_DONTDUMP);
	(void)madvise(mapping.bytes, len, MADV_HUGEPAGE);
	*ret_mapping = mapping;
	return 0;
}

void
mapping_close(struct mapping *mapping)
{
	if (mapping->bytes != NULL)
		munmap(mapping->bytes, mapping->len_bytes);
	free(mapping->warm);
	*mapping = (struct mapping){0};
}

void
mapping_warm(struct mapping *mapping, uint64_t offset_bytes, uint64_t len_bytes)
{
	int how = mapping->is_writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	assert(num_range_fits(offset_bytes, len_bytes, mapping->len_bytes) && len_bytes > 0);

	for (uint64_t i = offset_bytes / MAPPING_ALIGN;
	     i <= (offset_bytes + len_bytes - 1) / MAPPING_ALIGN; i++) {
		uint64_t bit = 1ull << (i % 64), at = i * MAPPING_ALIGN;

		if (atomic_load_explicit(&mapping->warm[i / 64], memory_order_relaxed) & bit)
			continue;
		(void)madvise(mapping->bytes + at, num_min(mapping->len_bytes - at, MAPPING_ALIGN),
			      how);
		atomic_fetch_or_explicit(&mapping->warm[i / 64], bit, memory_order_relaxed);
	}
}
