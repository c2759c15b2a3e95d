/* SPDX-License-Identifier: Apache-2.0 */

/* get_hot.h -- what fetches take from the hot cache, and what they leave there. */
#ifndef CORE_GET_HOT_H
#define CORE_GET_HOT_H

#include "core/get.h"

/* get_hot_take -- the bytes of a fetch, if they are here.  needs: place, cluster_id are set. */
bool get_hot_take(struct tiffin_client *client, const struct fetch *fetch);

/* get_hot_leave -- the bytes of a fetch have come, with the right sum, from that target. */
void get_hot_leave(struct tiffin_client *client, struct fetch *fetch, const struct target *target);

/* get_hot_fill -- the part of a fetch has come: if the whole is worth to be kept, fetch it now,
 * into the cache.  needs: its lease still runs. */
void get_hot_fill(struct tiffin_client *client, struct fetch *fetch, uint64_t until_ns);

#endif
