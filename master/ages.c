/* SPDX-License-Identifier: Apache-2.0 */
#include "master/ages.h"

#include <stdlib.h>
#include <string.h>

#include "master/object.h"
#include "master/pin.h"
#include "master/tenant.h"
#include "transfer/base/num.h"

#define WEIGHT_STEP 0.0003
#define WEIGHT_MAX  8.0
#define SCARCE_MAX  10.0

/* ---- what went lately ---- */

#define LINE_REGRETS 8
#define LINE_LOAD    4 /* on average, at most: so that few are pushed out by their neighbours */
#define REGRET_SHARE 2 /* one is remembered for so many objects of the tenant */
#define REGRETS_MIN  16
#define REGRETS_MAX  (1u << 28)

struct regret {
	uint32_t tag;    /* bits of the hash that do not choose the line */
	uint32_t number; /* regrets.n_gone << 1, and whether it was used again; 0: none */
};

_Static_assert(LINE_REGRETS * sizeof(struct regret) == 64, "they are looked at together");

static struct regret *
line_of(const struct regrets *regrets, uint64_t hash)
{
	return regrets->at + (hash & (regrets->n_lines - 1)) * LINE_REGRETS;
}

/* How many went since; those of a table that was replaced are forgotten. */
static uint32_t
regret_age(const struct regrets *regrets, const struct regret *regret)
{
	if (regret->number == 0)
		return UINT32_MAX;
	return ((regrets->n_gone << 1) - (regret->number & ~1u)) >> 1;
}

/*
 * As the tenant grows the table is replaced by an empty one: what it knew is lost, which only means
 * that the weight stays for a while.  Without memory the old one goes on.
 */
static void
regrets_fit(struct regrets *regrets, uint64_t n_objects)
{
	uint64_t wanted = num_max(n_objects / REGRET_SHARE, (uint64_t)REGRETS_MIN);
	size_t n_lines = 1;
	struct regret *at;

	wanted = num_min(wanted, (uint64_t)REGRETS_MAX);
	if (wanted > regrets->n_lines * LINE_LOAD) {
		while (n_lines * LINE_LOAD < wanted)
			n_lines *= 2;
		at = calloc(n_lines * LINE_REGRETS, sizeof(*at));
		if (at != NULL) {
			free(regrets->at);
			regrets->at = at;
			regrets->n_lines = n_lines;
		}
	}
	regrets->n_most = (uint32_t)num_min(wanted, regrets->n_lines * LINE_LOAD);
}

void
ages_let_go(struct ages *ages, uint64_t key_hash, bool was_again, uint64_t n_objects)
{
	struct regrets *regrets = &ages->regrets;
	struct regret *line, *oldest;

	regrets_fit(regrets, n_objects);
	if (regrets->at == NULL)
		return;
	oldest = line = line_of(regrets, key_hash);
	for (unsigned i = 1; i < LINE_REGRETS; i++)
		if (regret_age(regrets, &line[i]) > regret_age(regrets, oldest))
			oldest = &line[i];
	regrets->n_gone = regrets->n_gone % (UINT32_MAX >> 1) + 1;
	*oldest = (struct regret){(uint32_t)(key_hash >> 32),
				  regrets->n_gone << 1 | (was_again ? 1u : 0u)};
	regrets->again_share += ((was_again ? 1.0 : 0.0) - regrets->again_share) / regrets->n_most;
}

/* Where it is remembered, or NULL. */
static struct regret *
regret_find(const struct regrets *regrets, uint64_t key_hash)
{
	struct regret *line;

	if (regrets->at == NULL)
		return NULL;
	line = line_of(regrets, key_hash);
	for (unsigned i = 0; i < LINE_REGRETS; i++)
		if (line[i].number != 0 && line[i].tag == (uint32_t)(key_hash >> 32) &&
		    regret_age(regrets, &line[i]) < regrets->n_most)
			return &line[i];
	return NULL;
}

bool
ages_regret(struct ages *ages, uint64_t key_hash)
{
	struct regret *regret = regret_find(&ages->regrets, key_hash);
	double share = ages->regrets.again_share, step;
	bool was_again;

	if (regret == NULL)
		return false;
	was_again = (regret->number & 1) != 0;
	regret->number = 0;
	share = was_again ? share : 1 - share;
	step = WEIGHT_STEP * (2 * share * SCARCE_MAX > 1 ? 1 / (2 * share) : SCARCE_MAX);
	ages->weight *= was_again ? 1 + step : 1 - step;
	if (ages->weight < 1)
		ages->weight = 1;
	if (ages->weight > WEIGHT_MAX)
		ages->weight = WEIGHT_MAX;
	return true;
}

size_t
ages_ram_bytes(const struct ages *ages)
{
	return ages->regrets.n_lines * LINE_REGRETS * sizeof(struct regret);
}

/* ---- the lists ---- */

void
ages_init(struct ages *ages)
{
	*ages = (struct ages){.weight = 1};
	for (unsigned i = 0; i < AGES_LISTS; i++)
		list_init(&ages->lists[i]);
}

void
ages_fini(struct ages *ages)
{
	free(ages->regrets.at);
}

static struct object *
object_at(struct list_link *link)
{
	return list_of(link, struct object, at_lru);
}

static enum ages_list
which_of(const struct object *object)
{
	if (object->pinned_until_s == PIN_HARD)
		return AGES_HARD;
	if (object->pinned_until_s > 0)
		return AGES_SOFT;
	if (object->is_on_disk)
		return AGES_DISK;
	return object->is_again ? AGES_AGAIN : AGES_ONCE;
}

void
ages_batch_begin(struct ages *ages)
{
	ages->is_batch = true;
	ages->batch_use = ages->n_uses;
	for (unsigned i = 0; i < AGES_LISTS; i++)
		ages->batch_at[i] = &ages->lists[i].head;
}

void
ages_batch_end(struct ages *ages)
{
	ages->is_batch = false;
}

static void
push_front(struct object *object)
{
	struct ages *ages = &object->tenant->ages;

	object->used_at = ages->n_uses;
	list_push_front(&ages->lists[which_of(object)], &object->at_lru);
}

void
ages_enter(struct object *object)
{
	struct ages *ages = &object->tenant->ages;
	enum ages_list which = which_of(object);

	if (object->len_bytes == 0)
		return;
	if (ages->is_batch) {
		object->used_at = ages->batch_use;
		list_insert_after(ages->batch_at[which], &object->at_lru);
		ages->batch_at[which] = &object->at_lru;
	} else {
		push_front(object);
	}
	ages->n_uses++;
}

void
ages_leave(struct object *object)
{
	struct ages *ages = &object->tenant->ages;
	enum ages_list which = which_of(object);

	if (ages->is_batch && ages->batch_at[which] == &object->at_lru)
		ages->batch_at[which] = object->at_lru.prev;
	list_remove(&object->at_lru);
}

void
ages_use(struct object *object)
{
	if (!list_link_is_on(&object->at_lru))
		return;
	ages_leave(object);
	object->is_again = true;
	push_front(object);
	object->tenant->ages.n_uses++;
}

void
ages_spare(struct object *object)
{
	ages_leave(object);
	push_front(object);
}

void
ages_pin(struct object *object, uint32_t until_s)
{
	bool is_on = list_link_is_on(&object->at_lru);

	if (is_on)
		ages_leave(object);
	object->pinned_until_s = until_s;
	if (is_on)
		push_front(object);
}

void
ages_sink(struct object *object, bool is_on_disk)
{
	bool is_on = list_link_is_on(&object->at_lru) && !object->is_ghost;

	if (is_on)
		ages_leave(object);
	object->is_on_disk = is_on_disk;
	if (is_on)
		push_front(object);
}

unsigned
ages_unpin_ended(struct ages *ages, uint64_t now_s, unsigned max_steps)
{
	const struct list_link *end = list_first(&ages->lists[AGES_SOFT]);
	struct list_link *last;
	unsigned n_ended = 0;

	for (unsigned n = 0; n < max_steps && (last = list_last(&ages->lists[AGES_SOFT])) != NULL;
	     n++) {
		struct object *object = object_at(last);
		bool is_over = object->pinned_until_s <= now_s;

		ages_pin(object, is_over ? 0 : object->pinned_until_s);
		n_ended += is_over;
		if (last == end)
			break;
	}
	return n_ended;
}

/* ---- who goes ---- */

struct ages_walk
ages_walk(struct ages *ages, bool on_disk, bool with_soft)
{
	struct ages_walk walk = {.ages = ages};

	for (unsigned i = 0; i < AGES_HARD; i++)
		walk.ends[i] = list_first(&ages->lists[i]);
	walk.ends[on_disk ? AGES_ONCE : AGES_DISK] = NULL;
	if (on_disk)
		walk.ends[AGES_AGAIN] = NULL;
	if (!with_soft)
		walk.ends[AGES_SOFT] = NULL;
	return walk;
}

/* The last of that list, if it was not looked at yet. */
static struct object *
last_of(const struct ages_walk *walk, enum ages_list which)
{
	return walk->ends[which] == NULL ? NULL : object_at(list_last(&walk->ages->lists[which]));
}

static double
age_of(const struct ages *ages, const struct object *object)
{
	return ages->n_uses - object->used_at;
}

static enum ages_list
choose(const struct ages_walk *walk)
{
	const struct ages *ages = walk->ages;
	const struct object *once = last_of(walk, AGES_ONCE), *again = last_of(walk, AGES_AGAIN);

	if (once == NULL && again == NULL)
		return last_of(walk, AGES_DISK) != NULL ? AGES_DISK : AGES_SOFT;
	if (once == NULL || again == NULL)
		return once == NULL ? AGES_AGAIN : AGES_ONCE;
	return age_of(ages, once) * ages->weight < age_of(ages, again) ? AGES_AGAIN : AGES_ONCE;
}

struct object *
ages_next(struct ages_walk *walk)
{
	enum ages_list which = choose(walk);
	struct object *object = last_of(walk, which);

	if (object != NULL && walk->ends[which] == &object->at_lru)
		walk->ends[which] = NULL;
	return object;
}
