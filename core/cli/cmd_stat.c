/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "transfer/base/json.h"
#include "core/cli/key_text.h"
#include "core/cli/keys.h"
#include "core/cli/listing.h"
#include "transfer/base/num.h"

static const char *
pin_word(uint32_t pin)
{
	return pin == TIFFIN_HARD_PIN ? "hard" : pin == TIFFIN_SOFT_PIN ? "soft" : "none";
}

static void
print_json(struct json *json, const char *key, const struct tiffin_stat *stat)
{
	json_open_object(json, NULL);
	json_key(json, "key", key);
	listing_json_stat(json, stat);
	json_u64(json, "n_replicas", stat->n_replicas);
	json_u64(json, "lease_left_ms", stat->lease_left_ms);
	json_text(json, "pin", pin_word(stat->pin));
	json_u64(json, "pin_left_ms", stat->pin_left_ms);
	json_bool(json, "has_keys_below", stat->is_prefix);
	json_base64(json, "attr_base64", stat->attr, stat->attr_bytes);
	json_close(json);
}

static void
print_text(const char *key, const struct tiffin_stat *stat)
{
	char shown[KEY_TEXT_CAP], size[32], when[32], left[32];

	printf("key         %s\n", key_show(shown, sizeof(shown), key));
	printf("object id   %" PRIu64 "\n", stat->object_id);
	printf("size        %" PRIu64 " bytes (%s)\n", stat->len_bytes,
	       num_show_bytes(size, sizeof(size), stat->len_bytes));
	printf("put at      %s\n", listing_time(when, sizeof(when), stat->put_at_ms));
	printf("copies      %u\n", stat->n_replicas);
	if (stat->has_crc)
		printf("crc32c      %08x\n", stat->crc);
	else
		puts("crc32c      none");
	if (stat->lease_left_ms > 0)
		printf("lease       read by somebody, for %s at least\n",
		       num_show_ms(left, sizeof(left), stat->lease_left_ms));
	else
		puts("lease       none");
	if (stat->pin == TIFFIN_SOFT_PIN)
		printf("pin         soft, for %s\n",
		       num_show_ms(left, sizeof(left), stat->pin_left_ms));
	else
		printf("pin         %s\n", pin_word(stat->pin));
	printf("group       %s\n",
	       stat->group[0] != '\0' ? key_show(shown, sizeof(shown), stat->group) : "none");
	printf("attributes  %zu bytes\n", stat->attr_bytes);
	printf("keys below  %s\n", stat->is_prefix ? "yes" : "no");
}

static int
stat_one(struct cli *cli, struct tiffin_client *client, const char *key, struct json *json)
{
	char attr[TIFFIN_ATTR_MAX];
	struct tiffin_stat stat = {0};
	int r = tiffin_stat(client, key, &stat, attr);

	if (r == TIFFIN_E_NOT_FOUND && stat.is_prefix && !cli->json)
		return cli_say(cli, CLI_NOT_FOUND,
			       "%s: no such object, but there are keys below: ls %s/", key, key);
	if (r < 0)
		return cli_fail(cli, r, key);
	if (cli->json)
		print_json(json, key, &stat);
	else
		print_text(key, &stat);
	return CLI_OK;
}

static int
run(struct cli *cli, const void *opts, struct operands words)
{
	struct tiffin_client *client;
	struct keys keys;
	struct json json;
	const char *key;
	int kept;

	(void)opts;
	kept = cli_client(cli, &client);
	if (kept != CLI_OK)
		return kept;

	json_init(&json, stdout);
	if (cli->json)
		json_open_list(&json, NULL);
	keys_init(&keys, cli, words);
	for (bool is_first = true; !interrupted(); is_first = false) {
		int status = keys_next(&keys, cli, &key);

		if (status == CLI_OK && key == NULL)
			break;
		if (!is_first && !cli->json && status == CLI_OK)
			putchar('\n');
		if (status == CLI_OK)
			status = stat_one(cli, client, key, &json);
		cli_keep(&kept, status);
	}
	if (cli->json)
		json_close(&json);
	return kept;
}

const struct command cmd_stat = {
	.name = "stat",
	.run = run,
	.synopsis = "KEY...",
	.summary = "what is known of objects",
	.help = "Prints id, size, time, copies, checksum, lease and attributes of each object.\n"
		"Looking takes no lease and changes nothing.",
	.opts_bytes = 0,
	.min_words = 1,
	.max_words = -1,
};
