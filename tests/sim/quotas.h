/* SPDX-License-Identifier: Apache-2.0 */

/* quotas.h -- what tenants hold at the end of each turn is within their quotas. */
#ifndef TESTS_SIM_QUOTAS_H
#define TESTS_SIM_QUOTAS_H

#include "master/master.h"

/* quotas_judge -- after each turn: nobody came to hold more than it may, or had. */
void quotas_judge(const struct master *master);

/* quotas_forget -- the master starts anew: what was held before does not count. */
void quotas_forget(void);

#endif
