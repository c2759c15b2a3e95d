/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sysfs_tree.h"

#include "transfer/nvme_connect.h"

#define NQN "nqn.2014-08.org.example:uuid:0a1b"

static int
setup(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	assert_non_null(tree);
	tree_init(tree);
	*state = tree;
	return 0;
}

static int
teardown(void **state)
{
	tree_fini(*state);
	free(*state);
	return 0;
}

static void
controller(struct tree *tree, int i, const char *nqn, const char *transport, const char *state)
{
	char text[256];

	snprintf(text, sizeof(text), "%s\n", nqn);
	tree_file(tree, text, "class/nvme/nvme%d/subsysnqn", i);
	snprintf(text, sizeof(text), "%s\n", transport);
	tree_file(tree, text, "class/nvme/nvme%d/transport", i);
	snprintf(text, sizeof(text), "%s\n", state);
	tree_file(tree, text, "class/nvme/nvme%d/state", i);
}

static void
subsystem(struct tree *tree, int i, const char *nqn)
{
	char text[256];

	snprintf(text, sizeof(text), "%s\n", nqn);
	tree_file(tree, text, "class/nvme-subsystem/nvme-subsys%d/subsysnqn", i);
}

static void namespace(struct tree *tree, int subsys, const char *name, const char *nsid)
{
	tree_file(tree, nsid, "class/nvme-subsystem/nvme-subsys%d/%s/nsid", subsys, name);
}

static void
find__of_a_subsystem_with_two_ways__gives_its_device_and_both(void **state)
{
	struct tree *tree = *state;
	struct nvme_namespace found;

	subsystem(tree, 0, "nqn.another");
	namespace(tree, 0, "nvme0n1", "1\n");
	controller(tree, 0, "nqn.another", "pcie", "live");
	subsystem(tree, 1, NQN);
	namespace(tree, 1, "nvme1n1", "7\n");
	tree_file(tree, "7\n", "class/nvme-subsystem/nvme-subsys1/nvme1c1n1/nsid"); /* a way */
	controller(tree, 1, NQN, "tcp", "connecting");
	controller(tree, 2, NQN, "rdma", "live");

	assert_int_equal(nvme_find(tree->root, NQN, 0, &found), 0);

	assert_string_equal(found.device, "nvme1n1");
	assert_int_equal(found.nsid, 7);
	assert_int_equal(found.n_paths, 2);
	assert_int_equal(found.n_live, 1);
	assert_string_equal(found.transport, "tcp");
}

static void
find__on_a_kernel_without_multipath__looks_below_the_controller(void **state)
{
	struct tree *tree = *state;
	struct nvme_namespace found;

	subsystem(tree, 0, NQN);
	controller(tree, 3, NQN, "tcp", "live");
	tree_file(tree, "2\n", "class/nvme/nvme3/nvme3n1/nsid");

	assert_int_equal(nvme_find(tree->root, NQN, 2, &found), 0);

	assert_string_equal(found.device, "nvme3n1");
}

static void
find__of_what_is_not_connected__says_so(void **state)
{
	struct tree *tree = *state;
	struct nvme_namespace found;

	assert_int_equal(nvme_find(tree->root, NQN, 0, &found), NVME_E_NO_SUBSYSTEM);
	subsystem(tree, 0, NQN "x");
	controller(tree, 0, NQN "x", "tcp", "live");
	assert_int_equal(nvme_find(tree->root, NQN, 0, &found), NVME_E_NO_SUBSYSTEM);
}

static void
find__of_a_number_that_is_not_there__says_so(void **state)
{
	struct tree *tree = *state;
	struct nvme_namespace found;

	subsystem(tree, 0, NQN);
	controller(tree, 0, NQN, "tcp", "live");
	assert_int_equal(nvme_find(tree->root, NQN, 0, &found), NVME_E_NO_NAMESPACE);
	namespace(tree, 0, "nvme0n1", "1\n");
	assert_int_equal(nvme_find(tree->root, NQN, 2, &found), NVME_E_NO_NAMESPACE);
}

static void
find__of_one_of_several__wants_its_number(void **state)
{
	struct tree *tree = *state;
	struct nvme_namespace found;

	subsystem(tree, 0, NQN);
	controller(tree, 0, NQN, "tcp", "live");
	namespace(tree, 0, "nvme0n1", "1\n");
	namespace(tree, 0, "nvme0n2", "5\n");

	assert_int_equal(nvme_find(tree->root, NQN, 0, &found), NVME_E_SEVERAL);
	assert_int_equal(nvme_find(tree->root, NQN, 5, &found), 0);
	assert_string_equal(found.device, "nvme0n2");
}

/* Its ways are lost, and one comes back. */
static void
find__while_no_way_is_open__tells_the_device_all_the_same(void **state)
{
	struct tree *tree = *state;
	struct nvme_namespace found;

	subsystem(tree, 0, NQN);
	namespace(tree, 0, "nvme0n1", "1\n");
	controller(tree, 0, NQN, "tcp", "connecting");

	assert_int_equal(nvme_find(tree->root, NQN, 0, &found), NVME_E_NOT_LIVE);
	assert_string_equal(found.device, "nvme0n1");
	controller(tree, 0, NQN, "tcp", "live");
	assert_int_equal(nvme_find(tree->root, NQN, 0, &found), 0);
}

static void
find__tells_the_longest_keep_alive_of_its_ways(void **state)
{
	struct tree *tree = *state;
	struct nvme_namespace found;

	subsystem(tree, 0, NQN);
	namespace(tree, 0, "nvme0n1", "1\n");
	controller(tree, 0, NQN, "pcie", "live");
	assert_int_equal(nvme_find(tree->root, NQN, 0, &found), 0);
	assert_int_equal(found.kato_ms, 0);
	controller(tree, 1, NQN, "tcp", "live"); /* its kernel does not say */
	assert_int_equal(nvme_find(tree->root, NQN, 0, &found), 0);
	assert_int_equal(found.kato_ms, 5000);
	tree_file(tree, "7\n", "class/nvme/nvme1/kato");
	controller(tree, 2, NQN, "rdma", "live");
	tree_file(tree, "3\n", "class/nvme/nvme2/kato");
	assert_int_equal(nvme_find(tree->root, NQN, 0, &found), 0);
	assert_int_equal(found.kato_ms, 7000);
	tree_file(tree, "0\n", "class/nvme/nvme1/kato"); /* none is sent: as long as any other */
	assert_int_equal(nvme_find(tree->root, NQN, 0, &found), 0);
	assert_int_equal(found.kato_ms, 5000);
}

static void
find__of_nonsense_in_sysfs__finds_nothing(void **state)
{
	static const char *const numbers[] = {"", "x\n", "-1\n", "0\n", "99999999999\n"};
	struct tree *tree = *state;
	struct nvme_namespace found;

	subsystem(tree, 0, NQN);
	controller(tree, 0, NQN, "tcp", "live");
	for (size_t i = 0; i < array_len(numbers); i++) {
		namespace(tree, 0, "nvme0n1", numbers[i]);
		assert_int_equal(nvme_find(tree->root, NQN, 0, &found), NVME_E_NO_NAMESPACE);
	}
}

static void
nqn__is_judged_by_its_first_word_length_and_signs(void **state)
{
	char longest[NVME_NQN_MAX + 2];

	(void)state;
	assert_true(nvme_nqn_is_good(NQN));
	assert_false(nvme_nqn_is_good(""));
	assert_false(nvme_nqn_is_good("nqn."));
	assert_false(nvme_nqn_is_good("iqn.2014"));
	assert_false(nvme_nqn_is_good("nqn.20 14"));
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "nqn.", 4);
	longest[NVME_NQN_MAX + 1] = '\0';
	assert_false(nvme_nqn_is_good(longest));
	longest[NVME_NQN_MAX] = '\0';
	assert_true(nvme_nqn_is_good(longest));
}

static void
where__a_target_listens__is_transport_host_and_port(void **state)
{
	static const char *const bad[] = {
		"",
		"tcp",
		"tcp:",
		"tcp:host",
		"tcp::4420",
		"tcp:host:",
		"tcp:host:x",
		"fc:host:4420",
		":host:4420",
		"tcp:a:b:4420",
		"tcp:h,x=1:42",
		"tcp:host:123456789",
		"tcp:[::1:4420",
		"tcp:h h:4420",
	};
	struct nvme_where where;

	(void)state;
	assert_true(nvme_where_parse("tcp:192.0.2.1:4420", &where));
	assert_string_equal(where.transport, "tcp");
	assert_string_equal(where.address, "192.0.2.1");
	assert_string_equal(where.port, "4420");
	assert_true(nvme_where_parse("rdma:[2001:db8::1]:9", &where));
	assert_string_equal(where.transport, "rdma");
	assert_string_equal(where.address, "2001:db8::1");
	assert_string_equal(where.port, "9");
	assert_true(nvme_where_parse("tcp:store-7.example:4420", &where));
	assert_string_equal(where.address, "store-7.example");
	for (size_t i = 0; i < array_len(bad); i++)
		if (nvme_where_parse(bad[i], &where))
			fail_msg("taken: \"%s\"", bad[i]);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(find__of_a_subsystem_with_two_ways__gives_its_device_and_both),
		T(find__on_a_kernel_without_multipath__looks_below_the_controller),
		T(find__of_what_is_not_connected__says_so),
		T(find__of_a_number_that_is_not_there__says_so),
		T(find__of_one_of_several__wants_its_number),
		T(find__while_no_way_is_open__tells_the_device_all_the_same),
		T(find__tells_the_longest_keep_alive_of_its_ways),
		T(find__of_nonsense_in_sysfs__finds_nothing),
		cmocka_unit_test(where__a_target_listens__is_transport_host_and_port),
		cmocka_unit_test(nqn__is_judged_by_its_first_word_length_and_signs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
