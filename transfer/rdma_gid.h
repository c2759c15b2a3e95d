/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_gid.h -- under which of its addresses (GIDs) an RDMA port speaks.
 *
 * A port has a table of them with holes in it.  On Ethernet every address of the network device
 * stands there once for RoCE v1, which no router passes on, and once for v2:
 *
 *      index  type     address                         of
 *      0      RoCE v1  fe80::ae1f:6bff:fe12:3456       link-local
 *      1      RoCE v2  fe80::ae1f:6bff:fe12:3456       link-local
 *      2      RoCE v1  ::ffff:10.0.0.7                 this host
 *      3      RoCE v2  ::ffff:172.17.0.1               another name space
 *      7      RoCE v2  ::ffff:10.0.0.7                 this host          <-- this one
 *
 * The choice, from the strongest reason to the weakest:
 *      never     a hole, an address nobody here has, a network device that is down
 *      1.        any address rather than a link-local one, which is told as a last choice
 *      2.        the address on the way to the peer (the route's source), when it is known
 *      3.        RoCE v2 rather than v1
 *      4.        IPv4 rather than IPv6
 *      5.        the smaller index
 * On InfiniBand and iWARP the table has no types to choose from: the first entry that is none of
 * the holes.
 */
#ifndef TRANSFER_RDMA_GID_H
#define TRANSFER_RDMA_GID_H

#include <net/if.h>
#include <netinet/in.h>

#include "transfer/base/base.h"

#define RDMA_GID_TABLE_MAX 512
#define RDMA_GID_ANY       UINT32_MAX

enum rdma_gid_type { RDMA_GID_IB, RDMA_GID_ROCE_V1, RDMA_GID_ROCE_V2, RDMA_GID_IWARP };

struct rdma_gid {
	uint32_t index; /* in the port's table */
	enum rdma_gid_type type;
	struct in6_addr address;  /* IPv4 as ::ffff:a.b.c.d */
	char netdev[IF_NAMESIZE]; /* "" where it belongs to none */
	bool is_up;               /* the network device; where there is none, the port */
};

/* What is known beside the table. */
struct rdma_gid_wish {
	uint32_t index;               /* the user's word, else RDMA_GID_ANY */
	const struct in6_addr *route; /* our address on the way to the peer; may be NULL */
	const struct in6_addr *local; /* the addresses of this host; none: not known */
	size_t n_local;
};

enum rdma_gid_outcome {
	RDMA_GID_E_NONE = 1, /* no entry can be used */
	RDMA_GID_E_INDEX,    /* the index wished for is a hole, or behind the table's end */
	RDMA_GID_E_DOWN,     /* there are entries, but all (or the one wished for) are down */
};

/*
 * rdma_gid_choose -- one entry.  A pure function.
 *
 * gids     the entries in any order; holes (::) may be there or be left out.
 * gives:   *ret_at, its place in gids; *ret_is_last_choice: link-local on Ethernet: worth a
 * warning, for it only reaches neighbours, and only while they chose the same. result:  0 or
 * RDMA_GID_E_*.
 */
int rdma_gid_choose(const struct rdma_gid *gids, size_t n_gids, const struct rdma_gid_wish *wish,
		    size_t *ret_at, bool *ret_is_last_choice) MUST_CHECK;

/*
 * rdma_gid_read -- the table of a port, holes left out.  At most RDMA_GID_TABLE_MAX entries.
 *
 * root     as in sysfs.h.
 * gives:   *ret_gids, for free(); NULL when there are none.
 * result:  how many, or -ENOMEM.
 */
int rdma_gid_read(const char *root, const char *device, unsigned port,
		  struct rdma_gid **ret_gids) MUST_CHECK;

/* rdma_gid_type_name -- "IB", "RoCE v1", "RoCE v2", "iWARP". */
const char *rdma_gid_type_name(enum rdma_gid_type type);

/* rdma_gid_why -- an outcome in words. */
const char *rdma_gid_why(enum rdma_gid_outcome outcome);

/*
 * rdma_gid_show -- the address as people write it: "10.0.0.7", "2001:db8::1".
 *
 * needs:   cap >= INET6_ADDRSTRLEN.
 */
const char *rdma_gid_show(char *buf, size_t cap, const struct rdma_gid *gid);

/*
 * rdma_gid_local -- the addresses of this host, IPv4 as ::ffff:a.b.c.d.
 *
 * gives:   *ret_addresses, for free().
 * result:  how many, or -errno.
 */
int rdma_gid_local(struct in6_addr **ret_addresses) MUST_CHECK;

#endif
