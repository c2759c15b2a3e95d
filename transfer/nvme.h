/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nvme.h -- a namespace by the name of its subsystem, among those that the kernel is connected to.
 *
 *      NQN --/sys/class/nvme-subsystem/<name>/subsysnqn--> subsystem --nsid--> block device
 *                                                           |
 *                 controllers: the ways there, each live or not (/sys/class/nvme/<name>)
 *
 * With one way or several, over TCP, RDMA, Fibre Channel or PCIe: the kernel sees to that, and the
 * block device is the same.  While it looks for a way again requests wait; when it has given up
 * (ctrl_loss_tmo) they fail.
 *
 * A target goes on with commands that it has, whatever became of who sent them, until it misses his
 * keep-alives: so whoever takes a namespace over from one that was lost, with commands under way,
 * waits first (NVME_REST_MS).
 *
 *      host     command -->x lost, killed, cut off          next: open it ... rests ... first write
 *      target       |--- still working on it ---| keep-alive time over: it has given him up
 *
 * thread:  any.
 */
#ifndef TRANSFER_NVME_H
#define TRANSFER_NVME_H

#include "transfer/base/base.h"

#define NVME_NQN_MAX    223 /* characters, by the specification */
#define NVME_DEVICE_MAX 63

/* By then a target has missed a keep-alive of that time, and noticed that it did. */
#define NVME_REST_MS(kato_ms) (3 * (kato_ms))

struct nvme_namespace {
	char device[NVME_DEVICE_MAX + 1]; /* "nvme0n1": its name in /dev */
	uint32_t nsid;
	unsigned n_paths, n_live; /* controllers that lead there */
	char transport[16];       /* of the first of them: "tcp", "rdma", "pcie"; "": none */
	uint32_t kato_ms;         /* the longest keep-alive time of them; 0: PCIe alone */
};

enum nvme_outcome {
	NVME_E_NO_SUBSYSTEM = 1, /* nothing of that name is connected */
	NVME_E_NO_NAMESPACE,     /* it has none of that number */
	NVME_E_SEVERAL,          /* it has several: say which */
	NVME_E_NOT_LIVE,         /* no way there is open at this time */
};

/* nvme_nqn_is_good -- "nqn." and what may follow, not longer than the specification has it. */
bool nvme_nqn_is_good(const char *nqn);

/*
 * nvme_find -- the namespace of that subsystem.
 *
 * root     as in sysfs.h.
 * nsid     0: the only one.
 * result:  0, an nvme_outcome (with NOT_LIVE *ret is told all the same), -ENOMEM.
 */
int nvme_find(const char *root, const char *nqn, uint32_t nsid,
	      struct nvme_namespace *ret) MUST_CHECK;

#endif
