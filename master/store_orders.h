/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_orders.h -- orders.db: what an administrator writes there by plain SQL.
 *
 *      admin --SQL--> orders.db --PRAGMA data_version, 4 times a second--> orders_take() --> loop
 *                         ^                                                                   |
 *                         +------------- outcome into the same row <------ orders_tell() <----+
 *
 * A thread and a connection of their own, so that whoever holds that database locked, or damages
 * it, holds up nobody: the loop is told once (`orders_state`), and what was ordered before goes on.
 * The file is made when it is missing, "orders.db" beside the books, mode 0600.  What waits to be
 * written is bounded: nothing is read before the outcomes of what was read are written, and what
 * is said of the same row or setting again takes the place of what waits.
 *
 * thread:  all functions: the loop's.
 */
#ifndef MASTER_STORE_ORDERS_H
#define MASTER_STORE_ORDERS_H

#include "master/proto/limits.h"
#include "transfer/base/base.h"
#include "transfer/base/clock.h"
#include "transfer/base/vec.h"

#define ORDER_NAME_MAX  255
#define ORDER_WISH_MAX  7
#define ORDER_WORDS_MAX 200
#define ORDER_POSTS_MAX 2048 /* outcomes that wait to be written */

enum order_kind { ORDER_SETTING, ORDER_QUOTA, ORDER_PIN, ORDER_DRAIN, N_ORDER_KINDS };

/* The column `outcome` of its row. */
enum order_state {
	ORDER_NEW, /* NULL: it is to be judged */
	ORDER_DONE,
	ORDER_REFUSED,
	ORDER_PLANNED, /* from here on: of drains alone */
	ORDER_RUNNING,
	ORDER_FAILED,
	ORDER_CANCELLED,
	N_ORDER_STATES
};

/* One row. */
struct order {
	enum order_kind kind;
	enum order_state state; /* as it was read */
	int64_t row_id;         /* of a pin or drain */
	char name[ORDER_NAME_MAX +
		  1]; /* of the setting, the tenant (quota, pin), the segment (drain) */
	char wish[ORDER_WISH_MAX + 1]; /* of a pin: soft, hard, none; of a drain: drain, cancel */
	int64_t values[2];  /* the setting's; bytes and objects; ttl_ms; concurrency and job */
	bool has_values[2]; /* false: NULL */
	uint16_t key_len;   /* of a pin */
	uint8_t key[KEY_MAX];
};

/* How far a drain is; job_id 0: nothing is said of that. */
struct order_progress {
	uint64_t job_id, n_done, n_failed, n_left, bytes_done, bytes_left;
};

struct order_outcome {
	enum order_state state;
	struct order_progress progress;
	char words[ORDER_WORDS_MAX];
};

enum orders_state {
	ORDERS_WELL,
	ORDERS_BUSY,    /* somebody has had it locked for seconds */
	ORDERS_DAMAGED, /* not a database of orders, or it can't be read or written */
};

/* All settings that are ordered, and whatever else is not at its end. */
struct orders_news {
	VEC(struct order) orders;
	bool has_orders;
	bool has_state;
	enum orders_state state;
	char why[200];
};

/* A setting that can change, as admins see it. */
struct known_setting {
	const char *name, *unit, *help;
	uint64_t least, most, configured;
};

struct orders_config {
	const char *db; /* the books: orders.db is beside them */
	const struct clock *clock;
	const struct known_setting *known;
	size_t n_known;
	void (*wake)(void *arg); /* from its thread, when there is news; NULL: nobody is woken */
	void *wake_arg;
	bool is_inline; /* tests: no thread; orders_step() is called instead */
};

struct orders;

/* orders_open -- start its thread; the file itself is opened there.  0 or -errno. */
int orders_open(const struct orders_config *config, struct orders **ret_orders) MUST_CHECK;
void orders_close(struct orders *orders);

/* orders_step -- what the thread does four times a second.  needs: is_inline. */
void orders_step(struct orders *orders);

/* orders_take -- false: no news.  *ret_news is the caller's, for orders_news_fini(). */
bool orders_take(struct orders *orders, struct orders_news *ret_news);
void orders_news_fini(struct orders_news *news);

/* orders_tell -- what came of an order.  Without memory, or with ORDER_POSTS_MAX waiting, the row
 * stays as it is, and is told again after the next change or start. */
void orders_tell(struct orders *orders, const struct order *order,
		 const struct order_outcome *outcome);

/* orders_keep -- a setting was changed by request: it becomes a row (value NULL: loses its row).
 * What was read before that is no news any more.  false: no memory. */
bool orders_keep(struct orders *orders, const char *name, const uint64_t *value);

DEFINE_CLEANUP(struct orders, orders_close);

#endif
