/* SPDX-License-Identifier: Apache-2.0 */

/* limits.h -- the largest of everything on the wire: lists, keys and counts are judged by it. */
#ifndef MASTER_PROTO_LIMITS_H
#define MASTER_PROTO_LIMITS_H

#define PROTO_VERSION 1

#define KEY_MAX        1024 /* bytes */
#define NAME_MAX_BYTES 255
#define TEXT_MAX       512
#define ATTR_MAX       4096
#define BATCH_MAX      1024 /* items of one request */
#define REPLICAS_MAX   8    /* copies of one object */
#define EXTENTS_MAX    4096 /* pieces of one replica */
#define SEGMENTS_MAX   64   /* segments of one mount request */
#define OBJECT_LEN_MAX (1ull << 44)

#endif
