/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The worker: one transaction at a time, in the order of submission.
 *
 *      queue ---> group ---> BEGIN IMMEDIATE, records, COMMIT ---> committed
 *                   ^                       |                          |
 *                   |  rolled back, why,    | fails                    |  COMMIT with
 * synchronous=FULL
 *                   +--- later again  <-----+                          v
 *                                                                    synced
 *
 * Why a synced commit makes all earlier ones durable: they lie in the same WAL
 * file, before it, and are synced with it; or they lay in a WAL that has been
 * begun anew since, and SQLite does that only after a checkpoint has written and
 * synced the database file.  When nothing is there to be committed, cluster_sync
 * makes a change for the purpose: a COMMIT without one writes and syncs nothing.
 *
 * After an I/O error the kernel may have dropped pages and call a later fsync a
 * success.  So nothing counts as synced (must_rewrite) until a TRUNCATE checkpoint
 * has written it all once more, into the database file, and a synced commit
 * has begun a new WAL.  Meanwhile there is no other checkpoint: half of an untrusted WAL
 * played over a newer database file would be damage.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "master/store_internal.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

#define PAGE_BYTES        4096u
#define FRAME_BYTES       (PAGE_BYTES + 24u) /* of the WAL: a page and its header */
#define GROUP_MAX_RECORDS 16384u
#define RETRY_MIN_NS      (10 * NS_PER_MS)
#define RETRY_MAX_NS      NS_PER_S
#define UPKEEP_NS         NS_PER_S /* between attempts that failed, and before idle counts as idle */
#define CKPT_FRAMES       2048u    /* a PASSIVE checkpoint so often: 8 MiB */
#define CLEAR_REST        4 /* so much longer than a step of clearing took is the next one later */
#define FLUSH_ATTEMPTS    100 /* when closing over a disk that fails: about 5 s */

static uint64_t
cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static uint64_t
now_ns(const struct store *store)
{
	return clock_ns(store->config.clock);
}

/* wake -- tell the loop that progress was made.  needs: the lock is not held. */
static void
wake(struct store *store)
{
	if (store->config.wake != NULL && !store->is_here)
		store->config.wake(store->config.wake_arg);
}

/* ---- failing ------------------------------------------------------------------------ */

/* note_failure -- roll back, say why, and be patient. */
static void
note_failure(struct store *store, int rc, const char *doing)
{
	int os_errno = sqlite3_system_errno(store->db.conn);
	int r = store_db_errno(rc, os_errno);
	char words[STORE_WORDS_CAP];
	bool is_new;

	if (!sqlite3_get_autocommit(store->db.conn))
		store_db_exec(&store->db, STMT_transaction_rollback);
	if ((rc & 0xff) == SQLITE_IOERR)
		store->must_rewrite = true;

	is_new = store->retry_after_ns == 0;
	store->retry_after_ns =
		is_new ? RETRY_MIN_NS : num_min(store->retry_after_ns * 2, RETRY_MAX_NS);
	store->retry_at_ns = now_ns(store) + store->retry_after_ns;
	if ((r == -ENOSPC || r == -EDQUOT) && store_files_drop_reserve(&store->files)) {
		store->retry_at_ns = now_ns(store);
		store->reserve_at_ns = now_ns(store) + UPKEEP_NS;
	}

	lock_take(&store->lock);
	store->progress.is_stalled = true;
	store->progress.is_full = store->files.is_full;
	store->counts.n_retries++;
	store_say(store->progress.why, sizeof(store->progress.why), store->config.path,
		  store_db_is_damage(rc) ? "can't %s: %s; run: tiffin check" : "can't %s: %s",
		  doing, store_db_words(rc, os_errno, words));
	lock_drop(&store->lock);
	if (!is_new)
		return;
	log_event(LOG_ERROR, "store_stalled",
		  "path=\"%s\" doing=\"%s\" code=%d errno=%d why=\"%s\"", store->config.path, doing,
		  rc, -r, sqlite3_errstr(rc));
	wake(store);
}

static void
note_success(struct store *store)
{
	if (store->retry_after_ns == 0)
		return;

	store->retry_after_ns = 0;
	lock_take(&store->lock);
	store->progress.is_stalled = false;
	store->progress.why[0] = '\0';
	lock_drop(&store->lock);
	log_event(LOG_INFO, "store_goes_on", "path=\"%s\"", store->config.path);
}

/* ---- commit --------------------------------------------------------------------------- */

/* take_group -- what was submitted becomes one transaction, up to a bound. */
static void
take_group(struct store *store)
{
	size_t n_records = 0;

	lock_take(&store->lock);
	while (!list_is_empty(&store->queue) && n_records < GROUP_MAX_RECORDS) {
		struct list_link *link = list_first(&store->queue);

		list_remove(link);
		list_push_back(&store->group, link);
		n_records += list_of(link, struct store_batch, at)->journal.n_records;
	}
	lock_drop(&store->lock);
}

/* apply_group -- every record of it.  rc. */
static int
apply_group(struct store *store, uint64_t *ret_n_records)
{
	struct journal_scratch scratch;
	int rc = SQLITE_OK;

	*ret_n_records = 0;
	store->group_has_gone = false;
	store_apply_begin(&store->db);
	list_each(&store->group, link) {
		const struct journal *journal = &list_of(link, struct store_batch, at)->journal;
		struct record record;
		size_t at = 0;

		while (rc == SQLITE_OK && journal_next(journal, &at, &scratch, &record)) {
			rc = store_apply(&store->db, &record);
			store->group_has_gone |= record.kind == RECORD_SEGMENT_GONE;
			(*ret_n_records)++;
		}
	}
	return rc == SQLITE_OK ? store_apply_end(&store->db) : rc;
}

bool
store_is_sync_time(const struct store *store)
{
	if (store->config.sync_every_ms == 0)
		return true;
	return store->synced < store->committed &&
	       now_ns(store) >= store->unsynced_at_ns + store->config.sync_every_ms * NS_PER_MS;
}

/* is_sync_due -- must what is committed, or about to be, be synced now? */
static bool
is_sync_due(struct store *store)
{
	bool is_wanted;

	lock_take(&store->lock);
	is_wanted = store->wants_sync;
	lock_drop(&store->lock);
	return is_wanted || store_is_sync_time(store);
}

static bool
group_wants_sync(const struct store *store)
{
	list_each(&store->group, link) {
		if (list_of(link, struct store_batch, at)->journal.wants_sync)
			return true;
	}
	return false;
}

/* transact -- one transaction: the group, or (if empty) a change for the sake of a sync.  rc. */
static int
transact(struct store *store, bool is_synced, uint64_t *ret_n_records)
{
	struct store_db *db = &store->db;
	int rc = SQLITE_OK;

	if (is_synced)
		rc = store_db_sync_commits(db, true);
	if (rc == SQLITE_OK)
		rc = store_db_exec(db, STMT_transaction_begin);
	if (rc == SQLITE_OK)
		rc = apply_group(store, ret_n_records);
	if (rc == SQLITE_OK && *ret_n_records == 0)
		rc = store_db_exec(db, STMT_cluster_sync);
	if (rc == SQLITE_OK)
		rc = store_db_exec(db, STMT_transaction_commit);
	if (rc != SQLITE_OK)
		note_failure(store, rc, "write");
	if (is_synced)
		store_db_sync_commits(db, false);
	return rc;
}

/* publish -- what is committed and synced by now; batches done with become spare. */
static void
publish(struct store *store, bool is_synced, uint64_t n_records)
{
	uint64_t before = store->committed;
	struct list_link *last = list_last(&store->group);

	if (last != NULL)
		store->committed = list_of(last, struct store_batch, at)->number;
	store->commit_at_ns = now_ns(store);
	if (store->synced == before)
		store->unsynced_at_ns = store->commit_at_ns;
	if (is_synced)
		store->synced = store->committed;
	if (store->group_has_gone) {
		store->is_clearing = true;
		store->clear_after_id =
			0; /* its rows lie among those that were gone through, too */
	}

	lock_take(&store->lock);
	list_each_safe(&store->group, link) {
		struct store_batch *batch = list_of(link, struct store_batch, at);

		journal_clear(&batch->journal);
		list_remove(link);
		list_push_front(&store->spare, link);
	}
	store->progress.committed = store->committed;
	store->progress.synced = store->synced;
	store->progress.is_clearing = store->is_clearing;
	store->counts.n_commits++;
	store->counts.n_records += n_records;
	store->counts.n_syncs += is_synced;
	store->counts.wal_bytes = store->wal_frames * FRAME_BYTES;
	if (is_synced && list_is_empty(&store->queue))
		store->wants_sync = false;
	lock_drop(&store->lock);
	wake(store);
}

/* publish_synced -- a whole checkpoint: all that is committed lies in the database file, synced. */
static void
publish_synced(struct store *store)
{
	bool is_news = store->synced < store->committed;

	store->synced = store->committed;
	lock_take(&store->lock);
	store->progress.synced = store->synced;
	if (list_is_empty(&store->queue))
		store->wants_sync = false;
	lock_drop(&store->lock);
	if (is_news)
		wake(store);
}

/* commit -- false: it failed, and is tried again later. */
static bool
commit(struct store *store, bool is_synced)
{
	uint64_t n_records = 0;

	if (transact(store, is_synced, &n_records) != SQLITE_OK)
		return false;

	note_success(store);
	publish(store, is_synced && !store->must_rewrite, n_records);
	return true;
}

/* ---- checkpoint ------------------------------------------------------------------------- */

/* note_checkpoint -- count it, and warn once when a reader holds it up beyond the cap. */
static void
note_checkpoint(struct store *store, int rc, bool was_over_cap)
{
	int64_t pages = 0;

	if (rc == SQLITE_OK)
		store_db_number(store->db.conn, "PRAGMA page_count", &pages);
	lock_take(&store->lock);
	store->counts.n_checkpoints += rc == SQLITE_OK;
	if (rc == SQLITE_OK)
		store->counts.db_bytes = (uint64_t)pages * PAGE_BYTES;
	store->counts.wal_bytes = store->wal_frames * FRAME_BYTES;
	lock_drop(&store->lock);

	if (rc == SQLITE_OK && !was_over_cap)
		store->has_warned = false;
	if (rc == SQLITE_OK || store->has_warned)
		return;
	if ((rc & 0xff) == SQLITE_BUSY && !was_over_cap)
		return;
	store->has_warned = true;
	log_event(LOG_WARN,
		  (rc & 0xff) == SQLITE_BUSY ? "store_wal_pinned" : "store_checkpoint_failed",
		  "path=\"%s\" wal_bytes=%llu code=%d why=\"%s\"", store->config.path,
		  (unsigned long long)(store->wal_frames * FRAME_BYTES), rc,
		  (rc & 0xff) == SQLITE_BUSY ? "a reader has had one transaction open all the time"
					     : sqlite3_errstr(rc));
}

/* cap_frames -- on a full disk the WAL has only the reserve to grow into. */
static uint64_t
cap_frames(const struct store *store)
{
	uint64_t cap_bytes = store->config.wal_cap_bytes;

	if (store->files.is_full)
		cap_bytes = num_min(cap_bytes, STORE_RESERVE_BYTES / 2);
	return cap_bytes / FRAME_BYTES;
}

static bool
is_over_cap(const struct store *store)
{
	return store->wal_top_frames > cap_frames(store);
}

/* checkpoint -- rc; after TRUNCATE and SQLITE_OK the WAL is empty. */
static int
checkpoint(struct store *store, int mode)
{
	bool was_over_cap = is_over_cap(store);
	int rc = sqlite3_wal_checkpoint_v2(store->db.conn, NULL, mode, NULL, NULL);

	if ((rc & 0xff) == SQLITE_IOERR)
		store->must_rewrite = true;
	if (rc != SQLITE_OK)
		store->upkeep_at_ns = now_ns(store) + UPKEEP_NS;
	store->ckpt_frames = store->wal_frames;
	if (rc == SQLITE_OK && mode == SQLITE_CHECKPOINT_TRUNCATE)
		store->wal_frames = store->wal_top_frames = store->ckpt_frames = 0;
	note_checkpoint(store, rc, was_over_cap);
	return rc;
}

/* rewrite -- trust again: all of it into the database file, then a new WAL. */
static void
rewrite(struct store *store)
{
	if (now_ns(store) < store->upkeep_at_ns)
		return;
	if (checkpoint(store, SQLITE_CHECKPOINT_TRUNCATE) != SQLITE_OK)
		return;

	store->must_rewrite = false;
	if (!commit(store, true)) {
		store->must_rewrite = true;
		store->upkeep_at_ns = now_ns(store) + UPKEEP_NS;
	}
}

/* The WAL hook: SQLite tells the length of the WAL after each commit. */
static int
note_wal(void *arg, sqlite3 *conn, const char *name, int n_frames)
{
	struct store *store = arg;

	(void)conn;
	(void)name;
	store->wal_frames = (uint64_t)n_frames;
	if (store->wal_frames < store->ckpt_frames)
		store->ckpt_frames = 0; /* it was begun anew */
	store->wal_top_frames = num_max(store->wal_top_frames, store->wal_frames);
	return SQLITE_OK;
}

void
store_watch_wal(struct store *store)
{
	sqlite3_wal_hook(store->db.conn, note_wal, store);
}

/* ---- segments that are gone (store_gone.c) ----------------------------------------------- */

static bool
may_clear(const struct store *store)
{
	return store->is_clearing && list_is_empty(&store->group) && !store->must_rewrite;
}

static uint64_t
clear_due_ns(const struct store *store)
{
	return num_max(store->clear_at_ns, store->retry_at_ns);
}

/* One step, then rest for longer than that took: it is in nobody's way. */
static void
clear_some(struct store *store)
{
	uint64_t from_ns = now_ns(store), took_ns;
	bool is_over = false;
	int rc = store_db_exec(&store->db, STMT_transaction_begin);

	if (rc == SQLITE_OK)
		rc = store_gone_step(&store->db, &store->clear_after_id, &is_over);
	if (rc == SQLITE_OK)
		rc = store_db_exec(&store->db, STMT_transaction_commit);
	if (rc != SQLITE_OK) {
		store->clear_after_id = 0; /* what was rolled back is done again */
		note_failure(store, rc, "write");
		return;
	}
	note_success(store);
	took_ns = now_ns(store) - from_ns;
	store->clear_at_ns = store->config.is_inline ? 0 : from_ns + CLEAR_REST * took_ns;
	store->is_clearing = !is_over;
	if (!is_over)
		return;
	lock_take(&store->lock);
	store->progress.is_clearing = false;
	lock_drop(&store->lock);
	wake(store);
}

/* ---- what is due -------------------------------------------------------------------------- */

/* has_grown -- by so much since the last checkpoint that a PASSIVE one is worth it. */
static bool
has_grown(const struct store *store)
{
	return store->wal_frames >=
	       store->ckpt_frames + num_min(CKPT_FRAMES, cap_frames(store) / 2);
}

static void
upkeep_wal(struct store *store)
{
	bool is_idle = now_ns(store) >= store->commit_at_ns + UPKEEP_NS;

	if (store->must_rewrite || now_ns(store) < store->upkeep_at_ns)
		return;
	if (is_over_cap(store) || (store->wal_top_frames > 0 && is_idle)) {
		if (checkpoint(store, SQLITE_CHECKPOINT_TRUNCATE) == SQLITE_OK)
			publish_synced(store);
	} else if (has_grown(store)) {
		checkpoint(store, SQLITE_CHECKPOINT_PASSIVE);
	}
}

static void
upkeep_reserve(struct store *store)
{
	if (!store->files.is_full || now_ns(store) < store->reserve_at_ns)
		return;

	store->reserve_at_ns = now_ns(store) + UPKEEP_NS;
	store_files_fill_reserve(&store->files);
	if (store->files.is_full)
		return;
	lock_take(&store->lock);
	store->progress.is_full = false;
	lock_drop(&store->lock);
	log_event(LOG_INFO, "store_has_room", "path=\"%s\"", store->config.path);
	wake(store);
}

/* upkeep_sync -- what is committed must be synced too, when it is time. */
static void
upkeep_sync(struct store *store)
{
	if (store->must_rewrite)
		rewrite(store);
	else if (store->retry_after_ns > 0)
		commit(store, true); /* nothing else may be left that would tell that all is well */
	else if (store->synced == store->committed)
		publish_synced(store); /* whoever wants a sync has it */
	else if (is_sync_due(store))
		commit(store, true);
}

static uint64_t
until(uint64_t now, uint64_t at)
{
	return at > now ? at - now : 0;
}

/* next_due -- time until there is something to do; UINT64_MAX: never, without news. */
static uint64_t
next_due(const struct store *store)
{
	uint64_t now = now_ns(store), due = UINT64_MAX;

	if (!list_is_empty(&store->group))
		return until(now, store->retry_at_ns);
	if (store->must_rewrite)
		due = num_min(due, until(now, num_max(store->retry_at_ns, store->upkeep_at_ns)));
	else if (store->synced < store->committed)
		due = num_min(due,
			      until(now, num_max(store->retry_at_ns,
						 store->unsynced_at_ns +
							 store->config.sync_every_ms * NS_PER_MS)));
	if (store->wal_top_frames > 0 && !store->must_rewrite) {
		bool is_due = is_over_cap(store) || has_grown(store);

		due = num_min(due,
			      until(now, num_max(store->upkeep_at_ns,
						 is_due ? 0 : store->commit_at_ns + UPKEEP_NS)));
	}
	if (store->files.is_full)
		due = num_min(due, until(now, store->reserve_at_ns));
	if (store->retry_after_ns > 0 && !store->must_rewrite)
		due = num_min(due, until(now, store->retry_at_ns));
	if (may_clear(store))
		due = num_min(due, until(now, clear_due_ns(store)));
	return due;
}

/* account -- of this thread's time since cpu. */
static void
account(struct store *store, uint64_t cpu)
{
	lock_take(&store->lock);
	store->counts.busy_ns += cpu_ns() - cpu;
	lock_drop(&store->lock);
}

uint64_t
store_commit(struct store *store)
{
	uint64_t cpu = cpu_ns();

	assert(list_is_empty(&store->group));

	take_group(store);
	commit(store, /* is_synced= */ false);
	account(store, cpu);
	return next_due(store);
}

uint64_t
store_work(struct store *store)
{
	uint64_t cpu = cpu_ns();
	uint64_t due;

	if (list_is_empty(&store->group))
		take_group(store);
	if (!list_is_empty(&store->group) && now_ns(store) >= store->retry_at_ns)
		commit(store,
		       !store->must_rewrite && (group_wants_sync(store) || is_sync_due(store)));
	if (list_is_empty(&store->group) && now_ns(store) >= store->retry_at_ns)
		upkeep_sync(store);
	if (may_clear(store) && now_ns(store) >= clear_due_ns(store))
		clear_some(store);
	upkeep_wal(store);
	upkeep_reserve(store);

	account(store, cpu);
	due = next_due(store);
	lock_take(&store->lock);
	if (list_is_empty(&store->group) && !list_is_empty(&store->queue))
		due = 0;
	lock_drop(&store->lock);
	return due;
}

bool
store_flush(struct store *store)
{
	bool is_done = false;

	for (int i = 0; i < FLUSH_ATTEMPTS && !is_done; i++) {
		store->retry_at_ns = store->upkeep_at_ns = 0;
		while (store_work(store) == 0 && store->retry_after_ns == 0)
			;
		if (list_is_empty(&store->group) && store->synced < store->committed &&
		    !store->must_rewrite)
			commit(store, true);
		is_done = list_is_empty(&store->group) && list_is_empty(&store->queue) &&
			  store->synced == store->committed;
		if (!is_done)
			clock_sleep_ms(store->config.clock, 50);
	}
	if (is_done)
		checkpoint(store, SQLITE_CHECKPOINT_TRUNCATE);
	return is_done;
}
