/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_gid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/vec.h"
#include "transfer/sysfs.h"

static bool
is_ethernet(const struct rdma_gid *gid)
{
	return gid->type == RDMA_GID_ROCE_V1 || gid->type == RDMA_GID_ROCE_V2;
}

static bool
is_hole(const struct rdma_gid *gid)
{
	return IN6_IS_ADDR_UNSPECIFIED(&gid->address);
}

static bool
is_last_choice(const struct rdma_gid *gid)
{
	return is_ethernet(gid) && IN6_IS_ADDR_LINKLOCAL(&gid->address);
}

/* is_foreign -- an address that nobody here has.  Link-local ones a card makes up by itself. */
static bool
is_foreign(const struct rdma_gid *gid, const struct rdma_gid_wish *wish)
{
	if (!is_ethernet(gid) || IN6_IS_ADDR_LINKLOCAL(&gid->address) || wish->n_local == 0)
		return false;
	for (size_t i = 0; i < wish->n_local; i++)
		if (IN6_ARE_ADDR_EQUAL(&gid->address, &wish->local[i]))
			return false;
	return true;
}

/* worth -- the reasons of the header as one number, the strongest in front. */
static unsigned
worth(const struct rdma_gid *gid, const struct rdma_gid_wish *wish)
{
	unsigned v = 0;

	v = v << 1 | !is_last_choice(gid);
	v = v << 1 | (wish->route != NULL && IN6_ARE_ADDR_EQUAL(&gid->address, wish->route));
	v = v << 1 | (gid->type != RDMA_GID_ROCE_V1);
	v = v << 1 | (is_ethernet(gid) && IN6_IS_ADDR_V4MAPPED(&gid->address));
	return v;
}

static bool
is_better(const struct rdma_gid *a, const struct rdma_gid *b, const struct rdma_gid_wish *wish)
{
	unsigned worth_a = worth(a, wish), worth_b = worth(b, wish);

	return worth_a != worth_b ? worth_a > worth_b : a->index < b->index;
}

/* choose_index -- the one the user named, whatever it is worth; but there, and up. */
static int
choose_index(const struct rdma_gid *gids, size_t n_gids, uint32_t index, size_t *ret_at)
{
	for (size_t i = 0; i < n_gids; i++) {
		if (gids[i].index != index || is_hole(&gids[i]))
			continue;
		if (!gids[i].is_up)
			return RDMA_GID_E_DOWN;
		*ret_at = i;
		return 0;
	}
	return RDMA_GID_E_INDEX;
}

static int
choose_best(const struct rdma_gid *gids, size_t n_gids, const struct rdma_gid_wish *wish,
	    size_t *ret_at)
{
	size_t best = SIZE_MAX;
	bool is_down = false;

	for (size_t i = 0; i < n_gids; i++) {
		if (is_hole(&gids[i]) || is_foreign(&gids[i], wish))
			continue;
		if (!gids[i].is_up)
			is_down = true;
		else if (best == SIZE_MAX || is_better(&gids[i], &gids[best], wish))
			best = i;
	}
	if (best == SIZE_MAX)
		return is_down ? RDMA_GID_E_DOWN : RDMA_GID_E_NONE;
	*ret_at = best;
	return 0;
}

int
rdma_gid_choose(const struct rdma_gid *gids, size_t n_gids, const struct rdma_gid_wish *wish,
		size_t *ret_at, bool *ret_is_last_choice)
{
	size_t at;
	int r = wish->index != RDMA_GID_ANY ? choose_index(gids, n_gids, wish->index, &at)
					    : choose_best(gids, n_gids, wish, &at);

	if (r != 0)
		return r;
	*ret_at = at;
	*ret_is_last_choice = is_last_choice(&gids[at]);
	return 0;
}

/* ---- the table ------------------------------------------------------------------- */

#define PORT "/sys/class/infiniband/%s/ports/%u/"

/* A port's own facts, the same for each of its entries. */
struct port {
	const char *root, *device;
	unsigned number;
	bool is_ethernet, is_iwarp, is_active;
};

static void
read_port(struct port *port)
{
	char text[64];

	sysfs_line(port->root, text, sizeof(text), PORT "link_layer", port->device, port->number);
	port->is_ethernet = strcmp(text, "Ethernet") == 0;
	sysfs_line(port->root, text, sizeof(text), "/sys/class/infiniband/%s/node_type",
		   port->device);
	port->is_iwarp = strstr(text, "RNIC") != NULL;
	sysfs_line(port->root, text, sizeof(text), PORT "state", port->device, port->number);
	port->is_active = strstr(text, "ACTIVE") != NULL;
}

/* The kernel says "IB/RoCE v1" for both: the link tells them apart. */
static enum rdma_gid_type
type_of(const struct port *port, const char *told)
{
	if (port->is_iwarp)
		return RDMA_GID_IWARP;
	if (!port->is_ethernet)
		return RDMA_GID_IB;
	return strcmp(told, "RoCE v2") == 0 ? RDMA_GID_ROCE_V2 : RDMA_GID_ROCE_V1;
}

/* is_netdev_up -- a device of another name space is not seen here, and cannot be used. */
static bool
is_netdev_up(const char *root, const char *netdev)
{
	char state[32];
	int64_t flags = 0;

	if (sysfs_number(root, &flags, "/sys/class/net/%s/flags", netdev) != 0)
		return false;
	sysfs_line(root, state, sizeof(state), "/sys/class/net/%s/operstate", netdev);
	/* Devices made of software don't know ("unknown"); then the administrator's word counts. */
	return (flags & IFF_UP) != 0 && (strcmp(state, "up") == 0 || strcmp(state, "unknown") == 0);
}

/* read_entry -- false: a hole, or nothing that can be read. */
static bool
read_entry(const struct port *port, uint32_t index, struct rdma_gid *ret)
{
	struct rdma_gid gid = {.index = index, .is_up = port->is_active};
	char text[INET6_ADDRSTRLEN], type[32];

	if (sysfs_line(port->root, text, sizeof(text), PORT "gids/%u", port->device, port->number,
		       index) != 0 ||
	    inet_pton(AF_INET6, text, &gid.address) != 1 || is_hole(&gid))
		return false;
	/* Older kernels tell no types; a port of Ethernet then speaks v1 at least. */
	sysfs_line(port->root, type, sizeof(type), PORT "gid_attrs/types/%u", port->device,
		   port->number, index);
	gid.type = type_of(port, type);
	if (sysfs_line(port->root, gid.netdev, sizeof(gid.netdev), PORT "gid_attrs/ndevs/%u",
		       port->device, port->number, index) == 0 &&
	    gid.netdev[0] != '\0')
		gid.is_up = gid.is_up && is_netdev_up(port->root, gid.netdev);
	*ret = gid;
	return true;
}

int
rdma_gid_read(const char *root, const char *device, unsigned number, struct rdma_gid **ret_gids)
{
	struct port port = {.root = root, .device = device, .number = number};
	VEC(struct rdma_gid) gids = {0};

	read_port(&port);
	for (uint32_t i = 0; i < RDMA_GID_TABLE_MAX; i++) {
		struct rdma_gid gid;

		if (read_entry(&port, i, &gid) && vec_push(&gids, gid) < 0) {
			vec_fini(&gids);
			return err_new(-ENOMEM);
		}
	}
	*ret_gids = gids.at;
	return (int)gids.n;
}

/* ---- words ----------------------------------------------------------------------- */

const char *
rdma_gid_type_name(enum rdma_gid_type type)
{
	static const char *const names[] = {
		[RDMA_GID_IB] = "IB",
		[RDMA_GID_ROCE_V1] = "RoCE v1",
		[RDMA_GID_ROCE_V2] = "RoCE v2",
		[RDMA_GID_IWARP] = "iWARP",
	};

	return names[type];
}

const char *
rdma_gid_why(enum rdma_gid_outcome outcome)
{
	switch (outcome) {
	case RDMA_GID_E_NONE:
		return "no address (GID) of this port belongs to this host: give its network "
		       "device "
		       "an IP address";
	case RDMA_GID_E_INDEX:
		return "there is no address (GID) of that index: look at 'tiffin topology'";
	case RDMA_GID_E_DOWN:
		return "the port or its network device is down: ip link set DEVICE up";
	}
	abort();
}

const char *
rdma_gid_show(char *buf, size_t cap, const struct rdma_gid *gid)
{
	assert(cap >= INET6_ADDRSTRLEN);
	if (is_ethernet(gid) && IN6_IS_ADDR_V4MAPPED(&gid->address))
		return inet_ntop(AF_INET, &gid->address.s6_addr[12], buf, (socklen_t)cap);
	return inet_ntop(AF_INET6, &gid->address, buf, (socklen_t)cap);
}

/* to_in6 -- IPv4 in its mapped form.  false: neither of both. */
static bool
to_in6(const struct sockaddr *address, struct in6_addr *ret)
{
	if (address == NULL)
		return false;
	if (address->sa_family == AF_INET6) {
		*ret = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
		return true;
	}
	if (address->sa_family != AF_INET)
		return false;
	memset(ret, 0, sizeof(*ret));
	memset(&ret->s6_addr[10], 0xff, 2);
	memcpy(&ret->s6_addr[12], &((const struct sockaddr_in *)(const void *)address)->sin_addr,
	       4);
	return true;
}

int
rdma_gid_local(struct in6_addr **ret_addresses)
{
	VEC(struct in6_addr) addresses = {0};
	struct ifaddrs *list;
	int r = 0;

	if (getifaddrs(&list) < 0)
		return err_new(-errno);
	for (struct ifaddrs *at = list; at != NULL && r == 0; at = at->ifa_next) {
		struct in6_addr address;

		if (to_in6(at->ifa_addr, &address))
			r = vec_push(&addresses, address);
	}
	freeifaddrs(list);
	if (r < 0) {
		vec_fini(&addresses);
		return err_new(r);
	}
	*ret_addresses = addresses.at;
	return (int)addresses.n;
}
