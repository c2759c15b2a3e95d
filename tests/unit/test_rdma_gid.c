/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sysfs_tree.h"

#include <arpa/inet.h>

#include "transfer/rdma_gid.h"

#define OWN       "::ffff:10.0.0.7"
#define OWN_TOO   "::ffff:10.0.1.7"
#define FOREIGN   "::ffff:172.17.0.1"
#define GLOBAL    "2001:db8::7"
#define NEIGHBOUR "fe80::ae1f:6bff:fe12:3456"
#define HOLE      "::"

static const char *const local_texts[] = {"::ffff:127.0.0.1", OWN, OWN_TOO, GLOBAL};

static struct in6_addr
address(const char *text)
{
	struct in6_addr a;

	assert_int_equal(inet_pton(AF_INET6, text, &a), 1);
	return a;
}

/* One entry of a case's table; a table ends with a NULL address. */
struct entry {
	uint32_t index;
	enum rdma_gid_type type;
	const char *address;
	bool is_down;
};

struct gid_case {
	const char *what;
	struct entry table[8];
	const char *route; /* may be NULL */
	uint32_t wished;   /* 0: any; else the index + 1 */
	bool knows_no_local;
	int outcome;
	uint32_t index; /* wanted, when the outcome is 0 */
	bool is_last_choice;
};

#define V1 RDMA_GID_ROCE_V1
#define V2 RDMA_GID_ROCE_V2

static const struct gid_case cases[] = {
	{
		.what = "own address at 7, a foreign one before it",
		.table = {{3, V2, FOREIGN, false}, {7, V2, OWN, false}},
		.index = 7,
	},
	{
		.what = "a foreign address alone",
		.table = {{3, V2, FOREIGN, false}},
		.outcome = RDMA_GID_E_NONE,
	},
	{
		.what = "a foreign address, while the own ones are not known",
		.table = {{3, V2, FOREIGN, false}},
		.knows_no_local = true,
		.index = 3,
	},
	{
		.what = "v1 and v2 of the same address",
		.table = {{2, V1, OWN, false}, {3, V2, OWN, false}},
		.index = 3,
	},
	{
		.what = "v2 before v1 of the same address",
		.table = {{2, V2, OWN, false}, {3, V1, OWN, false}},
		.index = 2,
	},
	{
		.what = "v1 alone",
		.table = {{2, V1, OWN, false}},
		.index = 2,
	},
	{
		.what = "only link-local ones",
		.table = {{0, V1, NEIGHBOUR, false}, {1, V2, NEIGHBOUR, false}},
		.index = 1,
		.is_last_choice = true,
	},
	{
		.what = "link-local v2, and an address of v1",
		.table = {{1, V2, NEIGHBOUR, false}, {2, V1, OWN, false}},
		.index = 2,
	},
	{
		.what = "only a global IPv6",
		.table = {{1, V2, NEIGHBOUR, false},
			  {4, V1, GLOBAL, false},
			  {5, V2, GLOBAL, false}},
		.index = 5,
	},
	{
		.what = "IPv6 before IPv4",
		.table = {{3, V2, GLOBAL, false}, {5, V2, OWN, false}},
		.index = 5,
	},
	{
		.what = "two own addresses and no route",
		.table = {{5, V2, OWN_TOO, false}, {3, V2, OWN, false}},
		.index = 3,
	},
	{
		.what = "two own addresses and a route from the later one",
		.table = {{3, V2, OWN, false}, {5, V2, OWN_TOO, false}},
		.route = OWN_TOO,
		.index = 5,
	},
	{
		.what = "a route from an IPv6 address",
		.table = {{3, V2, OWN, false}, {5, V2, GLOBAL, false}},
		.route = GLOBAL,
		.index = 5,
	},
	{
		.what = "a route from an address that the port does not have",
		.table = {{3, V2, OWN, false}},
		.route = OWN_TOO,
		.index = 3,
	},
	{
		.what = "a table with holes",
		.table = {{0, V1, HOLE, false}, {1, V2, HOLE, false}, {250, V2, OWN, false}},
		.index = 250,
	},
	{
		.what = "nothing but holes",
		.table = {{0, V1, HOLE, false}, {1, V2, HOLE, false}},
		.outcome = RDMA_GID_E_NONE,
	},
	{.what = "an empty table", .outcome = RDMA_GID_E_NONE},
	{
		.what = "the better one is down",
		.table = {{3, V2, OWN, true}, {5, V1, OWN_TOO, false}},
		.index = 5,
	},
	{
		.what = "everything is down",
		.table = {{3, V2, OWN, true}, {5, V1, OWN, true}},
		.outcome = RDMA_GID_E_DOWN,
	},
	{
		.what = "the user's index, though another is better",
		.table = {{2, V1, OWN, false}, {3, V2, OWN, false}},
		.wished = 2 + 1,
		.index = 2,
	},
	{
		.what = "the user's index is a foreign address",
		.table = {{2, V2, FOREIGN, false}, {3, V2, OWN, false}},
		.wished = 2 + 1,
		.index = 2,
	},
	{
		.what = "the user's index is link-local",
		.table = {{1, V2, NEIGHBOUR, false}, {3, V2, OWN, false}},
		.wished = 1 + 1,
		.index = 1,
		.is_last_choice = true,
	},
	{
		.what = "the user's index is behind the table",
		.table = {{3, V2, OWN, false}},
		.wished = 300 + 1,
		.outcome = RDMA_GID_E_INDEX,
	},
	{
		.what = "the user's index is a hole",
		.table = {{1, V2, HOLE, false}, {3, V2, OWN, false}},
		.wished = 1 + 1,
		.outcome = RDMA_GID_E_INDEX,
	},
	{
		.what = "the user's index is down",
		.table = {{2, V2, OWN, true}, {3, V2, OWN_TOO, false}},
		.wished = 2 + 1,
		.outcome = RDMA_GID_E_DOWN,
	},
	{
		.what = "InfiniBand, whose prefix looks link-local",
		.table = {{0, RDMA_GID_IB, "fe80::2:c903:0:1", false},
			  {1, RDMA_GID_IB, "fe80::2:c903:0:2", false}},
		.index = 0,
	},
	{
		.what = "iWARP, whose entry is no address at all",
		.table = {{0, RDMA_GID_IWARP, "200:ff:fe00:1::", false}},
		.index = 0,
	},
};

/* make_table -- as many as there are. */
static size_t
make_table(const struct gid_case *c, struct rdma_gid gids[8])
{
	size_t n = 0;

	for (; n < array_len(c->table) && c->table[n].address != NULL; n++)
		gids[n] = (struct rdma_gid){
			.index = c->table[n].index,
			.type = c->table[n].type,
			.address = address(c->table[n].address),
			.is_up = !c->table[n].is_down,
		};
	return n;
}

static void
check_case(const struct gid_case *c, const struct rdma_gid *gids, size_t n)
{
	struct in6_addr local[array_len(local_texts)], route;
	struct rdma_gid_wish wish = {
		.index = c->wished > 0 ? c->wished - 1 : RDMA_GID_ANY,
		.local = local,
		.n_local = c->knows_no_local ? 0 : array_len(local),
	};
	bool is_last_choice = false;
	size_t at = 99;
	int r;

	for (size_t i = 0; i < array_len(local); i++)
		local[i] = address(local_texts[i]);
	if (c->route != NULL) {
		route = address(c->route);
		wish.route = &route;
	}

	r = rdma_gid_choose(gids, n, &wish, &at, &is_last_choice);

	if (r != c->outcome)
		fail_msg("%s: outcome %d, not %d", c->what, r, c->outcome);
	if (r == 0 && (at >= n || gids[at].index != c->index))
		fail_msg("%s: index %u, not %u", c->what, at < n ? gids[at].index : 9999, c->index);
	if (r == 0 && is_last_choice != c->is_last_choice)
		fail_msg("%s: is a last choice: %d", c->what, is_last_choice);
}

static void
gid__of_every_table__is_the_one_that_reaches_the_peer(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct rdma_gid gids[8];
		size_t n = make_table(&cases[i], gids);

		check_case(&cases[i], gids, n);
	}
}

static void
gid__of_a_table_in_another_order__is_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct rdma_gid gids[8], turned[8];
		size_t n = make_table(&cases[i], gids);

		for (size_t k = 0; k < n; k++)
			turned[k] = gids[n - 1 - k];
		check_case(&cases[i], turned, n);
	}
}

static void
every_outcome__is_told_in_words_with_a_cure(void **state)
{
	(void)state;
	assert_non_null(strstr(rdma_gid_why(RDMA_GID_E_NONE), "IP address"));
	assert_non_null(strstr(rdma_gid_why(RDMA_GID_E_INDEX), "tiffin topology"));
	assert_non_null(strstr(rdma_gid_why(RDMA_GID_E_DOWN), "up"));
}

static void
address__of_ipv4__is_shown_as_people_write_it(void **state)
{
	struct rdma_gid gid = {.type = V2, .address = address(OWN)};
	char text[INET6_ADDRSTRLEN];

	(void)state;
	assert_string_equal(rdma_gid_show(text, sizeof(text), &gid), "10.0.0.7");
	gid.address = address(GLOBAL);
	assert_string_equal(rdma_gid_show(text, sizeof(text), &gid), GLOBAL);
}

/* ---- the table in sysfs ---------------------------------------------------------- */

#define LONG_OWN   "0000:0000:0000:0000:0000:ffff:0a00:0007"
#define LONG_HOLE  "0000:0000:0000:0000:0000:0000:0000:0000"
#define LONG_NEAR  "fe80:0000:0000:0000:ae1f:6bff:fe12:3456"
#define CARD       "pci0000:10/0000:10:01.0/0000:11:00.0"
#define ATTRS(...) ((const char *[]){__VA_ARGS__})

static void
table__with_holes_and_files_that_cannot_be_read__gives_what_is_there(void **state)
{
	struct rdma_gid *gids;
	struct tree tree;

	(void)state;
	tree_init(&tree);
	tree_net(&tree, "eth0", CARD, 0);
	tree_rdma(&tree, "mlx5_0", CARD, 0);
	tree_gid(&tree, "mlx5_0", 0, LONG_NEAR, ATTRS("IB/RoCE v1", "eth0"));
	tree_gid(&tree, "mlx5_0", 1, LONG_HOLE, ATTRS(NULL, NULL));
	tree_gid(&tree, "mlx5_0", 2, "nonsense", ATTRS("RoCE v2", "eth0"));
	tree_gid(&tree, "mlx5_0", 7, LONG_OWN, ATTRS("RoCE v2", "eth0"));
	tree_gid(&tree, "mlx5_0", 9, LONG_OWN, ATTRS(NULL, NULL)); /* an older kernel's */

	assert_int_equal(rdma_gid_read(tree.root, "mlx5_0", 1, &gids), 3);

	assert_int_equal(gids[0].index, 0);
	assert_int_equal(gids[0].type, V1);
	assert_int_equal(gids[1].index, 7);
	assert_int_equal(gids[1].type, V2);
	assert_string_equal(gids[1].netdev, "eth0"); /* without the newline */
	assert_true(gids[1].is_up);
	assert_memory_equal(&gids[1].address, &(struct in6_addr[]){address(OWN)}, 16);
	assert_int_equal(gids[2].type, V1);
	assert_string_equal(gids[2].netdev, "");
	free(gids);
	tree_fini(&tree);
}

static void
entry__whose_device_is_down_or_in_another_name_space__is_down(void **state)
{
	struct rdma_gid *gids;
	struct tree tree;

	(void)state;
	tree_init(&tree);
	tree_rdma(&tree, "mlx5_0", CARD, 0);
	tree_class(&tree, "net", "eth0", CARD, 0);
	tree_net_state(&tree, "eth0", "down\n", "0x1003\n"); /* no cable */
	tree_class(&tree, "net", "eth1", CARD, 0);
	tree_net_state(&tree, "eth1", "unknown\n", "0x1002\n"); /* ip link set eth1 down */
	tree_class(&tree, "net", "eth2", CARD, 0);
	tree_net_state(&tree, "eth2", "unknown\n", "0x1003\n");
	tree_gid(&tree, "mlx5_0", 0, LONG_OWN, ATTRS("RoCE v2", "eth0"));
	tree_gid(&tree, "mlx5_0", 1, LONG_OWN, ATTRS("RoCE v2", "eth1"));
	tree_gid(&tree, "mlx5_0", 2, LONG_OWN, ATTRS("RoCE v2", "eth2"));
	tree_gid(&tree, "mlx5_0", 3, LONG_OWN, ATTRS("RoCE v2", "elsewhere"));

	assert_int_equal(rdma_gid_read(tree.root, "mlx5_0", 1, &gids), 4);

	assert_false(gids[0].is_up);
	assert_false(gids[1].is_up);
	assert_true(gids[2].is_up);
	assert_false(gids[3].is_up);
	free(gids);
	tree_fini(&tree);
}

static void
entries__of_a_port_that_is_not_active__are_down(void **state)
{
	struct rdma_gid *gids;
	struct tree tree;

	(void)state;
	tree_init(&tree);
	tree_net(&tree, "eth0", CARD, 0);
	tree_rdma(&tree, "mlx5_0", CARD, 0);
	tree_file(&tree, "1: DOWN\n", "class/infiniband/mlx5_0/ports/1/state");
	tree_gid(&tree, "mlx5_0", 0, LONG_OWN, ATTRS("RoCE v2", "eth0"));

	assert_int_equal(rdma_gid_read(tree.root, "mlx5_0", 1, &gids), 1);

	assert_false(gids[0].is_up);
	free(gids);
	tree_fini(&tree);
}

static void
type__of_an_entry__follows_the_link(void **state)
{
	struct rdma_gid *gids;
	struct tree tree;

	(void)state;
	tree_init(&tree);
	tree_rdma(&tree, "ib0", CARD, 0);
	tree_file(&tree, "InfiniBand\n", "class/infiniband/ib0/ports/1/link_layer");
	tree_gid(&tree, "ib0", 0, LONG_NEAR, ATTRS("IB/RoCE v1", NULL));
	tree_rdma(&tree, "siw0", CARD, 0);
	tree_file(&tree, "4: RNIC\n", "class/infiniband/siw0/node_type");
	tree_gid(&tree, "siw0", 0, LONG_NEAR, ATTRS("IB/RoCE v1", NULL));

	assert_int_equal(rdma_gid_read(tree.root, "ib0", 1, &gids), 1);
	assert_int_equal(gids[0].type, RDMA_GID_IB);
	assert_true(gids[0].is_up);
	free(gids);
	assert_int_equal(rdma_gid_read(tree.root, "siw0", 1, &gids), 1);
	assert_int_equal(gids[0].type, RDMA_GID_IWARP);
	free(gids);
	tree_fini(&tree);
}

static void
table__of_a_device_that_is_not_there__is_empty(void **state)
{
	struct rdma_gid *gids;
	struct tree tree;

	(void)state;
	tree_init(&tree);
	assert_int_equal(rdma_gid_read(tree.root, "mlx5_0", 1, &gids), 0);
	assert_null(gids);
	tree_fini(&tree);
}

static void
local_addresses__of_this_host__have_the_loopback_one(void **state)
{
	struct in6_addr *local, loopback = address("::ffff:127.0.0.1");
	bool found = false;
	int n = rdma_gid_local(&local);

	(void)state;
	assert_true(n > 0);
	for (int i = 0; i < n; i++)
		found = found || memcmp(&local[i], &loopback, sizeof(loopback)) == 0;
	assert_true(found);
	free(local);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gid__of_every_table__is_the_one_that_reaches_the_peer),
		cmocka_unit_test(gid__of_a_table_in_another_order__is_the_same),
		cmocka_unit_test(every_outcome__is_told_in_words_with_a_cure),
		cmocka_unit_test(address__of_ipv4__is_shown_as_people_write_it),
		cmocka_unit_test(
			table__with_holes_and_files_that_cannot_be_read__gives_what_is_there),
		cmocka_unit_test(entry__whose_device_is_down_or_in_another_name_space__is_down),
		cmocka_unit_test(entries__of_a_port_that_is_not_active__are_down),
		cmocka_unit_test(type__of_an_entry__follows_the_link),
		cmocka_unit_test(table__of_a_device_that_is_not_there__is_empty),
		cmocka_unit_test(local_addresses__of_this_host__have_the_loopback_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
