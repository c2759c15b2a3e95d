/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sysfs_tree.h -- a small /sys in a folder of its own, as the kernel would show a machine.
 *
 *      struct tree tree;
 *      tree_init(&tree);
 *      tree_node(&tree, 0, "0-15", "10 21");
 *      tree_net(&tree, "eth0", "pci0000:00/0000:00:03.0", 0);
 *      tree_rdma(&tree, "mlx5_0", "pci0000:10/0000:10:01.0/0000:11:00.0", 0);
 *      tree_gid(&tree, "mlx5_0", 3, "::ffff:a00:7", (const char *[]){"RoCE v2", "eth0"});
 *      ... tree.root is what sysfs.h takes ...
 *      tree_fini(&tree);
 *
 * Classes hold relative links into devices/, as in a real one.
 */
#ifndef TESTS_UNIT_SYSFS_TREE_H
#define TESTS_UNIT_SYSFS_TREE_H

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "transfer/base/base.h"

struct tree {
	char root[64];
};

static inline void
tree_init(struct tree *tree)
{
	snprintf(tree->root, sizeof(tree->root), "/tmp/tiffin-sysfs-XXXXXX");
	assert_non_null(mkdtemp(tree->root));
}

static inline int
tree_remove(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static inline void
tree_fini(struct tree *tree)
{
	assert_int_equal(nftw(tree->root, tree_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* tree_make_dirs -- every directory that leads to the last part of the path. */
static inline void
tree_make_dirs(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
		*at = '/';
	}
}

/* tree_file -- TEXT in a file beneath sys/, as it is: kernel's files end in a newline. */
static inline void
tree_file(struct tree *tree, const char *text, const char *fmt, ...)
{
	char name[PATH_MAX / 2], path[PATH_MAX];
	va_list ap;
	FILE *to;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/sys/%s", tree->root, name);
	tree_make_dirs(path);
	to = fopen(path, "we");
	assert_non_null(to);
	assert_true(fputs(text, to) >= 0);
	assert_int_equal(fclose(to), 0);
}

/* tree_link -- sys/FROM leads to sys/TO.  needs: FROM has n_up directories above it within sys/. */
static inline void
tree_link(struct tree *tree, const char *from, int n_up, const char *to)
{
	char path[PATH_MAX], target[PATH_MAX] = "";

	snprintf(path, sizeof(path), "%s/sys/%s", tree->root, from);
	tree_make_dirs(path);
	for (int i = 0; i < n_up; i++)
		strncat(target, "../", sizeof(target) - strlen(target) - 1);
	strncat(target, to, sizeof(target) - strlen(target) - 1);
	assert_int_equal(symlink(target, path), 0);
}

static inline void
tree_node(struct tree *tree, int id, const char *cpus, const char *distances)
{
	char text[128];

	snprintf(text, sizeof(text), "%s\n", cpus);
	tree_file(tree, text, "devices/system/node/node%d/cpulist", id);
	snprintf(text, sizeof(text), "%s\n", distances);
	tree_file(tree, text, "devices/system/node/node%d/distance", id);
	snprintf(text, sizeof(text), "Node %d MemTotal:       1048576 kB\nNode %d MemFree: 1 kB\n",
		 id, id);
	tree_file(tree, text, "devices/system/node/node%d/meminfo", id);
}

/* tree_class -- class/CLASS/NAME is a device at this PCI path, of this memory node. */
static inline void
tree_class(struct tree *tree, const char *class_name, const char *name, const char *pci, int node)
{
	char text[32], path[1024], to[1024];

	snprintf(text, sizeof(text), "%d\n", node);
	tree_file(tree, text, "devices/%s/numa_node", pci);
	snprintf(path, sizeof(path), "class/%s/%s", class_name, name);
	snprintf(to, sizeof(to), "devices/%s/%s/%s", pci, class_name, name);
	tree_file(tree, "", "%s/uevent", to);
	tree_link(tree, path, 2, to);
	snprintf(path, sizeof(path), "devices/%s/%s/%s/device", pci, class_name, name);
	tree_link(tree, path, 0, "../..");
}

static inline void
tree_net_state(struct tree *tree, const char *name, const char *operstate, const char *flags)
{
	tree_file(tree, operstate, "class/net/%s/operstate", name);
	tree_file(tree, flags, "class/net/%s/flags", name);
	tree_file(tree, "1\n", "class/net/%s/type", name);
}

/* tree_net -- a network card that is up, of 100 Gbit/s. */
static inline void
tree_net(struct tree *tree, const char *name, const char *pci, int node)
{
	tree_class(tree, "net", name, pci, node);
	tree_net_state(tree, name, "up\n", "0x1003\n");
	tree_file(tree, "100000\n", "class/net/%s/speed", name);
}

/* tree_rdma_port -- port 1, active, on Ethernet. */
static inline void
tree_rdma_port(struct tree *tree, const char *name, const char *rate)
{
	tree_file(tree, "1: CA\n", "class/infiniband/%s/node_type", name);
	tree_file(tree, "4: ACTIVE\n", "class/infiniband/%s/ports/1/state", name);
	tree_file(tree, "Ethernet\n", "class/infiniband/%s/ports/1/link_layer", name);
	tree_file(tree, rate, "class/infiniband/%s/ports/1/rate", name);
}

static inline void
tree_rdma(struct tree *tree, const char *name, const char *pci, int node)
{
	tree_class(tree, "infiniband", name, pci, node);
	tree_rdma_port(tree, name, "100 Gb/sec (4X EDR)\n");
}

/* tree_gid -- an entry of port 1.  attrs: type and netdev; NULL: that file is not there. */
static inline void
tree_gid(struct tree *tree, const char *device, unsigned index, const char *gid,
	 const char *const attrs[2])
{
	char text[128];

	snprintf(text, sizeof(text), "%s\n", gid);
	tree_file(tree, text, "class/infiniband/%s/ports/1/gids/%u", device, index);
	for (int i = 0; i < 2; i++) {
		if (attrs[i] == NULL)
			continue;
		snprintf(text, sizeof(text), "%s\n", attrs[i]);
		tree_file(tree, text, "class/infiniband/%s/ports/1/gid_attrs/%s/%u", device,
			  i == 0 ? "types" : "ndevs", index);
	}
}

/* tree_gpu -- a 3D controller of NVIDIA. */
static inline void
tree_gpu(struct tree *tree, const char *pci, int node)
{
	const char *address = strrchr(pci, '/') + 1;
	char text[32], path[128], to[1024];

	snprintf(text, sizeof(text), "%d\n", node);
	tree_file(tree, text, "devices/%s/numa_node", pci);
	tree_file(tree, "0x030200\n", "devices/%s/class", pci);
	tree_file(tree, "0x10de\n", "devices/%s/vendor", pci);
	tree_file(tree, "0x2330\n", "devices/%s/device", pci);
	snprintf(path, sizeof(path), "bus/pci/devices/%s", address);
	snprintf(to, sizeof(to), "devices/%s", pci);
	tree_link(tree, path, 3, to);
}

#endif
