/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tenant.h -- a key space of its own, and how much it may hold.
 *
 *      tenant_put, or the first join that names it --> there --tenant_delete, when empty--> gone
 *
 * "default" is there from the beginning and for ever.  Names that begin with '_' are kept for the
 * store itself.
 *
 * The ledger.  A tenant is charged with every grain of a segment that is not free because of it,
 * from the moment it is taken to the moment somebody else could get it:
 *
 *      put_start, put_extend, a further copy --> charged --> put_end (less what is cut off), ...
 *                                                   |
 *      removed, replaced, evicted, revoked, read on as a ghost: charged still
 *                                                   |
 *                            quarantine is over, or the segment is gone --> charged no more
 *
 * A move needs room twice for a while, and leaves its tenant with no more than it had.  What it
 * needs beside that is the store's own, so that a tenant at its quota can be moved, and nobody can
 * put into what a move has freed before it is free:
 *
 *      the new place    the store's --the copy lands--> charged
 *      the old place    charged     --the copy lands--> the store's, until it may be used again
 *
 * So the tenants' charges, and what is the store's own or rests since before a restart, are
 * together what the segments have taken.  As an object counts what is in the index, and each put
 * under way, also one that is to replace an object.
 *
 * Quotas are judged where room is taken (place.h) and where a put begins (put.h).  A quota that is
 * lowered below what is there takes nothing away by itself and stops no reader: the next put makes
 * room first.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_TENANT_H
#define MASTER_TENANT_H

#include "master/ages.h"
#include "master/alloc.h"
#include "master/index.h"
#include "master/shortage.h"
#include "transfer/base/list.h"
#include "transfer/base/map.h"
#include "transfer/base/vec.h"

#define TENANT_DEFAULT_ID 1
#define TENANTS_MAX       16384 /* of one store */

/* 0: no limit. */
struct tenant_quota {
	uint64_t bytes; /* of room reserved on segments: every copy counts */
	uint64_t objects;
};

struct tenants;

struct tenant {
	uint64_t id;
	uint64_t batch;    /* of the journal that made it, or changed its quota last */
	char *name;        /* owned */
	struct slab *slab; /* of all tenants */
	struct index *index;
	struct index *groups;      /* by their ids (group.h); NULL: it never had one */
	uint64_t n_objects, bytes; /* in the index */
	uint64_t n_puts;           /* under way */
	uint64_t n_clients;        /* joined */
	uint64_t charged_bytes;    /* the ledger: see above */
	uint64_t resting_bytes;    /* of those, in quarantine */
	uint64_t gated_bytes;      /* of those, at gates: nobody knows how long */
	uint64_t moving_bytes;     /* not charged: room of its objects' moves that does not rest */
	struct tenant_quota quota;
	struct ages ages;       /* its objects that have bytes */
	struct tenants *all;    /* NULL: it stands alone (tests) */
	struct list_link grade; /* all->grades[at_grade] */
	unsigned at_grade;
	struct shortage shortage; /* why it was refused last, in bytes */
};

/*
 * Grades: tenants by what they hold and does not rest already, four grades to a doubling, so that
 * those that hold most are found without a look at all.
 */
#define TENANT_GRADES 256

/* All of a store. */
struct tenants {
	struct slab slab;             /* objects, and the forks of their indexes */
	struct warm *warm;            /* borrowed: readies the slab's memory; NULL: nobody does */
	VEC(struct tenant *) by_name; /* in the order of their names' bytes */
	struct map by_id;
	uint64_t last_id;
	uint64_t batch;                    /* of the journal that changed some of them last */
	struct list grades[TENANT_GRADES]; /* struct tenant.grade */
};

void tenants_init(struct tenants *tenants);

/* tenants_warm -- by that thread their memory is made ready before it is needed. */
void tenants_warm(struct tenants *tenants, struct warm *warm);

/* tenants_fini -- free all of them; they must hold nothing. */
void tenants_fini(struct tenants *tenants);

/* tenants_by_name, tenants_by_id -- NULL: none. */
struct tenant *tenants_by_name(const struct tenants *tenants, const uint8_t *name, size_t name_len);
static inline struct tenant *
tenants_by_id(const struct tenants *tenants, uint64_t id)
{
	return id == 0 ? NULL : map_get(&tenants->by_id, id);
}

/* tenants_after -- where in by_name the names behind this one begin. */
size_t tenants_after(const struct tenants *tenants, const uint8_t *name, size_t name_len);

/*
 * tenants_add -- a new one, without quota.
 *
 * needs:   tenant_name_is_sound(); neither name nor id (0: the next one) is there.
 * result:  0 or -ENOMEM, then nothing has changed.
 */
int tenants_add(struct tenants *tenants, uint64_t id, const uint8_t *name, size_t name_len,
		struct tenant **ret_tenant) MUST_CHECK;

/* tenants_drop -- needs: tenant_is_empty(). */
void tenants_drop(struct tenants *tenants, struct tenant *tenant);

/* tenant_name_is_sound -- 1..255 printable ASCII characters without blank, not beginning with '_'.
 */
bool tenant_name_is_sound(const uint8_t *name, size_t name_len);

/* tenants_ram_bytes -- of their indexes, and of what they remember of what went. */
size_t tenants_ram_bytes(const struct tenants *tenants);

/* tenant_live_bytes -- what it holds and does not rest already. */
static inline uint64_t
tenant_live_bytes(const struct tenant *tenant)
{
	return tenant->charged_bytes - tenant->resting_bytes;
}

/* tenant_grade_of -- 0 holds nothing; the higher, the more. */
static inline unsigned
tenant_grade_of(uint64_t live_bytes)
{
	uint64_t grains = live_bytes / ALLOC_GRAIN;
	unsigned log;

	if (grains < 4)
		return (unsigned)grains;
	log = 63u - (unsigned)__builtin_clzll(grains);
	return (log - 1) * 4 + (unsigned)(grains >> (log - 2) & 3);
}

/* tenant_regrade -- it holds more, or less, than its grade says. */
void tenant_regrade(struct tenant *tenant, unsigned grade);

/* tenant_charge, tenant_discharge -- whole grains of room were taken because of it, or are free. */
static inline void
tenant_charge(struct tenant *tenant, uint64_t room_bytes)
{
	unsigned grade;

	tenant->charged_bytes += room_bytes;
	grade = tenant_grade_of(tenant_live_bytes(tenant));
	if (grade != tenant->at_grade)
		tenant_regrade(tenant, grade);
}

static inline void
tenant_discharge(struct tenant *tenant, uint64_t room_bytes)
{
	assert(tenant->charged_bytes >= room_bytes);
	tenant_charge(tenant, 0 - room_bytes);
}

/* tenant_rest -- so much that is nobody's is charged to it until tenant_rest_over(). */
static inline void
tenant_rest(struct tenant *tenant, uint64_t room_bytes)
{
	tenant->charged_bytes += room_bytes;
	tenant->resting_bytes += room_bytes;
}

static inline void
tenant_rest_over(struct tenant *tenant, uint64_t room_bytes)
{
	assert(tenant->resting_bytes >= room_bytes);
	tenant->charged_bytes -= room_bytes;
	tenant->resting_bytes -= room_bytes;
}

/* tenant_has_room, tenant_has_place -- so many bytes, or objects, more are within its quota. */
static inline bool
tenant_has_room(const struct tenant *tenant, uint64_t room_bytes)
{
	return tenant->quota.bytes == 0 ||
	       (tenant->charged_bytes <= tenant->quota.bytes &&
		room_bytes <= tenant->quota.bytes - tenant->charged_bytes);
}

static inline bool
tenant_has_place(const struct tenant *tenant, uint64_t n_objects)
{
	uint64_t n = tenant->n_objects + tenant->n_puts;

	return tenant->quota.objects == 0 ||
	       (n <= tenant->quota.objects && n_objects <= tenant->quota.objects - n);
}

/* tenant_is_over -- it holds more than its quota allows. */
static inline bool
tenant_is_over(const struct tenant *tenant)
{
	return !tenant_has_room(tenant, 0) || !tenant_has_place(tenant, 0);
}

/* tenant_is_empty -- nobody would miss it: it holds nothing, and no client speaks for it. */
bool tenant_is_empty(const struct tenant *tenant);

#endif
