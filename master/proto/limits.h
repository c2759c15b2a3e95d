/* SPDX-License-Identifier: Apache-2.0 */

/* limits.h -- the largest of everything on the wire: lists, keys and counts are judged by it. */
#ifndef MASTER_PROTO_LIMITS_H
#define MASTER_PROTO_LIMITS_H

#define PROTO_VERSION 2

#define KEY_MAX        1024 /* bytes */
#define NAME_MAX_BYTES 255
#define TEXT_MAX       512
#define ATTR_MAX       4096
#define GROUP_MAX      255  /* bytes of a group's id */
#define BATCH_MAX      1024 /* items of one request */
#define REPLICAS_MAX   8    /* copies of one object */
#define EXTENTS_MAX    4096 /* pieces of one replica */
#define SEGMENTS_MAX   64   /* segments of one mount request */
#define WORKS_MAX      64   /* tasks of one fetch or report */
#define JOBS_TOLD_MAX  64
#define OBJECT_LEN_MAX (1ull << 44)

#define LEASE_NONE UINT32_MAX /* get_replica_list: only to look, no promise */

/* What one client may have under way at the master at once; more is answered TOO_MANY. */
#define EMPTY_PUTS_MAX   4096        /* puts begun with no room, and not extended yet */
#define PARKED_MAX       256         /* requests that wait for room */
#define PARKED_BYTES_MAX (16u << 20) /* of those requests together */

#define PIN_TTL_DEFAULT_MS 1800000u  /* of a soft pin */
#define PIN_TTL_MAX_MS     86400000u /* a day */

#endif
