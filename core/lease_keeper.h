/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lease_keeper.h -- promises on objects' bytes: kept alive while needed, given back in bulk.
 *
 *      asked_ns                                   until_ns
 *         |-------------- lease_ms ------------------|
 *                                |-- renew -->          a kept lease past its half is renewed
 *
 * When the master does not know a lease any more (it was restarted, or the line was cut for too
 * long) the object is looked up again.  The same id at the same places is proof that its bytes
 * were never given to anybody else in between: ids are never used twice within a cluster and bytes
 * never change.  So the lease goes on.  Anything else: this lease is lost; who reads by it may look
 * for the same version elsewhere (view.c).
 *
 * Leases given back are told in one request for many, at the next tick at the latest.
 *
 * thread:  any; fields below `lock` are touched only with it held.
 */
#ifndef CORE_LEASE_KEEPER_H
#define CORE_LEASE_KEEPER_H

#include <stdatomic.h>

#include "core/link.h"
#include "transfer/base/list.h"
#include "transfer/base/lock.h"

#define RELEASES_MAX 128

struct ask;
struct tiffin_client;

/* One lease that is kept alive; embedded by who needs it. */
struct kept {
	struct list_link at;
	uint64_t serial; /* names it while a renewal is under way */
	const char *key; /* borrowed until lease_keeper_remove() */
	uint64_t object_id;
	uint32_t lease_id;
	uint32_t lease_ms;
	uint64_t cluster_id;       /* whose object id it is */
	uint64_t shape;            /* lease_shape() of its replicas; 0: wherever they lie */
	_Atomic uint64_t until_ns; /* only the keeper writes it; a late look sees an earlier end */
	atomic_bool is_lost;       /* set once */
};

struct lease_keeper {
	const struct clock *clock;

	struct lock lock; /* LOCK_core_leases */
	struct list kept;
	uint64_t next_serial;
	bool is_renewing;
	size_t n_releases;
	struct rec_lease releases[RELEASES_MAX];
};

void lease_keeper_init(struct lease_keeper *keeper, const struct clock *clock);
void lease_keeper_fini(struct lease_keeper *keeper);

/* lease_shape -- a number that stands for where the replicas lie. */
uint64_t lease_shape(const struct rec_object_place *place);

/*
 * lease_keeper_add -- keep this lease from now on.
 *
 * needs:   place came with the answer in ask; kept and key stay put until removed.
 */
void lease_keeper_add(struct lease_keeper *keeper, struct kept *kept, const char *key,
		      const struct rec_object_place *place, const struct ask *ask);

/* lease_keeper_add_version -- the same for who reads nothing by it: wherever its copies lie. */
void lease_keeper_add_version(struct lease_keeper *keeper, struct kept *kept, const char *key,
			      const struct rec_object_place *place, const struct ask *ask);

/* lease_keeper_remove -- keep it no longer, and give it back to the master in time. */
void lease_keeper_remove(struct tiffin_client *client, struct kept *kept);

/* kept_holds -- does the promise still run, by our own clock? */
bool kept_holds(const struct kept *kept, const struct clock *clock);

/* lease_keeper_release -- nobody reads under this lease any more. */
void lease_keeper_release(struct tiffin_client *client, uint64_t object_id, uint32_t lease_id);

/* lease_keeper_flush -- tell the master of all releases now, without waiting. */
void lease_keeper_flush(struct tiffin_client *client);

/* lease_keeper_renew -- renew what is past its half; one thread at a time, others pass. */
void lease_keeper_renew(struct tiffin_client *client);

#endif
