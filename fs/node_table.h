/* SPDX-License-Identifier: Apache-2.0 */

/* node_table.h -- for the files of the table itself; everybody else uses node.h. */
#ifndef FS_NODE_TABLE_H
#define FS_NODE_TABLE_H

#include "fs/node.h"

/* fs_nodes_find_locked -- needs: nodes->lock.  Gives no reference. */
struct fs_node *fs_nodes_find_locked(const struct fs_nodes *nodes, bool is_dir, const char *key);

/* fs_node_settle -- on the list of what the master does not know, or not?  needs: nodes->lock. */
void fs_node_settle(struct fs_nodes *nodes, struct fs_node *node);

/* fs_node_link_path -- found by its key from now on.  needs: nodes->lock.  0 or -ENOMEM. */
int fs_node_link_path(struct fs_nodes *nodes, struct fs_node *node) MUST_CHECK;

/* fs_node_detach_locked -- fs_node_detach(), with nodes->lock held. */
void fs_node_detach_locked(struct fs_nodes *nodes, struct fs_node *node);

#endif
