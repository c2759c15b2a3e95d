/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/listing.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "core/cli/interrupt.h"

const char *
listing_time(char *buf, size_t cap, uint64_t wall_ms)
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;

	if (wall_ms == 0 || localtime_r(&s, &tm) == NULL ||
	    strftime(buf, cap, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		snprintf(buf, cap, "-");
	return buf;
}

void
listing_json_stat(struct json *json, const struct tiffin_stat *stat)
{
	char crc[16];

	json_id(json, "object_id", stat->object_id);
	json_u64(json, "len_bytes", stat->len_bytes);
	json_u64(json, "put_at_ms", stat->put_at_ms);
	if (stat->has_crc) {
		snprintf(crc, sizeof(crc), "%08x", stat->crc);
		json_text(json, "crc32c", crc);
	}
	if (stat->group[0] != '\0')
		json_key(json, "group", stat->group);
}

static void
print_json(struct json *json, const char *key, const struct tiffin_stat *stat)
{
	json_open_object(json, NULL);
	json_key(json, "key", key);
	json_bool(json, "is_prefix", stat->is_prefix);
	if (!stat->is_prefix)
		listing_json_stat(json, stat);
	json_close(json);
}

static void
print_line(const struct cli *cli, const struct listing_what *what, const char *key,
	   const struct tiffin_stat *stat)
{
	char when[32];

	if (what->is_long && stat->is_prefix)
		printf("%15s  %-19s  ", "-", "-");
	else if (what->is_long)
		printf("%15" PRIu64 "  %-19s  ", stat->len_bytes,
		       listing_time(when, sizeof(when), stat->put_at_ms));
	cli_print_key(cli, key);
}

static int
open_list(struct tiffin_client *client, const struct listing_what *what,
	  struct tiffin_list **ret_list)
{
	if (what->group != NULL)
		return tiffin_list_group_open(client, what->group, what->pattern, what->prefix,
					      ret_list);
	if (what->pattern != NULL)
		return tiffin_list_regex_open(client, what->pattern, what->prefix, ret_list);
	return tiffin_list_open(client, what->prefix, what->delimiter, NULL, ret_list);
}

int
listing_run(struct cli *cli, const struct listing_what *what)
{
	struct tiffin_client *client;
	struct tiffin_list *list;
	struct tiffin_stat stat;
	struct json json;
	const char *key;
	int r, status;

	if (strlen(what->prefix) > TIFFIN_KEY_MAX)
		return cli_say(cli, CLI_USAGE, "a prefix of more than %d bytes", TIFFIN_KEY_MAX);
	status = cli_client(cli, &client);
	if (status != CLI_OK)
		return status;
	r = open_list(client, what, &list);
	if (r < 0)
		return cli_fail(cli, r, what->prefix);

	json_init(&json, stdout);
	if (cli->json)
		json_open_list(&json, NULL);
	while (!interrupted() && !ferror(stdout) &&
	       (r = tiffin_list_next(list, &key, &stat)) == 1) {
		if (what->matches != NULL && !what->matches(what->arg, key, &stat))
			continue;
		if (cli->json)
			print_json(&json, key, &stat);
		else
			print_line(cli, what, key, &stat);
	}
	if (cli->json)
		json_close(&json);
	if (r < 0)
		status = cli_fail(cli, r, what->prefix);
	tiffin_list_close(list);
	return status;
}
