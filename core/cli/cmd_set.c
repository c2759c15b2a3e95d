/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "core/cli/command.h"
#include "core/cli/rows.h"
#include "transfer/base/num.h"

/* Its values have names, blank between. */
static bool
has_words(const struct tiffin_setting *setting)
{
	return strchr(setting->unit, ' ') != NULL;
}

static const char *
show(char *buf, size_t cap, const struct tiffin_setting *setting, uint64_t value)
{
	if (strcmp(setting->unit, "ms") == 0)
		return num_show_ms(buf, cap, value);
	if (strcmp(setting->unit, "bytes") == 0)
		return num_show_bytes(buf, cap, value);
	if (has_words(setting))
		return num_show_word(buf, cap, value, setting->unit);
	snprintf(buf, cap, "%" PRIu64 "%s%s", value, setting->unit[0] != '\0' ? " " : "",
		 setting->unit);
	return buf;
}

static void
print_json(struct json *json, const struct tiffin_setting *setting)
{
	char word[64];

	json_open_object(json, NULL);
	json_text(json, "name", setting->name);
	json_text(json, "unit", setting->unit);
	json_u64(json, "value", setting->value);
	if (has_words(setting))
		json_text(json, "word", show(word, sizeof(word), setting, setting->value));
	json_u64(json, "configured", setting->configured);
	json_u64(json, "least", setting->least);
	json_u64(json, "most", setting->most);
	json_text(json, "help", setting->help);
	json_close(json);
}

static int
print(void *arg, const struct tiffin_setting *setting)
{
	struct rows *rows = arg;
	char text[64];

	if (rows->table == NULL) {
		print_json(&rows->json, setting);
		return 0;
	}
	table_cell(rows->table, "%s", setting->name);
	table_cell(rows->table, "%s", show(text, sizeof(text), setting, setting->value));
	table_cell(rows->table, "%s", show(text, sizeof(text), setting, setting->configured));
	table_cell(rows->table, "%s", show(text, sizeof(text), setting, setting->least));
	table_cell(rows->table, "%s", show(text, sizeof(text), setting, setting->most));
	table_cell(rows->table, "%s", setting->help);
	return 0;
}

static int
print_all(struct cli *cli, struct tiffin_client *client)
{
	static const char *const titles[] = {
		"NAME", ">VALUE", ">CONFIGURED", ">LEAST", ">MOST", "WHAT", NULL,
	};
	struct rows rows;
	int status = rows_begin(&rows, cli, titles);

	return status != CLI_OK ? status : rows_end(&rows, tiffin_settings(client, print, &rows));
}

static int
run(struct cli *cli, const void *opts, struct operands words)
{
	struct tiffin_client *client;
	int r, status;

	(void)opts;
	if (words.n == 1)
		return cli_say(cli, CLI_USAGE, "%s: and its value? \"\" is the configured one",
			       words.at[0]);
	status = cli_client(cli, &client);
	if (status != CLI_OK)
		return status;
	if (words.n == 0)
		return print_all(cli, client);
	r = tiffin_set(client, words.at[0], words.at[1]);
	return r == 0 ? CLI_OK : cli_fail(cli, r, NULL);
}

const struct command cmd_set = {
	.name = "set",
	.run = run,
	.synopsis = "[NAME VALUE]",
	.summary = "settings of the master that can change while it works",
	.help = "Without words: prints them, with their values in force and as configured.\n"
		"\n"
		"With NAME and VALUE (as in tiffin.conf, like 5s, 80 or a word) one is changed at "
		"once, "
		"and stays\n"
		"so over restarts of the master, until it is changed again; VALUE \"\" goes back "
		"to "
		"the\n"
		"configured one.",
	.opts_bytes = 0,
	.min_words = 0,
	.max_words = 2,
};
