/* SPDX-License-Identifier: Apache-2.0 */

/* ops.h -- the table that libfuse calls; each operation lives in the file of its noun. */
#ifndef FS_OPS_H
#define FS_OPS_H

#include "fs/fs.h"

extern const struct fuse_lowlevel_ops fs_ops;

#endif
