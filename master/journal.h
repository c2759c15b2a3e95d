/* SPDX-License-Identifier: Apache-2.0 */

/*
 * journal.h -- what must become durable: records, made by the loop, read by the store thread.
 *
 *      loop:   journal_add(...) journal_add(...)   one batch a turn
 *                     |
 *                     v  store_submit()
 *      store:  BEGIN IMMEDIATE; ...; COMMIT        group commit
 *                     |
 *                     v  store_progress(): committed up to batch n, synced up to batch m
 *      loop:   answers what waited for it
 *
 * A record carries all it needs; the store thread never looks at the loop's memory.
 */
#ifndef MASTER_JOURNAL_H
#define MASTER_JOURNAL_H

#include "master/alloc.h"
#include "transfer/base/buf.h"

#define LEASE_MS_MAX          600000ull /* of readers: the books' CHECK, and the option's */
#define JOURNAL_OBJECT_ID_MAX ((1ull << 48) - 1) /* ids of replicas and extents are made of it */

enum record_kind {
	RECORD_OBJECT_ADD =
		1, /* an object became COMPLETE (replaces the key's former one: own record) */
	RECORD_OBJECT_REMOVE,
	RECORD_OBJECT_RENAME,
	RECORD_OBJECT_ATTR,
	RECORD_REPLICA_REMOVE, /* one copy of several is gone */
	RECORD_SEGMENT_ADD,    /* mounted, or mounted again with other words */
	RECORD_SEGMENT_REMOVE, /* SEGMENT_GONE came before, and the store has cleared its rows */
	RECORD_CHUNK_OPEN, /* space of this chunk may be being written by puts that are not stored
			    */
	RECORD_CHUNK_CLOSE,
	RECORD_NEXT_OBJECT_ID,  /* ids below are used up */
	RECORD_TENANT_SET = 11, /* made, or with other quotas from now on */
	RECORD_TENANT_REMOVE = 12,
	RECORD_OBJECT_PIN = 13, /* pinned, in another way, or no more */
	RECORD_EVENT = 14,      /* one more; its kind stands in name, its words in host */
	RECORD_TASK_SET = 15,   /* a task is made, or has ended */
	RECORD_TASK_REMOVE,
	RECORD_JOB_SET, /* a job is made (with its segments), or has come further */
	RECORD_JOB_REMOVE,
	RECORD_REPLICA_ADD,        /* an object has one more copy */
	RECORD_LONGEST_LEASE = 20, /* leases longer than count ms are over */
	RECORD_SEGMENT_GONE,       /* all copies on it are void, and objects that have no others */
};

/* What the books keep of a task (task.h); its key stands in the record. */
struct task_row {
	uint64_t task_id, job_id, object_id, len_bytes;
	uint64_t from_id, to_id; /* segments, 0: none */
	uint64_t made_at_ms, ended_at_ms;
	uint32_t reason; /* enum status */
	uint8_t kind, state, tries;
};

#define JOB_SEGMENTS_MAX 64

/* What the books keep of a job (job.h). */
struct job_row {
	uint64_t job_id, made_at_ms, ended_at_ms;
	uint64_t n_done, n_failed, bytes_done, bytes_failed;
	uint32_t state, reason, concurrency;
	uint32_t n_segments, n_targets; /* JOB_SET: both 0 when they stand in the books already */
	uint64_t ids[2 * JOB_SEGMENTS_MAX]; /* segments, then targets */
};

#define RECORD_KIND_MAX 21 /* for a look at what was written; a switch names each kind */

struct replica_record {
	uint64_t segment_id;
	uint32_t n_extents;
	const struct extent *extents;
};

/* Which fields count depends on kind, the others are 0; pointers are borrowed by journal_add(). */
struct record {
	enum record_kind kind;
	uint64_t object_id;  /* OBJECT_*, REPLICA_*, NEXT_OBJECT_ID, TASK_REMOVE, JOB_REMOVE; EVENT:
				its own */
	uint64_t segment_id; /* SEGMENT_*, CHUNK_*, REPLICA_REMOVE; EVENT: subject */
	uint64_t segment_epoch;    /* SEGMENT_ADD */
	uint64_t tenant_id;        /* OBJECT_ADD, TENANT_* */
	uint64_t len_bytes;        /* OBJECT_ADD, REPLICA_ADD; SEGMENT_ADD: its size; EVENT */
	uint64_t put_at_ms;        /* OBJECT_ADD, SEGMENT_ADD, EVENT: since 1970 */
	uint64_t client_id;        /* SEGMENT_ADD */
	uint64_t trusted_epoch;    /* SEGMENT_ADD, as loaded: UINT64_MAX, or the books were put back
				      and are right only if it was lent under no later epoch */
	uint64_t count, keep_from; /* EVENT: how often; events of lower ids are dropped;
				      LONGEST_LEASE: ms */
	uint64_t quota_bytes, quota_objects; /* TENANT_SET, 0: no limit */
	uint32_t chunk;                      /* CHUNK_* */
	uint32_t pinned_until_s;             /* OBJECT_ADD, OBJECT_PIN: as in struct object */
	uint32_t crc;
	bool has_crc;
	uint8_t medium, drain; /* SEGMENT_ADD */
	uint16_t key_len, attr_len, name_len, host_len, endpoint_len;
	uint8_t n_replicas;                 /* OBJECT_ADD; REPLICA_ADD: 1 */
	const uint8_t *key;                 /* OBJECT_ADD, OBJECT_RENAME, TASK_SET */
	const uint8_t *attr;                /* OBJECT_ADD, OBJECT_ATTR */
	const char *name, *host, *endpoint; /* SEGMENT_ADD; TENANT_SET: name; EVENT; OBJECT_ADD:
						name: its group, name_len 0: none */
	const struct replica_record *replicas;
	const struct task_row *task; /* TASK_SET */
	const struct job_row *job;   /* JOB_SET */
};

/* One batch: records one behind the other in one buffer. */
struct journal {
	struct buf bytes;
	size_t n_records;
	bool wants_sync; /* must be on the disk, not only in the WAL, before it counts */
};

void journal_init(struct journal *journal);
void journal_fini(struct journal *journal);
void journal_clear(struct journal *journal);

/* journal_add -- copy the record in.  0 or -ENOMEM, then nothing has changed. */
int journal_add(struct journal *journal, const struct record *record) MUST_CHECK;

/*
 * journal_next -- read them back in order.
 *
 * at       0 at first; moved on by each call.
 * gives:   *ret_record; its pointers lie in the journal, `replicas`, `task` and `job` in scratch.
 * result:  false at the end.
 */
struct journal_scratch {
	struct replica_record replicas[8];
	struct task_row task;
	struct job_row job;
};
bool journal_next(const struct journal *journal, size_t *at, struct journal_scratch *scratch,
		  struct record *ret_record);

#endif
