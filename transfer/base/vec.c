/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/vec.h"

#include <errno.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define CAP_FIRST 8

/* `at` is really a pointer to some T *, so it is moved as bytes and never read as a void *. */
int
vec_reserve_bytes(void **at, size_t n, size_t *cap, size_t n_more, size_t item_bytes)
{
	uint64_t n_needed, n_bytes;
	size_t cap_new;
	void *old, *fresh;

	assert(n <= *cap);

	if (n_more <= *cap - n)
		return 0;
	if (!num_add(n, n_more, &n_needed) || *cap > SIZE_MAX / 2)
		return err_new(-ENOMEM);

	cap_new = num_max(num_max(*cap * 2, (size_t)n_needed), (size_t)CAP_FIRST);
	if (!num_mul(cap_new, item_bytes, &n_bytes) || n_bytes > PTRDIFF_MAX)
		return err_new(-ENOMEM);

	memcpy(&old, at, sizeof(old));
	fresh = realloc(old, n_bytes);
	if (fresh == NULL)
		return err_new(-ENOMEM);

	memcpy(at, &fresh, sizeof(fresh));
	*cap = cap_new;
	return 0;
}
