/* SPDX-License-Identifier: Apache-2.0 */

/* fill.h -- a whole version, copied into a file. */
#ifndef FS_FILL_H
#define FS_FILL_H

#include "fs/pin.h"
#include "transfer/base/clock.h"

/*
 * fs_fill -- from its first byte to its last, summed and compared if the pin's reads are.
 *
 * needs:   fd is an empty file, open for writing; nobody need hold a lock.
 * result:  0: the file holds the version, whole, whatever becomes of the lease from now on;
 *          -ETIMEDOUT: not done at until_ns; other -errno: what is in the file is worth nothing.
 */
int fs_fill(struct fs_pin *pin, int fd, const struct clock *clock, uint64_t until_ns) MUST_CHECK;

#endif
