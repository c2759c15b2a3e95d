/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/errno.h"

#include <errno.h>

#include "core/tiffin.h"

static const int table[] = {
	[-TIFFIN_E_NOT_FOUND] = ENOENT, [-TIFFIN_E_EXISTS] = EEXIST,
	[-TIFFIN_E_NO_SPACE] = ENOSPC,  [-TIFFIN_E_TOO_SMALL] = EIO,
	[-TIFFIN_E_UNREACHABLE] = EIO,  [-TIFFIN_E_INVALID] = EINVAL,
	[-TIFFIN_E_SYSTEM] = EIO,       [-TIFFIN_E_TIMEOUT] = ETIMEDOUT,
	[-TIFFIN_E_LEASE] = EIO,        [-TIFFIN_E_CHECKSUM] = EIO,
	[-TIFFIN_E_DENIED] = EACCES,    [-TIFFIN_E_BUSY] = EBUSY,
	[-TIFFIN_E_FORKED] = EIO,       [-TIFFIN_E_CLOSED] = EIO,
	[-TIFFIN_E_VERSION] = EIO,      [-TIFFIN_E_QUOTA] = EDQUOT,
	[-TIFFIN_E_NOT_EMPTY] = EBUSY,
};

int
fs_errno(int code)
{
	if (code == 0)
		return 0;
	if (code > 0 || (size_t)-code >= array_len(table) || table[-code] == 0)
		return -EIO;
	return -table[-code];
}
