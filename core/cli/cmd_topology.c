/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/cli/command.h"
#include "transfer/base/json.h"
#include "core/cli/table.h"
#include "transfer/base/num.h"
#include "transfer/topology.h"

#define NEAR_MAX  64
#define NAMES_CAP 512

struct opts {
	const char *root;
};

static const struct arg_def defs[] = {
	{'\0', "root", ARG_TEXT, offsetof(struct opts, root), "DIR", "",
	 "look at a copy of another machine's /sys, in DIR/sys"},
};

/* name_nic -- "mlx5_0:1", or "eth0". */
static const char *
name_nic(char *buf, size_t cap, const struct topology_nic *nic)
{
	if (nic->kind == TOPOLOGY_RDMA)
		snprintf(buf, cap, "%s:%u", nic->name, nic->port);
	else
		snprintf(buf, cap, "%s", nic->name);
	return buf;
}

/* nearest -- the cards bytes at this place should take: RDMA where there is one. */
static size_t
nearest(const struct topology *topology, const struct topology_place *from,
	struct topology_near near[NEAR_MAX])
{
	size_t n_best;

	topology_nearest(topology, from, TOPOLOGY_RDMA, near, NEAR_MAX, &n_best);
	if (n_best == 0)
		topology_nearest(topology, from, TOPOLOGY_NET, near, NEAR_MAX, &n_best);
	return n_best;
}

/* name_nearest -- "mlx5_0:1 mlx5_1:1 (switch)". */
static const char *
name_nearest(char *buf, size_t cap, const struct topology *topology,
	     const struct topology_place *from)
{
	struct topology_near near[NEAR_MAX];
	size_t n = nearest(topology, from, near), len = 0;
	char name[SYSFS_NAME_MAX + 16];

	for (size_t i = 0; i < n && len < cap; i++)
		len += (size_t)snprintf(buf + len, cap - len, "%s ",
					name_nic(name, sizeof(name), &topology->nics[near[i].nic]));
	if (len < cap)
		snprintf(buf + len, cap - len, n > 0 ? "(%s)" : "-",
			 n > 0 ? topology_reach_name(near[0].reach) : "");
	return buf;
}

static void
cell_node(struct table *table, int node)
{
	if (node == TOPOLOGY_NODE_UNKNOWN)
		table_cell(table, "-");
	else
		table_cell(table, "%d", node);
}

/* card_address -- the last part of its PCI path; "-" when there is none. */
static const char *
card_address(const struct topology_place *place)
{
	const char *slash = strrchr(place->pci, '/');

	return slash != NULL ? slash + 1 : "-";
}

/* print_table -- and an empty line before all but the first.  CLI_OK, or it has been said. */
static int
print_table(const struct cli *cli, struct table *table, bool is_first)
{
	if (!is_first)
		putchar('\n');
	return table_print(table, stdout) < 0 ? cli_fail_system(cli, -ENOMEM, "a table") : CLI_OK;
}

static int
print_nodes(const struct cli *cli, const struct topology *topology)
{
	static const char *const titles[] = {"NODE",      "CPUS",    ">MEMORY",
					     "DISTANCES", "NEAREST", NULL};
	cleanup_with(table_free_at) struct table *table = NULL;
	char text[NAMES_CAP];

	if (table_new(titles, &table) < 0)
		return cli_fail_system(cli, -ENOMEM, "a table");
	for (size_t i = 0; i < topology->n_nodes; i++) {
		const struct topology_node *node = &topology->nodes[i];
		struct topology_place from = {.node = node->id};
		size_t len = 0;

		table_cell(table, "%d", node->id);
		table_cell(table, "%s", node->cpus[0] != '\0' ? node->cpus : "-");
		table_cell(table, "%s", num_show_bytes(text, sizeof(text), node->memory_bytes));
		for (size_t k = 0; k < topology->n_nodes && len < sizeof(text); k++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u",
						k > 0 ? " " : "", node->distance[k]);
		table_cell(table, "%s", text);
		table_cell(table, "%s", name_nearest(text, sizeof(text), topology, &from));
	}
	return print_table(cli, table, true);
}

/* show_gid -- "3 RoCE v2 10.0.0.7", or why there is none. */
static const char *
show_gid(char *buf, size_t cap, const struct topology_nic *nic)
{
	char address[INET6_ADDRSTRLEN];

	if (nic->kind != TOPOLOGY_RDMA)
		snprintf(buf, cap, "-");
	else if (nic->gid_outcome != 0)
		snprintf(buf, cap, "none: %s", rdma_gid_why((unsigned)nic->gid_outcome));
	else
		snprintf(buf, cap, "%u %s %s%s", nic->gid.index, rdma_gid_type_name(nic->gid.type),
			 rdma_gid_show(address, sizeof(address), &nic->gid),
			 nic->gid_is_last_choice ? " (link-local: reaches neighbours only)" : "");
	return buf;
}

static int
print_nics(const struct cli *cli, const struct topology *topology)
{
	static const char *const titles[] = {"CARD", "KIND", "NODE",    "STATE", ">Mbit/s",
					     "PCI",  "OVER", "ADDRESS", NULL};
	cleanup_with(table_free_at) struct table *table = NULL;
	char text[NAMES_CAP];

	if (table_new(titles, &table) < 0)
		return cli_fail_system(cli, -ENOMEM, "a table");
	for (size_t i = 0; i < topology->n_nics; i++) {
		const struct topology_nic *nic = &topology->nics[i];

		table_cell(table, "%s", name_nic(text, sizeof(text), nic));
		table_cell(table, "%s", nic->kind == TOPOLOGY_RDMA ? "rdma" : "net");
		cell_node(table, nic->place.node);
		table_cell(table, "%s", nic->is_up ? "up" : "down");
		if (nic->mbit_per_s > 0)
			table_cell(table, "%" PRIu64, nic->mbit_per_s);
		else
			table_cell(table, "-");
		table_cell(table, "%s", card_address(&nic->place));
		table_cell(table, "%s", nic->netdev[0] != '\0' ? nic->netdev : "-");
		table_cell(table, "%s", show_gid(text, sizeof(text), nic));
	}
	return print_table(cli, table, false);
}

static int
print_gpus(const struct cli *cli, const struct topology *topology)
{
	static const char *const titles[] = {"GPU", "VENDOR", "NODE", "NEAREST", NULL};
	cleanup_with(table_free_at) struct table *table = NULL;
	char text[NAMES_CAP];

	if (topology->n_gpus == 0)
		return CLI_OK;
	if (table_new(titles, &table) < 0)
		return cli_fail_system(cli, -ENOMEM, "a table");
	for (size_t i = 0; i < topology->n_gpus; i++) {
		const struct topology_gpu *gpu = &topology->gpus[i];
		const char *vendor = topology_vendor_name(gpu->vendor);

		table_cell(table, "%s", gpu->address);
		if (vendor != NULL)
			table_cell(table, "%s", vendor);
		else
			table_cell(table, "%04x", gpu->vendor);
		cell_node(table, gpu->place.node);
		table_cell(table, "%s", name_nearest(text, sizeof(text), topology, &gpu->place));
	}
	return print_table(cli, table, false);
}

/* ---- JSON ------------------------------------------------------------------------ */

/* json_node -- left out when it is not known: a number, or nothing. */
static void
json_node(struct json *json, int node)
{
	if (node != TOPOLOGY_NODE_UNKNOWN)
		json_u64(json, "node", (uint64_t)node);
}

static void
json_nearest(struct json *json, const struct topology *topology, const struct topology_place *from)
{
	struct topology_near near[NEAR_MAX];
	size_t n = nearest(topology, from, near);
	char name[SYSFS_NAME_MAX + 16];

	json_open_list(json, "nearest");
	for (size_t i = 0; i < n; i++)
		json_text(json, NULL, name_nic(name, sizeof(name), &topology->nics[near[i].nic]));
	json_close(json);
	if (n > 0)
		json_text(json, "reach", topology_reach_name(near[0].reach));
}

static void
json_nodes(struct json *json, const struct topology *topology)
{
	json_open_list(json, "nodes");
	for (size_t i = 0; i < topology->n_nodes; i++) {
		const struct topology_node *node = &topology->nodes[i];
		struct topology_place from = {.node = node->id};

		json_open_object(json, NULL);
		json_node(json, node->id);
		json_text(json, "cpus", node->cpus);
		json_u64(json, "memory_bytes", node->memory_bytes);
		json_open_list(json, "distances");
		for (size_t k = 0; k < topology->n_nodes; k++)
			json_u64(json, NULL, node->distance[k]);
		json_close(json);
		json_nearest(json, topology, &from);
		json_close(json);
	}
	json_close(json);
}

static void
json_gid(struct json *json, const struct topology_nic *nic)
{
	char address[INET6_ADDRSTRLEN];

	if (nic->gid_outcome != 0) {
		json_text(json, "gid_why", rdma_gid_why((unsigned)nic->gid_outcome));
		return;
	}
	json_open_object(json, "gid");
	json_u64(json, "index", nic->gid.index);
	json_text(json, "type", rdma_gid_type_name(nic->gid.type));
	json_text(json, "address", rdma_gid_show(address, sizeof(address), &nic->gid));
	json_bool(json, "is_last_choice", nic->gid_is_last_choice);
	json_close(json);
}

static void
json_nics(struct json *json, const struct topology *topology)
{
	json_open_list(json, "cards");
	for (size_t i = 0; i < topology->n_nics; i++) {
		const struct topology_nic *nic = &topology->nics[i];

		json_open_object(json, NULL);
		json_text(json, "name", nic->name);
		json_text(json, "kind", nic->kind == TOPOLOGY_RDMA ? "rdma" : "net");
		json_node(json, nic->place.node);
		json_text(json, "pci", nic->place.pci);
		json_bool(json, "is_up", nic->is_up);
		if (nic->mbit_per_s > 0)
			json_u64(json, "mbit_per_s", nic->mbit_per_s);
		if (nic->kind == TOPOLOGY_RDMA) {
			json_u64(json, "port", nic->port);
			json_text(json, "netdev", nic->netdev);
			json_gid(json, nic);
		}
		json_close(json);
	}
	json_close(json);
}

static void
json_gpus(struct json *json, const struct topology *topology)
{
	json_open_list(json, "gpus");
	for (size_t i = 0; i < topology->n_gpus; i++) {
		const struct topology_gpu *gpu = &topology->gpus[i];

		json_open_object(json, NULL);
		json_text(json, "address", gpu->address);
		json_u64(json, "vendor", gpu->vendor);
		json_u64(json, "device", gpu->device);
		json_node(json, gpu->place.node);
		json_text(json, "pci", gpu->place.pci);
		json_nearest(json, topology, &gpu->place);
		json_close(json);
	}
	json_close(json);
}

static int
print_json(const struct topology *topology)
{
	struct json json;

	json_init(&json, stdout);
	json_open_object(&json, NULL);
	json_nodes(&json, topology);
	json_nics(&json, topology);
	json_gpus(&json, topology);
	json_close(&json);
	return CLI_OK;
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct topology_world world = {.root = opts->root};
	cleanup_with(topology_free_at) struct topology *topology = NULL;
	struct in6_addr *local = NULL;
	char line[64];
	int r = 0, status;

	(void)words;
	if (opts->root[0] != '\0' && sysfs_place(opts->root, line, sizeof(line), "/sys/class") != 0)
		return cli_say(cli, CLI_USAGE, "--root: there is no %s/sys", opts->root);
	/* This host's addresses say nothing about another machine's table. */
	if (opts->root[0] == '\0') {
		r = rdma_gid_local(&local);
		world.local = local;
		world.n_local = r > 0 ? (size_t)r : 0;
	}
	if (r >= 0)
		r = topology_read(&world, &topology);
	free(local);
	if (r < 0)
		return cli_fail_system(cli, r, "reading /sys");
	if (cli->json)
		return print_json(topology);
	status = print_nodes(cli, topology);
	if (status == CLI_OK)
		status = print_nics(cli, topology);
	return status == CLI_OK ? print_gpus(cli, topology) : status;
}

const struct command cmd_topology = {
	.name = "topology",
	.run = run,
	.synopsis = "",
	.summary = "which cards lie near which memory and GPU",
	.help = "Prints this machine's memory nodes (NUMA) with their distances, its network "
		"cards, RDMA\n"
		"and plain, and its GPUs: where each sits, and for nodes and GPUs the cards that "
		"are\n"
		"nearest: below the same PCI switch, the same host bridge, at the same node, or "
		"far.\n"
		"For RDMA it tells under which of its addresses (GID) a port speaks, or why it "
		"cannot.\n"
		"No store is needed.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 0,
};
