/* SPDX-License-Identifier: Apache-2.0 */
#include "master/shortage.h"

#include <inttypes.h>
#include <stdio.h>

#include "master/books.h"
#include "master/lease.h"
#include "transfer/base/num.h"

#define FRESH_MS       100
#define LOOKS_MAX      4096 /* objects looked at, of all tenants */
#define LOOKS_LIST_MAX 1024 /* of them on one list: what is read lately is at its front */

static const char *const kinds[] = {
	[POOL_MEMORY] = "memory", [POOL_DISK] = "disks", [POOL_NOF] = "nof namespaces"};

/* ---- what is counted ---- */

/* Of an object what lies there; POOLS: anywhere. */
static uint64_t
room_in(const struct object *object, enum pool_kind kind)
{
	uint64_t bytes = 0;

	object_each_replica(object, rep)
		if (kind == POOLS || pool_kind_of(rep->segment) == kind)
			bytes += replica_room_bytes(rep);
	return bytes;
}

/* One measure being taken. */
struct look {
	const struct master *master;
	const struct tenant *tenant; /* NULL: of all */
	enum pool_kind kind;         /* POOLS: of all */
	unsigned left;               /* objects that may be looked at */
	struct shortage *to;
};

/* A look at the objects of one list, from what was used last on. */
static void
look_at_list(struct look *look, const struct list *list, bool is_pinned)
{
	uint64_t now_s = clock_wall_ms(look->master->clock) / 1000;
	unsigned n = 0;

	list_each(list, link) {
		const struct object *object = list_of(link, struct object, at_lru);

		if (look->left == 0 || n++ == LOOKS_LIST_MAX) {
			look->to->is_cut = true;
			return;
		}
		look->left--;
		if (lease_runs(object, look->master->now_ms))
			look->to->leased_bytes += room_in(object, look->kind);
		else if (is_pinned && object->pinned_until_s > now_s)
			look->to->pinned_bytes += room_in(object, look->kind);
	}
}

static void
look_at_objects(struct look *look, const struct tenant *tenant)
{
	for (int i = AGES_LISTS - 1; i >= 0; i--)
		look_at_list(look, &tenant->ages.lists[i],
			     i == AGES_HARD ||
				     (i == AGES_SOFT && !look->master->limits.evict_soft_pins));
}

/* What was removed or moved away, and is read still. */
static void
look_at_ghosts(struct look *look)
{
	list_each(&look->master->ghost_list, link) {
		const struct object *object = list_of(link, struct object, at_lru);

		if (look->left == 0) {
			look->to->is_cut = true;
			return;
		}
		look->left--;
		if (look->tenant == NULL || object_payer(object) == look->tenant)
			look->to->leased_bytes += room_in(object, look->kind);
	}
}

static void
look_at_puts(struct look *look)
{
	unsigned left = LOOKS_MAX;

	list_each(&look->master->puts, link) {
		const struct put *put = list_of(link, struct put, at_lease);

		if (left-- == 0) {
			look->to->is_cut = true;
			return;
		}
		if (look->tenant == NULL || put->object->tenant == look->tenant)
			look->to->written_bytes += room_in(put->object, look->kind);
	}
}

static void
look_at_segments(const struct master *master, enum pool_kind kind, struct shortage *to)
{
	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);

		if (!segment_is_here(segment) || pool_kind_of(segment) != kind)
			continue;
		to->n_segments++;
		to->size_bytes += segment->size_bytes;
		to->resting_bytes += segment->resting_bytes;
		if (segment_is_placeable(segment))
			to->free_bytes += segment->size_bytes - alloc_used_bytes(segment->alloc);
		else
			to->n_closed++;
	}
}

static bool
is_fresh(const struct master *master, const struct shortage *shortage)
{
	return shortage->at_ms != 0 && master->now_ms < shortage->at_ms + FRESH_MS;
}

const struct shortage *
shortage_of_kind(struct master *master, enum pool_kind kind)
{
	struct shortage *to = &master->shortages[kind];
	struct look look = {.master = master, .kind = kind, .left = LOOKS_MAX, .to = to};

	if (is_fresh(master, to))
		return to;
	*to = (struct shortage){.at_ms = num_max(master->now_ms, (uint64_t)1)};
	look_at_segments(master, kind, to);
	look_at_ghosts(&look);
	look_at_puts(&look);
	for (size_t i = 0; i < master->tenants.by_name.n && look.left > 0; i++)
		look_at_objects(&look, master->tenants.by_name.at[i]);
	return to;
}

const struct shortage *
shortage_of_tenant(struct master *master, struct tenant *tenant)
{
	struct shortage *to = &tenant->shortage;
	struct look look = {
		.master = master, .tenant = tenant, .kind = POOLS, .left = LOOKS_MAX, .to = to};

	if (is_fresh(master, to))
		return to;
	*to = (struct shortage){.at_ms = num_max(master->now_ms, (uint64_t)1),
				.resting_bytes = tenant->resting_bytes};
	look_at_ghosts(&look);
	look_at_puts(&look);
	look_at_objects(&look, tenant);
	return to;
}

/* ---- what could be ---- */

uint64_t
shortage_resting(const struct master *master, enum pool_kind kind, uint64_t *ret_coming_bytes)
{
	uint64_t resting = 0, gated = 0;

	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);

		if (!segment_is_here(segment) || pool_kind_of(segment) != kind)
			continue;
		resting += segment->resting_bytes;
		gated += segment->gated_bytes;
	}
	*ret_coming_bytes = resting - gated;
	return resting;
}

uint64_t
shortage_largest(const struct master *master, enum pool_kind kind)
{
	uint64_t bytes = 0;

	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);

		if (segment_is_here(segment) && pool_kind_of(segment) == kind)
			bytes = num_max(bytes, segment->size_bytes);
	}
	return bytes;
}

static bool
is_large_enough(const struct segment *segment, const struct lack *lack)
{
	return segment_is_here(segment) && pool_kind_of(segment) == lack->kind &&
	       (lack->on_id == 0 || lack->on_id == segment->id) &&
	       segment->size_bytes >= lack->room_bytes;
}

bool
shortage_may_fit(const struct master *master, const struct lack *lack, unsigned n_needed)
{
	unsigned n = 0;

	if (lack->on_id != 0)
		n_needed = 1;
	list_each(&master->all_segments, link) {
		n += is_large_enough(list_of(link, struct segment, at_master), lack);
		if (n >= n_needed)
			return true;
	}
	return false;
}

static bool
has_copy_on(const struct lack *lack, uint64_t segment_id)
{
	for (size_t i = 0; i < lack->n_taken; i++)
		if (lack->taken[i] == segment_id)
			return true;
	return false;
}

/* The segments that the copy could go to: how many, the largest hole in them, their largest. */
struct choice {
	size_t n;
	uint64_t hole_bytes, largest_bytes;
};

static struct choice
choice_of(const struct master *master, const struct lack *lack)
{
	struct choice choice = {0};

	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);

		if (lack->on_id != 0 ? segment->id != lack->on_id
				     : !segment_is_placeable(segment) ||
					       pool_kind_of(segment) != lack->kind ||
					       has_copy_on(lack, segment->id))
			continue;
		choice.n++;
		choice.hole_bytes = num_max(choice.hole_bytes, alloc_hole_bytes(segment->alloc));
		choice.largest_bytes = num_max(choice.largest_bytes, segment->size_bytes);
	}
	return choice;
}

/* ---- words ---- */

static void
say_which(const struct master *master, const struct lack *lack, char *text, size_t cap)
{
	const struct segment *segment = segment_find(master, lack->on_id);

	text[0] = '\0';
	if (segment != NULL)
		snprintf(text, cap, " beside the rest of its copy, on %.64s", segment->name);
	else if (lack->n > 1)
		snprintf(text, cap, " for copy %u of %u, each on another segment", lack->nth,
			 lack->n);
}

static void
say_closed(const struct shortage *of, char *text, size_t cap)
{
	text[0] = '\0';
	if (of->n_closed > 0)
		snprintf(text, cap, " (%zu of them silent, failing or drained)", of->n_closed);
}

void
shortage_say_full(struct master *master)
{
	const struct lack *lack = &master->lack;
	const struct shortage *of = shortage_of_kind(master, lack->kind);
	struct choice choice = choice_of(master, lack);
	char wanted[32], size[32], free[32], hole[32], leased[32], pinned[32], written[32],
		resting[32], which[128], closed[64];

	if (master->why[0] != '\0')
		return;
	say_which(master, lack, which, sizeof(which));
	if (choice.largest_bytes < lack->room_bytes) {
		why_refused(master,
			    "%s is wanted%s, and the largest of %zu segments of %s that are left "
			    "for it has %s",
			    num_show_bytes(wanted, sizeof(wanted), lack->room_bytes), which,
			    choice.n, kinds[lack->kind],
			    num_show_bytes(size, sizeof(size), choice.largest_bytes));
		return;
	}
	say_closed(of, closed, sizeof(closed));
	why_refused(master,
		    "no room for %s%s: of %s in %zu segments of %s%s, %s free (largest hole %s), "
		    "%s%s leased, %s pinned%s, %s being written, %s resting",
		    num_show_bytes(wanted, sizeof(wanted), lack->room_bytes), which,
		    num_show_bytes(size, sizeof(size), of->size_bytes), of->n_segments,
		    kinds[lack->kind], closed, num_show_bytes(free, sizeof(free), of->free_bytes),
		    num_show_bytes(hole, sizeof(hole), choice.hole_bytes),
		    of->is_cut ? "at least " : "",
		    num_show_bytes(leased, sizeof(leased), of->leased_bytes),
		    num_show_bytes(pinned, sizeof(pinned), of->pinned_bytes),
		    of->pinned_bytes > 0 ? " (tiffin unpin)" : "",
		    num_show_bytes(written, sizeof(written), of->written_bytes),
		    num_show_bytes(resting, sizeof(resting), of->resting_bytes));
}

void
shortage_say_none(struct master *master)
{
	const struct lack *lack = &master->lack;
	const struct shortage *of = shortage_of_kind(master, lack->kind);
	char which[128], closed[64], free[32];

	if (master->why[0] != '\0' || master->segments.n == 0)
		return; /* the status says it */
	say_which(master, lack, which, sizeof(which));
	say_closed(of, closed, sizeof(closed));
	why_refused(master,
		    "there is no segment of %s left%s: %zu of them are lent%s, %s free in those "
		    "that new data may go to",
		    kinds[lack->kind], which, of->n_segments, closed,
		    num_show_bytes(free, sizeof(free), of->free_bytes));
}
