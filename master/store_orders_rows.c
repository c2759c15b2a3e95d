/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_orders_rows.c -- a row becomes an order, its outcome goes into the row.
 *
 * Every NAME_load.sql gives the same columns, enum column; every statement that writes takes, by
 * name, what it wants of an order and its outcome.
 */
#include <stdio.h>
#include <string.h>

#include "master/store_orders_internal.h"
#include "sql/sql_text.h"
#include "transfer/base/num.h"

enum column { ROW_ID, NAME, KEY, VALUE, VALUE2, WISH, OUTCOME };

static const struct {
	const char *load, *outcome;
} kinds[N_ORDER_KINDS] = {
	[ORDER_SETTING] = {sql_orders_query_setting_load, sql_orders_query_setting_outcome},
	[ORDER_QUOTA] = {sql_orders_query_quota_load, sql_orders_query_quota_outcome},
	[ORDER_PIN] = {sql_orders_query_pin_load, sql_orders_query_pin_outcome},
	[ORDER_DRAIN] = {sql_orders_query_drain_load, sql_orders_query_drain_outcome},
};

/* As the column `outcome` says it. */
static const char *const states[N_ORDER_STATES] = {
	[ORDER_NEW] = NULL,
	[ORDER_DONE] = "done",
	[ORDER_REFUSED] = "refused",
	[ORDER_PLANNED] = "planned",
	[ORDER_RUNNING] = "running",
	[ORDER_FAILED] = "failed",
	[ORDER_CANCELLED] = "cancelled",
};

/* ---- reading ---- */

static enum order_state
state_of(const char *text)
{
	for (int i = ORDER_NEW + 1; i < N_ORDER_STATES; i++)
		if (text != NULL && strcmp(text, states[i]) == 0)
			return (enum order_state)i;
	return ORDER_NEW;
}

static void
copy_text(char *to, size_t cap, sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	snprintf(to, cap, "%s", text != NULL ? text : "");
}

static void
order_of_row(sqlite3_stmt *stmt, struct order *order)
{
	const void *key = sqlite3_column_blob(stmt, KEY);
	size_t key_len = (size_t)sqlite3_column_bytes(stmt, KEY);

	order->row_id = sqlite3_column_int64(stmt, ROW_ID);
	copy_text(order->name, sizeof(order->name), stmt, NAME);
	copy_text(order->wish, sizeof(order->wish), stmt, WISH);
	order->state = state_of((const char *)sqlite3_column_text(stmt, OUTCOME));
	for (int i = 0; i < 2; i++) {
		order->values[i] = sqlite3_column_int64(stmt, VALUE + i);
		order->has_values[i] = sqlite3_column_type(stmt, VALUE + i) != SQLITE_NULL;
	}
	order->key_len = (uint16_t)num_min(key_len, sizeof(order->key)); /* a CHECK says so */
	if (key_len > 0)
		memcpy(order->key, key, order->key_len);
}

static int
read_rows(struct orders *orders, enum order_kind kind, struct orders_news *news)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(orders->conn, kinds[kind].load, -1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct order order = {.kind = kind};

		order_of_row(stmt, &order);
		rc = vec_push(&news->orders, order) < 0 ? SQLITE_NOMEM : SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int
orders_rows_read(struct orders *orders, struct orders_news *news)
{
	int rc = SQLITE_OK;

	for (int kind = 0; kind < N_ORDER_KINDS && rc == SQLITE_OK; kind++)
		rc = read_rows(orders, (enum order_kind)kind, news);
	return rc;
}

/* ---- writing ---- */

/* What is not bound is NULL; what the statement does not want is not bound. */
static void
bind_number(sqlite3_stmt *stmt, const char *name, bool is_there, int64_t value)
{
	int at = sqlite3_bind_parameter_index(stmt, name);

	if (at > 0 && is_there)
		sqlite3_bind_int64(stmt, at, value);
}

static void
bind_text(sqlite3_stmt *stmt, const char *name, const char *text)
{
	int at = sqlite3_bind_parameter_index(stmt, name);

	if (at > 0)
		sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

static void
bind_order(sqlite3_stmt *stmt, const struct order *order)
{
	bind_number(stmt, ":row_id", true, order->row_id);
	bind_text(stmt, ":name", order->name);
	bind_text(stmt, ":wish", order->wish);
	bind_number(stmt, ":value", order->has_values[0], order->values[0]);
	bind_number(stmt, ":value2", order->has_values[1], order->values[1]);
	bind_text(stmt, ":was", states[order->state]);
}

static void
bind_outcome(sqlite3_stmt *stmt, const struct order_outcome *outcome, uint64_t now_ms)
{
	const struct order_progress *progress = &outcome->progress;
	bool is_there = progress->job_id != 0;

	bind_text(stmt, ":outcome", states[outcome->state]);
	bind_text(stmt, ":words", outcome->words);
	bind_number(stmt, ":at_ms", true, (int64_t)now_ms);
	bind_number(stmt, ":job_id", is_there, (int64_t)progress->job_id);
	bind_number(stmt, ":n_done", is_there, (int64_t)progress->n_done);
	bind_number(stmt, ":n_failed", is_there, (int64_t)progress->n_failed);
	bind_number(stmt, ":n_left", is_there, (int64_t)progress->n_left);
	bind_number(stmt, ":bytes_done", is_there, (int64_t)progress->bytes_done);
	bind_number(stmt, ":bytes_left", is_there, (int64_t)progress->bytes_left);
}

static const char *
text_of(const struct post *post)
{
	switch (post->kind) {
	case POST_KEEP:
		return sql_orders_query_setting_keep;
	case POST_FORGET:
		return sql_orders_query_setting_forget;
	case POST_OUTCOME:
		break;
	}
	return kinds[post->order.kind].outcome;
}

int
orders_rows_write(struct orders *orders, const struct post *post)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(orders->conn, text_of(post), -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
	bind_order(stmt, &post->order);
	if (post->kind == POST_OUTCOME)
		bind_outcome(stmt, &post->outcome, clock_wall_ms(orders->config.clock));
	rc = sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

bool
post_is_for_same(const struct post *first, const struct post *second)
{
	const struct order *a = &first->order, *b = &second->order;

	if ((first->kind == POST_OUTCOME) != (second->kind == POST_OUTCOME) || a->kind != b->kind)
		return false;
	return a->row_id == b->row_id && strcmp(a->name, b->name) == 0;
}
