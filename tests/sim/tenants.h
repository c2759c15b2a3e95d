/* SPDX-License-Identifier: Apache-2.0 */

/* tenants.h -- what users do to tenants. */
#ifndef TESTS_SIM_TENANTS_H
#define TESTS_SIM_TENANTS_H

struct user;

/* tenants_quota -- other quotas for that user's own, often less than it holds; keeper.c sees that
 * they hold. */
void tenants_quota(struct user *user);

/* tenants_come_and_go -- those that nobody uses. */
void tenants_come_and_go(struct user *user);

#endif
