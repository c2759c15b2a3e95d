/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store.h -- the books on disk.  The only files that see sqlite3 are store*.c.
 *
 * WAL, page size 4096, one connection that writes, BEGIN IMMEDIATE, checkpoints
 * only on that connection (SQLite before 3.51.3 can lose pages when two
 * connections checkpoint at once), TRUNCATE checkpoints above a cap.
 *
 *      committed   the batch is in the WAL: survives kill -9 of the master
 *      synced      the WAL is on the disk: survives a power cut
 *
 * A commit that fails is tried again until it succeeds; nothing later is
 * committed before it, and meanwhile is_stalled tells the loop to accept no
 * more.  So what was acknowledged and what is stored never part ways.
 *
 * thread:  open, load, submit, progress, close: the loop's.  Inside: one store thread
 *          (none with is_inline: the work is done within store_step(), for tests and simulation).
 *          While that sleeps, store_submit() may commit a small batch in its stead.
 */
#ifndef MASTER_STORE_H
#define MASTER_STORE_H

#include "master/journal.h"
#include "transfer/base/clock.h"

struct store;

struct store_config {
	const char *path; /* of the database file; "-wal" and "-shm" beside it; mode 0600 */
	const struct clock *clock;
	bool is_inline;
	const char *vfs; /* SQLite VFS to use, NULL: the default (tests inject faults by it) */
	uint64_t wal_cap_bytes; /* checkpoint with TRUNCATE above it */
	uint64_t sync_every_ms; /* sync at latest so long after a commit, so that resting space
				   comes back */
	uint64_t lease_ms; /* of readers, from this start on: in the books before one is granted */
	unsigned here_max_records; /* a batch up to here may be committed by store_submit() itself;
				      0: none */
	void (*wake)(
		void *arg); /* called from the store thread when progress was made; NULL: poll */
	void *wake_arg;
};

enum store_outcome {
	STORE_E_IN_USE = 1, /* another master has it open */
	STORE_E_NEWER,      /* made by a newer version: use that one, or restore an older backup */
	STORE_E_DAMAGED,    /* not a database, or its contents break their laws */
};

/*
 * store_open -- lock (a lock file "PATH.lock", flock), open, check, migrate to the newest schema.
 *
 * Also marks the start: the master epoch grows by one, durably.
 * gives:   why (always ended by NUL): for outcomes and failures one line that names the file and
 * the cure. result:  0, store_outcome, -errno.
 */
int store_open(const struct store_config *config, struct store **ret_store, char *why,
	       size_t why_cap) MUST_CHECK;

uint64_t store_epoch(const struct store *store);      /* of this start */
uint64_t store_cluster_id(const struct store *store); /* of these books, random, never 0 */
uint64_t store_next_object_id(const struct store *store);
uint64_t store_longest_lease_ms(const struct store *store); /* lease_ms, or as a former start had it
							       if that is longer */
bool store_was_put_back(const struct store *store);         /* it was a backup until this start */

/*
 * store_load -- every row as a record: EVENT, SEGMENT_ADD, CHUNK_OPEN, then OBJECT_ADD by id,
 * JOB_SET, TASK_SET.
 *
 * Judges every law that a row and its neighbours can break; overlaps and two objects of
 * one key are seen by whoever puts the records together.
 * fn:      0, or -errno ends it; the record is valid during the call.
 * result:  0, STORE_E_DAMAGED, -errno; the last two with why.
 */
int store_load(struct store *store, int (*fn)(void *arg, const struct record *record), void *arg,
	       char *why, size_t why_cap) MUST_CHECK;

/*
 * store_submit -- hand a batch over; it becomes number *ret_batch (1, 2, 3...).
 *
 * With here_max_records the batch may be committed on return, without a call of wake().
 *
 * takes:   the records; *journal is empty afterwards (its memory is swapped, not copied).
 * result:  0 or -ENOMEM.
 */
int store_submit(struct store *store, struct journal *journal, uint64_t *ret_batch) MUST_CHECK;

/* store_want_sync -- sync soon, even without wants_sync: somebody waits for resting space. */
void store_want_sync(struct store *store);

struct store_progress {
	uint64_t committed, synced; /* batches up to here */
	bool is_stalled;            /* the last commit failed and is being tried again */
	bool is_full;     /* the disk is full and the reserve in use: send removals only */
	bool is_clearing; /* a committed SEGMENT_GONE has left rows that are not cleared yet */
	char why[256];    /* while stalled */
};
void store_progress(struct store *store, struct store_progress *ret_progress);

/* store_step -- with is_inline: do all work at hand. */
void store_step(struct store *store);

/* store_close -- commit all batches, checkpoint, sync, close, unlock. */
void store_close(struct store *store);

/* store_counts -- for stats: rows are not counted here. */
struct store_counts {
	uint64_t n_commits, n_records, n_syncs, n_checkpoints, wal_bytes, db_bytes, busy_ns,
		n_retries;
};
void store_counts(struct store *store, struct store_counts *ret_counts);

DEFINE_CLEANUP(struct store, store_close);

#endif
