/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/key_batch.h"

#include <errno.h>
#include <string.h>

void
key_batch_drop(struct key_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		free(batch->keys[i]);
	batch->n = 0;
}

void
key_batch_flush(struct key_batch *batch)
{
	if (batch->n == 0)
		return;
	cli_keep(&batch->status, batch->send(batch, (const char *const *)batch->keys, batch->n));
	key_batch_drop(batch);
}

int
key_batch_add(struct key_batch *batch, const char *key)
{
	char *copy = strdup(key);

	if (copy == NULL)
		return cli_fail_system(batch->cli, -ENOMEM, "a key");
	batch->keys[batch->n++] = copy;
	if (batch->n == KEY_BATCH)
		key_batch_flush(batch);
	return batch->status == CLI_UNREACHABLE ? CLI_UNREACHABLE : CLI_OK;
}
