/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/tiffin.h"
#include "fs/node.h"
#include "fs_fake.h"

static struct fs_nodes nodes;

static int
setup(void **state)
{
	(void)state;
	return fs_nodes_init(&nodes, "p/");
}

static int
teardown(void **state)
{
	(void)state;
	fs_nodes_fini(&nodes);
	return 0;
}

/* told -- a node that the kernel was given once and we hold no more. */
static struct fs_node *
told(bool is_dir, const char *key)
{
	struct fs_node *node;

	assert_int_equal(fs_nodes_look(&nodes, is_dir, key, &node), 0);
	fs_node_told(&nodes, node);
	fs_node_unref(&nodes, node);
	return node;
}

static struct fs_node *
found(bool is_dir, const char *key)
{
	struct fs_node *node = fs_nodes_find(&nodes, is_dir, key);

	if (node != NULL)
		fs_node_unref(&nodes, node);
	return node;
}

static void
assert_key(const struct fs_node *node, const char *key)
{
	char got[FS_KEY_ROOM];

	fs_node_key(&nodes, node, got);
	assert_string_equal(got, key);
}

static void
look__twice_for_one_path__gives_one_node(void **state)
{
	(void)state;
	assert_ptr_equal(told(false, "p/a"), told(false, "p/a"));
	assert_int_equal(nodes.n, 2);
}

static void
look__for_a_file_and_a_directory_of_the_same_bytes__gives_two(void **state)
{
	(void)state;
	assert_ptr_not_equal(told(false, "p/a/"), told(true, "p/a/"));
}

static void
number__of_a_path__is_the_same_in_another_mount(void **state)
{
	struct fs_node *node = told(false, "p/a");
	uint64_t ino = node->ino;

	(void)state;
	fs_node_forget(&nodes, node, 1);
	fs_nodes_fini(&nodes);
	assert_int_equal(fs_nodes_init(&nodes, "p/"), 0);

	assert_int_equal(fs_nodes_ino(&nodes, false, "p/a"), ino);
	assert_int_equal(told(false, "p/a")->ino, ino);
}

static void
number__of_a_renamed_file__stays_and_its_old_path_gets_another(void **state)
{
	struct fs_node *node = told(false, "p/a");
	uint64_t ino = node->ino;

	(void)state;
	assert_int_equal(fs_nodes_rename(&nodes, false, "p/a", "p/b"), 0);

	assert_int_equal(node->ino, ino);
	assert_int_not_equal(told(false, "p/a")->ino, ino);
}

static void
root__whatever_is_forgotten__is_number_one_and_stays(void **state)
{
	struct fs_node *root = fs_nodes_at(&nodes, 1);

	(void)state;
	fs_node_forget(&nodes, root, 1000);
	fs_node_detach(&nodes, root);

	assert_int_equal(root->ino, 1);
	assert_ptr_equal(found(true, "p/"), root);
	assert_int_equal(fs_nodes_id(&nodes, root), 1);
}

static void
forget__of_the_last_look_up__frees_the_node(void **state)
{
	struct fs_node *node = told(false, "p/a");

	(void)state;
	told(false, "p/a");
	fs_node_forget(&nodes, node, 1);
	assert_ptr_equal(found(false, "p/a"), node);
	fs_node_forget(&nodes, node, 1);

	assert_null(found(false, "p/a"));
	assert_int_equal(nodes.n, 1);
}

static void
forget__while_it_is_open__frees_it_at_the_close(void **state)
{
	struct fs_node *node = told(false, "p/a");

	(void)state;
	fs_node_ref(&nodes, node);
	fs_node_forget(&nodes, node, 1);
	assert_int_equal(nodes.n, 2);
	fs_node_unref(&nodes, node);

	assert_int_equal(nodes.n, 1);
}

static void
detach__of_a_node__leaves_its_path_to_another(void **state)
{
	struct fs_node *old = told(false, "p/a");
	struct fs_node *fresh;

	(void)state;
	fs_node_detach(&nodes, old);
	fresh = told(false, "p/a");

	assert_ptr_not_equal(old, fresh);
	assert_int_not_equal(old->ino, fresh->ino);
	assert_false(fs_node_is_linked(&nodes, old));
	assert_false(fs_node_is_removed(&nodes, old));
	fs_node_forget(&nodes, old, 1);
	assert_ptr_equal(found(false, "p/a"), fresh);
}

static void
rename__over_another_file__removes_that_one(void **state)
{
	struct fs_node *a = told(false, "p/a"), *b = told(false, "p/b");

	(void)state;
	assert_int_equal(fs_nodes_rename(&nodes, false, "p/a", "p/b"), 0);

	assert_ptr_equal(found(false, "p/b"), a);
	assert_null(found(false, "p/a"));
	assert_true(fs_node_is_removed(&nodes, b));
	assert_key(a, "p/b");
}

static void
exchange__of_two_files__leaves_both_their_nodes(void **state)
{
	struct fs_node *a = told(false, "p/a"), *b = told(false, "p/longer/b");

	(void)state;
	assert_int_equal(fs_nodes_exchange(&nodes, false, "p/a", "p/longer/b"), 0);

	assert_ptr_equal(found(false, "p/longer/b"), a);
	assert_ptr_equal(found(false, "p/a"), b);
	assert_key(a, "p/longer/b");
	assert_key(b, "p/a");
	assert_false(fs_node_is_removed(&nodes, a));
	assert_false(fs_node_is_removed(&nodes, b));
}

static void
exchange__of_which_one_is_known__moves_that(void **state)
{
	struct fs_node *b = told(false, "p/b");

	(void)state;
	assert_int_equal(fs_nodes_exchange(&nodes, false, "p/a", "p/b"), 0);
	assert_ptr_equal(found(false, "p/a"), b);
	assert_null(found(false, "p/b"));
	assert_int_equal(fs_nodes_exchange(&nodes, false, "p/x", "p/y"), 0);
}

static void
exchange__of_two_directories__takes_everything_below_along(void **state)
{
	struct fs_node *a = told(true, "p/a/"), *b = told(true, "p/longer/");
	struct fs_node *in_a = told(false, "p/a/f"), *in_b = told(false, "p/longer/f");
	struct fs_node *sub = told(true, "p/longer/d/"), *near = told(false, "p/a2");

	(void)state;
	assert_int_equal(fs_nodes_exchange(&nodes, true, "p/a/", "p/longer/"), 0);

	assert_ptr_equal(found(true, "p/longer/"), a);
	assert_ptr_equal(found(true, "p/a/"), b);
	assert_ptr_equal(found(false, "p/longer/f"), in_a);
	assert_ptr_equal(found(false, "p/a/f"), in_b);
	assert_ptr_equal(found(true, "p/a/d/"), sub);
	assert_null(found(true, "p/longer/d/"));
	assert_key(near, "p/a2");
	assert_false(fs_node_is_removed(&nodes, in_a));
	assert_false(fs_node_is_removed(&nodes, in_b));
}

static void
rename__of_a_directory__takes_everything_below_along(void **state)
{
	struct fs_node *dir = told(true, "p/d/"), *sub = told(true, "p/d/e/");
	struct fs_node *file = told(false, "p/d/e/f"), *near = told(false, "p/d2");

	(void)state;
	assert_int_equal(fs_nodes_rename(&nodes, true, "p/d/", "p/x/y/"), 0);

	assert_key(dir, "p/x/y/");
	assert_key(sub, "p/x/y/e/");
	assert_key(file, "p/x/y/e/f");
	assert_key(near, "p/d2");
	assert_ptr_equal(found(false, "p/x/y/e/f"), file);
	assert_null(found(false, "p/d/e/f"));
}

static void
rename__of_what_nobody_looked_up__is_fine(void **state)
{
	(void)state;
	assert_int_equal(fs_nodes_rename(&nodes, false, "p/a", "p/b"), 0);
	assert_int_equal(nodes.n, 1);
}

static void
count_local(void *arg, struct fs_node *node)
{
	(void)node;
	(*(int *)arg)++;
}

static int
n_locals(const char *prefix)
{
	int n = 0;

	fs_nodes_each_local(&nodes, prefix, count_local, &n);
	return n;
}

static void
locals__are_fresh_files_and_kept_directories__as_long_as_they_have_a_path(void **state)
{
	struct fs_node *file = told(false, "p/d/new"), *dir = told(true, "p/d/e/");

	(void)state;
	fs_node_work(&nodes, file, true, true);
	fs_node_keep(&nodes, dir, true);
	assert_int_equal(n_locals("p/d/"), 2);
	assert_int_equal(n_locals("p/x/"), 0);

	fs_node_work(&nodes, file, false, false);
	assert_int_equal(n_locals("p/d/"), 1);
	fs_node_remove(&nodes, dir);
	assert_int_equal(n_locals("p/d/"), 0);
}

/* ---- notices ---- */

static struct fs_node *
shown(const char *key, uint64_t id)
{
	struct fs_node *node = told(false, key);
	struct fs_version version = {.object_id = id};

	fs_node_show(&nodes, node, &version);
	return node;
}

static void
notice__of_another_version__names_the_file_in_its_directory(void **state)
{
	struct fs_node *dir = told(true, "p/d/"), *file = shown("p/d/%", 7);
	struct fs_notice notice;

	(void)state;
	assert_true(fs_nodes_notice(&nodes, "p/d/%", 8, TIFFIN_CHANGE_PUT, &notice));

	assert_int_equal(notice.nodeid, fs_nodes_id(&nodes, file));
	assert_int_equal(notice.parentid, fs_nodes_id(&nodes, dir));
	assert_string_equal(notice.name, "%25");
}

static void
notice__of_the_version_that_is_shown__is_none(void **state)
{
	struct fs_notice notice;

	(void)state;
	shown("p/a", 7);

	assert_false(fs_nodes_notice(&nodes, "p/a", 7, TIFFIN_CHANGE_PUT, &notice));
	assert_true(fs_nodes_notice(&nodes, "p/a", 7, TIFFIN_CHANGE_REMOVED, &notice));
	assert_true(fs_nodes_notice(&nodes, "p/a", 7, TIFFIN_CHANGE_ATTR, &notice));
	assert_int_equal(notice.parentid, 0);
}

static void
notice__while_it_is_written_here__is_none(void **state)
{
	struct fs_node *node = shown("p/a", 7);
	struct fs_notice notice;

	(void)state;
	fs_node_work(&nodes, node, true, false);

	assert_false(fs_nodes_notice(&nodes, "p/a", 8, TIFFIN_CHANGE_PUT, &notice));
}

static void
notice__of_the_end_of_a_file_that_is_removed_here__is_none(void **state)
{
	struct fs_node *node = shown("p/a", 7);
	struct fs_notice notice;

	(void)state;
	fs_node_leaving(&nodes, node, true);

	assert_false(fs_nodes_notice(&nodes, "p/a", 7, TIFFIN_CHANGE_REMOVED, &notice));
	assert_true(fs_nodes_notice(&nodes, "p/a", 8, TIFFIN_CHANGE_PUT, &notice));
}

static void
notice__of_what_the_kernel_does_not_know__is_none_unless_it_holds_negatives(void **state)
{
	struct fs_notice notice;

	(void)state;
	assert_false(fs_nodes_notice(&nodes, "p/a/b/c", 8, TIFFIN_CHANGE_PUT, &notice));
	nodes.has_negatives = true;

	assert_true(fs_nodes_notice(&nodes, "p/a/b/c", 8, TIFFIN_CHANGE_PUT, &notice));
	assert_int_equal(notice.nodeid, 0);
	assert_int_equal(notice.parentid, 1);
	assert_string_equal(notice.name, "a");
}

static void
notice__that_a_marker_went__ends_the_keeping_of_its_directory(void **state)
{
	struct fs_node *dir = told(true, "p/d/");
	struct fs_notice notice;

	(void)state;
	fs_node_keep(&nodes, dir, true);
	assert_true(fs_nodes_notice(&nodes, "p/d/", 8, TIFFIN_CHANGE_REMOVED, &notice));

	assert_false(fs_node_is_kept(&nodes, dir));
	assert_int_equal(notice.parentid, 1);
	assert_string_equal(notice.name, "d");
}

static void
notice__of_keys_outside_the_mount__is_none(void **state)
{
	struct fs_notice notice;

	(void)state;
	assert_false(fs_nodes_notice(&nodes, "", 8, TIFFIN_CHANGE_PUT, &notice));
	assert_false(fs_nodes_notice(&nodes, "q", 8, TIFFIN_CHANGE_PUT, &notice));
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(look__twice_for_one_path__gives_one_node),
		TEST(look__for_a_file_and_a_directory_of_the_same_bytes__gives_two),
		TEST(number__of_a_path__is_the_same_in_another_mount),
		TEST(number__of_a_renamed_file__stays_and_its_old_path_gets_another),
		TEST(root__whatever_is_forgotten__is_number_one_and_stays),
		TEST(forget__of_the_last_look_up__frees_the_node),
		TEST(forget__while_it_is_open__frees_it_at_the_close),
		TEST(detach__of_a_node__leaves_its_path_to_another),
		TEST(rename__over_another_file__removes_that_one),
		TEST(exchange__of_two_files__leaves_both_their_nodes),
		TEST(exchange__of_which_one_is_known__moves_that),
		TEST(exchange__of_two_directories__takes_everything_below_along),
		TEST(rename__of_a_directory__takes_everything_below_along),
		TEST(rename__of_what_nobody_looked_up__is_fine),
		TEST(locals__are_fresh_files_and_kept_directories__as_long_as_they_have_a_path),
		TEST(notice__of_another_version__names_the_file_in_its_directory),
		TEST(notice__of_the_version_that_is_shown__is_none),
		TEST(notice__while_it_is_written_here__is_none),
		TEST(notice__of_the_end_of_a_file_that_is_removed_here__is_none),
		TEST(notice__of_what_the_kernel_does_not_know__is_none_unless_it_holds_negatives),
		TEST(notice__that_a_marker_went__ends_the_keeping_of_its_directory),
		TEST(notice__of_keys_outside_the_mount__is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
