/* SPDX-License-Identifier: Apache-2.0 */
#include "master/ages.h"

#include <stdlib.h>
#include <string.h>

#include "master/object.h"
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

static struct list *
list_for(const struct object *object)
{
	return &object->tenant->ages.lists[object->is_again ? AGES_AGAIN : AGES_ONCE];
}

void
ages_batch_begin(struct ages *ages)
{
	ages->is_batch = true;
	ages->batch_use = ages->n_uses;
	ages->batch_at = &ages->lists[AGES_ONCE].head;
}

void
ages_batch_end(struct ages *ages)
{
	ages->is_batch = false;
}

void
ages_enter(struct object *object)
{
	struct ages *ages = &object->tenant->ages;

	if (object->len_bytes == 0)
		return;
	object->used_at = ages->n_uses++;
	if (!ages->is_batch || object->is_again) {
		list_push_front(list_for(object), &object->at_lru);
		return;
	}
	object->used_at = ages->batch_use;
	list_insert_after(ages->batch_at, &object->at_lru);
	ages->batch_at = &object->at_lru;
}

void
ages_leave(struct object *object)
{
	struct ages *ages = &object->tenant->ages;

	if (ages->is_batch && ages->batch_at == &object->at_lru)
		ages->batch_at = object->at_lru.prev;
	list_remove(&object->at_lru);
}

static void
push_front(struct object *object)
{
	struct ages *ages = &object->tenant->ages;

	object->used_at = ages->n_uses;
	list_push_front(list_for(object), &object->at_lru);
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

/* ---- who goes ---- */

struct ages_walk
ages_walk(struct ages *ages)
{
	struct ages_walk walk = {.ages = ages};

	for (unsigned i = 0; i < AGES_LISTS; i++)
		walk.ends[i] = list_first(&ages->lists[i]);
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

struct object *
ages_next(struct ages_walk *walk)
{
	const struct ages *ages = walk->ages;
	struct object *once = last_of(walk, AGES_ONCE), *again = last_of(walk, AGES_AGAIN);
	enum ages_list which = AGES_ONCE;

	if (once == NULL ||
	    (again != NULL && age_of(ages, once) * ages->weight < age_of(ages, again)))
		which = AGES_AGAIN;
	if (which == AGES_AGAIN && again == NULL)
		return NULL;
	once = which == AGES_ONCE ? once : again;
	if (walk->ends[which] == &once->at_lru)
		walk->ends[which] = NULL;
	return once;
}
