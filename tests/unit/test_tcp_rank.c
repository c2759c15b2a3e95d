/* SPDX-License-Identifier: Apache-2.0 */

/* test_tcp_rank.c -- which address of a provider comes first, on machines recorded and this one. */
#include "tests/unit/sysfs_tree.h"
#include "transfer/tcp_rank.h"

static struct tcp_paths
paths_of(const char *endpoint)
{
	struct target target = {.is_same_host = true};
	struct tcp_paths paths;

	snprintf(target.desc.endpoint, sizeof(target.desc.endpoint), "%s", endpoint);
	assert_true(tcp_paths_init(&paths, &target));
	return paths;
}

/* Two sockets, two cards each: eth0, eth1 at node 0, eth2, eth3 at node 1; eth1 slow, eth3 down. */
static void
two_sockets(struct tree *tree, struct topology **ret_topology)
{
	struct topology_world world = {.root = tree->root};

	tree_init(tree);
	tree_node(tree, 0, "0-15", "10 21");
	tree_node(tree, 1, "16-31", "21 10");
	tree_net(tree, "eth0", "pci0000:00/0000:00:03.0", 0);
	tree_net(tree, "eth1", "pci0000:00/0000:00:04.0", 0);
	tree_net(tree, "eth2", "pci0000:80/0000:80:03.0", 1);
	tree_net(tree, "eth3", "pci0000:80/0000:80:04.0", 1);
	tree_file(tree, "10000\n", "class/net/eth1/speed");
	tree_file(tree, "down\n", "class/net/eth3/operstate");
	assert_int_equal(topology_read(&world, ret_topology), 0);
}

/* order -- "0123" when the addresses stay as they are, each over the card of its number. */
static void
check_order(const struct topology *topology, int node, const char *wanted)
{
	struct tcp_paths paths = paths_of("10.0.0.1:1 10.0.1.1:1 10.0.2.1:1 10.0.3.1:1");
	struct tcp_card cards[4];
	char got[8] = "", netdev[8];

	for (int i = 0; i < 4; i++) {
		snprintf(netdev, sizeof(netdev), "eth%d", i);
		cards[i] = tcp_card_of(topology, node, netdev);
	}
	tcp_paths_rank(&paths, cards);
	for (int i = 0; i < 4; i++)
		got[i] = paths.all[i].text[5];
	assert_string_equal(got, wanted);
}

static void
address__over_a_card_at_our_node__comes_before_those_of_another(void **state)
{
	struct topology *topology;
	struct tree tree;

	(void)state;
	two_sockets(&tree, &topology);
	check_order(topology, 0, "0123"); /* near and fast, near, far, down */
	check_order(topology, 1, "2013");
	topology_free(topology);
	tree_fini(&tree);
}

static void
machine__of_which_nothing_is_known__leaves_the_provider_s_order(void **state)
{
	struct topology_world world;
	struct topology *topology;
	struct tree tree;

	(void)state;
	tree_init(&tree);
	world = (struct topology_world){.root = tree.root};
	assert_int_equal(topology_read(&world, &topology), 0);
	check_order(topology, 0, "0123");
	topology_free(topology);
	tree_file(&tree, "", "nothing");
	tree_fini(&tree);
}

static void
unix_socket__comes_first_and_loopback_next_on_this_machine(void **state)
{
	struct tcp_paths paths = paths_of("192.0.2.7:1 127.0.0.1:1 unix:/x some.name:1");
	struct topology *topology = NULL;

	(void)state;
	tcp_paths_rank_here(&paths, &topology);
	assert_true(paths.all[0].is_unix);
	assert_string_equal(paths.all[1].text, "127.0.0.1:1");
	topology_free(topology);
}

static void
route__to_loopback__is_by_its_device(void **state)
{
	struct sock_addr addr;
	char netdev[16];

	(void)state;
	assert_int_equal(sock_addr_parse("127.0.0.1:7", &addr), 0);
	assert_int_equal(sock_route(&addr, netdev, sizeof(netdev)), 0);
	assert_string_equal(netdev, "lo");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address__over_a_card_at_our_node__comes_before_those_of_another),
		cmocka_unit_test(machine__of_which_nothing_is_known__leaves_the_provider_s_order),
		cmocka_unit_test(unix_socket__comes_first_and_loopback_next_on_this_machine),
		cmocka_unit_test(route__to_loopback__is_by_its_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
