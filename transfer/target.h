/* SPDX-License-Identifier: Apache-2.0 */

/*
 * target.h -- one segment as seen from afar: which bytes, in which life, and where to knock.
 *
 * Made from what the provider told the master (struct target_desc); only
 * transports read the endpoint, everybody else hands it on.
 *
 *      endpoint := address { " " address }       in the provider's order
 *      address  := "unix:/path" | "host:port"    both speak wire.h; unix also hands out memory
 *                | "rdma:number:port"            rdma_wire.h, one for each device's address
 */
#ifndef TRANSFER_TARGET_H
#define TRANSFER_TARGET_H

#include <stdatomic.h>

#include "transfer/base/base.h"
#include "transfer/base/list.h"

#define TARGET_ENDPOINT_MAX 512
#define TARGET_HOST_MAX     64
#define TARGET_RDMA         "rdma:" /* how an address for RDMA begins */

struct path_stats;

struct target_desc {
	uint64_t segment_id, segment_epoch, size_bytes;
	bool is_on_disk;                /* not memory: nobody maps it */
	char host[TARGET_HOST_MAX + 1]; /* host_id() of the provider */
	char endpoint[TARGET_ENDPOINT_MAX + 1];
};

#define TARGET_TRANSPORTS_MAX 8

/* Shared; freed with the last reference.  `slot` holds what each transport keeps for it. */
struct target {
	atomic_uint n_refs;
	struct target_desc desc;
	bool is_same_host;
	struct list_link at;               /* in the engine */
	void *slot[TARGET_TRANSPORTS_MAX]; /* by transport index; guarded by the transport's lock */
	_Atomic(struct path_stats *) paths[TARGET_TRANSPORTS_MAX]; /* where ops were last counted */
};

/*
 * target_address -- the i-th address of the endpoint.
 *
 * gives:   ret[0..cap), ending in NUL.
 * result:  false: there are not so many, or it does not fit.
 */
bool target_address(const struct target_desc *desc, size_t i, char *ret, size_t cap);

/* target_can_use -- can this address be reached by a socket from here?  Unix sockets and loopback
 * only on the same host; those for RDMA never. */
bool target_can_use(const struct target *target, const char *address);

/* host_id -- this machine, the same for all its processes: /etc/machine-id and boot id hashed. 32
 * hex digits. */
const char *host_id(void);

#endif
