/* SPDX-License-Identifier: Apache-2.0 */

/*
 * xattr.h -- extended attributes as the kernel asks for them.
 *
 *      user.tiffin.*    what the store knows of a file: inside.h
 *      user.*           what users set, kept with the object: xattrs.h
 *      others           EOPNOTSUPP: nobody asks for them again
 */
#ifndef FS_XATTR_H
#define FS_XATTR_H

#include "fs/fs.h"

void fs_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void fs_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void fs_op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
		    size_t size, int flags);
void fs_op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

#endif
