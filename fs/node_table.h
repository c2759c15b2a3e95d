/* SPDX-License-Identifier: Apache-2.0 */

/* node_table.h -- for the files of the table itself; everybody else uses node.h. */
#ifndef FS_NODE_TABLE_H
#define FS_NODE_TABLE_H

#include "fs/node.h"

/* fs_nodes_find_locked -- needs: nodes->lock.  Gives no reference. */
struct fs_node *fs_nodes_find_locked(const struct fs_nodes *nodes, bool is_dir, const char *key);

/* fs_node_settle -- on the list of what the master does not know, or not?  needs: nodes->lock. */
void fs_node_settle(struct fs_nodes *nodes, struct fs_node *node);

#endif
