/* SPDX-License-Identifier: Apache-2.0 */

/* keys.h -- the keys a command works on: its operands, or with -0 standard input, each ending in
 * NUL. */
#ifndef CORE_CLI_KEYS_H
#define CORE_CLI_KEYS_H

#include <stdio.h>

#include "core/cli/command.h"
#include "core/tiffin.h"

struct keys {
	struct operands words;
	int next;   /* of words */
	FILE *from; /* NULL: the words */
	char key[TIFFIN_KEY_MAX + 2];
};

void keys_init(struct keys *keys, const struct cli *cli, struct operands words);

/*
 * keys_next -- *ret_key is valid until the next call; NULL at the end.
 *
 * result:  CLI_OK, or CLI_USAGE for a key that is empty or too long, and it has been said.
 */
int keys_next(struct keys *keys, const struct cli *cli, const char **ret_key) MUST_CHECK;

/*
 * keys_each -- call fn() with each of them, as far as it does not find the master gone, and until
 * somebody interrupts.
 *
 * fn:      an exit status; what is wrong has been said.
 * result:  the status to end with.
 */
int keys_each(struct cli *cli, struct operands words, int (*fn)(void *arg, const char *key),
	      void *arg);

/* keys_check -- is this a key at all?  CLI_OK, or CLI_USAGE and it has been said. */
int keys_check(const struct cli *cli, const char *key) MUST_CHECK;

#endif
