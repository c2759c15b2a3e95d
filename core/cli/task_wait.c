/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/task_wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/cli/interrupt.h"

#define LOOK_MS 200

/* What was seen last. */
struct seen {
	struct cli *cli;
	struct progress *progress; /* or NULL */
	uint64_t id, shown_bytes;
	bool has_ended, is_well;
};

static int
see_task(void *arg, const struct tiffin_task *task)
{
	struct seen *seen = arg;

	seen->has_ended = task->has_ended;
	seen->is_well = strcmp(task->state, "done") == 0;
	if (task->has_ended && !seen->is_well)
		cli_say(seen->cli, CLI_BUSY, "task %" PRIu64 " %s: %s", task->task_id, task->state,
			task->reason);
	return 0;
}

static int
see_job(void *arg, const struct tiffin_job *job)
{
	struct seen *seen = arg;

	seen->has_ended = job->has_ended;
	seen->is_well = strcmp(job->state, "succeeded") == 0;
	seen->progress->all_bytes = job->bytes_done + job->bytes_left;
	if (job->bytes_done > seen->shown_bytes) {
		progress_add(seen->progress, job->bytes_done - seen->shown_bytes);
		seen->shown_bytes = job->bytes_done;
	}
	if (!job->has_ended)
		return 0;
	progress_end(seen->progress);
	if (!seen->is_well)
		cli_say(seen->cli, CLI_BUSY,
			"drain %" PRIu64 " %s: %" PRIu64 " objects can't move; the last: %s "
			"(tiffin task list --job %" PRIu64 ")",
			job->job_id, job->state, job->n_failed, job->reason, job->job_id);
	return 0;
}

static int
wait_for(struct seen *seen)
{
	struct tiffin_client *client;
	int status = cli_client(seen->cli, &client);

	if (status != CLI_OK)
		return status;
	while (!seen->has_ended) {
		int r = seen->progress != NULL ? tiffin_job(client, seen->id, see_job, seen)
					       : tiffin_task(client, seen->id, see_task, seen);

		if (r < 0)
			return cli_fail(seen->cli, r, NULL);
		if (interrupted())
			return CLI_INTERRUPTED;
		if (!seen->has_ended)
			clock_sleep_ms(seen->cli->clock, LOOK_MS);
	}
	return seen->is_well ? CLI_OK : CLI_BUSY;
}

int
task_wait(struct cli *cli, uint64_t task_id)
{
	struct seen seen = {.cli = cli, .id = task_id};

	return wait_for(&seen);
}

int
job_wait(struct cli *cli, uint64_t job_id)
{
	struct progress progress;
	struct seen seen = {.cli = cli, .id = job_id, .progress = &progress};
	int status;

	cli_progress(cli, &progress, "drain", 0);
	status = wait_for(&seen);
	progress_end(&progress);
	return status;
}
