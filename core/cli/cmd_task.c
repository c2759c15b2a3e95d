/* SPDX-License-Identifier: Apache-2.0 */

/* cmd_task.c -- tasks and drains: what became of them, and an end to them. */
#include <inttypes.h>
#include <string.h>

#include "core/cli/command.h"
#include "core/cli/rows.h"
#include "core/cli/segment_name.h"
#include "transfer/base/num.h"

struct opts {
	uint64_t job;
};

static const struct arg_def defs[] = {
	{'\0', "job", ARG_NUMBER, offsetof(struct opts, job), "ID", NULL,
	 "list: only tasks of this drain"},
};

/* ---- tasks ---- */

static void
task_json(struct json *json, const struct tiffin_task *task)
{
	json_open_object(json, NULL);
	json_id(json, "task_id", task->task_id);
	json_id(json, "job_id", task->job_id);
	json_text(json, "kind", task->kind);
	json_text(json, "state", task->state);
	json_text(json, "reason", task->reason);
	json_u64(json, "n_tries", task->n_tries);
	json_id(json, "object_id", task->object_id);
	json_u64(json, "len_bytes", task->len_bytes);
	json_id(json, "from_segment_id", task->from_segment_id);
	json_id(json, "to_segment_id", task->to_segment_id);
	json_id(json, "client_id", task->client_id);
	json_u64(json, "made_at_ms", task->made_at_ms);
	json_u64(json, "ended_at_ms", task->ended_at_ms);
	json_key(json, "key", task->key);
	json_close(json);
}

static int
print_task(void *arg, const struct tiffin_task *task)
{
	struct rows *rows = arg;
	char from[300], to[300];

	if (rows->table == NULL) {
		task_json(&rows->json, task);
		return 0;
	}
	table_cell(rows->table, "%" PRIu64, task->task_id);
	table_cell(rows->table, "%s", task->kind);
	table_cell(rows->table, "%s", task->state);
	table_cell(rows->table, "%" PRIu32, task->n_tries);
	rows_cell_bytes(rows, task->len_bytes);
	table_cell(rows->table, "%s",
		   task->from_segment_id == 0
			   ? "-"
			   : segment_show(rows->cli, task->from_segment_id, from, sizeof(from)));
	table_cell(rows->table, "%s", segment_show(rows->cli, task->to_segment_id, to, sizeof(to)));
	rows_cell_key(rows, task->key);
	table_cell(rows->table, "%s", task->reason);
	return 0;
}

/* ---- drains ---- */

static void
ids_json(struct json *json, const char *name, const uint64_t *ids, size_t n)
{
	json_open_list(json, name);
	for (size_t i = 0; i < n; i++)
		json_id(json, NULL, ids[i]);
	json_close(json);
}

static void
job_json(struct json *json, const struct tiffin_job *job)
{
	json_open_object(json, NULL);
	json_id(json, "job_id", job->job_id);
	json_text(json, "kind", "drain");
	json_text(json, "state", job->state);
	json_text(json, "reason", job->reason);
	ids_json(json, "segments", job->segments, job->n_segments);
	ids_json(json, "targets", job->targets, job->n_targets);
	json_u64(json, "concurrency", job->concurrency);
	json_u64(json, "n_under_way", job->n_under_way);
	json_u64(json, "n_done", job->n_done);
	json_u64(json, "n_failed", job->n_failed);
	json_u64(json, "n_left", job->n_left);
	json_u64(json, "bytes_done", job->bytes_done);
	json_u64(json, "bytes_failed", job->bytes_failed);
	json_u64(json, "bytes_left", job->bytes_left);
	json_u64(json, "made_at_ms", job->made_at_ms);
	json_u64(json, "ended_at_ms", job->ended_at_ms);
	json_close(json);
}

static int
print_job(void *arg, const struct tiffin_job *job)
{
	struct rows *rows = arg;
	char first[300];

	if (rows->table == NULL) {
		job_json(&rows->json, job);
		return 0;
	}
	table_cell(rows->table, "%" PRIu64, job->job_id);
	table_cell(rows->table, "drain");
	table_cell(rows->table, "%s", job->state);
	table_cell(rows->table, "%" PRIu64, job->n_failed);
	rows_cell_bytes(rows, job->bytes_done + job->bytes_left);
	table_cell(rows->table, "%s%s",
		   segment_show(rows->cli, job->n_segments > 0 ? job->segments[0] : 0, first,
				sizeof(first)),
		   job->n_segments > 1 ? " ..." : "");
	table_cell(rows->table, "%s", job->n_targets > 0 ? "named" : "any");
	table_cell(rows->table, "%" PRIu64 " moved, %" PRIu64 " left", job->n_done, job->n_left);
	table_cell(rows->table, "%s", job->reason);
	return 0;
}

/* ---- verbs ---- */

static const char *const titles[] = {
	">ID", "KIND", "STATE", ">FAILED", ">SIZE", "FROM", "TO", "KEY", "REASON", NULL,
};

static int
list(struct cli *cli, struct tiffin_client *client, const struct opts *opts)
{
	struct rows rows;
	int r = 0, status = rows_begin(&rows, cli, titles);

	if (status != CLI_OK)
		return status;
	if (opts->job == 0)
		r = tiffin_jobs(client, print_job, &rows);
	if (r == 0)
		r = tiffin_tasks(client, opts->job, print_task, &rows);
	return rows_end(&rows, r);
}

/* show -- a task or a drain: their ids are never alike. */
static int
show(struct cli *cli, struct tiffin_client *client, uint64_t id)
{
	struct rows rows;
	int r, status = rows_begin(&rows, cli, titles);

	if (status != CLI_OK)
		return status;
	r = tiffin_task(client, id, print_task, &rows);
	if (r == TIFFIN_E_NOT_FOUND)
		r = tiffin_job(client, id, print_job, &rows);
	return rows_end(&rows, r);
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	const char *verb = words.n > 0 ? words.at[0] : "list";
	bool is_show = strcmp(verb, "show") == 0, is_cancel = strcmp(verb, "cancel") == 0;
	struct tiffin_client *client;
	uint64_t id = 0;
	int status, r;

	if (!is_show && !is_cancel && strcmp(verb, "list") != 0)
		return cli_say(cli, CLI_USAGE, "%s: write list, show ID or cancel ID", verb);
	if ((is_show || is_cancel) != (words.n == 2) ||
	    (words.n == 2 && num_parse(words.at[1], &id) != 0))
		return cli_say(cli, CLI_USAGE, "%s takes %s", verb,
			       is_show || is_cancel ? "one id" : "no id");
	status = cli_client(cli, &client);
	if (status != CLI_OK)
		return status;
	if (is_show)
		return show(cli, client, id);
	if (!is_cancel)
		return list(cli, client, opts);
	r = tiffin_cancel(client, id);
	return r < 0 ? cli_fail(cli, r, NULL) : CLI_OK;
}

const struct command cmd_task = {
	.name = "task",
	.run = run,
	.synopsis = "[list | show ID | cancel ID]",
	.summary = "copies, moves and drains: under way, and what became of them",
	.help = "Prints drains, then tasks, the oldest first: state, how many tries (of a drain: "
		"objects)\n"
		"failed, and why.  Those that ended are kept for an hour.  cancel ends one; the "
		"segments of\n"
		"a drain get new data again.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 2,
};
