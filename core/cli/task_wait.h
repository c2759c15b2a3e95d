/* SPDX-License-Identifier: Apache-2.0 */

/* task_wait.h -- until a task or a drain has ended, and how it did. */
#ifndef CORE_CLI_TASK_WAIT_H
#define CORE_CLI_TASK_WAIT_H

#include "core/cli/cli.h"

/*
 * task_wait, job_wait -- look again and again; Ctrl-C ends the waiting, not the work.
 *
 * job_wait shows a bar when standard error is a terminal.
 * result:  CLI_OK: done; CLI_BUSY: it failed or was cancelled, and why has been said; else what
 * went wrong has been said.
 */
int task_wait(struct cli *cli, uint64_t task_id) MUST_CHECK;
int job_wait(struct cli *cli, uint64_t job_id) MUST_CHECK;

#endif
