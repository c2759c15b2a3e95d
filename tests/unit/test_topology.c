/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sysfs_tree.h"
#include "tests/unit/allocs.h"

#include <arpa/inet.h>

#include "transfer/topology.h"

#define ATTRS(...) ((const char *[]){__VA_ARGS__})

static struct topology *
read_tree(const struct tree *tree)
{
	struct topology_world world = {.root = tree->root};
	struct topology *topology;

	assert_int_equal(topology_read(&world, &topology), 0);
	return topology;
}

/*
 * Two sockets; beneath each, four switches with one GPU and one card of 400 Gbit/s:
 *
 *      node N -- pci0000:NK -- 0000:NK:01.0 -- 0000:NK+1:00.0 (switch) -- :NK+2:00.0 -- card
 *                                                                     \-- :NK+2:01.0 -- GPU
 * and at each host bridge of the first switch one plain card.
 */
static void
make_large(struct tree *tree)
{
	tree_node(tree, 0, "0-47", "10 21");
	tree_node(tree, 1, "48-95", "21 10");
	for (int i = 0; i < 8; i++) {
		int bus = 0x10 + i * 0x10;
		char up[64], pci[128], card[32], rail[32], gid[64];

		snprintf(up, sizeof(up), "pci0000:%02x/0000:%02x:01.0/0000:%02x:00.0", bus, bus,
			 bus + 1);
		snprintf(pci, sizeof(pci), "%s/0000:%02x:00.0/0000:%02x:00.0", up, bus + 2,
			 bus + 3);
		snprintf(card, sizeof(card), "mlx5_%d", i);
		snprintf(rail, sizeof(rail), "rail%d", i);
		snprintf(gid, sizeof(gid), "0000:0000:0000:0000:0000:ffff:0a00:%04x", i + 1);
		tree_net(tree, rail, pci, i / 4);
		tree_rdma(tree, card, pci, i / 4);
		tree_file(tree, "400 Gb/sec (4X NDR)\n", "class/infiniband/%s/ports/1/rate", card);
		tree_gid(tree, card, 3, gid, ATTRS("RoCE v2", rail));
		snprintf(pci, sizeof(pci), "%s/0000:%02x:01.0/0000:%02x:00.0", up, bus + 2,
			 bus + 4);
		tree_gpu(tree, pci, i / 4);
	}
	tree_net(tree, "eth0", "pci0000:10/0000:10:02.0/0000:1f:00.0", 0);
	tree_file(tree, "25000\n", "class/net/eth0/speed");
}

static size_t
find_nic(const struct topology *topology, const char *name)
{
	for (size_t i = 0; i < topology->n_nics; i++)
		if (strcmp(topology->nics[i].name, name) == 0)
			return i;
	fail_msg("%s is not there", name);
	return 0;
}

static void
large_machine__is_told_as_it_is(void **state)
{
	struct topology *topology;
	const struct topology_nic *nic;
	char text[INET6_ADDRSTRLEN];
	struct tree tree;

	(void)state;
	tree_init(&tree);
	make_large(&tree);

	topology = read_tree(&tree);

	assert_int_equal(topology->n_nodes, 2);
	assert_int_equal(topology->n_nics, 8 + 8 + 1);
	assert_int_equal(topology->n_gpus, 8);
	assert_string_equal(topology->nodes[1].cpus, "48-95");
	assert_int_equal(topology->nodes[1].memory_bytes, 1ull << 30);
	assert_int_equal(topology_distance(topology, 0, 1), 21);
	assert_int_equal(topology_distance(topology, 1, 1), 10);

	nic = &topology->nics[find_nic(topology, "mlx5_5")];
	assert_int_equal(nic->kind, TOPOLOGY_RDMA);
	assert_int_equal(nic->port, 1);
	assert_int_equal(nic->place.node, 1);
	assert_string_equal(nic->place.pci, "pci0000:60/0000:60:01.0/0000:61:00.0/"
					    "0000:62:00.0/0000:63:00.0");
	assert_string_equal(nic->netdev, "rail5");
	assert_int_equal(nic->mbit_per_s, 400000);
	assert_true(nic->is_up);
	assert_int_equal(nic->gid_outcome, 0);
	assert_int_equal(nic->gid.index, 3);
	assert_string_equal(rdma_gid_show(text, sizeof(text), &nic->gid), "10.0.0.6");

	nic = &topology->nics[find_nic(topology, "eth0")];
	assert_int_equal(nic->kind, TOPOLOGY_NET);
	assert_int_equal(nic->mbit_per_s, 25000);
	assert_string_equal(topology->gpus[5].address, "0000:64:00.0");
	assert_int_equal(topology->gpus[5].vendor, 0x10de);
	topology_free(topology);
	tree_fini(&tree);
}

static void
card_for_a_gpu__is_the_one_below_its_switch(void **state)
{
	struct topology *topology;
	struct tree tree;

	(void)state;
	tree_init(&tree);
	make_large(&tree);
	topology = read_tree(&tree);

	for (size_t i = 0; i < topology->n_gpus; i++) {
		struct topology_near near[32];
		char wanted[32];
		size_t n_best, n;

		snprintf(wanted, sizeof(wanted), "mlx5_%zu", i);
		n = topology_nearest(topology, &topology->gpus[i].place, TOPOLOGY_RDMA, near,
				     array_len(near), &n_best);
		assert_int_equal(n, 8);
		assert_int_equal(n_best, 1);
		assert_string_equal(topology->nics[near[0].nic].name, wanted);
		assert_int_equal(near[0].reach, TOPOLOGY_SWITCH);
		/* then the three of its own socket, and the other socket's last */
		for (size_t k = 1; k < 8; k++) {
			assert_int_equal(near[k].reach, k < 4 ? TOPOLOGY_NODE : TOPOLOGY_FAR);
			assert_int_equal(near[k].distance, k < 4 ? 10 : 21);
		}
	}
	topology_free(topology);
	tree_fini(&tree);
}

static void
plain_card_at_the_same_host_bridge__is_nearer_than_one_of_the_node(void **state)
{
	struct topology_near near[32];
	struct topology *topology;
	struct tree tree;
	size_t n_best, n;

	(void)state;
	tree_init(&tree);
	make_large(&tree);
	topology = read_tree(&tree);

	n = topology_nearest(topology, &topology->gpus[0].place, TOPOLOGY_NET, near,
			     array_len(near), &n_best);

	assert_int_equal(n, 9);
	assert_string_equal(topology->nics[near[0].nic].name, "rail0");
	assert_int_equal(near[0].reach, TOPOLOGY_SWITCH);
	assert_string_equal(topology->nics[near[1].nic].name, "eth0");
	assert_int_equal(near[1].reach, TOPOLOGY_BRIDGE);
	assert_int_equal(near[2].reach, TOPOLOGY_NODE);
	topology_free(topology);
	tree_fini(&tree);
}

static void
cards_for_memory__are_all_of_its_node__while_they_are_up(void **state)
{
	struct topology_place memory = {.node = 1};
	struct topology_near near[32];
	struct topology *topology;
	struct tree tree;
	size_t n_best, n;

	(void)state;
	tree_init(&tree);
	make_large(&tree);
	tree_file(&tree, "1: DOWN\n", "class/infiniband/mlx5_6/ports/1/state");
	tree_file(&tree, "200 Gb/sec (4X HDR)\n", "class/infiniband/mlx5_4/ports/1/rate");
	tree_gid(&tree, "mlx5_7", 3, "0000:0000:0000:0000:0000:0000:0000:0000", ATTRS(NULL, NULL));
	topology = read_tree(&tree);

	n = topology_nearest(topology, &memory, TOPOLOGY_RDMA, near, array_len(near), &n_best);

	/* 6 is down, 7 has no address, 4 is slower, 5 is left; then the others */
	assert_int_equal(n, 6);
	assert_int_equal(n_best, 1);
	assert_string_equal(topology->nics[near[0].nic].name, "mlx5_5");
	assert_string_equal(topology->nics[near[1].nic].name, "mlx5_4");
	assert_int_equal(near[1].reach, TOPOLOGY_NODE);
	assert_int_equal(near[2].reach, TOPOLOGY_FAR);
	topology_free(topology);
	tree_fini(&tree);
}

static void
cards__more_than_there_is_room_for__the_nearest_are_given(void **state)
{
	struct topology_place memory = {.node = 1};
	struct topology_near near[3];
	struct topology *topology;
	struct tree tree;
	size_t n_best;

	(void)state;
	tree_init(&tree);
	make_large(&tree);
	topology = read_tree(&tree);

	assert_int_equal(topology_nearest(topology, &memory, TOPOLOGY_RDMA, near, 3, &n_best), 3);

	assert_int_equal(n_best, 3);
	for (size_t i = 0; i < 3; i++) {
		char wanted[32];

		snprintf(wanted, sizeof(wanted), "mlx5_%zu", 4 + i);
		assert_string_equal(topology->nics[near[i].nic].name, wanted);
	}
	topology_free(topology);
	tree_fini(&tree);
}

static void
machine__without_rdma_numa_and_gpus__has_its_card_alone(void **state)
{
	struct topology_place memory = {.node = TOPOLOGY_NODE_UNKNOWN};
	struct topology_near near[4];
	struct topology *topology;
	struct tree tree;
	size_t n_best;

	(void)state;
	tree_init(&tree);
	tree_class(&tree, "net", "eth0", "pci0000:00/0000:00:03.0/virtio2", -1);
	tree_net_state(&tree, "eth0", "up\n", "0x1003\n");
	tree_file(&tree, "-1\n", "class/net/eth0/speed");
	tree_file(&tree, "772\n", "class/net/lo/type");
	tree_file(&tree, "unknown\n", "class/net/lo/operstate");
	tree_file(&tree, "1\n", "class/net/docker0/type");

	topology = read_tree(&tree);

	assert_int_equal(topology->n_nodes, 0);
	assert_int_equal(topology->n_gpus, 0);
	assert_int_equal(topology->n_nics, 1);
	assert_string_equal(topology->nics[0].name, "eth0");
	assert_string_equal(topology->nics[0].place.pci, "pci0000:00/0000:00:03.0");
	assert_int_equal(topology->nics[0].place.node, TOPOLOGY_NODE_UNKNOWN);
	assert_int_equal(topology->nics[0].mbit_per_s, 0);
	assert_int_equal(topology_nearest(topology, &memory, TOPOLOGY_NET, near, 4, &n_best), 1);
	assert_int_equal(near[0].reach, TOPOLOGY_NODE);
	assert_int_equal(topology_nearest(topology, &memory, TOPOLOGY_RDMA, near, 4, &n_best), 0);
	assert_int_equal(n_best, 0);
	topology_free(topology);
	tree_fini(&tree);
}

static void
container__with_one_end_of_a_pair__has_that_as_its_card(void **state)
{
	struct topology *topology;
	struct tree tree;

	(void)state;
	tree_init(&tree);
	tree_file(&tree, "772\n", "class/net/lo/type");
	tree_net_state(&tree, "eth0", "up\n", "0x1003\n");

	topology = read_tree(&tree);

	assert_int_equal(topology->n_nics, 1);
	assert_string_equal(topology->nics[0].name, "eth0");
	assert_string_equal(topology->nics[0].place.pci, "");
	topology_free(topology);
	tree_fini(&tree);
}

static void
rdma_made_of_software__sits_where_its_network_card_sits(void **state)
{
	struct topology *topology;
	struct tree tree;

	(void)state;
	tree_init(&tree);
	tree_node(&tree, 0, "0-1", "10");
	tree_net(&tree, "eth0", "pci0000:00/0000:00:03.0", 0);
	tree_rdma_port(&tree, "rxe0", "2.5 Gb/sec (1X SDR)\n");
	tree_gid(&tree, "rxe0", 1, "0000:0000:0000:0000:0000:ffff:0a00:0007",
		 ATTRS("RoCE v2", "eth0"));

	topology = read_tree(&tree);

	assert_int_equal(topology->n_nics, 2);
	assert_string_equal(topology->nics[0].name, "rxe0");
	assert_int_equal(topology->nics[0].mbit_per_s, 2500);
	assert_int_equal(topology->nics[0].place.node, 0);
	assert_string_equal(topology->nics[0].place.pci, "pci0000:00/0000:00:03.0");
	topology_free(topology);
	tree_fini(&tree);
}

static void
screen_of_a_server__is_no_gpu(void **state)
{
	struct topology *topology;
	struct tree tree;

	(void)state;
	tree_init(&tree);
	tree_gpu(&tree, "pci0000:00/0000:00:01.0/0000:02:00.0", 0);
	tree_file(&tree, "0x030000\n", "devices/pci0000:00/0000:00:01.0/0000:02:00.0/class");
	tree_file(&tree, "0x1a03\n", "devices/pci0000:00/0000:00:01.0/0000:02:00.0/vendor");
	tree_gpu(&tree, "pci0000:00/0000:00:02.0/0000:03:00.0", 0);
	tree_file(&tree, "0x038000\n", "devices/pci0000:00/0000:00:02.0/0000:03:00.0/class");
	tree_file(&tree, "0x1002\n", "devices/pci0000:00/0000:00:02.0/0000:03:00.0/vendor");

	topology = read_tree(&tree);

	assert_int_equal(topology->n_gpus, 1);
	assert_string_equal(topology_vendor_name(topology->gpus[0].vendor), "AMD");
	topology_free(topology);
	tree_fini(&tree);
}

static void
nodes__with_a_gap_in_their_numbers__keep_their_distances(void **state)
{
	struct topology *topology;
	struct tree tree;

	(void)state;
	tree_init(&tree);
	tree_node(&tree, 10, "32-63", "80 40 10");
	tree_node(&tree, 0, "0-15", "10 20 80");
	tree_node(&tree, 8, "16-31", "20 10 40");
	tree_file(&tree, "0,8,10\n", "devices/system/node/online");

	topology = read_tree(&tree);

	assert_int_equal(topology->n_nodes, 3);
	assert_int_equal(topology->nodes[1].id, 8);
	assert_int_equal(topology_distance(topology, 8, 10), 40);
	assert_int_equal(topology_distance(topology, 10, 0), 80);
	assert_int_equal(topology_distance(topology, 0, 3), TOPOLOGY_DISTANCE_OWN);
	topology_free(topology);
	tree_fini(&tree);
}

static void
memory__that_runs_out_at_any_moment__is_told_and_nothing_is_lost(void **state)
{
	struct topology_world world;
	struct tree tree;
	unsigned n = 0;
	int r;

	(void)state;
	tree_init(&tree);
	make_large(&tree);
	world = (struct topology_world){.root = tree.root};

	do {
		struct topology *topology = NULL;

		allocs_fail_after(n++);
		r = topology_read(&world, &topology);
		allocs_succeed();
		assert_true(r == 0 || r == -ENOMEM);
		assert_true((topology != NULL) == (r == 0));
		topology_free(topology);
	} while (r != 0);

	assert_true(n > 10); /* lists of names, tables of GIDs, the arrays themselves */
	tree_fini(&tree);
}

static void
this_machine__can_be_read(void **state)
{
	struct topology_world world = {.root = ""};
	struct topology *topology;

	(void)state;
	assert_int_equal(topology_read(&world, &topology), 0);
	for (size_t i = 0; i < topology->n_nics; i++)
		assert_true(topology->nics[i].name[0] != '\0');
	topology_free(topology);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_machine__is_told_as_it_is),
		cmocka_unit_test(card_for_a_gpu__is_the_one_below_its_switch),
		cmocka_unit_test(
			plain_card_at_the_same_host_bridge__is_nearer_than_one_of_the_node),
		cmocka_unit_test(cards_for_memory__are_all_of_its_node__while_they_are_up),
		cmocka_unit_test(cards__more_than_there_is_room_for__the_nearest_are_given),
		cmocka_unit_test(machine__without_rdma_numa_and_gpus__has_its_card_alone),
		cmocka_unit_test(container__with_one_end_of_a_pair__has_that_as_its_card),
		cmocka_unit_test(rdma_made_of_software__sits_where_its_network_card_sits),
		cmocka_unit_test(screen_of_a_server__is_no_gpu),
		cmocka_unit_test(nodes__with_a_gap_in_their_numbers__keep_their_distances),
		cmocka_unit_test(memory__that_runs_out_at_any_moment__is_told_and_nothing_is_lost),
		cmocka_unit_test(this_machine__can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
