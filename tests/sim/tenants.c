/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/tenants.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/sim/calls.h"

void
tenants_quota(struct user *user)
{
	uint64_t bytes = sim_chance(3) ? 0 : sim_between(50000, 2000000);
	uint64_t objects = sim_chance(2) ? 0 : sim_between(2, user_habits.n_keys);
	struct call call = call_begin(user);
	int r;

	if (!user_habits.has_quotas)
		return;
	r = tiffin_tenant_put(user->client, user->tenant, sim_chance(3) ? NULL : &bytes,
			      sim_chance(3) ? NULL : &objects);
	sim_say("user %u quota of %s: %" PRIu64 " bytes, %" PRIu64 " objects: %s", user->index,
		user->tenant, bytes, objects, r == 0 ? "OK" : tiffin_errname(r));
	if (r != 0 && !user->proc.is_dead)
		call_judge_error(&call, "tenant_put", 0, r);
}

void
tenants_come_and_go(struct user *user)
{
	uint64_t bytes = sim_between(0, 1000);
	char name[16];
	struct call call = call_begin(user);
	int r;

	snprintf(name, sizeof(name), "spare%u", (unsigned)sim_between(0, 2));
	r = sim_chance(2) ? tiffin_tenant_delete(user->client, name)
			  : tiffin_tenant_put(user->client, name, &bytes, NULL);
	sim_say("user %u tenant %s: %s", user->index, name, r == 0 ? "OK" : tiffin_errname(r));
	if (r == TIFFIN_E_NOT_EMPTY)
		sim_fail("tenant %s holds something: %s", name, tiffin_why());
	if (r != 0 && !user->proc.is_dead)
		call_judge_error(&call, "tenant", 0, r);
}
