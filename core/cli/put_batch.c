/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/put_batch.h"

#include <errno.h>
#include <string.h>

void
put_batch_init(struct put_batch *batch, struct cli *cli, const struct tiffin_put_options *options,
	       struct progress *progress)
{
	*batch = (struct put_batch){.cli = cli, .options = options, .progress = progress};
}

void
put_batch_fini(struct put_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		free((char *)(uintptr_t)batch->items[i].key);
		free(batch->slices[i].iov_base);
	}
	batch->n = 0;
	batch->n_bytes = 0;
}

/* judge -- what became of one of them. */
static void
judge(struct put_batch *batch, size_t i)
{
	const struct tiffin_item *item = &batch->items[i];

	if (item->result == 0) {
		batch->n_stored++;
		progress_add(batch->progress, batch->slices[i].iov_len);
		return;
	}
	batch->n_failed++;
	cli_keep(&batch->status, cli_fail_item(batch->cli, item->result, item->key));
}

void
put_batch_flush(struct put_batch *batch)
{
	struct tiffin_client *client;
	int r, status;

	if (batch->n == 0)
		return;
	status = cli_client(batch->cli, &client);
	if (status == CLI_OK) {
		r = tiffin_put_batch(client, batch->items, batch->n, batch->options);
		if (r < 0)
			status = cli_fail(batch->cli, r, NULL);
	}
	if (status == CLI_OK) {
		for (size_t i = 0; i < batch->n; i++)
			judge(batch, i);
	} else {
		batch->n_failed += batch->n;
		cli_keep(&batch->status, status);
	}
	put_batch_fini(batch);
}

int
put_batch_add(struct put_batch *batch, const char *key, void **bytes_taken, size_t n_bytes)
{
	struct tiffin_item *item = &batch->items[batch->n];
	struct iovec *slice = &batch->slices[batch->n];
	char *copy = strdup(key);

	assert(batch->n < PUT_BATCH_FILES);
	if (copy == NULL) {
		free(take(bytes_taken));
		return cli_fail_system(batch->cli, -ENOMEM, "a key");
	}
	*slice = (struct iovec){take(bytes_taken), n_bytes};
	*item = (struct tiffin_item){
		.key = copy, .slices = slice, .n_slices = 1, .group = batch->options->group};
	batch->n++;
	batch->n_bytes += n_bytes;
	if (batch->n == PUT_BATCH_FILES || batch->n_bytes >= PUT_BATCH_BYTES)
		put_batch_flush(batch);
	return CLI_OK;
}
