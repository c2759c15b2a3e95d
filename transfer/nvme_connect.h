/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nvme_connect.h -- have the kernel connect to a subsystem, where the build and the machine allow
 * it.
 *
 * Built twice: nvme_connect.c with TIFFIN_NVME (libnvme), else nvme_connect_none.c, which says that
 * somebody else must.
 */
#ifndef TRANSFER_NVME_CONNECT_H
#define TRANSFER_NVME_CONNECT_H

#include "transfer/nvme.h"

#define NVME_WHERE_MAX 255

/* Where a target listens: "tcp:192.0.2.1:4420", "rdma:[2001:db8::1]:4420". */
struct nvme_where {
	char transport[8];
	char address[NVME_WHERE_MAX + 1];
	char port[8];
};

/* nvme_where_parse -- false: it is none of those; numbers and names alike. */
bool nvme_where_parse(const char *text, struct nvme_where *ret_where) MUST_CHECK;

enum nvme_connect_outcome {
	NVME_CONNECT_E_NOT_BUILT = 1, /* without libnvme */
	NVME_CONNECT_E_NO_MODULE,     /* the kernel has no /dev/nvme-fabrics */
	NVME_CONNECT_E_NOT_ALLOWED,   /* this user may not */
	NVME_CONNECT_E_REFUSED,       /* nobody there, or no such subsystem */
};

/*
 * nvme_connect -- may take as long as the kernel waits for the target.
 *
 * A host names itself by /etc/nvme/hostnqn and hostid, where they are.  One that is connected
 * there already is connected (0).
 *
 * result:  0, an outcome (*ret_errno with REFUSED: why), -ENOMEM.
 * thread:  any.
 */
int nvme_connect(const char *nqn, const struct nvme_where *where, int *ret_errno) MUST_CHECK;

/* nvme_connect_why -- *ret_errno in words. */
const char *nvme_connect_why(int e);

#endif
