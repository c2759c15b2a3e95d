/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/topology.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"
#include "transfer/base/vec.h"

#define LOOPBACK 772 /* ARPHRD_LOOPBACK */

/* While it is read. */
struct reading {
	const struct topology_world *world;
	VEC(struct topology_node) nodes;
	VEC(struct topology_nic) nics;
	VEC(struct topology_gpu) gpus;
};

/* ---- memory nodes ---------------------------------------------------------------- */

static uint64_t
read_node_memory(const char *root, int id)
{
	unsigned long long kib;
	char line[128];

	/* "Node 0 MemTotal:       24593472 kB" */
	if (sysfs_line(root, line, sizeof(line), "/sys/devices/system/node/node%d/meminfo", id) !=
		    0 ||
	    sscanf(line, "Node %*d MemTotal: %llu kB", &kib) != 1)
		return 0;
	return (uint64_t)kib * 1024;
}

/* read_distances -- "10 21": one for each node that is there, in their order. */
static void
read_distances(const char *root, struct topology_node *node)
{
	char line[512], *at = line, *end;
	size_t n = 0;

	sysfs_line(root, line, sizeof(line), "/sys/devices/system/node/node%d/distance", node->id);
	while (n < TOPOLOGY_NODES_MAX) {
		unsigned long v = strtoul(at, &end, 10);

		if (end == at)
			return;
		node->distance[n++] = (unsigned)v;
		at = end;
	}
}

static int
read_nodes(struct reading *reading)
{
	const char *root = reading->world->root;
	char(*names)[SYSFS_NAME_MAX + 1];
	int n = sysfs_names(root, "/sys/devices/system/node", &names), r = 0;

	if (n < 0)
		return err_up(n);
	for (int i = 0; i < n && r == 0 && reading->nodes.n < TOPOLOGY_NODES_MAX; i++) {
		struct topology_node node = {0};
		int len = 0;

		if (sscanf(names[i], "node%d%n", &node.id, &len) != 1 || names[i][len] != '\0')
			continue;
		sysfs_line(root, node.cpus, sizeof(node.cpus),
			   "/sys/devices/system/node/node%d/cpulist", node.id);
		node.memory_bytes = read_node_memory(root, node.id);
		read_distances(root, &node);
		r = vec_push(&reading->nodes, node);
	}
	free(names);
	return r < 0 ? err_new(r) : 0;
}

/* ---- places ---------------------------------------------------------------------- */

/* is_pci -- "pci0000:10" (a host bridge) or "0000:10:01.0". */
static bool
is_pci(const char *part, size_t len)
{
	size_t n_colons = 0;

	if (len > 3 && strncmp(part, "pci", 3) == 0 && isxdigit((unsigned char)part[3]))
		return true;
	for (size_t i = 0; i < len; i++) {
		if (part[i] == ':')
			n_colons++;
		else if (!isxdigit((unsigned char)part[i]) && part[i] != '.')
			return false;
	}
	return n_colons == 2;
}

/*
 * cut_pci -- the run of PCI parts within a path, and in `path` nothing behind it.
 *
 *      devices/pci0000:00/0000:00:03.0/virtio2/net/eth0
 *              |------------ ret -----|
 */
static void
cut_pci(char *path, char ret[TOPOLOGY_PATH_MAX])
{
	char *start = NULL, *end = NULL;
	size_t len;

	for (char *part = path; *part != '\0'; part += len + (part[len] == '/')) {
		len = strcspn(part, "/");
		if (is_pci(part, len)) {
			start = start != NULL ? start : part;
			end = part + len;
		} else if (start != NULL) {
			break;
		}
	}
	ret[0] = '\0';
	if (start == NULL)
		return;
	*end = '\0';
	snprintf(ret, TOPOLOGY_PATH_MAX, "%s", start);
}

/* read_place -- of "/sys/class/net/eth0", or another thing with a device behind it. */
static void
read_place(const char *root, const char *path, struct topology_place *ret)
{
	char at[TOPOLOGY_PATH_MAX];
	int64_t node;

	*ret = (struct topology_place){.node = TOPOLOGY_NODE_UNKNOWN};
	if (sysfs_place(root, at, sizeof(at), "%s", path) != 0)
		return;
	cut_pci(at, ret->pci);
	if (ret->pci[0] != '\0' ? sysfs_number(root, &node, "/sys/%s/numa_node", at) == 0
				: sysfs_number(root, &node, "%s/device/numa_node", path) == 0)
		ret->node = node >= 0 && node <= INT32_MAX ? (int)node : TOPOLOGY_NODE_UNKNOWN;
}

/* ---- cards ----------------------------------------------------------------------- */

/* choose_gid -- as a transfer without a known route would. */
static int
choose_gid(const struct topology_world *world, struct topology_nic *nic)
{
	struct rdma_gid_wish wish = {
		.index = RDMA_GID_ANY, .local = world->local, .n_local = world->n_local};
	struct rdma_gid *gids;
	int n = rdma_gid_read(world->root, nic->name, nic->port, &gids);
	size_t at;

	if (n < 0)
		return err_up(n);
	nic->gid_outcome = rdma_gid_choose(gids, (size_t)n, &wish, &at, &nic->gid_is_last_choice);
	if (nic->gid_outcome == 0)
		nic->gid = gids[at];
	/* The device beside it is known also where no entry can be used. */
	for (int i = 0; i < n && nic->netdev[0] == '\0'; i++)
		memcpy(nic->netdev, gids[i].netdev, sizeof(nic->netdev));
	free(gids);
	return 0;
}

/* read_rate -- "400 Gb/sec (4X NDR)". */
static uint64_t
read_rate(const char *root, const char *device, unsigned port)
{
	char text[64];
	double gbit;

	sysfs_line(root, text, sizeof(text), "/sys/class/infiniband/%s/ports/%u/rate", device,
		   port);
	return sscanf(text, "%lf Gb/sec", &gbit) == 1 && gbit > 0 ? (uint64_t)(gbit * 1000) : 0;
}

static int
read_rdma_port(struct reading *reading, const char *device, unsigned port)
{
	const char *root = reading->world->root;
	struct topology_nic nic = {.kind = TOPOLOGY_RDMA, .port = port};
	char text[TOPOLOGY_PATH_MAX];
	int r;

	snprintf(nic.name, sizeof(nic.name), "%s", device);
	sysfs_line(root, text, sizeof(text), "/sys/class/infiniband/%s/ports/%u/state", device,
		   port);
	nic.is_up = strstr(text, "ACTIVE") != NULL;
	nic.mbit_per_s = read_rate(root, device, port);
	r = choose_gid(reading->world, &nic);
	if (r < 0)
		return err_up(r);
	snprintf(text, sizeof(text), "/sys/class/infiniband/%s", device);
	read_place(root, text, &nic.place);
	if (nic.place.pci[0] == '\0' && nic.netdev[0] != '\0') { /* made of software */
		snprintf(text, sizeof(text), "/sys/class/net/%s", nic.netdev);
		read_place(root, text, &nic.place);
	}
	r = vec_push(&reading->nics, nic);
	return r < 0 ? err_new(r) : 0;
}

static int
read_rdma(struct reading *reading)
{
	const char *root = reading->world->root;
	char(*devices)[SYSFS_NAME_MAX + 1];
	int n = sysfs_names(root, "/sys/class/infiniband", &devices), r = 0;

	if (n < 0)
		return err_up(n);
	for (int i = 0; i < n && r == 0; i++) {
		char dir[TOPOLOGY_PATH_MAX], (*ports)[SYSFS_NAME_MAX + 1];
		int n_ports;

		snprintf(dir, sizeof(dir), "/sys/class/infiniband/%s/ports", devices[i]);
		n_ports = r = sysfs_names(root, dir, &ports);
		for (int k = 0; k < n_ports && r >= 0; k++) {
			uint64_t port;

			r = num_parse(ports[k], &port) == 0 && port <= UINT8_MAX
				    ? read_rdma_port(reading, devices[i], (unsigned)port)
				    : 0;
		}
		r = num_min(r, 0);
		free(ports);
	}
	free(devices);
	return r < 0 ? err_up(r) : 0;
}

static bool
is_below_rdma(const struct reading *reading, const char *netdev)
{
	for (size_t i = 0; i < reading->nics.n; i++)
		if (strcmp(reading->nics.at[i].netdev, netdev) == 0)
			return true;
	return false;
}

/* is_card -- bridges, tunnels and the like lie upon one; they are none. */
static bool
is_card(const struct reading *reading, const char *netdev)
{
	char text[TOPOLOGY_PATH_MAX];

	return is_below_rdma(reading, netdev) ||
	       sysfs_place(reading->world->root, text, sizeof(text), "/sys/class/net/%s/device",
			   netdev) == 0;
}

static bool
is_loopback(const struct reading *reading, const char *netdev)
{
	int64_t type = 0;

	return sysfs_number(reading->world->root, &type, "/sys/class/net/%s/type", netdev) != 0 ||
	       type == LOOPBACK;
}

static int
read_net_one(struct reading *reading, const char *netdev)
{
	const char *root = reading->world->root;
	struct topology_nic nic = {.kind = TOPOLOGY_NET};
	char text[TOPOLOGY_PATH_MAX];
	int64_t speed = 0;
	int r;

	snprintf(text, sizeof(text), "/sys/class/net/%s", netdev);
	read_place(root, text, &nic.place);
	snprintf(nic.name, sizeof(nic.name), "%s", netdev);
	sysfs_line(root, text, sizeof(text), "/sys/class/net/%s/operstate", netdev);
	nic.is_up = strcmp(text, "up") == 0 || strcmp(text, "unknown") == 0;
	sysfs_number(root, &speed, "/sys/class/net/%s/speed", netdev);
	nic.mbit_per_s = speed > 0 ? (uint64_t)speed : 0;
	r = vec_push(&reading->nics, nic);
	return r < 0 ? err_new(r) : 0;
}

static int
read_net(struct reading *reading)
{
	char(*netdevs)[SYSFS_NAME_MAX + 1];
	int n = sysfs_names(reading->world->root, "/sys/class/net", &netdevs), r = 0;
	bool has_card = false;

	if (n < 0)
		return err_up(n);
	for (int i = 0; i < n; i++)
		has_card = has_card || is_card(reading, netdevs[i]);
	/* A container sees one end of a pair, and nothing beneath it: then that is the card. */
	for (int i = 0; i < n && r == 0; i++)
		if (has_card ? is_card(reading, netdevs[i]) : !is_loopback(reading, netdevs[i]))
			r = read_net_one(reading, netdevs[i]);
	free(netdevs);
	return r < 0 ? err_up(r) : 0;
}

/*
 * is_gpu -- 3D controllers and processing accelerators of anybody; screens' cards only of those who
 * also make their computing cards look like one, for a server's own screen is none of them.
 */
static bool
is_gpu(unsigned class_code, uint16_t vendor)
{
	switch (class_code >> 8) {
	case 0x0302:
	case 0x1200:
		return true;
	case 0x0300:
	case 0x0380:
		return vendor == 0x10de || vendor == 0x1002;
	default:
		return false;
	}
}

static int
read_gpus(struct reading *reading)
{
	const char *root = reading->world->root;
	char(*addresses)[SYSFS_NAME_MAX + 1];
	int n = sysfs_names(root, "/sys/bus/pci/devices", &addresses), r = 0;

	if (n < 0)
		return err_up(n);
	for (int i = 0; i < n && r == 0; i++) {
		struct topology_gpu gpu = {0};
		char path[TOPOLOGY_PATH_MAX];
		int64_t class_code = 0, vendor = 0, device = 0;

		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", addresses[i]);
		sysfs_number(root, &class_code, "%s/class", path);
		sysfs_number(root, &vendor, "%s/vendor", path);
		sysfs_number(root, &device, "%s/device", path);
		if (!is_gpu((unsigned)class_code, (uint16_t)vendor))
			continue;
		gpu.vendor = (uint16_t)vendor;
		gpu.device = (uint16_t)device;
		snprintf(gpu.address, sizeof(gpu.address), "%.15s", addresses[i]);
		read_place(root, path, &gpu.place);
		r = vec_push(&reading->gpus, gpu);
	}
	free(addresses);
	return r < 0 ? err_new(r) : 0;
}

int
topology_read(const struct topology_world *world, struct topology **ret_topology)
{
	struct reading reading = {.world = world};
	struct topology *topology = calloc(1, sizeof(*topology));
	int r = topology == NULL ? err_new(-ENOMEM) : 0;

	r = r == 0 ? read_nodes(&reading) : r;
	r = r == 0 ? read_rdma(&reading) : r;
	r = r == 0 ? read_net(&reading) : r; /* after RDMA: it names network devices */
	r = r == 0 ? read_gpus(&reading) : r;
	if (r < 0) {
		vec_fini(&reading.nodes);
		vec_fini(&reading.nics);
		vec_fini(&reading.gpus);
		free(topology);
		return err_up(r);
	}
	*topology = (struct topology){
		.nodes = reading.nodes.at,
		.nics = reading.nics.at,
		.gpus = reading.gpus.at,
		.n_nodes = reading.nodes.n,
		.n_nics = reading.nics.n,
		.n_gpus = reading.gpus.n,
	};
	*ret_topology = topology;
	return 0;
}

void
topology_free(struct topology *topology)
{
	if (topology == NULL)
		return;
	free(topology->nodes);
	free(topology->nics);
	free(topology->gpus);
	free(topology);
}

/* ---- nearness -------------------------------------------------------------------- */

static size_t
node_at(const struct topology *topology, int id)
{
	for (size_t i = 0; i < topology->n_nodes; i++)
		if (topology->nodes[i].id == id)
			return i;
	return SIZE_MAX;
}

unsigned
topology_distance(const struct topology *topology, int node_a, int node_b)
{
	size_t a = node_at(topology, node_a), b = node_at(topology, node_b);

	if (a == SIZE_MAX || b == SIZE_MAX || topology->nodes[a].distance[b] == 0)
		return TOPOLOGY_DISTANCE_OWN;
	return topology->nodes[a].distance[b];
}

/* shared_parts -- how many parts, from the host bridge on, two PCI paths have in common. */
static size_t
shared_parts(const char *a, const char *b)
{
	size_t n = 0;

	while (a[0] != '\0' && b[0] != '\0') {
		size_t len = strcspn(a, "/");

		if (strcspn(b, "/") != len || memcmp(a, b, len) != 0)
			return n;
		n++;
		a += len + (a[len] == '/');
		b += len + (b[len] == '/');
	}
	return n;
}

static enum topology_reach
reach_of(const struct topology_place *a, const struct topology_place *b, unsigned distance)
{
	size_t n = shared_parts(a->pci, b->pci);

	if (n > 0)
		return n == 1 ? TOPOLOGY_BRIDGE : TOPOLOGY_SWITCH;
	return distance > TOPOLOGY_DISTANCE_OWN ? TOPOLOGY_FAR : TOPOLOGY_NODE;
}

static bool
can_use(const struct topology_nic *nic, enum topology_kind kind)
{
	return nic->kind == kind && nic->is_up && nic->gid_outcome == 0;
}

/* compare -- < 0: a is nearer, or as near and faster. */
static int
compare(const struct topology *topology, const struct topology_near *a,
	const struct topology_near *b)
{
	uint64_t speed_a = topology->nics[a->nic].mbit_per_s;
	uint64_t speed_b = topology->nics[b->nic].mbit_per_s;

	if (a->reach != b->reach)
		return a->reach < b->reach ? -1 : 1;
	if (a->distance != b->distance)
		return a->distance < b->distance ? -1 : 1;
	return (speed_a < speed_b) - (speed_a > speed_b);
}

size_t
topology_nearest(const struct topology *topology, const struct topology_place *from,
		 enum topology_kind kind, struct topology_near *ret, size_t cap, size_t *ret_n_best)
{
	size_t n = 0, n_best = 0;

	/* Few cards: each is put where it belongs among those before it. */
	for (size_t i = 0; i < topology->n_nics; i++) {
		struct topology_near near = {.nic = i};
		size_t at;

		if (!can_use(&topology->nics[i], kind))
			continue;
		near.distance =
			topology_distance(topology, from->node, topology->nics[i].place.node);
		near.reach = reach_of(from, &topology->nics[i].place, near.distance);
		for (at = n; at > 0 && compare(topology, &near, &ret[at - 1]) < 0; at--)
			if (at < cap)
				ret[at] = ret[at - 1];
		if (at < cap)
			ret[at] = near;
		n = num_min(n + 1, cap);
	}
	while (n_best < n && compare(topology, &ret[0], &ret[n_best]) == 0)
		n_best++;
	*ret_n_best = n_best;
	return n;
}

const char *
topology_reach_name(enum topology_reach reach)
{
	static const char *const names[] = {
		[TOPOLOGY_SWITCH] = "switch",
		[TOPOLOGY_BRIDGE] = "bridge",
		[TOPOLOGY_NODE] = "node",
		[TOPOLOGY_FAR] = "far",
	};

	return names[reach];
}

const char *
topology_vendor_name(uint16_t vendor)
{
	switch (vendor) {
	case 0x10de:
		return "NVIDIA";
	case 0x1002:
		return "AMD";
	case 0x8086:
		return "Intel";
	default:
		return NULL;
	}
}
