/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/quotas.h"

#include <inttypes.h>
#include <string.h>

#include "tests/sim/fiber.h"
#include "transfer/base/num.h"

#define HELD_MAX 16

/* What a tenant held at the end of a turn, and the most that it might. */
struct held {
	uint64_t id, bytes, objects, most_bytes, most_objects;
};

static struct held held[HELD_MAX]; /* at the end of the last turn */
static size_t n_held;

void
quotas_forget(void)
{
	n_held = 0;
}

/* A turn may leave a tenant with more only within its quota, as it is or was at the last turn. */
static void
judge_quota(const struct tenant *tenant, const struct held *before, const struct held *now)
{
	uint64_t bytes = num_max(before->bytes, num_max(before->most_bytes, now->most_bytes));
	uint64_t objects =
		num_max(before->objects, num_max(before->most_objects, now->most_objects));

	if (now->bytes > bytes || now->objects > objects)
		sim_fail("tenant %s came to hold %" PRIu64 " bytes and %" PRIu64
			 " objects, and may hold %" PRIu64 " and %" PRIu64,
			 tenant->name, now->bytes, now->objects, bytes, objects);
}

static struct held
held_by(const struct tenant *tenant)
{
	return (struct held){
		.id = tenant->id,
		.bytes = tenant->charged_bytes,
		.objects = tenant->n_objects + tenant->n_puts,
		.most_bytes = tenant->quota.bytes == 0 ? UINT64_MAX : tenant->quota.bytes,
		.most_objects = tenant->quota.objects == 0 ? UINT64_MAX : tenant->quota.objects,
	};
}

void
quotas_judge(const struct master *master)
{
	const struct tenants *tenants = &master->tenants;
	size_t n = num_min(tenants->by_name.n, (size_t)HELD_MAX);
	struct held now[HELD_MAX];

	for (size_t i = 0; i < n; i++) {
		now[i] = held_by(tenants->by_name.at[i]);
		for (size_t k = 0; k < n_held; k++)
			if (held[k].id == now[i].id)
				judge_quota(tenants->by_name.at[i], &held[k], &now[i]);
	}
	memcpy(held, now, n * sizeof(now[0]));
	n_held = n;
}
