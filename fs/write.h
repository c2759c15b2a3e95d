/* SPDX-License-Identifier: Apache-2.0 */

/* write.h -- bytes from the kernel, into the node's working version (work.h). */
#ifndef FS_WRITE_H
#define FS_WRITE_H

#include "fs/fs.h"

void fs_op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t off,
		 struct fuse_file_info *fi);

#endif
