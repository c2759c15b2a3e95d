/* SPDX-License-Identifier: Apache-2.0 */
#include "master/store_orders.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "master/store_internal.h"
#include "sql/sql_text.h"
#include "transfer/base/err.h"
#include "transfer/base/lock.h"
#include "transfer/base/log.h"

#define EVERY_NS       (250 * NS_PER_MS)
#define BUSY_MS        200            /* a statement waits so long for the lock */
#define BUSY_AFTER_NS  (5 * NS_PER_S) /* then somebody is told */
#define APPLICATION_ID 1414088271     /* as in sql/orders */

/* What is to be written: an outcome, or a setting changed by request. */
enum post_kind { POST_OUTCOME, POST_KEEP, POST_FORGET };

struct post {
	enum post_kind kind;
	struct order order;
	bool is_done;
	char words[ORDER_WORDS_MAX];
};

struct orders {
	struct orders_config config;
	struct known_setting *known;
	char path[PATH_MAX];
	pthread_t thread;

	/* Below: both threads', with the lock held. */
	struct lock lock; /* LOCK_store_orders */
	pthread_cond_t cond;
	bool is_closing;
	VEC(struct post) posts;
	struct orders_news news;
	uint64_t n_keeps; /* grows: what was read before the last one is old */

	/* Below: its thread's alone. */
	sqlite3 *conn;
	ino_t inode;
	int64_t version; /* PRAGMA data_version when it was read last */
	bool must_read;
	uint64_t failing_since_ns; /* 0: all is well */
	enum orders_state state;
};

/* ---- the database ---------------------------------------------------------------------- */

static void
hang_up(struct orders *orders)
{
	sqlite3_close(orders->conn);
	orders->conn = NULL;
}

/* make_tables -- in a file that has none.  rc. */
static int
make_tables(sqlite3 *conn)
{
	int64_t n_tables = 0, id = 0;
	int rc = store_db_number(conn, sql_table_count, &n_tables);

	if (rc == SQLITE_OK && n_tables == 0)
		for (size_t i = 0; i < n_sql_orders_schemas && rc == SQLITE_OK; i++)
			rc = store_db_run(conn, sql_orders_schemas[i].text);
	if (rc == SQLITE_OK)
		rc = store_db_number(conn, "PRAGMA application_id", &id);
	return rc == SQLITE_OK && id != APPLICATION_ID ? SQLITE_NOTADB : rc;
}

static int
add_known(sqlite3_stmt *stmt, const struct known_setting *known)
{
	int rc;

	sqlite3_bind_text(stmt, 1, known->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, known->unit, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, (sqlite3_int64)known->least);
	sqlite3_bind_int64(stmt, 4, (sqlite3_int64)known->most);
	sqlite3_bind_int64(stmt, 5, (sqlite3_int64)known->configured);
	sqlite3_bind_text(stmt, 6, known->help, -1, SQLITE_STATIC);
	rc = sqlite3_step(stmt);
	sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int
list_known(struct orders *orders)
{
	sqlite3_stmt *stmt = NULL;
	int rc = store_db_run(orders->conn, sql_orders_query_known_clear);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(orders->conn, sql_orders_query_known_add, -1, &stmt, NULL);
	for (size_t i = 0; i < orders->config.n_known && rc == SQLITE_OK; i++)
		rc = add_known(stmt, &orders->known[i]);
	sqlite3_finalize(stmt);
	return rc;
}

/* prepare -- tables and the list of settings, all or nothing.  rc. */
static int
prepare(struct orders *orders)
{
	int rc = store_db_run(orders->conn, sql_transaction_begin);

	if (rc != SQLITE_OK)
		return rc;
	rc = make_tables(orders->conn);
	if (rc == SQLITE_OK)
		rc = list_known(orders);
	if (rc == SQLITE_OK)
		rc = store_db_run(orders->conn, sql_transaction_commit);
	if (!sqlite3_get_autocommit(orders->conn))
		store_db_run(orders->conn, sql_transaction_rollback);
	return rc;
}

/* go_up -- rc. */
static int
go_up(struct orders *orders)
{
	int fd = store_file_own(orders->path, "");
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0) {
		if (fd >= 0)
			close(fd);
		return SQLITE_CANTOPEN;
	}
	close(fd);
	orders->inode = st.st_ino;
	orders->must_read = true;
	rc = sqlite3_open_v2(orders->path, &orders->conn,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			     NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(orders->conn, BUSY_MS);
	if (rc == SQLITE_OK)
		rc = store_db_run(orders->conn, "PRAGMA trusted_schema = OFF");
	if (rc == SQLITE_OK)
		rc = prepare(orders);
	if (rc != SQLITE_OK)
		hang_up(orders);
	return rc;
}

/* is_another_file -- removed, or another one put in its place. */
static bool
is_another_file(const struct orders *orders)
{
	struct stat st;

	return stat(orders->path, &st) < 0 || st.st_ino != orders->inode;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int
read_rows(struct orders *orders, enum order_kind kind, const char *text, struct orders_news *news)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(orders->conn, text, -1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct order order = {.kind = kind};
		const char *name = (const char *)sqlite3_column_text(stmt, 0);

		rc = SQLITE_OK;
		snprintf(order.name, sizeof(order.name), "%s", name != NULL ? name : "");
		for (int i = 0; i < 2; i++) {
			order.values[i] = sqlite3_column_int64(stmt, 1 + i);
			order.has_values[i] = sqlite3_column_type(stmt, 1 + i) != SQLITE_NULL;
		}
		order.is_new = sqlite3_column_int(stmt, 3) != 0;
		if (vec_push(&news->orders, order) < 0)
			rc = SQLITE_NOMEM;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

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
		orders->config.wake(orders->config.wake_arg);
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
	rc = read_rows(orders, ORDER_SETTING, sql_orders_query_setting_load, &news);
	if (rc == SQLITE_OK)
		rc = read_rows(orders, ORDER_QUOTA, sql_orders_query_quota_load, &news);
	if (rc != SQLITE_OK) {
		vec_fini(&news.orders);
		return rc;
	}
	orders->version = version;
	publish(orders, &news, n_keeps);
	return SQLITE_OK;
}

/* ---- writing ------------------------------------------------------------------------------ */

static void
bind_value(sqlite3_stmt *stmt, int at, const struct order *order, int i)
{
	if (at == 0)
		return;
	if (order->has_values[i])
		sqlite3_bind_int64(stmt, at, order->values[i]);
	else
		sqlite3_bind_null(stmt, at);
}

static const char *
text_of(const struct post *post)
{
	if (post->kind == POST_KEEP)
		return sql_orders_query_setting_keep;
	if (post->kind == POST_FORGET)
		return sql_orders_query_setting_forget;
	return post->order.kind == ORDER_SETTING ? sql_orders_query_setting_outcome
						 : sql_orders_query_quota_outcome;
}

static int
write_post(struct orders *orders, const struct post *post)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(orders->conn, text_of(post), -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
#define AT(name) sqlite3_bind_parameter_index(stmt, name)
	sqlite3_bind_text(stmt, AT(":name"), post->order.name, -1, SQLITE_STATIC);
	bind_value(stmt, AT(":value"), &post->order, 0);
	bind_value(stmt, AT(":value2"), &post->order, 1);
	if (post->kind == POST_OUTCOME) {
		sqlite3_bind_text(stmt, AT(":outcome"), post->is_done ? "done" : "refused", -1,
				  SQLITE_STATIC);
		sqlite3_bind_int64(stmt, AT(":at_ms"),
				   (sqlite3_int64)clock_wall_ms(orders->config.clock));
		sqlite3_bind_text(stmt, AT(":words"), post->words, -1, SQLITE_STATIC);
	} else {
		orders->must_read = true; /* our own writes don't change data_version */
	}
#undef AT
	rc = sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* write_posts -- in one short transaction; those that can't be written now stay.  rc. */
static int
write_posts(struct orders *orders)
{
	struct post *posts;
	size_t n, n_quotas = 0;
	int rc;

	lock_take(&orders->lock);
	n = orders->posts.n;
	posts = n > 0 ? malloc(n * sizeof(*posts)) : NULL;
	if (posts != NULL)
		memcpy(posts, orders->posts.at, n * sizeof(*posts));
	lock_drop(&orders->lock);
	if (posts == NULL)
		return n > 0 ? SQLITE_NOMEM : SQLITE_OK;

	rc = store_db_run(orders->conn, sql_transaction_begin);
	for (size_t i = 0; i < n && rc == SQLITE_OK; i++) {
		rc = write_post(orders, &posts[i]);
		n_quotas += posts[i].order.kind == ORDER_QUOTA;
	}
	if (rc == SQLITE_OK)
		rc = store_db_run(orders->conn, sql_transaction_commit);
	if (!sqlite3_get_autocommit(orders->conn))
		store_db_run(orders->conn, sql_transaction_rollback);
	free(posts);
	if (rc != SQLITE_OK)
		return rc;

	orders->must_read |= n_quotas > 0; /* there may be more than were read at once */
	lock_take(&orders->lock);
	orders->posts.n -= n;
	memmove(orders->posts.at, orders->posts.at + n, orders->posts.n * sizeof(*posts));
	lock_drop(&orders->lock);
	return SQLITE_OK;
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
	orders->config.wake(orders->config.wake_arg);
}

static void
judge(struct orders *orders, int rc)
{
	uint64_t now = clock_ns(orders->config.clock);
	bool is_busy = (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;

	if (rc == SQLITE_OK) {
		orders->failing_since_ns = 0;
		tell_state(orders, ORDERS_WELL, "");
		return;
	}
	if (orders->failing_since_ns == 0)
		orders->failing_since_ns = now;
	if (!is_busy) {
		hang_up(orders);
		tell_state(orders, ORDERS_DAMAGED, sqlite3_errstr(rc));
	} else if (now - orders->failing_since_ns >= BUSY_AFTER_NS) {
		tell_state(orders, ORDERS_BUSY, "somebody keeps it locked");
	}
}

static void
work(struct orders *orders)
{
	int rc = SQLITE_OK;

	if (orders->conn != NULL && is_another_file(orders))
		hang_up(orders);
	if (orders->conn == NULL)
		rc = go_up(orders);
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
		work(orders);
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
	hang_up(orders);
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
	e = pthread_create(&orders->thread, NULL, orders_run, orders);
	if (e != 0) {
		orders_free(orders);
		return err_new(-e);
	}
	*ret_orders = orders;
	return 0;
}

void
orders_close(struct orders *orders)
{
	if (orders == NULL)
		return;

	lock_take(&orders->lock);
	orders->is_closing = true;
	pthread_cond_signal(&orders->cond);
	lock_drop(&orders->lock);
	pthread_join(orders->thread, NULL);
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

/* post -- false: no memory. */
static bool
post(struct orders *orders, const struct post *what)
{
	bool is_posted;

	lock_take(&orders->lock);
	is_posted = vec_push(&orders->posts, *what) == 0;
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
orders_tell(struct orders *orders, const struct order *order, bool is_done, const char *words)
{
	struct post what = {.kind = POST_OUTCOME, .order = *order, .is_done = is_done};

	snprintf(what.words, sizeof(what.words), "%s", words);
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
