/* SPDX-License-Identifier: Apache-2.0 */
#include "master/quota.h"

#include <inttypes.h>
#include <stdio.h>

#include "master/books.h"
#include "master/shortage.h"
#include "transfer/base/num.h"

#define STEPS_AT_ONCE 4096

/*
 * Who has to wait makes room for some like it behind it, too: bytes come free only when their
 * removal is on the disk, and that shall not be waited for at each put.  At most 1/32 of the quota,
 * and none when that is less than another one like it.
 */
#define SOME_LIKE_IT 8

static uint64_t
lacking_bytes(const struct tenant *tenant, const struct quota_wish *wish)
{
	uint64_t quota = tenant->quota.bytes, coming = tenant->resting_bytes - tenant->gated_bytes;
	uint64_t n_more = num_min(quota / 32 / num_max(wish->one_bytes, 1u), SOME_LIKE_IT);
	uint64_t ahead = wish->one_bytes * n_more;
	uint64_t wanted = num_min(num_max(wish->all_bytes, wish->one_bytes + ahead), quota);
	uint64_t over;

	if (tenant_has_room(tenant, wish->one_bytes))
		return 0;
	over = num_add_sat(tenant->charged_bytes, wanted) - quota;
	return over - num_min(over, coming);
}

static uint64_t
lacking_objects(const struct tenant *tenant, const struct quota_wish *wish)
{
	uint64_t quota = tenant->quota.objects;

	if (wish->n_objects == 0 || tenant_has_place(tenant, 1))
		return 0;
	return tenant->n_objects + tenant->n_puts + num_min(wish->n_objects, quota) - quota;
}

bool
quota_make_room(struct master *master, struct tenant *tenant, const struct quota_wish *wish)
{
	bool is_short = !tenant_has_room(tenant, wish->one_bytes);
	struct evict_goal goal = {
		.bytes = lacking_bytes(tenant, wish),
		.objects = lacking_objects(tenant, wish),
		.steps = STEPS_AT_ONCE,
	};

	if (master->is_last_try || (is_short && wish->one_bytes > tenant->quota.bytes))
		return false;
	evict_within(master, tenant, &goal);
	if (is_short && (goal.done_objects > 0 || tenant->resting_bytes > 0))
		store_want_sync(master->store);
	/* Places come free at once; and what had to stop goes on in the next turn. */
	if ((!is_short && goal.done_objects > 0) || goal.steps == 0)
		master->has_new_room = true;
	return goal.done_objects > 0 || goal.steps == 0 || tenant->n_puts > 0 ||
	       (is_short && tenant->resting_bytes > 0);
}

/* ---- why ---- */

#define NAME_SHOWN_MAX 64

void
quota_say_why(struct master *master, struct tenant *tenant, uint64_t one_bytes)
{
	const struct shortage *of;
	char wanted[32], charged[32], quota[32], leased[32], pinned[32], written[32], resting[32];

	if (tenant_has_room(tenant, one_bytes)) {
		why_refused(master,
			    "tenant \"%.*s\" has %" PRIu64 " of the %" PRIu64
			    " objects that it may have, %" PRIu64
			    " of them being put, and none of them may go",
			    NAME_SHOWN_MAX, tenant->name, tenant->n_objects + tenant->n_puts,
			    tenant->quota.objects, tenant->n_puts);
		return;
	}
	of = shortage_of_tenant(master, tenant);
	why_refused(master,
		    "tenant \"%.*s\" wants %s more, and holds %s of its quota of %s: %s leased, %s "
		    "pinned, %s being written, %s resting",
		    NAME_SHOWN_MAX, tenant->name, num_show_bytes(wanted, sizeof(wanted), one_bytes),
		    num_show_bytes(charged, sizeof(charged), tenant->charged_bytes),
		    num_show_bytes(quota, sizeof(quota), tenant->quota.bytes),
		    num_show_bytes(leased, sizeof(leased), of->leased_bytes),
		    num_show_bytes(pinned, sizeof(pinned), of->pinned_bytes),
		    num_show_bytes(written, sizeof(written), of->written_bytes),
		    num_show_bytes(resting, sizeof(resting), of->resting_bytes));
}
