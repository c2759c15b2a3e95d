/* SPDX-License-Identifier: Apache-2.0 */

/* errno.h -- TIFFIN_E_* as programs know them: one table. */
#ifndef FS_ERRNO_H
#define FS_ERRNO_H

#include "transfer/base/base.h"

/*
 * fs_errno -- 0 stays 0, a TIFFIN_E_* becomes -errno.
 *
 * Never EAGAIN or EINTR: programs don't expect them of a regular file.
 */
int fs_errno(int code) MUST_CHECK;

#endif
