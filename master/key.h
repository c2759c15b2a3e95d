/* SPDX-License-Identifier: Apache-2.0 */

/* key.h -- an object's key as the master keeps it: 1..1024 bytes, none of them NUL. */
#ifndef MASTER_KEY_H
#define MASTER_KEY_H

#include <string.h>

#include "transfer/base/base.h"

struct key {
	uint16_t len_bytes;
	uint8_t bytes[]; /* not ended by NUL */
};

static inline bool
key_is(const struct key *key, const uint8_t *bytes, size_t len_bytes)
{
	return key->len_bytes == len_bytes && memcmp(key->bytes, bytes, len_bytes) == 0;
}

#endif
