/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "core/cli/command.h"
#include "core/cli/rows.h"
#include "transfer/base/num.h"

struct opts {
	const char *quota, *objects; /* NULL: as before */
};

static const struct arg_def defs[] = {
	{'\0', "quota", ARG_TEXT, offsetof(struct opts, quota), "SIZE", NULL,
	 "put: room that it may take up, every copy counts; 0: no limit"},
	{'\0', "objects", ARG_TEXT, offsetof(struct opts, objects), "NUMBER", NULL,
	 "put: objects that it may have; 0: no limit"},
};

/* ---- list ---- */

static void
print_json(struct json *json, const struct tiffin_tenant *tenant)
{
	json_open_object(json, NULL);
	json_text(json, "name", tenant->name);
	json_u64(json, "quota_bytes", tenant->quota_bytes);
	json_u64(json, "quota_objects", tenant->quota_objects);
	json_u64(json, "charged_bytes", tenant->charged_bytes);
	json_u64(json, "resting_bytes", tenant->resting_bytes);
	json_u64(json, "object_bytes", tenant->object_bytes);
	json_u64(json, "n_objects", tenant->n_objects);
	json_u64(json, "n_puts", tenant->n_puts);
	json_u64(json, "n_clients", tenant->n_clients);
	json_bool(json, "is_over_quota", tenant->is_over_quota);
	json_close(json);
}

static void
cell_share(struct rows *rows, uint64_t part, uint64_t whole)
{
	if (whole == 0)
		table_cell(rows->table, "-");
	else
		table_cell(rows->table, "%.1f", 100.0 * (double)part / (double)whole);
}

static int
print(void *arg, const struct tiffin_tenant *tenant)
{
	struct rows *rows = arg;

	if (rows->table == NULL) {
		print_json(&rows->json, tenant);
		return 0;
	}
	rows_cell_key(rows, tenant->name);
	rows_cell_bytes(rows, tenant->charged_bytes);
	if (tenant->quota_bytes == 0)
		table_cell(rows->table, "-");
	else
		rows_cell_bytes(rows, tenant->quota_bytes);
	cell_share(rows, tenant->charged_bytes, tenant->quota_bytes);
	rows_cell_bytes(rows, tenant->resting_bytes);
	table_cell(rows->table, "%" PRIu64, tenant->n_objects + tenant->n_puts);
	if (tenant->quota_objects == 0)
		table_cell(rows->table, "-");
	else
		table_cell(rows->table, "%" PRIu64, tenant->quota_objects);
	table_cell(rows->table, "%" PRIu32, tenant->n_clients);
	table_cell(rows->table, "%s", tenant->is_over_quota ? "over quota" : "");
	return 0;
}

static int
list(struct cli *cli, struct tiffin_client *client)
{
	static const char *const titles[] = {
		"NAME",     ">USED", ">QUOTA",   ">%",   ">RESTING",
		">OBJECTS", ">MAX",  ">CLIENTS", "NOTE", NULL,
	};
	struct rows rows;
	int status = rows_begin(&rows, cli, titles);

	return status != CLI_OK ? status
				: rows_end(&rows, tiffin_tenant_list(client, print, &rows));
}

/* ---- put, rm ---- */

static int
put(struct cli *cli, struct tiffin_client *client, const struct opts *opts, const char *name)
{
	uint64_t bytes, objects;
	int r;

	if (opts->quota != NULL && num_parse_bytes(opts->quota, &bytes) != 0)
		return cli_say(cli, CLI_USAGE, "--quota %s: is no size, such as 64GiB",
			       opts->quota);
	if (opts->objects != NULL && num_parse(opts->objects, &objects) != 0)
		return cli_say(cli, CLI_USAGE, "--objects %s: is no number", opts->objects);
	r = tiffin_tenant_put(client, name, opts->quota != NULL ? &bytes : NULL,
			      opts->objects != NULL ? &objects : NULL);
	return r < 0 ? cli_fail(cli, r, name) : CLI_OK;
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	const char *verb = words.n > 0 ? words.at[0] : "list";
	bool is_put = strcmp(verb, "put") == 0, is_rm = strcmp(verb, "rm") == 0;
	struct tiffin_client *client;
	int status, r;

	if (!is_put && !is_rm && strcmp(verb, "list") != 0)
		return cli_say(cli, CLI_USAGE, "%s: write list, put NAME or rm NAME", verb);
	if ((is_put || is_rm) != (words.n == 2))
		return cli_say(cli, CLI_USAGE, "%s takes %s", verb,
			       is_put || is_rm ? "the name of one tenant" : "no name");
	if (!is_put && (opts->quota != NULL || opts->objects != NULL))
		return cli_say(cli, CLI_USAGE, "quotas are given with put");
	status = cli_client(cli, &client);
	if (status != CLI_OK)
		return status;
	if (is_put)
		return put(cli, client, opts, words.at[1]);
	if (!is_rm)
		return list(cli, client);
	r = tiffin_tenant_delete(client, words.at[1]);
	return r < 0 ? cli_fail(cli, r, words.at[1]) : CLI_OK;
}

const struct command cmd_tenants = {
	.name = "tenants",
	.run = run,
	.synopsis = "[list | put NAME | rm NAME]",
	.summary = "who has keys of its own, and how much it may hold",
	.help = "Prints every tenant: the room that it takes up (every copy, and what rests), "
		"its objects,\n"
		"and its quotas.  put makes a tenant or changes its quotas: what is not given "
		"stays as it\n"
		"is.  rm takes away one that holds nothing and has no client.  Whose objects "
		"another\n"
		"command means is said by --tenant.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 2,
};
