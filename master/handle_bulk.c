/* SPDX-License-Identifier: Apache-2.0 */

/*
 * handle_bulk.c -- requests about many keys at once: removal by prefix and by pattern, lists by
 * pattern and by segment, copies of one segment.
 *
 * Each looks at a bounded number of keys and says where to go on, so that no turn gets long and the
 * master remembers nothing of a removal under way.
 */
#include <stdlib.h>
#include <string.h>

#include "master/books.h"
#include "master/handle.h"
#include "master/lease.h"
#include "master/regex.h"
#include "transfer/base/num.h"

#define KEYS_A_REQUEST 1024
#define LIST_BYTES_MAX (1u << 20)

/* ---- a stretch of keys ---- */

struct stretch {
	struct object **objects; /* in the request's arena: those that match */
	uint32_t n_objects, n_looked;
	bool has_more;
	struct span last; /* the key looked at last */
};

struct which {
	struct span prefix, after;
	struct regex *regex; /* NULL: every key */
	uint64_t segment_id; /* with a copy there; 0: wherever they lie */
	struct group *group; /* its members; NULL: any */
};

static void
walk_start(struct index_walk *walk, const struct index *index, const struct which *which)
{
	index_walk_start(walk, index, which->prefix.at, which->prefix.len, which->after.at,
			 which->after.len);
}

/* is_match -- does this object meet every condition but the prefix?  An enum status. */
static int
is_match(struct master *master, const struct which *which, const struct object *object,
	 bool *ret_is_match)
{
	bool is_wanted = true;
	int r = 0;

	if (which->group != NULL)
		is_wanted = group_of(&master->groups, object) == which->group;
	if (which->segment_id != 0)
		is_wanted = object_copy_on(object, which->segment_id) != NULL;
	if (is_wanted && which->regex != NULL)
		r = regex_find(which->regex, object->key.bytes, object->key.len_bytes, &is_wanted);
	if (r == REGEX_E_COSTLY) {
		why_refused(master, "the pattern tries too many ways in some key: make it plainer");
		return STATUS_INVALID;
	}
	*ret_is_match = is_wanted;
	return r < 0 ? STATUS_UNAVAILABLE : STATUS_OK;
}

/* take_match -- the object, if it is one.  An enum status. */
static int
take_match(struct master *master, const struct which *which, struct object *object,
	   struct stretch *stretch)
{
	bool is_wanted;
	int status = is_match(master, which, object, &is_wanted);

	if (status == STATUS_OK && is_wanted)
		stretch->objects[stretch->n_objects++] = object;
	return status;
}

/* A prefix, and a key behind `after`: what a walk over the index would meet. */
static bool
is_ahead(const struct which *which, const struct key *key)
{
	struct span prefix = which->prefix, after = which->after;
	size_t len = num_min((size_t)after.len, (size_t)key->len_bytes);
	int order;

	if (key->len_bytes < prefix.len ||
	    (prefix.len > 0 && memcmp(key->bytes, prefix.at, prefix.len) != 0))
		return false;
	order = len == 0 ? 0 : memcmp(key->bytes, after.at, len);
	return order > 0 || (order == 0 && key->len_bytes > after.len);
}

static int
compare_keys(const void *a, const void *b)
{
	const struct key *x = &(*(struct object *const *)a)->key;
	const struct key *y = &(*(struct object *const *)b)->key;
	int order = memcmp(x->bytes, y->bytes, num_min(x->len_bytes, y->len_bytes));

	return order != 0 ? order : (x->len_bytes > y->len_bytes) - (x->len_bytes < y->len_bytes);
}

/* collect_members -- of a group so small that one request may look at all of it. */
static int
collect_members(struct master *master, const struct which *which, struct stretch *stretch)
{
	list_each(&which->group->members, link) {
		const struct member *member = list_of(link, struct member, at_group);
		struct object *object = map_get(&master->objects, member->object_id);
		int status = STATUS_OK;

		if (is_ahead(which, &object->key))
			status = take_match(master, which, object, stretch);
		if (status != STATUS_OK)
			return status;
	}
	qsort(stretch->objects, stretch->n_objects, sizeof(*stretch->objects), compare_keys);
	return STATUS_OK;
}

static int
collect_keys(struct peer *peer, const struct which *which, struct stretch *stretch)
{
	struct index_walk walk;
	struct key *key;

	walk_start(&walk, peer->client->tenant->index, which);
	while ((key = index_walk_next(&walk)) != NULL) {
		int status;

		if (stretch->n_looked++ == KEYS_A_REQUEST) {
			stretch->has_more = true;
			return STATUS_OK;
		}
		stretch->last = span_of(key->bytes, key->len_bytes);
		status = take_match(peer->master, which, object_of(key), stretch);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

/* collect -- an enum status. */
static int
collect(struct peer *peer, const struct which *which, struct stretch *stretch)
{
	struct master *master = peer->master;

	*stretch = (struct stretch){.last = which->after};
	stretch->objects = arena_alloc(&master->arena, KEYS_A_REQUEST, sizeof(struct object *));
	if (stretch->objects == NULL)
		return STATUS_UNAVAILABLE;
	books_hold(master, gone_last(&master->gone)); /* some key may be missing here */
	if (which->group != NULL && which->group->n_members <= KEYS_A_REQUEST)
		return collect_members(master, which, stretch);
	return collect_keys(peer, which, stretch);
}

/* collect_group -- the same of a group's members; of one that is not there: none. */
static int
collect_group(struct peer *peer, struct which which, struct span id, struct stretch *stretch)
{
	if (id.len == 0)
		return collect(peer, &which, stretch);
	which.group = group_find(peer->client->tenant, id.at, id.len);
	if (which.group != NULL)
		return collect(peer, &which, stretch);
	books_hold(peer->master, gone_last(&peer->master->gone));
	*stretch = (struct stretch){.last = which.after};
	return STATUS_OK;
}

/* collect_matching -- the same by pattern; which->regex is made for it. */
static int
collect_matching(struct peer *peer, struct which which, struct span pattern, struct span group,
		 struct stretch *stretch)
{
	cleanup_with(regex_free_at) struct regex *regex = NULL;
	char why[256];
	int r = 0;

	if (pattern.len > 0 || group.len == 0) /* of a group it may be left out */
		r = regex_new(pattern.at, pattern.len, &regex, why, sizeof(why));

	if (r == REGEX_E_PATTERN) {
		why_refused(peer->master, "%s", why);
		return STATUS_INVALID;
	}
	if (r < 0)
		return STATUS_UNAVAILABLE;
	which.regex = regex;
	return collect_group(peer, which, group, stretch);
}

/* ---- removal ---- */

/* keep_last -- a copy in the request's arena, for the key goes with its object. */
static int
keep_last(struct master *master, struct stretch *stretch)
{
	uint8_t *copy = arena_alloc(&master->arena, stretch->last.len + 1u, 1);

	if (copy == NULL)
		return STATUS_UNAVAILABLE;
	if (stretch->last.len > 0)
		memcpy(copy, stretch->last.at, stretch->last.len);
	stretch->last.at = copy;
	return STATUS_OK;
}

static int
remove_stretch(struct peer *peer, struct stretch *stretch, bool force, struct buf *out)
{
	struct master *master = peer->master;
	struct rep_remove_all rep = {.has_more = stretch->has_more};

	if (keep_last(master, stretch) != STATUS_OK)
		return STATUS_UNAVAILABLE;
	rep.after = stretch->last;
	for (uint32_t i = 0; i < stretch->n_objects; i++) {
		struct object *object = stretch->objects[i];

		books_hold(master, object->batch);
		if (!force && lease_runs(object, master->now_ms)) {
			rep.n_leased++;
		} else if (books_remove(master, object, REPLICA_REMOVED) < 0) {
			rep.n_failed++;
		} else {
			counter_add(&master->counters.removes, 1);
			rep.n_removed++;
		}
	}
	return handle_encoded(rep_remove_all_encode(out, &rep));
}

int
handle_remove_by_prefix(struct peer *peer, const struct msg_remove_by_prefix *msg, struct buf *out)
{
	const struct which which = {.prefix = msg->prefix, .after = msg->after};
	struct stretch stretch;
	int status = collect(peer, &which, &stretch);

	return status != STATUS_OK ? status : remove_stretch(peer, &stretch, msg->force != 0, out);
}

int
handle_remove_all(struct peer *peer, const struct msg_remove_all *msg, struct buf *out)
{
	const struct msg_remove_by_prefix all = {.force = msg->force, .after = msg->after};

	return handle_remove_by_prefix(peer, &all, out);
}

int
handle_remove_by_regex(struct peer *peer, const struct msg_remove_by_regex *msg, struct buf *out)
{
	const struct which which = {.prefix = msg->prefix, .after = msg->after};
	struct stretch stretch;
	int status = collect_matching(peer, which, msg->pattern, msg->group, &stretch);

	return status != STATUS_OK ? status : remove_stretch(peer, &stretch, msg->force != 0, out);
}

/* ---- lists ---- */

/* tell_stretch -- attributes may make a page too long: it ends behind the first key that does so.
 */
static int
tell_stretch(struct peer *peer, const struct stretch *stretch, struct buf *out)
{
	struct rep_list_by_regex rep;
	struct rec_listed *recs;
	size_t n_bytes = 0;

	recs = arena_alloc(&peer->master->arena, stretch->n_objects + 1u, sizeof(*recs));
	if (recs == NULL)
		return STATUS_UNAVAILABLE;
	rep = (struct rep_list_by_regex){
		.has_more = stretch->has_more, .after = stretch->last, .listed = recs};
	while (rep.n_listed < stretch->n_objects && n_bytes <= LIST_BYTES_MAX) {
		const struct object *object = stretch->objects[rep.n_listed];

		books_hold(peer->master, object->batch);
		recs[rep.n_listed++] = handle_listed(peer->master, object);
		n_bytes += object->key.len_bytes + object->attr_len;
	}
	if (rep.n_listed < stretch->n_objects) {
		rep.has_more = 1;
		rep.after = recs[rep.n_listed - 1].key;
	}
	return handle_encoded(rep_list_by_regex_encode(out, &rep));
}

int
handle_list_by_regex(struct peer *peer, const struct msg_list_by_regex *msg, struct buf *out)
{
	const struct which which = {.prefix = msg->prefix, .after = msg->after};
	struct stretch stretch;
	int status = collect_matching(peer, which, msg->pattern, msg->group, &stretch);

	return status != STATUS_OK ? status : tell_stretch(peer, &stretch, out);
}

int
handle_list_by_segment(struct peer *peer, const struct msg_list_by_segment *msg, struct buf *out)
{
	const struct which which = {
		.prefix = msg->prefix, .after = msg->after, .segment_id = msg->segment_id};
	struct stretch stretch;
	int status;

	if (segment_find(peer->master, msg->segment_id) == NULL)
		return STATUS_SEGMENT_NOT_FOUND;
	status = collect(peer, &which, &stretch);
	return status != STATUS_OK ? status : tell_stretch(peer, &stretch, out);
}

/* ---- copies ---- */

static struct replica *
copy_on(struct object *object, uint64_t segment_id)
{
	object_each_replica(object, rep)
		if (rep->segment->id == segment_id)
			return rep;
	return NULL;
}

static uint32_t
clear_one(struct peer *peer, struct span key, uint64_t segment_id)
{
	struct master *master = peer->master;
	struct object *object = books_find(master, peer->client->tenant, key.at, key.len);
	struct replica *rep;
	int r;

	if (object == NULL)
		return STATUS_NOT_FOUND;
	rep = segment_id == 0 ? NULL : copy_on(object, segment_id);
	if (segment_id != 0 && rep == NULL)
		return STATUS_NOT_FOUND;
	if (lease_runs(object, master->now_ms))
		return STATUS_HAS_LEASE;
	r = rep == NULL || object_needs(object, rep) ? books_remove(master, object, REPLICA_REMOVED)
						     : books_lose(master, rep);
	if (r < 0)
		return STATUS_UNAVAILABLE;
	counter_add(&master->counters.removes, 1);
	return STATUS_OK;
}

int
handle_replica_clear(struct peer *peer, const struct msg_replica_clear *msg, struct buf *out)
{
	uint32_t *statuses = handle_statuses(peer, msg->n_keys);

	if (statuses == NULL)
		return STATUS_UNAVAILABLE;
	if (msg->segment_id != 0 && segment_find(peer->master, msg->segment_id) == NULL)
		return STATUS_SEGMENT_NOT_FOUND;
	for (uint32_t i = 0; i < msg->n_keys; i++)
		statuses[i] = clear_one(peer, msg->keys[i].key, msg->segment_id);
	return handle_fates(out, statuses, msg->n_keys);
}
