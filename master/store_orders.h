/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_orders.h -- orders.db: what an administrator writes there by plain SQL.
 *
 *      admin --SQL--> orders.db --PRAGMA data_version, 4 times a second--> orders_take() --> loop
 *                         ^                                                                   |
 *                         +------------- outcome into the same row <------ orders_tell() <----+
 *
 * A thread and a connection of their own, so that whoever holds that database locked, or damages
 * it, holds up nobody: the loop is told once (`state`), and what was ordered before goes on.
 * The file is made when it is missing, "orders.db" beside the books, mode 0600.
 *
 * thread:  all functions: the loop's.
 */
#ifndef MASTER_STORE_ORDERS_H
#define MASTER_STORE_ORDERS_H

#include "transfer/base/base.h"
#include "transfer/base/clock.h"
#include "transfer/base/vec.h"

#define ORDER_NAME_MAX  255
#define ORDER_WORDS_MAX 200

enum order_kind { ORDER_SETTING, ORDER_QUOTA };

/* One row. */
struct order {
	enum order_kind kind;
	char name[ORDER_NAME_MAX + 1]; /* of the setting, or the tenant */
	int64_t values[2];             /* the setting's; or bytes and objects */
	bool has_values[2];            /* false: NULL */
	bool is_new;                   /* its outcome is to be told */
};

enum orders_state {
	ORDERS_WELL,
	ORDERS_BUSY,    /* somebody has had it locked for seconds */
	ORDERS_DAMAGED, /* not a database of orders, or it can't be read or written */
};

/* All settings that are ordered, and the quotas that are new. */
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
	void (*wake)(void *arg); /* from its thread, when there is news */
	void *wake_arg;
};

struct orders;

/* What came of an order, told when batch is committed. */
struct order_fate {
	struct order order;
	uint64_t batch;
	bool is_done;
	char words[ORDER_WORDS_MAX];
};

/* orders_open -- start its thread; the file itself is opened there.  0 or -errno. */
int orders_open(const struct orders_config *config, struct orders **ret_orders) MUST_CHECK;
void orders_close(struct orders *orders);

/* orders_take -- false: no news.  *ret_news is the caller's, for orders_news_fini(). */
bool orders_take(struct orders *orders, struct orders_news *ret_news);
void orders_news_fini(struct orders_news *news);

/* orders_tell -- what came of an order that is new.  Without memory it stays new, and is told
 * again. */
void orders_tell(struct orders *orders, const struct order *order, bool is_done, const char *words);

/* orders_keep -- a setting was changed by request: it becomes a row (value NULL: loses its row).
 * What was read before that is no news any more.  false: no memory. */
bool orders_keep(struct orders *orders, const char *name, const uint64_t *value);

DEFINE_CLEANUP(struct orders, orders_close);

#endif
