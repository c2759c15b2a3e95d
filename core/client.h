/* SPDX-License-Identifier: Apache-2.0 */

/*
 * client.h -- what one open client is made of.
 *
 *      tiffin_open(): real clock, link_sock, engine, a beat thread    --+
 *      tests, tests/sim: their own clock, link and engine, no thread  --+--> tiffin_client_new()
 *
 * Everything that has to happen now and then (ping, renewal of leases and puts, fences, mounting
 * again) is done by client_tick(), which the beat thread calls and a test calls by hand.
 *
 * thread:  any, but new and free.  Fields below `lock` are touched only with it held; those above
 *          never change after tiffin_client_new().
 */
#ifndef CORE_CLIENT_H
#define CORE_CLIENT_H

#include <stdatomic.h>

#include "core/greet.h"
#include "core/lease_keeper.h"
#include "core/link.h"
#include "core/tiffin.h"
#include "core/where.h"
#include "transfer/base/lock.h"
#include "transfer/base/rand.h"
#include "transfer/base/vec.h"
#include "transfer/engine.h"

#define CLIENT_MAGIC 0x74636c69u

struct beat;
struct hot_cache;
struct work;

/* The outer world of a client.  Strings are copied. */
struct client_world {
	const struct clock *clock;
	uint64_t client_id, seed;
	struct link **link_taken;
	struct engine **engine_taken;
	const char *name;
	const char *master;               /* for sentences */
	uint32_t timeout_ms, transfer_ms; /* 0: the default */
	bool no_verify, verify_rdma, has_key;
	struct hot_cache **hot_taken; /* NULL: there is none */
	const struct greet_config
		*door; /* for further connections (watches); NULL: there are none */
};

struct tiffin_client {
	unsigned magic;
	unsigned fork_generation;
	const struct clock *clock;
	uint64_t client_id;
	char *name, *master;
	uint32_t timeout_ms, transfer_ms;
	bool no_verify, verify_rdma, has_key;
	struct hot_cache *hot; /* NULL: none is kept */
	struct link *link;
	struct engine *engine;
	struct greet_config door; /* its name is NULL when there is none; strings are ours */
	struct beat *beat;        /* NULL: somebody else calls client_tick() */

	struct work *work; /* under the lock; NULL: nobody carries out tasks of the master */

	struct where where;               /* has its own lock */
	struct lease_keeper lease_keeper; /* has its own lock */
	atomic_bool has_worker;           /* told with each ping; set once */
	atomic_bool is_closing;           /* set once; a late look costs one more refusal */
	atomic_uint n_calls;              /* under way; close waits for 0 */
	atomic_uint n_mounted;            /* numbers names of segments */
	atomic_uint turn;                 /* spreads reads over equal copies */
	atomic_uint n_dmabufs;            /* regions that are memory of a device */
	_Atomic uint64_t n_other_copy, n_other_look; /* told by tiffin_retries() alone */

	struct lock lock; /* LOCK_core_client */
	struct rand rand;
	struct list puts;    /* struct tiffin_put: streams whose write lease is kept */
	struct list mounts;  /* struct mount */
	struct list regions; /* struct region */
	pthread_cond_t put_idle;
	struct list writings;           /* struct writing_span: writes under way */
	uint64_t n_writings;            /* begun so far: the number of the next */
	uint64_t own_fence_id;          /* the newest order to fence ourselves, and */
	uint64_t own_fence_before;      /* the writings below this number were under way then */
	VEC(struct rec_fence) to_fence; /* ordered by the master, not carried out yet */
	VEC(uint64_t) fenced;           /* ids of fences carried out, not told yet */
	uint64_t quiet_epoch;  /* as told in the last ping; older grants may not be used any more */
	uint64_t master_epoch; /* as last seen */
	uint32_t n_joins;      /* as last seen */
	uint32_t n_adopted;    /* mounts of memory that had been lent before */
	bool has_asked;        /* for room to write in, ever */
	uint64_t rejoined_at_ns;
};

/*
 * tiffin_client_new -- a client in that world; nothing is asked of the master yet.
 *
 * takes:   *world->link_taken, *world->engine_taken.
 * result:  0 or -errno.
 */
int tiffin_client_new(const struct client_world *world,
		      struct tiffin_client **ret_client) MUST_CHECK;

/* tiffin_client_free -- needs: no call under way, no put, view, list or mount left, no beat thread.
 */
void tiffin_client_free(struct tiffin_client *client);

/* client_tick_until -- the deadline of each step of a tick: short, so that a close need not wait.
 */
uint64_t client_tick_until(const struct tiffin_client *client);

/* client_tick -- one round: releases, ping, fences, mounts to be said again, leases, puts. */
void client_tick(struct tiffin_client *client);

/*
 * client_enter -- the door of every public call; client_leave() the way out.
 *
 * result:  0, TIFFIN_E_INVALID, TIFFIN_E_FORKED, TIFFIN_E_CLOSED.  With a failure do not leave.
 */
int client_enter(struct tiffin_client *client);

/* client_leave -- gives r, or TIFFIN_E_CLOSED when the client was closed meanwhile. */
int client_leave(struct tiffin_client *client, int r);

/*
 * client_until -- the deadline of a call that begins now: timeout_ms.
 *
 * Whoever moves much asks again after each wave that went well: the time is over when nothing has
 * moved for so long, not when there is much to move.
 */
uint64_t client_until(const struct tiffin_client *client);

/*
 * client_settling -- did the master come back a moment ago, so that providers may not yet have?
 *
 * is_patient  count also the first moments after this client joined.
 */
bool client_settling(struct tiffin_client *client, bool is_patient);

/* client_pause -- sleep a little before trying again; false: until_ns is too near, or we close. */
bool client_pause(struct tiffin_client *client, uint64_t until_ns);

/* client_key_check -- 0 or TIFFIN_E_INVALID. */
int client_key_check(const char *key);

DEFINE_CLEANUP(struct tiffin_client, tiffin_client_free);

#endif
