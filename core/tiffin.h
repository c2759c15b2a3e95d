/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tiffin.h -- the whole public interface of libtiffin.
 *
 * A client speaks with the master about objects and moves their bytes itself,
 * from and to slices: struct iovec, a pointer and a length in the caller's
 * memory.  An object is a key's immutable bytes: a new value is a new object
 * with a new id, which is also its version.
 *
 * Every function returns 0 or a negative TIFFIN_E_* code, unless it says
 * otherwise.  Outputs (ret_...) are written on success only.  Strings, slices
 * and buffers passed in are borrowed until the call returns.  A client may be
 * used by many threads at once; a put, view, list or watch by one at a time.
 * The library does not print, exit, or touch signals.  After fork() the child
 * gets TIFFIN_E_FORKED from every call on its parent's client and may open its own.
 *
 * A key is 1..1024 bytes, any but NUL, given as a string that ends in NUL.
 */
#ifndef TIFFIN_H
#define TIFFIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIFFIN_API          __attribute__((visibility("default")))
#define TIFFIN_KEY_MAX      1024
#define TIFFIN_ATTR_MAX     4096
#define TIFFIN_GROUP_MAX    255
#define TIFFIN_REPLICAS_MAX 8

struct tiffin_client;
struct tiffin_put;
struct tiffin_view;
struct tiffin_list;
struct tiffin_watch;

/* ---- errors ------------------------------------------------------------------ */

enum {
	TIFFIN_E_NOT_FOUND = -1, /* no such object */
	TIFFIN_E_EXISTS = -2,    /* an object of that key is there, or is being put */
	TIFFIN_E_NO_SPACE = -3,  /* no room, even after evicting; also: nobody lends memory */
	TIFFIN_E_TOO_SMALL = -4, /* the object is longer than the slices */
	TIFFIN_E_UNREACHABLE =
		-5, /* master, or every copy, can't be reached; trying again later is sensible */
	TIFFIN_E_INVALID = -6, /* an argument breaks the contract of the call */
	TIFFIN_E_SYSTEM = -7,  /* out of memory or descriptors and the like; see tiffin_why() */
	TIFFIN_E_TIMEOUT = -8, /* not done within the time given */
	TIFFIN_E_LEASE =
		-9, /* remove: somebody reads it.  get, put: the promise ran out on the way */
	TIFFIN_E_CHECKSUM = -10, /* every copy's bytes differ from what was put */
	TIFFIN_E_DENIED = -11,   /* the cluster key, the tenant or the token is not accepted */
	TIFFIN_E_BUSY = -12, /* the master can't write its books just now, or a limit is reached */
	TIFFIN_E_FORKED = -13,    /* this client was opened in another process */
	TIFFIN_E_CLOSED = -14,    /* the client, put or view is closed */
	TIFFIN_E_VERSION = -15,   /* library and master speak different versions */
	TIFFIN_E_QUOTA = -16,     /* the tenant's quota is used up, even after evicting */
	TIFFIN_E_NOT_EMPTY = -17, /* the tenant still holds something, or has clients */
};

/* tiffin_strerror -- a code in words.  Never NULL. */
TIFFIN_API const char *tiffin_strerror(int code);

/* tiffin_errname -- "NOT_FOUND" for TIFFIN_E_NOT_FOUND.  Never NULL. */
TIFFIN_API const char *tiffin_errname(int code);

/* tiffin_why -- one line on this thread's last failure.  Never NULL; valid until its next call. */
TIFFIN_API const char *tiffin_why(void);

/* ---- clients ----------------------------------------------------------------- */

/* Zero or NULL means the default.  Set struct_bytes to sizeof(struct tiffin_options). */
struct tiffin_options {
	size_t struct_bytes;
	const char *master; /* "unix:/run/tiffin/master.sock", "host:7400"; default: $TIFFIN_MASTER
			       is not read here; see tiffin_master_default() */
	const char *name;   /* for people; default "program-pid" */
	const char *tenant; /* whose objects: default "default"; see tiffin_tenant_put() */
	const char *key_file; /* cluster key; needed for masters beyond this machine */
	uint32_t open_ms;     /* wait for the master so long at open; default 5000 */
	uint32_t timeout_ms;  /* of every call that says nothing else; default 30000 */
	uint32_t transfer_ms; /* no byte of a replica may take longer to begin or go on; default
				 10000 */
	bool no_verify;       /* get: don't check sums of whole objects */
	bool verify_rdma;     /* get: check them for what comes by RDMA as well, where no processor
				 touches the bytes otherwise (3 % of one for each GB/s) */
	bool no_rdma;         /* do without */
	uint32_t rdma_conns;  /* queue pairs to each segment, 1 to 4; default 1 */
	uint64_t hot_cache_bytes; /* keep so much of what is read often from other hosts, whole or
				     in parts, in this one's memory; 0: nothing, else at least
				     1 MiB */
	uint32_t
		hot_cache_reads; /* keep an object when it is read the so many-th time; default 2 */
	bool is_hot_cache_shared; /* with all processes of this user that say so; the first one
				     decides on its size */
};

/* What came of it, since this client was opened. */
struct tiffin_hot_cache {
	uint64_t len_bytes; /* 0: none is kept */
	uint64_t n_hits, hit_bytes;
	uint64_t n_misses; /* objects of all hosts that were not there */
	uint64_t n_kept;   /* objects put there */
};

/* tiffin_hot_cache -- count hits and misses of a client's hot cache. */
TIFFIN_API int tiffin_hot_cache(struct tiffin_client *client, struct tiffin_hot_cache *ret_cache);

/* tiffin_master_default -- the address of this user's master (see tiffin.conf(5)).  Never NULL. */
TIFFIN_API const char *tiffin_master_default(void);

/* tiffin_open -- connect, join, and keep joined in the background. */
TIFFIN_API int tiffin_open(const struct tiffin_options *options, struct tiffin_client **ret_client);

/*
 * tiffin_close -- end every call under way (TIFFIN_E_CLOSED), unmount what was mounted, leave.
 *
 * Puts, views, lists and watches must have been closed before.  NULL is fine.
 */
TIFFIN_API void tiffin_close(struct tiffin_client *client);

/* tiffin_ping -- one round to the master and back.  0 when it answers. */
TIFFIN_API int tiffin_ping(struct tiffin_client *client);

/* ---- whole objects ----------------------------------------------------------- */

enum tiffin_flags {
	TIFFIN_REPLACE = 1, /* put: take the place of an object of that key, at the end, at once */
	TIFFIN_STRICT = 2,  /* put: all copies or none (otherwise at least one) */
	TIFFIN_FORCE = 4,   /* remove: also under a lease (readers get right bytes or an error) */
	TIFFIN_NOREPLACE = 8,      /* rename: not over an existing object */
	TIFFIN_SOFT_PIN = 16,      /* put, pin: goes for room only when nothing else is left */
	TIFFIN_HARD_PIN = 32,      /* put, pin: never goes for room */
	TIFFIN_SAME_NODE = 64,     /* put_batch: the first copies of all on one host, while it has
				      room; of each round of up to 1024 objects and 1 GiB */
	TIFFIN_EXCHANGE = 128,     /* rename: both are there, and change places */
	TIFFIN_EXCHANGE_ANY = 256, /* rename: the same; of a pair one may be missing */
};

/* Zero means the default.  Set struct_bytes. */
struct tiffin_put_options {
	size_t struct_bytes;
	uint32_t replica_num; /* copies in memory, 1..8; default 1, or none with nof_replica_num */
	uint32_t flags;       /* enum tiffin_flags */
	const void *attr;     /* kept with the object, 0..4096 bytes */
	size_t attr_bytes;
	const uint64_t *preferred; /* segment ids to take first, for copies in memory */
	size_t n_preferred;        /* at most 8 */
	uint64_t pin_ttl_ms; /* with TIFFIN_SOFT_PIN, from the end of the put on; 0: 30 minutes;
				at most 24 hours */
	uint32_t nof_replica_num;      /* copies on segments of medium NOF; all copies: at most 8 */
	const uint64_t *preferred_nof; /* segment ids to take first, for those */
	size_t n_preferred_nof;        /* at most 8 */
	const char *group; /* whose objects go for room together, 1..255 bytes; NULL or "": none */
};

/*
 * tiffin_put -- store the slices, one after the other, as one object.
 *
 * client    [in]  an open client; any thread.
 * key       [in]  1..1024 bytes.
 * slices    [in]  n_slices pieces of memory; lengths of 0 are fine, all 0 makes an empty object.
 * options   [in]  NULL: one copy, no replacing, no attributes.
 * ret_id    [out] id (version) of the object; NULL if not wanted.
 *
 * Blocks until the object can be read by everybody, or nothing of it is there.
 *
 * Objects of one group are of use together only: when one of them is evicted, all are, but for
 * those that are pinned; and a lease on one keeps all.  The group belongs to this version of the
 * object.
 *
 * Copies lie on segments that differ, and on hosts that differ while there is a choice.  Of the
 * copies wanted there may be fewer, but at least one, unless flags say TIFFIN_STRICT; tiffin_stat()
 * tells how many there are.
 *
 * Errors: TIFFIN_E_EXISTS, TIFFIN_E_NO_SPACE, TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT,
 *         TIFFIN_E_LEASE, TIFFIN_E_INVALID, TIFFIN_E_BUSY, TIFFIN_E_SYSTEM.
 */
TIFFIN_API int tiffin_put(struct tiffin_client *client, const char *key, const struct iovec *slices,
			  size_t n_slices, const struct tiffin_put_options *options,
			  uint64_t *ret_id);

/*
 * tiffin_get -- fill the slices with the bytes of an object.
 *
 * ret_len_bytes  [out] size of the object; bytes of the slices beyond it are untouched.
 *
 * The bytes are one version's, whole, checked against its sum, and the lease still ran when the
 * last one arrived; otherwise another copy is tried, and then it is an error, and the slices'
 * contents are undefined.
 *
 * Errors: TIFFIN_E_NOT_FOUND, TIFFIN_E_TOO_SMALL (slices untouched), TIFFIN_E_UNREACHABLE,
 *         TIFFIN_E_TIMEOUT, TIFFIN_E_CHECKSUM, TIFFIN_E_LEASE, TIFFIN_E_INVALID, TIFFIN_E_SYSTEM.
 */
TIFFIN_API int tiffin_get(struct tiffin_client *client, const char *key, const struct iovec *slices,
			  size_t n_slices, uint64_t *ret_len_bytes);

/*
 * tiffin_get_range -- bytes [offset, ...) of an object, as many as the slices hold or there are.
 *
 * ret_len_bytes  [out] how many; 0 at and beyond the end.
 *
 * The sum covers whole objects: a range is checked only when it is the whole.
 */
TIFFIN_API int tiffin_get_range(struct tiffin_client *client, const char *key,
				uint64_t offset_bytes, const struct iovec *slices, size_t n_slices,
				uint64_t *ret_len_bytes);

/* One item of a batch.  `result` and the ret_ fields are written for every item. */
struct tiffin_item {
	const char *key;
	const struct iovec *slices;
	size_t n_slices;
	const void *attr; /* put */
	size_t attr_bytes;
	int result;             /* 0 or TIFFIN_E_* */
	uint64_t ret_len_bytes; /* get */
	uint64_t ret_id;
	const char *group; /* put: as in tiffin_put_options */
};

/*
 * tiffin_put_batch, tiffin_get_batch -- many objects with few round trips.
 *
 * Any number of items; one that fails does not spoil the others.
 * options->attr and options->group are not used.  Returns 0 when every item has a result, else the
 * reason why none has.
 */
TIFFIN_API int tiffin_put_batch(struct tiffin_client *client, struct tiffin_item *items,
				size_t n_items, const struct tiffin_put_options *options);
TIFFIN_API int tiffin_get_batch(struct tiffin_client *client, struct tiffin_item *items,
				size_t n_items);

/*
 * tiffin_exist -- tell which of these keys have an object.  Takes no lease.
 *
 * ret_results  [out] one a key: 0 there, TIFFIN_E_NOT_FOUND, or why it isn't known.
 */
TIFFIN_API int tiffin_exist(struct tiffin_client *client, const char *const *keys, size_t n_keys,
			    int *ret_results);

/*
 * tiffin_exist_lease -- the same, and those that are there stay for lease_ms, so that a get which
 * follows finds them.
 *
 * lease_ms  [in]  0, or more than the master gives: as long as it gives (tiffin.conf(5), lease_ms).
 *
 * Within that time they go neither for room nor by a removal without TIFFIN_FORCE.  The leases end
 * by themselves; to keep them use tiffin_lease_take().
 */
TIFFIN_API int tiffin_exist_lease(struct tiffin_client *client, const char *const *keys,
				  size_t n_keys, uint64_t lease_ms, int *ret_results);

struct tiffin_lease;

/*
 * tiffin_lease_take -- keep objects as they are, without reading them.
 *
 * ret_results  [out] one a key: 0, TIFFIN_E_NOT_FOUND, or why there is no lease on it.
 * ret_lease    [out] to be given to tiffin_lease_drop(), before the client is closed.
 *
 * The client renews them until then.  An object that is removed by force or replaced meanwhile
 * keeps its bytes for those who read under a lease.
 *
 * Errors: when the master could be asked for none: TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT,
 *         TIFFIN_E_SYSTEM, TIFFIN_E_INVALID.
 */
TIFFIN_API int tiffin_lease_take(struct tiffin_client *client, const char *const *keys,
				 size_t n_keys, int *ret_results, struct tiffin_lease **ret_lease);

/* tiffin_lease_check -- does it hold for the i-th key?  0; TIFFIN_E_LEASE: it is over, for good;
 * TIFFIN_E_NOT_FOUND: there was none.  thread: any. */
TIFFIN_API int tiffin_lease_check(const struct tiffin_lease *lease, size_t i);

/* tiffin_lease_drop -- give all of them back.  NULL is fine. */
TIFFIN_API void tiffin_lease_drop(struct tiffin_lease *lease);

struct tiffin_stat {
	uint64_t object_id, len_bytes;
	uint64_t put_at_ms; /* since 1970, UTC */
	uint64_t lease_left_ms;
	uint32_t crc; /* CRC-32C */
	bool has_crc;
	bool is_prefix; /* list: stands for all keys below.  stat: keys "key/..." exist */
	uint32_t n_replicas;
	const void *attr; /* stat: the caller's attr_buf; list: valid until the next
			     tiffin_list_next() */
	size_t attr_bytes;
	uint32_t pin;                     /* stat: TIFFIN_SOFT_PIN, TIFFIN_HARD_PIN or 0 */
	uint64_t pin_left_ms;             /* stat: of a soft one */
	char group[TIFFIN_GROUP_MAX + 1]; /* "": none */
};

/*
 * tiffin_stat -- what is known of an object.  Takes no lease.
 *
 * attr_buf  [out] TIFFIN_ATTR_MAX bytes for the attributes, or NULL when they are not wanted.
 *
 * With TIFFIN_E_NOT_FOUND ret_stat->is_prefix is still written: keys below may exist without it.
 */
TIFFIN_API int tiffin_stat(struct tiffin_client *client, const char *key,
			   struct tiffin_stat *ret_stat, void *attr_buf);

/*
 * tiffin_remove -- from now on the key has no object.
 *
 * flags  [in]  TIFFIN_FORCE, or 0: an object that somebody reads stays.
 *
 * Errors: TIFFIN_E_NOT_FOUND, TIFFIN_E_LEASE, TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT,
 *         TIFFIN_E_BUSY, TIFFIN_E_INVALID.
 *
 * When an answer is lost the request is sent again, and the master answers as it did before.  One
 * that was restarted in between has forgotten that: then TIFFIN_E_NOT_FOUND may also mean that this
 * call has removed it.
 */
TIFFIN_API int tiffin_remove(struct tiffin_client *client, const char *key, uint32_t flags);

/* tiffin_remove_batch -- many at once; ret_results[i]: 0, or why keys[i] was not removed. */
TIFFIN_API int tiffin_remove_batch(struct tiffin_client *client, const char *const *keys,
				   size_t n_keys, uint32_t flags, int *ret_results);

/* What became of many. */
struct tiffin_removed {
	uint64_t n_removed;
	uint64_t n_leased; /* kept, for somebody reads them */
	uint64_t n_failed; /* kept, for the master could not write its books */
};

/*
 * tiffin_remove_prefix -- remove every object whose key begins with prefix; "": all of the tenant.
 *
 * flags        [in]   TIFFIN_FORCE, or 0: objects that somebody reads stay.
 * ret_removed  [out]  also after an error: what was done until then.
 *
 * The master does it in stretches of 1024 keys; an object put meanwhile may stay or go.
 *
 * Errors: TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT (the time of a call is that of a stretch),
 *         TIFFIN_E_BUSY, TIFFIN_E_INVALID.
 */
TIFFIN_API int tiffin_remove_prefix(struct tiffin_client *client, const char *prefix,
				    uint32_t flags, struct tiffin_removed *ret_removed);

/*
 * tiffin_remove_regex -- of the keys that begin with prefix those in which pattern is found.
 *
 * pattern  [in]  a regular expression as of PCRE2, on bytes; at most 512 bytes.
 *
 * Errors: as of tiffin_remove_prefix(); TIFFIN_E_INVALID also for a pattern that is none, or that
 *         would take too long.
 */
TIFFIN_API int tiffin_remove_regex(struct tiffin_client *client, const char *pattern,
				   const char *prefix, uint32_t flags,
				   struct tiffin_removed *ret_removed);

/*
 * tiffin_remove_group -- of the keys that begin with prefix those whose objects are of that group.
 *
 * group  [in]  1..255 bytes; of one that is not there nothing is removed.
 *
 * Errors: as of tiffin_remove_prefix(); TIFFIN_E_INVALID also for a group that is none.
 */
TIFFIN_API int tiffin_remove_group(struct tiffin_client *client, const char *group,
				   const char *prefix, uint32_t flags,
				   struct tiffin_removed *ret_removed);

/*
 * tiffin_replica_clear -- the copies that these objects have on a segment go; 0: all copies.
 *
 * ret_results  [out]  one a key: 0; TIFFIN_E_NOT_FOUND: no such object, or no copy there;
 *                     TIFFIN_E_INVALID: no key at all, and the others are done all the same;
 *                     TIFFIN_E_LEASE: somebody reads it.  An object whose last copy goes is
 * removed.
 */
TIFFIN_API int tiffin_replica_clear(struct tiffin_client *client, uint64_t segment_id,
				    const char *const *keys, size_t n_keys, int *ret_results);

/*
 * tiffin_pin -- keep the object when room is wanted.
 *
 * flags   [in]  TIFFIN_SOFT_PIN: it goes only when nothing else is left that may go, and as any
 *               other when its time is over.  TIFFIN_HARD_PIN: it never goes.
 * ttl_ms  [in]  of a soft pin: 0 means 30 minutes, at most 24 hours; of a hard one 0.
 *
 * The pin takes the place of the one before.  It belongs to this version of the object, and
 * outlives its maker and restarts of the master.  It is about room alone: whoever may remove or
 * replace the object still may.
 *
 * Errors: TIFFIN_E_NOT_FOUND, TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT, TIFFIN_E_BUSY,
 *         TIFFIN_E_INVALID.
 */
TIFFIN_API int tiffin_pin(struct tiffin_client *client, const char *key, uint32_t flags,
			  uint64_t ttl_ms);

/* tiffin_pin_batch -- many at once; ret_results[i]: 0, or why keys[i] was not pinned. */
TIFFIN_API int tiffin_pin_batch(struct tiffin_client *client, const char *const *keys,
				size_t n_keys, uint32_t flags, uint64_t ttl_ms, int *ret_results);

/* tiffin_unpin -- it is as any other from now on, as if it had just been used.  Errors as
 * tiffin_pin(). */
TIFFIN_API int tiffin_unpin(struct tiffin_client *client, const char *key);

/* tiffin_unpin_batch -- many at once, as tiffin_pin_batch(). */
TIFFIN_API int tiffin_unpin_batch(struct tiffin_client *client, const char *const *keys,
				  size_t n_keys, int *ret_results);

/*
 * tiffin_rename -- atomic; replaces an object at `to` unless TIFFIN_NOREPLACE or
 * TIFFIN_EXCHANGE(_ANY).
 *
 * After a restart of the master TIFFIN_E_NOT_FOUND may also mean that this call has renamed it, as
 * with tiffin_remove().
 */
TIFFIN_API int tiffin_rename(struct tiffin_client *client, const char *from, const char *to,
			     uint32_t flags);

/* tiffin_rename_batch -- all pairs at once, or none.  At most 1024. */
TIFFIN_API int tiffin_rename_batch(struct tiffin_client *client, const char *const *from,
				   const char *const *to, size_t n_pairs, uint32_t flags);

/* tiffin_set_attr -- replace the attributes; object_id 0: of whatever version is there. */
TIFFIN_API int tiffin_set_attr(struct tiffin_client *client, const char *key, uint64_t object_id,
			       const void *attr, size_t attr_bytes);

/*
 * tiffin_swap_attr -- replace the attributes if they are the former ones still.
 *
 * Of several who change them at once, each reads them (tiffin_stat), and tries again when another
 * was faster: so nobody undoes what another did.
 *
 * Errors: TIFFIN_E_BUSY: they are others by now; TIFFIN_E_NOT_FOUND, TIFFIN_E_UNREACHABLE,
 *         TIFFIN_E_TIMEOUT, TIFFIN_E_INVALID.
 */
TIFFIN_API int tiffin_swap_attr(struct tiffin_client *client, const char *key, uint64_t object_id,
				const struct iovec *former, const struct iovec *attr);

/* ---- lists ------------------------------------------------------------------- */

/*
 * tiffin_list_open -- walk the keys that begin with prefix, in the order of their bytes.
 *
 * delimiter  [in]  0: every key.  Else keys alike up to the next delimiter after the prefix come
 *                  once, as a prefix that ends in it.
 * after      [in]  begin behind this key or prefix; NULL or "": from the start.
 *
 * Keys that stay untouched meanwhile come exactly once.
 */
TIFFIN_API int tiffin_list_open(struct tiffin_client *client, const char *prefix, char delimiter,
				const char *after, struct tiffin_list **ret_list);

/*
 * tiffin_list_regex_open -- of the keys that begin with prefix those in which pattern is found.
 *
 * pattern  [in]  as of tiffin_remove_regex(); what is wrong with it tells tiffin_list_next().
 */
TIFFIN_API int tiffin_list_regex_open(struct tiffin_client *client, const char *pattern,
				      const char *prefix, struct tiffin_list **ret_list);

/*
 * tiffin_list_segment_open -- of the keys that begin with prefix those with a copy on a segment.
 *
 * Errors: TIFFIN_E_INVALID; TIFFIN_E_NOT_FOUND for no such segment comes from tiffin_list_next().
 */
TIFFIN_API int tiffin_list_segment_open(struct tiffin_client *client, uint64_t segment_id,
					const char *prefix, struct tiffin_list **ret_list);

/*
 * tiffin_list_group_open -- of the keys that begin with prefix those whose objects are of a group.
 *
 * group    [in]  1..255 bytes; of one that is not there the list is empty.
 * pattern  [in]  and in which it is found, as of tiffin_list_regex_open(); NULL: any key.
 */
TIFFIN_API int tiffin_list_group_open(struct tiffin_client *client, const char *group,
				      const char *pattern, const char *prefix,
				      struct tiffin_list **ret_list);

/* tiffin_list_next -- 1 and the next key (valid until the next call), 0 at the end, or TIFFIN_E_*.
 */
TIFFIN_API int tiffin_list_next(struct tiffin_list *list, const char **ret_key,
				struct tiffin_stat *ret_stat);

/* tiffin_list_close -- end the walk.  NULL is fine. */
TIFFIN_API void tiffin_list_close(struct tiffin_list *list);

/* ---- reading piece by piece ---------------------------------------------------- */

/*
 * tiffin_view_open -- pin one version of an object and read it at leisure.
 *
 * Its lease is kept alive until tiffin_view_close().  When a copy is lost, or moves, reads go on
 * from another one of the same version.  Should the version be lost all the same (replaced while
 * the master was away, the last copy gone), every later read gives TIFFIN_E_LEASE or
 * TIFFIN_E_UNREACHABLE, never other bytes.
 */
TIFFIN_API int tiffin_view_open(struct tiffin_client *client, const char *key,
				struct tiffin_view **ret_view);

/* tiffin_view_close -- give the lease back, and what was borrowed.  NULL is fine. */
TIFFIN_API void tiffin_view_close(struct tiffin_view *view);

/* tiffin_view_stat -- what was known of the version when the view was opened. */
TIFFIN_API void tiffin_view_stat(const struct tiffin_view *view, struct tiffin_stat *ret_stat);

/* tiffin_view_read -- like tiffin_get_range(). Any threads at once. */
TIFFIN_API int tiffin_view_read(struct tiffin_view *view, uint64_t offset_bytes,
				const struct iovec *slices, size_t n_slices,
				uint64_t *ret_len_bytes);

/*
 * tiffin_view_borrow -- the bytes themselves, where a copy lies on this host.  No copying at all.
 *
 * gives:  *ret_bytes and *ret_len_bytes: the longest run that begins at offset; read-only; valid
 * until tiffin_view_close(), or given back before, as long as tiffin_view_check() says 0 after the
 * last look.
 *
 * Errors: TIFFIN_E_NOT_FOUND: no copy on this host, use tiffin_view_read().
 */
TIFFIN_API int tiffin_view_borrow(struct tiffin_view *view, uint64_t offset_bytes,
				  const void **ret_bytes, uint64_t *ret_len_bytes);

/* tiffin_view_check -- tell whether the lease holds.  0: what was seen was right.  TIFFIN_E_LEASE:
 * throw it away.  It says so, too, when the copy that was borrowed is there no more, until all that
 * was borrowed is given back. */
TIFFIN_API int tiffin_view_check(struct tiffin_view *view);

/*
 * tiffin_view_return -- so many of the runs that were borrowed are looked at no more.
 *
 * Whoever borrows for a moment, and reads on when that copy is lost, gives each run back;
 * tiffin_view_close() gives back the rest.
 *
 * Errors: TIFFIN_E_INVALID: so many are not borrowed.
 */
TIFFIN_API int tiffin_view_return(struct tiffin_view *view, uint64_t n_borrows);

/* ---- writing piece by piece ---------------------------------------------------- */

/*
 * tiffin_put_begin -- an object in the making, seen by nobody until tiffin_put_commit().
 *
 * len_bytes  [in]  room to begin with; 0 is fine.  It grows as it is written.
 */
TIFFIN_API int tiffin_put_begin(struct tiffin_client *client, const char *key, uint64_t len_bytes,
				const struct tiffin_put_options *options,
				struct tiffin_put **ret_put);

/* tiffin_put_write -- at any offset, in any order, also again.  What is never written reads as 0.
 */
TIFFIN_API int tiffin_put_write(struct tiffin_put *put, uint64_t offset_bytes,
				const struct iovec *slices, size_t n_slices);

/* tiffin_put_read -- one's own bytes back; ret_len_bytes as in tiffin_get_range(). */
TIFFIN_API int tiffin_put_read(struct tiffin_put *put, uint64_t offset_bytes,
			       const struct iovec *slices, size_t n_slices,
			       uint64_t *ret_len_bytes);

/* tiffin_put_truncate -- the length from now on: shorter, or longer by zeros. */
TIFFIN_API int tiffin_put_truncate(struct tiffin_put *put, uint64_t len_bytes);

/* tiffin_put_len -- the length that a commit would publish now. */
TIFFIN_API uint64_t tiffin_put_len(const struct tiffin_put *put);

/*
 * tiffin_put_commit -- publish: from now on readers find exactly these bytes.
 *
 * takes:  put, whatever the result; a failed commit leaves nothing behind.
 */
TIFFIN_API int tiffin_put_commit(struct tiffin_put *put, const void *attr, size_t attr_bytes,
				 uint64_t *ret_id);

/* tiffin_put_abort -- nothing of it was ever there.  NULL is fine. */
TIFFIN_API void tiffin_put_abort(struct tiffin_put *put);

/* ---- memory -------------------------------------------------------------------- */

/*
 * tiffin_register -- tell the transports of memory that slices will point into (RDMA pins it).
 *
 * Not needed for correctness: what is not registered is copied where it is small, and registered
 * for one call where it is large (tiffin_rdma_counts()).  Once registered it serves every put
 * and get.  Whole pages are best.  May overlap nothing registered before.
 */
TIFFIN_API int tiffin_register(struct tiffin_client *client, void *at, size_t len_bytes);

/*
 * tiffin_register_dmabuf -- the same for memory of a device (a GPU), which the driver has handed
 * out as a dmabuf.
 *
 * at      the address by which slices name it; never looked at.  [at, at + len_bytes) is the
 *         dmabuf's from offset_bytes on.
 * gives:  puts and gets with slices in it go by RDMA alone, and are not summed: such an object
 *         has no checksum, unless another copy was.  Streams and views don't know of it.
 * thread: any.  fd may be closed afterwards.
 */
TIFFIN_API int tiffin_register_dmabuf(struct tiffin_client *client, void *at, size_t len_bytes,
				      int fd, uint64_t offset_bytes);

/* tiffin_unregister -- memory registered from there on; no call that uses it is under way. */
TIFFIN_API int tiffin_unregister(struct tiffin_client *client, void *at);

/* What went by RDMA since the client was opened.  Set struct_bytes. */
struct tiffin_rdma_counts {
	size_t struct_bytes;
	uint64_t bytes_direct; /* straight between registered memory and a segment */
	uint64_t bytes_staged; /* copied once, for the memory was not registered and small */
	uint64_t bytes_loaned; /* in memory that was registered for one call alone */
	uint64_t n_loans;      /* such registrations: each costs far more than the copy of a page */
	uint64_t n_broken;     /* connections lost with their work, which began again */
	uint64_t n_passed;     /* moves left to TCP */
};

/* tiffin_rdma_counts -- as of now; zeros where there is no RDMA. */
TIFFIN_API int tiffin_rdma_counts(struct tiffin_client *client,
				  struct tiffin_rdma_counts *ret_counts);

/* What went one way to one peer, by this client alone, since it was opened. */
struct tiffin_path {
	const char *peer, *host; /* endpoint and host of the provider; valid during the call */
	const char *transport;   /* "local", "shm", "file", "rdma", "tcp" */
	const char *address;     /* tcp: which of the endpoint's; else "" */
	uint64_t n_reads, read_bytes, n_writes, write_bytes; /* done */
	uint64_t n_lost, n_timeout, n_refused, n_failed;     /* ops that ended otherwise */
	uint64_t n_moved;                 /* ops begun anew on it after another address had ended */
	uint64_t mean_ns, p50_ns, p99_ns; /* of those done, from their begin on; p50 and p99: no
					     more than this, within a factor of two */
	const uint64_t *n_within;         /* counts: up to 1024 ns, up to 2048, 4096, ..., longer */
	size_t n_n_within;
};

/* tiffin_paths -- call fn for every path.  A result of fn other than 0 ends the walk and is
 * returned. */
TIFFIN_API int tiffin_paths(struct tiffin_client *client,
			    int (*fn)(void *arg, const struct tiffin_path *path), void *arg);

/* What became of this client's gets and puts on their way, since it was opened.  Set struct_bytes.
 */
struct tiffin_retries {
	size_t struct_bytes;
	uint64_t n_other_copy; /* gets that went on with another copy, for one had failed */
	uint64_t n_other_look; /* gets that asked the master once more, for all had */
};

/* tiffin_retries -- as of now. */
TIFFIN_API int tiffin_retries(struct tiffin_client *client, struct tiffin_retries *ret_retries);

/* ---- lending memory ------------------------------------------------------------ */

/* Zero or NULL means the default.  Set struct_bytes. */
struct tiffin_mount_options {
	size_t struct_bytes;
	const char *name; /* for people, unique; default "client name.n" */
	const char *path; /* a file to keep the bytes in (in /dev/shm or on DAX); NULL: anonymous */
	const char *listen; /* addresses, blank between; default "unix:DIR/NAME.sock" beside the
			       master's socket */
	uint64_t size_bytes;
	bool wipe;
	bool huge_pages;
	void (*progress)(void *arg, uint64_t done_bytes, uint64_t all_bytes);
	void *progress_arg;
	const char *file; /* in place of path: a file on a disk, preallocated, read and written past
			     the page cache */
	const char *nof;  /* in place of path: a namespace of the NVMe subsystem of this NQN */
	uint32_t nof_nsid; /* which of its namespaces; 0: it has one */
	bool file_sync;    /* a put is told done only when its bytes would survive a power cut */
	const char *nof_connect; /* "tcp:HOST:PORT", "rdma:...": have the kernel connect there */
};

/*
 * tiffin_mount -- lend memory of this process as a segment, until tiffin_unmount() or
 * tiffin_close().
 *
 * With a path tiffin_close() leaves the bytes in the file and the master waiting: who mounts the
 * same file within the master's client_ttl and client_grace lends every object on.
 */
TIFFIN_API int tiffin_mount(struct tiffin_client *client,
			    const struct tiffin_mount_options *options, uint64_t *ret_segment_id);

/* tiffin_unmount -- lend it no longer; copies that lie there only are gone from the store. */
TIFFIN_API int tiffin_unmount(struct tiffin_client *client, uint64_t segment_id);

/* ---- what the master knows ------------------------------------------------------ */

struct tiffin_space {
	uint64_t size_bytes, used_bytes, resting_bytes, n_objects;
	uint32_t n_segments, n_clients;
	uint64_t tenant_bytes, tenant_objects; /* of these, charged to the client's own tenant */
	uint64_t quota_bytes, quota_objects;   /* of that tenant; 0: no limit */
};

/* tiffin_space -- how much there is, in all segments together, and of it for the own tenant. */
TIFFIN_API int tiffin_space(struct tiffin_client *client, struct tiffin_space *ret_space);

struct tiffin_segment {
	uint64_t segment_id, epoch, size_bytes, used_bytes, resting_bytes, hole_bytes, client_id;
	const char *name, *host, *endpoint, *medium, *state; /* valid during the call */
};
struct tiffin_extent {
	uint64_t offset_bytes, len_bytes; /* in the segment */
};
struct tiffin_replica {
	uint64_t segment_id, epoch;
	const struct tiffin_extent *extents; /* in the order of the object's bytes; valid during the
						call */
	size_t n_extents;
};
struct tiffin_client_state {
	uint64_t client_id, silent_ms;
	uint32_t n_segments, n_puts;
	const char *name, *host, *state;
};
struct tiffin_put_state {
	uint64_t object_id, client_id, len_bytes, age_ms, lease_left_ms;
	const char *key;
};

/*
 * tiffin_segments, tiffin_clients, tiffin_puts -- call fn for every one, in the order of their ids.
 *
 * A result of fn other than 0 ends the walk and is returned.
 */
TIFFIN_API int tiffin_segments(struct tiffin_client *client,
			       int (*fn)(void *arg, const struct tiffin_segment *segment),
			       void *arg);
TIFFIN_API int tiffin_clients(struct tiffin_client *client,
			      int (*fn)(void *arg, const struct tiffin_client_state *state),
			      void *arg);
TIFFIN_API int tiffin_puts(struct tiffin_client *client,
			   int (*fn)(void *arg, const struct tiffin_put_state *put), void *arg);

/*
 * tiffin_where -- call fn for every copy of an object that can be read just now.
 *
 * Takes no lease and counts as no use: by the time fn runs the object may have moved.
 * A result of fn other than 0 ends the walk and is returned.
 *
 * Errors: TIFFIN_E_NOT_FOUND, TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT, TIFFIN_E_INVALID.
 */
TIFFIN_API int tiffin_where(struct tiffin_client *client, const char *key,
			    int (*fn)(void *arg, const struct tiffin_replica *replica), void *arg);

/* One number of the master's; tiffin-metrics(7) lists them. */
struct tiffin_count {
	const char *name; /* valid during the call */
	uint64_t value;
	bool is_gauge; /* it goes up and down; else it grows, from each start of the master on */
};

/* tiffin_stats -- call fn for every counter of the master. */
TIFFIN_API int tiffin_stats(struct tiffin_client *client,
			    int (*fn)(void *arg, const struct tiffin_count *count), void *arg);

/* ---- events --------------------------------------------------------------------- */

/* What happened, for people: evictions, refusals, segments and clients that came and went. */
struct tiffin_event {
	uint64_t event_id;   /* grows */
	uint64_t at_ms;      /* since 1970 */
	uint64_t count;      /* how often, within about a second */
	uint64_t bytes;      /* of how much, where that can be said */
	uint64_t subject_id; /* the segment, client or the like; 0: none, or several */
	const char *kind;    /* a word of tiffin(7); valid during the call */
	const char *words;   /* valid during the call */
};

/*
 * tiffin_events -- call fn for each event after *cursor, which moves on.
 *
 * The master keeps the last ones (its option events_max): older ones are passed over.
 *
 * cursor   [in, out] 0: from the oldest that there is.
 * wait_ms  0: what there is now; else wait so long for the next one when there is none, at most
 *          half of the client's timeout.
 * fn       a result other than 0 ends the walk and is returned.
 * Errors: TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT, TIFFIN_E_BUSY, TIFFIN_E_INVALID.
 */
TIFFIN_API int tiffin_events(struct tiffin_client *client, uint64_t *cursor, uint32_t wait_ms,
			     int (*fn)(void *arg, const struct tiffin_event *event), void *arg);

/* ---- settings ------------------------------------------------------------------- */

/* One that can change while the master works. */
struct tiffin_setting {
	const char *name, *unit, *help; /* valid during the call; unit "ms", "bytes", "%" or "", or
					   words, blank between, the first of which is 0 */
	uint64_t value;                 /* in force */
	uint64_t configured;            /* by the master's command line, file or default */
	uint64_t least, most;
};

/* tiffin_settings -- call fn for each.  A result of fn other than 0 ends the walk and is returned.
 */
TIFFIN_API int tiffin_settings(struct tiffin_client *client,
			       int (*fn)(void *arg, const struct tiffin_setting *setting),
			       void *arg);

/*
 * tiffin_set -- change one, at once, and also for later starts of the master.
 *
 * value    as in tiffin.conf(5), "5s", "80" or a word; "": as configured.
 * Errors: TIFFIN_E_NOT_FOUND: no such setting, or it can't change while the master works;
 *         TIFFIN_E_INVALID: not such a value, tiffin_why() says why; TIFFIN_E_UNREACHABLE,
 *         TIFFIN_E_TIMEOUT, TIFFIN_E_BUSY.
 */
TIFFIN_API int tiffin_set(struct tiffin_client *client, const char *name, const char *value);

/* ---- copies elsewhere ------------------------------------------------------------- */

/*
 * tiffin_copy -- have one more copy of an object made.
 *
 * to_segment_id  [in]   where; 0: the master's choice.
 * ret_task_id    [out]  for tiffin_task(); may be NULL.
 *
 * The call only asks: the provider of that segment carries it out.  The same wish again gives the
 * same task.
 *
 * Errors: TIFFIN_E_NOT_FOUND (no such object or segment), TIFFIN_E_EXISTS (a copy lies there),
 *         TIFFIN_E_NO_SPACE (no segment takes it), TIFFIN_E_BUSY (another task has the object),
 *         TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT, TIFFIN_E_INVALID.
 */
TIFFIN_API int tiffin_copy(struct tiffin_client *client, const char *key, uint64_t to_segment_id,
			   uint64_t *ret_task_id);

/*
 * tiffin_move -- have a copy elsewhere made in place of the one on a segment.
 *
 * Whoever reads the old one goes on as long as it likes.  As tiffin_copy() otherwise.
 */
TIFFIN_API int tiffin_move(struct tiffin_client *client, const char *key, uint64_t from_segment_id,
			   uint64_t to_segment_id, uint64_t *ret_task_id);

/* One of many wishes. */
struct tiffin_relocation {
	const char *key;
	uint64_t from_segment_id; /* 0: one more copy */
	uint64_t to_segment_id;   /* 0: the master's choice */
};

/*
 * tiffin_relocate -- copies and moves, many at once.
 *
 * ret_task_ids  [out]  one each, 0 where ret_results has an error; may be NULL.
 * ret_results   [out]  0 or TIFFIN_E_* of each.
 */
TIFFIN_API int tiffin_relocate(struct tiffin_client *client, const struct tiffin_relocation *wishes,
			       size_t n_wishes, uint64_t *ret_task_ids, int *ret_results);

/* Zero or NULL means the default.  Set struct_bytes. */
struct tiffin_drain_options {
	size_t struct_bytes;
	const uint64_t *segments; /* to be drained; 1..64 */
	size_t n_segments;
	const uint64_t *targets; /* where to; none: the master's choice */
	size_t n_targets;
	uint32_t concurrency; /* objects moved at once, 1..256; default 16 */
};

/*
 * tiffin_drain -- segments get no new data from now on, and all that they have moves elsewhere.
 *
 * ret_job_id  [out]  for tiffin_job(); may be NULL.
 *
 * They are read on meanwhile.  When nothing is left they are "drained", and may be unmounted
 * without loss.  Draining the same segments again gives the job that is under way.
 *
 * Errors: TIFFIN_E_NOT_FOUND, TIFFIN_E_BUSY (another job drains one of them), TIFFIN_E_INVALID,
 *         TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT.
 */
TIFFIN_API int tiffin_drain(struct tiffin_client *client,
			    const struct tiffin_drain_options *options, uint64_t *ret_job_id);

/* tiffin_undrain -- segments get new data again; a job that drains them is cancelled. */
TIFFIN_API int tiffin_undrain(struct tiffin_client *client, const uint64_t *segments,
			      size_t n_segments);

/*
 * tiffin_cancel -- a task or job goes no further; one that has ended stays as it is.
 *
 * The segments of a job get new data again.
 *
 * Errors: TIFFIN_E_NOT_FOUND, TIFFIN_E_BUSY, TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT.
 */
TIFFIN_API int tiffin_cancel(struct tiffin_client *client, uint64_t id);

/* What is said of a task; texts are valid during the call. */
struct tiffin_task {
	uint64_t task_id, job_id, object_id, len_bytes;
	uint64_t from_segment_id, to_segment_id; /* 0: none, or not chosen yet */
	uint64_t client_id;                      /* who carries it out just now; 0: nobody */
	uint64_t made_at_ms, ended_at_ms;        /* since 1970; 0: it has not ended */
	uint32_t n_tries;                        /* that failed */
	bool has_ended;
	const char *key, *kind; /* "copy", "move" */
	const char *state;      /* "waiting", "offered", "running", "done", "failed", "cancelled" */
	const char *reason;     /* of the last try that failed; "" */
};

/* What is said of a job; texts and lists are valid during the call. */
struct tiffin_job {
	uint64_t job_id;
	uint64_t n_done, n_failed, n_left; /* objects; left: copies that lie there still */
	uint64_t bytes_done, bytes_failed, bytes_left;
	uint64_t made_at_ms, ended_at_ms; /* since 1970; 0: it has not ended */
	uint32_t concurrency, n_under_way;
	bool has_ended;
	const char *state;  /* "running", "succeeded", "failed", "cancelled" */
	const char *reason; /* of the last object that could not be moved; "" */
	const uint64_t *segments, *targets;
	size_t n_segments, n_targets;
};

/*
 * tiffin_task, tiffin_job -- call fn for that one.
 *
 * A result of fn other than 0 is returned.
 *
 * Errors: TIFFIN_E_NOT_FOUND (also when it ended long ago), TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT.
 */
TIFFIN_API int tiffin_task(struct tiffin_client *client, uint64_t task_id,
			   int (*fn)(void *arg, const struct tiffin_task *task), void *arg);
TIFFIN_API int tiffin_job(struct tiffin_client *client, uint64_t job_id,
			  int (*fn)(void *arg, const struct tiffin_job *job), void *arg);

/*
 * tiffin_tasks, tiffin_jobs -- call fn for every one, in the order of their ids.
 *
 * job_id  [in]  only tasks of this job; 0: all.
 *
 * Those that ended are told for an hour, the last 1024.  Of a job's tasks those that went well are
 * only counted.  A result of fn other than 0 ends the walk and is returned.
 */
TIFFIN_API int tiffin_tasks(struct tiffin_client *client, uint64_t job_id,
			    int (*fn)(void *arg, const struct tiffin_task *task), void *arg);
TIFFIN_API int tiffin_jobs(struct tiffin_client *client,
			   int (*fn)(void *arg, const struct tiffin_job *job), void *arg);

/* ---- tenants -------------------------------------------------------------------- */

/* Of a quota 0 means that there is none. */
struct tiffin_tenant {
	const char *name; /* valid during the call */
	uint64_t quota_bytes, quota_objects;
	uint64_t charged_bytes; /* room that its objects and puts take up, each copy, and what rests
				 */
	uint64_t resting_bytes; /* of those: freed, but somebody may still touch them */
	uint64_t object_bytes;  /* lengths of its objects, copies counted once */
	uint64_t n_objects;
	uint32_t n_puts, n_clients; /* under way (each counts as an object); joined */
	bool is_over_quota;
};

/*
 * tiffin_tenant_put -- make a tenant, or change what it may hold.
 *
 * name           [in]  1..255 printable ASCII characters without blank, the first not '_'.
 * quota_bytes    [in]  of room that is reserved: every copy counts.  0: no limit.  NULL: as before.
 * quota_objects  [in]  objects and puts under way.  0: no limit.  NULL: as before.
 *
 * Below what is there a quota takes nothing away by itself, and everything can be read on: the next
 * put makes room first, by evicting objects of this tenant alone.
 *
 * Errors: TIFFIN_E_INVALID, TIFFIN_E_BUSY, TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT, TIFFIN_E_SYSTEM.
 */
TIFFIN_API int tiffin_tenant_put(struct tiffin_client *client, const char *name,
				 const uint64_t *quota_bytes, const uint64_t *quota_objects);

/*
 * tiffin_tenant_list -- call fn for every tenant, in the order of their names.
 *
 * A result of fn other than 0 ends the walk and is returned.
 */
TIFFIN_API int tiffin_tenant_list(struct tiffin_client *client,
				  int (*fn)(void *arg, const struct tiffin_tenant *tenant),
				  void *arg);

/*
 * tiffin_tenant_delete -- a tenant that holds nothing and speaks to nobody is there no longer.
 *
 * Errors: TIFFIN_E_NOT_FOUND, TIFFIN_E_NOT_EMPTY, TIFFIN_E_INVALID ("default" stays),
 *         TIFFIN_E_BUSY, TIFFIN_E_UNREACHABLE, TIFFIN_E_TIMEOUT, TIFFIN_E_SYSTEM.
 */
TIFFIN_API int tiffin_tenant_delete(struct tiffin_client *client, const char *name);

/* ---- changes -------------------------------------------------------------------- */

enum tiffin_change { TIFFIN_CHANGE_PUT = 1, TIFFIN_CHANGE_REMOVED = 2, TIFFIN_CHANGE_ATTR = 3 };

/*
 * tiffin_watch_open -- call fn for every change of keys that begin with prefix.
 *
 * fn runs on a thread of the library, one call at a time, and may not call back into this client.
 * change is one of enum tiffin_change.  key NULL: some changes were missed and are not known any
 * more: look at everything anew.  A connection that was lost is made anew, and what was missed
 * meanwhile is told; only after a restart of the master, or when very much has changed, it is not
 * known.
 */
TIFFIN_API int tiffin_watch_open(struct tiffin_client *client, const char *prefix,
				 void (*fn)(void *arg, int change, const char *key,
					    uint64_t object_id),
				 void *arg, struct tiffin_watch **ret_watch);

/* How far a watch is: what changed after it is not told yet.  Of one master, until it restarts. */
struct tiffin_position {
	uint64_t epoch, number;
};

struct tiffin_watch_options {
	const char *prefix; /* "" or NULL: every key */
	struct tiffin_position
		after; /* of a watch of the same prefix and tenant; zeros: from now on */
};

/*
 * tiffin_watch_resume -- the same, behind a position: what has changed since is told, too.
 *
 * When the position is of too long ago, or the master was restarted since, fn is called with key
 * NULL first.  What was missed may be told before this returns, on the caller's thread; *ret_watch
 * is set by then, and NULL again when this fails.
 */
TIFFIN_API int
tiffin_watch_resume(struct tiffin_client *client, const struct tiffin_watch_options *options,
		    void (*fn)(void *arg, int change, const char *key, uint64_t object_id),
		    void *arg, struct tiffin_watch **ret_watch);

/*
 * tiffin_watch_position -- behind all that fn was told; within fn: behind the change at hand.
 *
 * Any thread, also within fn.
 */
TIFFIN_API void tiffin_watch_position(struct tiffin_watch *watch,
				      struct tiffin_position *ret_position);

/* tiffin_watch_close -- when it returns, fn does not run and never will.  NULL is fine. */
TIFFIN_API void tiffin_watch_close(struct tiffin_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
