/* SPDX-License-Identifier: Apache-2.0 */

/*
 * foresee.h -- what the look-ups of the frames at hand will find.
 *
 *      a buffer of frames:  | get a | get b | put | get c | ...
 *                               \       \            \
 *      master_foresee()          all keys are looked up together
 *                               /       /            /
 *      foreseen_key()        a       b       c          one after the other, each when it is asked
 *
 * thread:  the loop's.
 */
#ifndef MASTER_FORESEE_H
#define MASTER_FORESEE_H

#include "master/tenant.h"

#define FORESEEN_MAX 64

/* What was found is good for as long as nothing came into the index or left it. */
struct foreseen {
	uint64_t tenant_id;
	uint64_t n_changes; /* of its index */
	size_t n, next;
	struct key *keys[FORESEEN_MAX]; /* NULL: there was none */
};

/* foreseen_key -- the key that has these bytes, if it is the next one foreseen; else NULL. */
struct key *foreseen_key(struct foreseen *foreseen, const struct tenant *tenant,
			 const uint8_t *bytes, size_t len_bytes);

#endif
