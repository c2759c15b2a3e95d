/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/keys.h"

#include <errno.h>
#include <string.h>

#include "core/cli/interrupt.h"

void
keys_init(struct keys *keys, const struct cli *cli, struct operands words)
{
	*keys = (struct keys){.words = words};
	if (words.n == 0 && cli->nul)
		keys->from = stdin;
}

int
keys_check(const struct cli *cli, const char *key)
{
	if (key[0] == '\0')
		return cli_say(cli, CLI_USAGE, "a key may not be empty");
	if (strlen(key) > TIFFIN_KEY_MAX)
		return cli_say(cli, CLI_USAGE, "a key of more than %d bytes: %.40s...",
			       TIFFIN_KEY_MAX, key);
	return CLI_OK;
}

/* read_key -- up to the next NUL.  False at the end. */
static bool
read_key(struct keys *keys)
{
	size_t n = 0;
	int c;

	while ((c = getc(keys->from)) != EOF && c != '\0')
		if (n <
		    sizeof(keys->key) - 1) /* one byte more than a key may have: seen as too long */
			keys->key[n++] = (char)c;
	keys->key[n] = '\0';
	return c != EOF || n > 0;
}

int
keys_next(struct keys *keys, const struct cli *cli, const char **ret_key)
{
	const char *key = NULL;
	int status = CLI_OK;

	if (keys->from == NULL) {
		if (keys->next < keys->words.n)
			key = keys->words.at[keys->next++];
	} else {
		if (read_key(keys))
			key = keys->key;
		else if (ferror(keys->from))
			return cli_fail_system(cli, -EIO, "standard input");
	}

	if (key != NULL)
		status = keys_check(cli, key);
	if (status == CLI_OK)
		*ret_key = key;
	return status;
}

int
keys_each(struct cli *cli, struct operands words, int (*fn)(void *arg, const char *key), void *arg)
{
	struct keys keys;
	const char *key;
	int kept = CLI_OK;

	keys_init(&keys, cli, words);
	while (!interrupted()) {
		int status = keys_next(&keys, cli, &key);

		if (status == CLI_OK && key == NULL)
			break;
		if (status == CLI_OK)
			status = fn(arg, key);
		cli_keep(&kept, status);
		if (status == CLI_UNREACHABLE)
			break;
	}
	return kept;
}
