/* SPDX-License-Identifier: Apache-2.0 */

/*
 * order.h -- the loop obeys what orders.db says (store_orders.h), and tells what came of it.
 *
 *      settings    in force as long as their row is there             settings.c
 *      quotas      once: they stand in the books                      order.c
 *      pins        once, on the object that the key names then        order_pin.c
 *      drains      followed until they end; their rows tell how far   order_drain.c
 *
 * An outcome that the books must know first is told when it is committed there (struct fate).
 *
 * thread:  the loop's.
 */
#ifndef MASTER_ORDER_H
#define MASTER_ORDER_H

#include "master/store_orders.h"

struct master;

/* What came of an order, told when batch is committed. */
struct order_fate {
	struct order order;
	struct order_outcome outcome;
	uint64_t batch;
};

/* A drain that was ordered and has not ended. */
struct order_drain {
	struct order order;
	struct order_progress told; /* as its row says it */
	uint64_t job_id;            /* 0: to be made */
};

/* orders_obey -- take what orders.db says, if there is news; tell what came of it. */
void orders_obey(struct master *master);

/* ---- the kinds ---- */

/* order_settings -- all of them: those that are not there are as configured. */
void order_settings(struct master *master, const struct orders_news *news);
void order_pin(struct master *master, const struct order *order);

/* order_drain -- begin, go on to follow, or cancel. */
void order_drain(struct master *master, const struct order *order);

/* order_drains_sweep -- those that are followed, once a second. */
void order_drains_sweep(struct master *master);

/* ---- what came of it ---- */

/* order_tell -- into its row, and as an event. */
void order_tell(struct master *master, const struct order *order,
		const struct order_outcome *outcome);

/* order_tell_committed -- the same once the batch at hand is committed. */
void order_tell_committed(struct master *master, const struct order *order,
			  const struct order_outcome *outcome);

#endif
