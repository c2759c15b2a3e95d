/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_orders_internal.h -- what the files of orders.db know of each other.
 *
 *      store_orders.c        the thread, and what the loop hands over and takes
 *      store_orders_db.c     the database: made, brought up to date, opened
 *      store_orders_rows.c   rows become orders, outcomes go into rows
 *
 * Functions whose result is called "rc" give SQLite's codes, SQLITE_OK or another.
 */
#ifndef MASTER_STORE_ORDERS_INTERNAL_H
#define MASTER_STORE_ORDERS_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "master/store_orders.h"
#include "transfer/base/lock.h"

/* What is to be written: an outcome, or a setting changed by request. */
enum post_kind { POST_OUTCOME, POST_KEEP, POST_FORGET };

struct post {
	enum post_kind kind;
	struct order order;
	struct order_outcome outcome; /* POST_OUTCOME */
};

struct orders {
	struct orders_config config;
	struct known_setting *known;
	char path[PATH_MAX];
	pthread_t thread;
	bool has_thread;

	/* Below: both threads', with the lock held. */
	struct lock lock; /* LOCK_store_orders */
	pthread_cond_t cond;
	bool is_closing;
	VEC(struct post) posts;
	size_t n_writing; /* of those, the first: they are being written, and don't change */
	struct orders_news news;
	uint64_t n_keeps; /* grows: what was read before the last one is old */

	/* Below: its thread's alone. */
	sqlite3 *conn;
	int open_errno; /* why there is none */
	ino_t inode;
	int64_t version; /* PRAGMA data_version when it was read last */
	bool must_read;
	uint64_t failing_since_ns; /* 0: all is well */
	enum orders_state state;
};

/* ---- the database ---- */

/* orders_db_open -- make it, bring it up to date, connect.  rc; with another than SQLITE_OK there
 * is no connection. */
int orders_db_open(struct orders *orders);
void orders_db_close(struct orders *orders);

/* orders_db_is_another -- was the file removed, or another one put in its place? */
bool orders_db_is_another(const struct orders *orders);

/* ---- rows ---- */

/* orders_rows_read -- all that is open.  rc. */
int orders_rows_read(struct orders *orders, struct orders_news *news);

/* orders_rows_write -- within a transaction.  rc. */
int orders_rows_write(struct orders *orders, const struct post *post);

/* post_is_for_same -- would the second take the place of the first? */
bool post_is_for_same(const struct post *first, const struct post *second);

#endif
