/* SPDX-License-Identifier: Apache-2.0 */

/*
 * put_batch.h -- small files wait for each other, and are put with few round trips.
 *
 * A put of one object waits for the master twice, however small it is; a batch
 * waits twice for all of them.
 */
#ifndef CORE_CLI_PUT_BATCH_H
#define CORE_CLI_PUT_BATCH_H

#include "core/cli/cli.h"

#define PUT_BATCH_FILES 256
#define PUT_BATCH_BYTES (8u << 20)
#define PUT_BATCH_SMALL (256u << 10) /* files up to here are worth waiting */

struct put_batch {
	struct cli *cli;
	const struct tiffin_put_options *options;
	struct progress *progress;
	struct tiffin_item items[PUT_BATCH_FILES]; /* key owned */
	struct iovec slices[PUT_BATCH_FILES];      /* bytes owned */
	size_t n;
	uint64_t n_bytes; /* waiting */

	uint64_t n_stored, n_failed;
	int status; /* of the first failure; each has been said */
};

void put_batch_init(struct put_batch *batch, struct cli *cli,
		    const struct tiffin_put_options *options, struct progress *progress);

/*
 * put_batch_add -- the bytes become an object, now or with put_batch_flush().
 *
 * takes:   *bytes_taken (malloc), whatever the result.
 * result:  CLI_OK, or CLI_SYSTEM and it has been said.
 */
int put_batch_add(struct put_batch *batch, const char *key, void **bytes_taken,
		  size_t n_bytes) MUST_CHECK;

/* put_batch_flush -- put all that waits. */
void put_batch_flush(struct put_batch *batch);

/* put_batch_fini -- what still waits is forgotten. */
void put_batch_fini(struct put_batch *batch);

#endif
