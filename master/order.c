/* SPDX-License-Identifier: Apache-2.0 */
#include "master/order.h"

#include <stdio.h>
#include <string.h>

#include "master/books.h"
#include "transfer/base/log.h"
#include "transfer/base/utf8.h"

#define SHOWN_MAX 160 /* of a key */

/* ---- what came of it ---- */

/* subject_of -- what the order is about, for an event. */
static const char *
subject_of(char *buf, size_t cap, const struct order *order)
{
	char key[KEY_MAX + 1], shown[SHOWN_MAX];

	switch (order->kind) {
	case ORDER_PIN:
		memcpy(key, order->key, order->key_len);
		key[order->key_len] = '\0';
		snprintf(buf, cap, "pin of %s", utf8_show(shown, sizeof(shown), key));
		break;
	case ORDER_DRAIN:
		snprintf(buf, cap, "drain of %s", order->name);
		break;
	default:
		snprintf(buf, cap, "%s", order->name);
	}
	return buf;
}

/* event_of -- false: that is no event; what becomes of a drain under way has events of its own. */
static bool
event_of(const struct order *order, enum order_state state, enum event_kind *ret_kind)
{
	bool is_refused = state == ORDER_REFUSED || state == ORDER_FAILED;

	*ret_kind = is_refused ? EVENT_order_refused : EVENT_order_done;
	if (order->kind != ORDER_DRAIN)
		return true;
	return state != order->state && state != ORDER_PLANNED &&
	       (order->state == ORDER_NEW || order->state == ORDER_PLANNED ||
		strcmp(order->wish, "cancel") == 0);
}

void
order_tell(struct master *master, const struct order *order, const struct order_outcome *outcome)
{
	char subject[ORDER_NAME_MAX + 16];
	enum event_kind kind;

	orders_tell(master->orders, order, outcome);
	if (event_of(order, outcome->state, &kind))
		event_tell(master, kind, 0, "%s: %s", subject_of(subject, sizeof(subject), order),
			   outcome->words);
}

void
order_tell_committed(struct master *master, const struct order *order,
		     const struct order_outcome *outcome)
{
	struct order_fate fate = {.order = *order, .outcome = *outcome};

	/* a batch without records is never handed over */
	fate.batch = master->journal.n_records > 0 ? master->batch : master->batch - 1;
	if (vec_push(&master->fates, fate) < 0)
		log_event(LOG_WARN, "order_outcome_lost", "name=%s", order->name);
}

static void
tell_committed(struct master *master)
{
	size_t n = 0;

	for (; n < master->fates.n && master->fates.at[n].batch <= master->progress.committed; n++)
		order_tell(master, &master->fates.at[n].order, &master->fates.at[n].outcome);
	if (n == 0)
		return;
	master->fates.n -= n;
	memmove(master->fates.at, master->fates.at + n,
		master->fates.n * sizeof(*master->fates.at));
}

/* ---- quotas ---- */

static void
order_quota(struct master *master, const struct order *order)
{
	struct order_outcome outcome = {.state = ORDER_DONE};
	const char *words = "";
	int r = tenant_order(master, order->name, order->has_values[0] ? &order->values[0] : NULL,
			     order->has_values[1] ? &order->values[1] : NULL, &words);

	if (r != 0)
		outcome.state = ORDER_REFUSED;
	snprintf(outcome.words, sizeof(outcome.words), "%s",
		 r < 0 ? "out of memory: order it again" : words);
	order_tell_committed(master, order, &outcome);
}

/* ---- all of them ---- */

static void
obey_one(struct master *master, const struct order *order)
{
	switch (order->kind) {
	case ORDER_QUOTA:
		order_quota(master, order);
		break;
	case ORDER_PIN:
		order_pin(master, order);
		break;
	case ORDER_DRAIN:
		order_drain(master, order);
		break;
	case ORDER_SETTING: /* all at once: order_settings() */
	case N_ORDER_KINDS:
		break;
	}
}

void
orders_obey(struct master *master)
{
	struct orders_news news;

	if (master->orders == NULL)
		return;
	tell_committed(master);
	if (master->progress.is_stalled)
		return;
	order_drains_sweep(master);
	if (!orders_take(master->orders, &news))
		return;
	if (news.has_state && news.state != ORDERS_WELL)
		event_tell(master, EVENT_orders_unreadable, 0, "%s", news.why);
	if (news.has_orders)
		order_settings(master, &news);
	for (size_t i = 0; i < news.orders.n; i++)
		obey_one(master, &news.orders.at[i]);
	orders_news_fini(&news);
}
