/* SPDX-License-Identifier: Apache-2.0 */
#include "master/store_orders.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/store_internal.h"
#include "master/store_orders_internal.h"
#include "sql/sql_text.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"

#define EVERY_NS      (250 * NS_PER_MS)
#define BUSY_AFTER_NS (5 * NS_PER_S) /* then somebody is told */

static void
wake(const struct orders *orders)
{
	if (orders->config.wake != NULL)
		orders->config.wake(orders->config.wake_arg);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* publish -- unless a setting was changed by request meanwhile: then it is read anew. */
static void
publish(struct orders *orders, struct orders_news *news, uint64_t n_keeps)
{
	bool is_old;

	lock_take(&orders->lock);
	is_old = orders->n_keeps != n_keeps;
	if (!is_old) {
		vec_fini(&orders->news.orders);
		orders->news.orders = news->orders;
		orders->news.has_orders = true;
	}
	lock_drop(&orders->lock);
	if (is_old)
		vec_fini(&news->orders);
	orders->must_read = is_old;
	if (!is_old)
		wake(orders);
}

/* look -- rc. */
static int
look(struct orders *orders)
{
	struct orders_news news = {0};
	int64_t version = 0;
	uint64_t n_keeps;
	int rc = store_db_number(orders->conn, "PRAGMA data_version", &version);

	if (rc != SQLITE_OK || (version == orders->version && !orders->must_read))
		return rc;
	lock_take(&orders->lock);
	n_keeps = orders->n_keeps;
	lock_drop(&orders->lock);
	rc = orders_rows_read(orders, &news);
	if (rc != SQLITE_OK) {
		vec_fini(&news.orders);
		return rc;
	}
	orders->version = version;
	publish(orders, &news, n_keeps);
	return SQLITE_OK;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* There may be more than was read at once, or what was planned is to be begun; and our own writes
 * don't change data_version. */
static bool
asks_to_read_on(const struct post *post)
{
	if (post->kind != POST_OUTCOME)
		return true;
	return post->order.kind == ORDER_QUOTA || post->order.kind == ORDER_PIN ||
	       post->outcome.state == ORDER_PLANNED;
}

/* write_all -- in one short transaction.  rc. */
static int
write_all(struct orders *orders, const struct post *posts, size_t n)
{
	bool reads_on = false;
	int rc = store_db_run(orders->conn, sql_transaction_begin);

	for (size_t i = 0; i < n && rc == SQLITE_OK; i++) {
		rc = orders_rows_write(orders, &posts[i]);
		reads_on |= asks_to_read_on(&posts[i]);
	}
	if (rc == SQLITE_OK)
		rc = store_db_run(orders->conn, sql_transaction_commit);
	if (!sqlite3_get_autocommit(orders->conn))
		store_db_run(orders->conn, sql_transaction_rollback);
	if (rc == SQLITE_OK)
		orders->must_read |= reads_on;
	return rc;
}

/* write_posts -- those that can't be written now stay.  rc. */
static int
write_posts(struct orders *orders)
{
	struct post *posts;
	size_t n;
	int rc;

	lock_take(&orders->lock);
	n = orders->posts.n;
	posts = n > 0 ? malloc(n * sizeof(*posts)) : NULL;
	if (posts != NULL) {
		memcpy(posts, orders->posts.at, n * sizeof(*posts));
		orders->n_writing = n;
	}
	lock_drop(&orders->lock);
	if (posts == NULL)
		return n > 0 ? SQLITE_NOMEM : SQLITE_OK;

	rc = write_all(orders, posts, n);
	free(posts);

	lock_take(&orders->lock);
	orders->n_writing = 0;
	if (rc == SQLITE_OK) {
		orders->posts.n -= n;
		memmove(orders->posts.at, orders->posts.at + n, orders->posts.n * sizeof(*posts));
	}
	lock_drop(&orders->lock);
	return rc;
}

/* ---- how it is ------------------------------------------------------------------------------ */

static void
tell_state(struct orders *orders, enum orders_state state, const char *why)
{
	if (orders->state == state)
		return;
	orders->state = state;
	lock_take(&orders->lock);
	orders->news.has_state = true;
	orders->news.state = state;
	snprintf(orders->news.why, sizeof(orders->news.why), "%s", why);
	lock_drop(&orders->lock);
	log_event(state == ORDERS_WELL ? LOG_INFO : LOG_WARN,
		  state == ORDERS_WELL   ? "orders_well"
		  : state == ORDERS_BUSY ? "orders_busy"
					 : "orders_damaged",
		  "path=\"%s\" why=\"%s\"", orders->path, why);
	wake(orders);
}

static void
judge(struct orders *orders, int rc)
{
	uint64_t now = clock_ns(orders->config.clock);
	bool is_busy = (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
	char words[STORE_WORDS_CAP];

	if (rc == SQLITE_OK) {
		orders->failing_since_ns = 0;
		tell_state(orders, ORDERS_WELL, "");
		return;
	}
	if (orders->failing_since_ns == 0)
		orders->failing_since_ns = now;
	if (!is_busy) {
		int os_errno = orders->conn != NULL ? sqlite3_system_errno(orders->conn)
						    : orders->open_errno;

		orders_db_close(orders);
		tell_state(orders, ORDERS_DAMAGED, store_db_words(rc, os_errno, words));
	} else if (now - orders->failing_since_ns >= BUSY_AFTER_NS) {
		tell_state(orders, ORDERS_BUSY, "somebody keeps it locked");
	}
}

void
orders_step(struct orders *orders)
{
	int rc = SQLITE_OK;

	if (orders->conn != NULL && orders_db_is_another(orders))
		orders_db_close(orders);
	if (orders->conn == NULL)
		rc = orders_db_open(orders);
	if (rc == SQLITE_OK)
		rc = write_posts(orders);
	if (rc == SQLITE_OK)
		rc = look(orders);
	judge(orders, rc);
}

static void *
orders_run(void *arg)
{
	struct orders *orders = arg;
	bool is_closing = false;

	while (!is_closing) {
		orders_step(orders);
		lock_take(&orders->lock);
		if (!orders->is_closing)
			(void)lock_wait_for(&orders->lock, &orders->cond, EVERY_NS);
		is_closing = orders->is_closing;
		lock_drop(&orders->lock);
	}
	if (orders->conn != NULL)
		(void)write_posts(orders);
	return NULL;
}

/* ---- the loop's side ------------------------------------------------------------------------ */

static void
orders_free(struct orders *orders)
{
	orders_db_close(orders);
	vec_fini(&orders->posts);
	vec_fini(&orders->news.orders);
	pthread_cond_destroy(&orders->cond);
	lock_fini(&orders->lock);
	free(orders->known);
	free(orders);
}

int
orders_open(const struct orders_config *config, struct orders **ret_orders)
{
	struct orders *orders = calloc(1, sizeof(*orders));
	char copy[PATH_MAX];
	int e;

	if (orders == NULL)
		return err_new(-ENOMEM);
	orders->config = *config;
	orders->known = calloc(config->n_known + 1, sizeof(*orders->known));
	if (orders->known == NULL) {
		free(orders);
		return err_new(-ENOMEM);
	}
	memcpy(orders->known, config->known, config->n_known * sizeof(*orders->known));
	lock_init(&orders->lock, LOCK_store_orders);
	lock_cond_init(&orders->cond);
	snprintf(copy, sizeof(copy), "%s", config->db);
	if (snprintf(orders->path, sizeof(orders->path), "%s/orders.db", dirname(copy)) >=
	    (int)sizeof(orders->path)) {
		orders_free(orders);
		return err_new(-ENAMETOOLONG);
	}
	if (!config->is_inline) {
		e = pthread_create(&orders->thread, NULL, orders_run, orders);
		if (e != 0) {
			orders_free(orders);
			return err_new(-e);
		}
		orders->has_thread = true;
	}
	*ret_orders = orders;
	return 0;
}

void
orders_close(struct orders *orders)
{
	if (orders == NULL)
		return;

	if (orders->has_thread) {
		lock_take(&orders->lock);
		orders->is_closing = true;
		pthread_cond_signal(&orders->cond);
		lock_drop(&orders->lock);
		pthread_join(orders->thread, NULL);
	}
	orders_free(orders);
}

bool
orders_take(struct orders *orders, struct orders_news *ret_news)
{
	bool has_some;

	lock_take(&orders->lock);
	has_some = orders->news.has_orders || orders->news.has_state;
	if (has_some) {
		*ret_news = orders->news;
		orders->news = (struct orders_news){0};
	}
	lock_drop(&orders->lock);
	return has_some;
}

void
orders_news_fini(struct orders_news *news)
{
	vec_fini(&news->orders);
}

/* put_in -- in place of what is said of the same already, or behind the others.  needs: the lock.
 */
static bool
put_in(struct orders *orders, const struct post *what)
{
	for (size_t i = orders->n_writing; i < orders->posts.n; i++) {
		if (!post_is_for_same(&orders->posts.at[i], what))
			continue;
		orders->posts.at[i] = *what;
		return true;
	}
	return orders->posts.n < ORDER_POSTS_MAX && vec_push(&orders->posts, *what) == 0;
}

/* post -- false: no memory, or too many wait. */
static bool
post(struct orders *orders, const struct post *what)
{
	bool is_posted;

	lock_take(&orders->lock);
	is_posted = put_in(orders, what);
	if (is_posted && what->kind != POST_OUTCOME) {
		orders->n_keeps++;
		vec_fini(&orders->news.orders);
		orders->news.has_orders = false;
	}
	pthread_cond_signal(&orders->cond);
	lock_drop(&orders->lock);
	return is_posted;
}

void
orders_tell(struct orders *orders, const struct order *order, const struct order_outcome *outcome)
{
	const struct post what = {.kind = POST_OUTCOME, .order = *order, .outcome = *outcome};

	if (!post(orders, &what))
		log_event(LOG_WARN, "order_outcome_lost", "name=%s", order->name);
}

bool
orders_keep(struct orders *orders, const char *name, const uint64_t *value)
{
	struct post what = {.kind = value != NULL ? POST_KEEP : POST_FORGET};

	snprintf(what.order.name, sizeof(what.order.name), "%s", name);
	if (value != NULL) {
		what.order.values[0] = (int64_t)*value;
		what.order.has_values[0] = true;
	}
	return post(orders, &what);
}
