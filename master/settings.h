/* SPDX-License-Identifier: Apache-2.0 */

/*
 * settings.h -- settings that change while the master works: SETTING() in options.def.
 *
 *      command line, file, default --> configured
 *      orders.db, or a request     --> in force (struct master_limits), until taken back
 *
 * thread:  the loop's.
 */
#ifndef MASTER_SETTINGS_H
#define MASTER_SETTINGS_H

#include "master/master.h"
#include "master/store_orders.h"

#define SETTINGS_MAX 64

enum setting_outcome {
	SETTING_E_UNKNOWN = 1, /* no setting of that name may change */
	SETTING_E_WRONG,       /* its value, or with another setting's */
};

/* settings_n, settings_known -- all of them; the configured values are the master's. */
size_t settings_n(void);
struct known_setting settings_known(const struct master_limits *configured, size_t at);

/* settings_value -- in force. */
uint64_t settings_value(const struct master_limits *limits, size_t at);

/*
 * settings_set -- text as on the command line; "": as configured.
 *
 * gives:   why: what was changed, or why not.
 * result:  0, setting_outcome.
 */
int settings_set(struct master *master, const char *name, const char *text, char *why,
		 size_t why_cap) MUST_CHECK;

#endif
