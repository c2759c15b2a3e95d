/* SPDX-License-Identifier: Apache-2.0 */

/* deep.h -- read every object of the tenant, and compare each sum with its writer's. */
#ifndef CORE_CLI_DEEP_H
#define CORE_CLI_DEEP_H

#include "core/cli/cli.h"

/*
 * deep_check -- line is called for each object that cannot be read right.
 *
 * Objects that go away meanwhile are no finding.
 * result:  CLI_OK, CLI_NOT_FOUND when there was one, or what kept it from being known (said).
 */
int deep_check(struct cli *cli, void (*line)(void *arg, const char *text), void *arg) MUST_CHECK;

#endif
