/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_internal.h -- what the files of the store know of each other.
 *
 *      store.c          the face: open, submit, progress, close
 *      store_open.c     the database: create, judge, migrate
 *      store_file.c     the files beside it: lock and reserve
 *      store_db.c       a connection: settings, statements, words for its errors
 *      store_bind.c     a record becomes rows
 *      store_added.c    objects that are added become rows together
 *      store_sum.c      and what they are summed up to
 *      store_gone.c     the rows of segments that are lost, cleared away in steps
 *      store_load*.c    rows become records (store_rows.h)
 *      store_feed.c     and go from the thread that reads to the one that builds
 *      store_thread.c   commit, sync, checkpoint, try again
 *
 * Functions whose result is called "rc" give SQLite's codes, SQLITE_OK or another.
 */
#ifndef MASTER_STORE_INTERNAL_H
#define MASTER_STORE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>

#include "master/store.h"
#include "master/store_added.h"
#include "transfer/base/list.h"
#include "transfer/base/lock.h"

/* ---- the connection that writes -------------------------------------------------- */

/* Statements prepared at start: STATEMENT(file in sql/query, its parameters in order). */
#define STORE_STATEMENTS(STATEMENT)                                                                \
	STATEMENT(transaction_begin, "")                                                           \
	STATEMENT(transaction_commit, "")                                                          \
	STATEMENT(transaction_rollback, "")                                                        \
	STATEMENT(cluster_next_object_id, ":object_id")                                            \
	STATEMENT(cluster_lease, ":lease_ms")                                                      \
	STATEMENT(cluster_sync, "")                                                                \
	STATEMENT(object_add, "")                                                                  \
	STATEMENT(object_remove, ":object_id")                                                     \
	STATEMENT(group_add, "")                                                                   \
	STATEMENT(object_rename, ":key:object_id")                                                 \
	STATEMENT(object_pin, ":pinned_until_s:object_id")                                         \
	STATEMENT(object_attr, ":attr:object_id")                                                  \
	STATEMENT(replica_add, "")                                                                 \
	STATEMENT(replica_remove, ":object_id:segment_id")                                         \
	STATEMENT(replica_remove_all, ":object_id")                                                \
	STATEMENT(extent_add, "")                                                                  \
	STATEMENT(extent_remove, ":replica_id")                                                    \
	STATEMENT(extent_remove_all, ":object_id")                                                 \
	STATEMENT(segment_add, ":segment_id:epoch:client_id:medium:len_bytes:mounted_at_ms"        \
			       ":name:host:endpoint:drain")                                        \
	STATEMENT(segment_remove, ":segment_id")                                                   \
	STATEMENT(segment_gone, ":segment_id")                                                     \
	STATEMENT(gone_next, ":after_id:n_objects")                                                \
	STATEMENT(gone_extents, ":first_id:last_id")                                               \
	STATEMENT(gone_objects, ":first_id:last_id")                                               \
	STATEMENT(gone_replicas, ":first_id:last_id")                                              \
	STATEMENT(chunk_open, ":segment_id:chunk")                                                 \
	STATEMENT(chunk_close, ":segment_id:chunk")                                                \
	STATEMENT(chunk_close_all, ":segment_id")                                                  \
	STATEMENT(tenant_set, ":tenant_id:name:quota_bytes:quota_objects")                         \
	STATEMENT(tenant_remove, ":tenant_id")                                                     \
	STATEMENT(event_add, ":event_id:at_ms:kind:count:bytes:subject_id:words")                  \
	STATEMENT(event_trim, ":event_id")                                                         \
	STATEMENT(replica_slots, ":object_id")                                                     \
	STATEMENT(task_set, ":task_id:job_id:kind:state:tries:reason:object_id:len_bytes"          \
			    ":from_id:to_id:made_at_ms:ended_at_ms:key")                           \
	STATEMENT(task_remove, ":task_id")                                                         \
	STATEMENT(job_set, ":job_id:state:reason:concurrency:n_done:n_failed:bytes_done"           \
			   ":bytes_failed:made_at_ms:ended_at_ms")                                 \
	STATEMENT(job_remove, ":job_id")                                                           \
	STATEMENT(job_segment_add, ":job_id:is_target:segment_id")                                 \
	STATEMENT(job_segment_remove_all, ":job_id")

enum store_statement {
#define STATEMENT(name, params) STMT_##name,
	STORE_STATEMENTS(STATEMENT)
#undef STATEMENT
		STORE_N_STATEMENTS
};

struct store_db {
	sqlite3 *conn;
	sqlite3_stmt *stmts[STORE_N_STATEMENTS];
	struct added *added; /* of the connection that writes; NULL until it is prepared */
};

/* store_db_open -- connect and make the settings; statements are not prepared yet.  rc. */
int store_db_open(struct store_db *db, const char *path, const char *vfs, int flags);
int store_db_prepare(struct store_db *db);
void store_db_close(struct store_db *db);

/* store_db_run -- a text of sql/: all of its statements, rows ignored.  rc. */
int store_db_run(sqlite3 *conn, const char *text);

/* store_db_number -- what a PRAGMA or query of one number says.  rc; SQLITE_NOTFOUND: no number. */
int store_db_number(sqlite3 *conn, const char *text, int64_t *ret);

/* store_db_exec -- one prepared statement that gives no rows, or whose rows don't matter.  rc. */
int store_db_exec(struct store_db *db, enum store_statement statement);

/* store_db_sync_commits -- do commits from now on end with a sync of the WAL?  Outside
 * transactions.  rc. */
int store_db_sync_commits(struct store_db *db, bool is_on);

/* store_db_is_damage -- does this code speak of contents, not of circumstances? */
bool store_db_is_damage(int rc);

#define STORE_WORDS_CAP 160

/*
 * store_db_words -- the code in words; where the system said why, with its words, too.
 * store_db_errno -- the code as -errno.
 *
 * takes:   os_errno: what sqlite3_system_errno() says of the connection since.
 */
const char *store_db_words(int rc, int os_errno, char text[STORE_WORDS_CAP]);
int store_db_errno(int rc, int os_errno);

/* store_schema_apply -- the files of sql/schema, from..to (versions).  rc. */
int store_schema_apply(sqlite3 *conn, int64_t from, int64_t to);

/*
 * store_schema_is_newest -- are the tables, word by word, those that all the files make?
 *
 * result:  rc; only with SQLITE_OK is *ret_is set.
 * thread:  any.
 */
int store_schema_is_newest(sqlite3 *conn, bool *ret_is);

/*
 * store_apply -- the rows of one record, within a transaction; of objects that are added, only when
 * something else comes, or there are many.
 *
 * needs:   what the record points to stays until store_apply_end().
 * result:  rc.
 */
int store_apply(struct store_db *db, const struct record *record);

/* store_apply_begin -- a transaction's first record comes next.  store_apply_end -- it was the last
 * one: what is left is written.  rc. */
void store_apply_begin(struct store_db *db);
int store_apply_end(struct store_db *db);

/* store_bind_id -- parameter `at` of a statement. */
void store_bind_id(struct store_db *db, enum store_statement statement, int at, uint64_t id);

/* store_gone_clear -- void copies of the objects from first_id to last_id, and objects that have no
 * others.  rc. */
int store_gone_clear(struct store_db *db, uint64_t first_id, uint64_t last_id);

/*
 * store_gone_step -- the same of the next few objects behind *after_id, which is moved on.
 *
 * gives:   *ret_is_over: there were none.
 * result:  rc.
 */
int store_gone_step(struct store_db *db, uint64_t *after_id, bool *ret_is_over);

/* store_gone_clear_all -- at a start: all of them, and the segments' own rows.  rc. */
int store_gone_clear_all(sqlite3 *conn);

/* ---- the files beside the database ------------------------------------------------ */

#define STORE_RESERVE_BYTES (2u << 20)

/* store_file_own -- open path + suffix; a new one has mode 0600 whatever the umask.  fd or -errno.
 */
int store_file_own(const char *path, const char *suffix) MUST_CHECK;

struct store_files {
	int lock_fd;    /* flock held */
	int reserve_fd; /* -1: could not be made */
	bool is_full;   /* the reserve was given up */
};

/* store_files_open -- 0, STORE_E_IN_USE, -errno; the last two with why. */
int store_files_open(struct store_files *files, const char *path, char *why, size_t why_cap);
void store_files_close(struct store_files *files);

/* store_files_drop_reserve -- give its bytes to the disk.  false: they were given before. */
bool store_files_drop_reserve(struct store_files *files);

/* store_files_fill_reserve -- take them again if there is room; is_full tells. */
void store_files_fill_reserve(struct store_files *files);

/* ---- the whole ------------------------------------------------------------------ */

struct store_batch {
	struct list_link at;
	uint64_t number;
	struct journal journal;
};

struct store {
	unsigned magic;
	struct store_config config; /* never changes; path is owned */
	uint64_t epoch, next_object_id, longest_lease_ms, cluster_id;
	bool was_put_back;
	struct store_files files;
	struct store_db db; /* the worker's, once it runs */
	pthread_t thread;
	bool has_thread;

	/* Below: both threads', with the lock held. */
	struct lock lock; /* LOCK_store_queue */
	pthread_cond_t cond;
	struct list queue; /* store_batch, oldest first */
	struct list spare; /* store_batch with memory to use again */
	uint64_t n_submitted;
	uint64_t nap_until_ns; /* the store thread sleeps at most so long */
	bool is_kicked;        /* there is news for the store thread */
	bool is_working;       /* somebody is the worker now */
	bool is_in_line;       /* the store thread wants to be it next */
	bool wants_sync, is_closing;
	struct store_progress progress;
	struct store_counts counts;

	/* Below: the worker's alone (the store thread, the caller of store_step(), or of
	 * store_submit() when nobody else is). */
	struct list group; /* store_batch, one transaction, until it is committed */
	uint64_t committed, synced;
	uint64_t unsynced_at_ns; /* the first commit that is not synced */
	uint64_t commit_at_ns;   /* the last one */
	uint64_t retry_at_ns;    /* the group is not tried before */
	uint64_t retry_after_ns; /* how long to wait next time; 0: all is well */
	uint64_t upkeep_at_ns;   /* no checkpoint is tried before: the last one found a reader, or
				    failed */
	uint64_t reserve_at_ns;  /* the reserve is not tried before */
	uint64_t wal_frames;     /* in the WAL as of the last commit */
	uint64_t ckpt_frames;    /* of those, when the last checkpoint was made */
	uint64_t wal_top_frames; /* the longest it has been since it was truncated */
	uint64_t here_again_ns;  /* no batch is committed by store_submit() before */
	bool group_has_gone;     /* a segment, with the transaction at hand */
	bool is_clearing;        /* rows of gone segments are left (store_gone.c) */
	uint64_t clear_after_id; /* up to that object they are cleared */
	uint64_t clear_at_ns;    /* the next step is not made before */
	bool is_here;            /* this one is: its caller needs no waking */
	bool must_rewrite; /* an I/O error: what was written since is not trusted to be synced */
	bool has_warned;   /* that a reader holds up the checkpoint */
};

#define STORE_MAGIC 0x53544f52u

/* store_database_open -- create, judge, migrate, start; fills db, epoch and next_object_id.  As
 * store_open(). */
int store_database_open(struct store *store, char *why, size_t why_cap);

/* store_watch_wal -- from now on the WAL's length is known. */
void store_watch_wal(struct store *store);

/* store_work -- do what is due.  Gives the time until something is due again; 0: at once. */
uint64_t store_work(struct store *store);

/* store_commit -- all that is queued, without a sync.  needs: no group waits for its second
 * attempt. Gives the time as store_work(). */
uint64_t store_commit(struct store *store);

/* store_is_sync_time -- has what is committed waited long enough for its sync? */
bool store_is_sync_time(const struct store *store);

/*
 * store_here_begin -- be the worker for this batch, the last one of the queue?
 *
 * needs:   the lock is held.
 * result:  true: call store_here(), without the lock.  false: the store thread is to be kicked.
 */
bool store_here_begin(struct store *store, const struct store_batch *batch);
void store_here(struct store *store);

/* store_flush -- for closing: commit what is left, sync, checkpoint.  false: it can't be done. */
bool store_flush(struct store *store);

void *store_thread_main(void *store);

/* store_say -- fill why with one line that names the file. */
void store_say(char *why, size_t why_cap, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
