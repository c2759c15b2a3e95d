/* SPDX-License-Identifier: Apache-2.0 */

/* key.h -- an object's key as the master keeps it: 1..1024 bytes, none of them NUL. */
#ifndef MASTER_KEY_H
#define MASTER_KEY_H

#include "transfer/base/base.h"

struct key {
	uint16_t len_bytes;
	uint8_t bytes[]; /* not ended by NUL */
};

#endif
