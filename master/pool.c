/* SPDX-License-Identifier: Apache-2.0 */
#include "master/pool.h"

#include <stdlib.h>
#include <string.h>

static int
compare(const void *a, const void *b)
{
	const struct segment *one = *(struct segment *const *)a;
	const struct segment *other = *(struct segment *const *)b;
	int r = strcmp(one->host, other->host);

	return r != 0 ? r : (one->id > other->id) - (one->id < other->id);
}

void
pool_sort(struct pool *pool)
{
	if (pool->segments.n > 1)
		qsort(pool->segments.at, pool->segments.n, sizeof(*pool->segments.at), compare);
}

/* Where the first stands whose host does not come before this one; with `or_after`: comes after. */
static size_t
bound(const struct pool *pool, const char *host, bool or_after)
{
	size_t from = 0, until = pool->segments.n;

	while (from < until) {
		size_t mid = from + (until - from) / 2;
		int r = strcmp(pool->segments.at[mid]->host, host);

		if (r < 0 || (or_after && r == 0))
			from = mid + 1;
		else
			until = mid;
	}
	return from;
}

struct pool_part
pool_of_host(const struct pool *pool, const char *host)
{
	size_t from = bound(pool, host, /* or_after= */ false);

	if (pool->segments.n == 0)
		return (struct pool_part){NULL, 0};
	return (struct pool_part){pool->segments.at + from,
				  bound(pool, host, /* or_after= */ true) - from};
}
