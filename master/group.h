/* SPDX-License-Identifier: Apache-2.0 */

/*
 * group.h -- objects that are of use together, and go for room together.
 *
 *      put_start names it --put_end--> object is a member --removed, evicted, lost--> is none
 *                                            |
 *      struct object ..is_grouped..> map by object id -> struct member -> struct group
 *                                                             |                |
 *                                                     list of members <--------+   one a tenant and
 * id
 *
 * A group is there as long as it has members.  What an object's group is never changes.  Most
 * objects have none: so an object has only a bit, and the rest stands beside it.
 *
 * Eviction (evict.c).  When a member is to go, all go, from the front of the list, in bounded
 * steps:
 *
 *      | 7 | 8 | 9 | 11 | 12        serials; going_until = 10: those below it are to go
 *
 * Who may not go just now is put at the back, under a new serial, and so is looked at once.  A
 * lease on one member is a use of all of them: none goes while it runs, and each counts as used
 * when the last of them was.  A pin is for its object alone: that one stays, the others go.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_GROUP_H
#define MASTER_GROUP_H

#include "master/key.h"
#include "transfer/base/list.h"
#include "transfer/base/map.h"

struct object;
struct tenant;

struct group {
	struct tenant *tenant;
	struct list members; /* struct member.at_group, by their serials */
	size_t n_members;
	uint64_t last_serial;
	uint64_t going_until;      /* 0: none is to go */
	uint8_t going_from;        /* enum evict_from (books.h) */
	struct list_link at_going; /* groups.going, while some are to go */
	uint64_t lease_until_ms;   /* the longest promise on a member; may have been given back */
	uint32_t used_at;          /* as struct object.used_at, of the member used last */
	struct key key;            /* its id, 1..GROUP_MAX bytes */
};

struct member {
	uint64_t object_id, serial;
	struct group *group;
	struct list_link at_group;
};

/* All of a store. */
struct groups {
	struct map by_object; /* id -> struct member */
	struct list going;    /* struct group.at_going */
	size_t n;             /* groups */
};

void groups_init(struct groups *groups);

/* groups_fini -- of objects that are freed without having left. */
void groups_fini(struct groups *groups);

/* group_find -- NULL: it has no members. */
struct group *group_find(const struct tenant *tenant, const uint8_t *id, size_t id_len);

/* group_of -- of that object, or NULL. */
struct group *group_of(const struct groups *groups, const struct object *object);

/*
 * group_join -- needs: it is in none; 1..GROUP_MAX bytes.
 *
 * result:  0 or -ENOMEM, then nothing has changed.
 */
int group_join(struct groups *groups, struct object *object, const uint8_t *id,
	       size_t id_len) MUST_CHECK;

/* group_leave -- of an object that is in none: nothing.  The group goes with its last member. */
void group_leave(struct groups *groups, struct object *object);

/* group_use -- a promise on the object is given until then.  Of one that is in none: nothing. */
void group_use(const struct groups *groups, const struct object *object, uint64_t until_ms);

/* group_is_in_use -- a lease runs on some member, or one was used since `object` was. */
bool group_is_in_use(const struct group *group, const struct object *object, uint64_t now_ms);

/* group_go -- all that are members now are to go, from there (enum evict_from). */
void group_go(struct groups *groups, struct group *group, uint8_t from);

/* group_next -- the next one that is to go; NULL: there is none, and group->going_until is 0. */
struct member *group_next(struct group *group);

/* group_spare -- this one stays where it is, or is on its way: at the back.  Of one that is in
 * none: nothing. */
void group_spare(const struct groups *groups, uint64_t object_id);

/* groups_check -- every law; objects: those in the index, by id (tests, simulation). */
void groups_check(const struct groups *groups, const struct map *objects);

#endif
