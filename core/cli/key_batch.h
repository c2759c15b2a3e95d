/* SPDX-License-Identifier: Apache-2.0 */

/* key_batch.h -- keys wait until there are enough of them for one request. */
#ifndef CORE_CLI_KEY_BATCH_H
#define CORE_CLI_KEY_BATCH_H

#include "core/cli/cli.h"

#define KEY_BATCH 512

struct key_batch {
	struct cli *cli;
	/* send -- ask the master about them.  Exit status; what is wrong has been said. */
	int (*send)(struct key_batch *batch, const char *const *keys, size_t n);
	char *keys[KEY_BATCH]; /* owned */
	size_t n;
	int status; /* of what was sent */
};

/* key_batch_add -- CLI_OK, or it has been said and there is no use in going on. */
int key_batch_add(struct key_batch *batch, const char *key);

/* key_batch_flush -- send what waits. */
void key_batch_flush(struct key_batch *batch);

/* key_batch_drop -- forget what waits. */
void key_batch_drop(struct key_batch *batch);

#endif
