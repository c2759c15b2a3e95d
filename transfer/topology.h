/* SPDX-License-Identifier: Apache-2.0 */

/*
 * topology.h -- what lies near what in this machine: memory nodes, network cards, GPUs.
 *
 *      node 0 ---- host bridge pci0000:10 --- switch --- GPU        mlx5_0 and this GPU: SWITCH
 *        |                     |                  +----- mlx5_0     eth0 and this GPU:   BRIDGE
 *        |                     +--- eth0
 *        |---- host bridge pci0000:40 --- mlx5_1                    mlx5_1 and this GPU: NODE
 *      node 1 ---- host bridge pci0000:80 --- mlx5_2                mlx5_2 and this GPU: FAR
 *
 * Read once from sysfs; nothing here changes afterwards.  A machine without RDMA, NUMA or GPUs has
 * just fewer entries, and what is not known is told so (node -1): then everything is equally near.
 *
 * thread:  any, for a topology that was read.
 */
#ifndef TRANSFER_TOPOLOGY_H
#define TRANSFER_TOPOLOGY_H

#include "transfer/base/base.h"
#include "transfer/rdma_gid.h"
#include "transfer/sysfs.h"

#define TOPOLOGY_NODES_MAX    64
#define TOPOLOGY_PATH_MAX     512
#define TOPOLOGY_NODE_UNKNOWN (-1)
#define TOPOLOGY_DISTANCE_OWN 10 /* the kernel's number for a node and itself */

/* What is read: in a program the machine, in a test a tree and addresses made up. */
struct topology_world {
	const char *root;             /* as in sysfs.h */
	const struct in6_addr *local; /* the host's addresses, for the choice of GIDs */
	size_t n_local;
};

struct topology_node {
	int id;         /* the kernel's; not always 0, 1, 2 */
	char cpus[256]; /* "0-15,32-47" */
	uint64_t memory_bytes;
	unsigned distance[TOPOLOGY_NODES_MAX]; /* to nodes[i] */
};

/* Where a card sits. */
struct topology_place {
	int node; /* its memory node, or TOPOLOGY_NODE_UNKNOWN */
	/* From the host bridge to the card: "pci0000:10/0000:10:01.0/0000:11:00.0"; "" without PCI.
	 */
	char pci[TOPOLOGY_PATH_MAX];
};

enum topology_kind { TOPOLOGY_RDMA, TOPOLOGY_NET };

/* One port of an RDMA device, or one network device. */
struct topology_nic {
	enum topology_kind kind;
	char name[SYSFS_NAME_MAX + 1];
	unsigned port;            /* of RDMA, from 1 */
	char netdev[IF_NAMESIZE]; /* of RDMA on Ethernet: the network device beside it, or "" */
	struct topology_place place;
	bool is_up;
	uint64_t mbit_per_s; /* 0: not known */

	/* RDMA: the GID that is spoken under; valid while gid_outcome is 0. */
	struct rdma_gid gid;
	int gid_outcome; /* 0 or RDMA_GID_E_* */
	bool gid_is_last_choice;
};

struct topology_gpu {
	char address[16]; /* "0000:1b:00.0" */
	uint16_t vendor, device;
	struct topology_place place;
};

struct topology {
	struct topology_node *nodes; /* by id */
	struct topology_nic *nics;   /* RDMA first, then by name */
	struct topology_gpu *gpus;   /* by address */
	size_t n_nodes, n_nics, n_gpus;
};

/* topology_read -- all of it.  0 or -ENOMEM. */
int topology_read(const struct topology_world *world, struct topology **ret_topology) MUST_CHECK;
void topology_free(struct topology *topology);
DEFINE_CLEANUP(struct topology, topology_free);

/* How a card is reached, the nearest first. */
enum topology_reach {
	TOPOLOGY_SWITCH, /* below the same PCI bridge or switch: the host's processors see nothing
			  */
	TOPOLOGY_BRIDGE, /* below the same host bridge */
	TOPOLOGY_NODE,   /* at the same memory node; also where nothing is known */
	TOPOLOGY_FAR,    /* at another one */
};

struct topology_near {
	size_t nic; /* in nics[] */
	enum topology_reach reach;
	unsigned distance; /* between the nodes, as the kernel tells it */
};

/*
 * topology_nearest -- the cards of a kind that are up, the nearest first; among equals the faster.
 *
 * from     where the bytes lie: a GPU's place, or {.node = N} for memory.
 * gives:   ret[0..result), at most cap; *ret_n_best, how many of the first are equally near and
 *          equally fast: work may be spread over them.
 */
size_t topology_nearest(const struct topology *topology, const struct topology_place *from,
			enum topology_kind kind, struct topology_near *ret, size_t cap,
			size_t *ret_n_best);

/* topology_distance -- between two nodes; TOPOLOGY_DISTANCE_OWN when one is not known. */
unsigned topology_distance(const struct topology *topology, int node_a, int node_b);

/* topology_reach_name, topology_vendor_name -- words; a vendor not known is NULL. */
const char *topology_reach_name(enum topology_reach reach);
const char *topology_vendor_name(uint16_t vendor);

#endif
