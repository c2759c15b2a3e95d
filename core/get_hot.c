/* SPDX-License-Identifier: Apache-2.0 */
#include "core/get_hot.h"

#include <stdlib.h>

#include "core/hot_cache.h"

static struct hot_object
object_of(const struct fetch *fetch)
{
	return (struct hot_object){
		.id = {.cluster_id = fetch->cluster_id, .object_id = fetch->place->object_id},
		.len_bytes = fetch->place->len_bytes,
		.crc = fetch->place->crc};
}

static bool
may_be_hot(const struct tiffin_client *client, const struct fetch *fetch)
{
	return client->hot != NULL && fetch->cluster_id != 0 && fetch->place->has_crc != 0;
}

bool
get_hot_take(struct tiffin_client *client, const struct fetch *fetch)
{
	const struct hot_object object = object_of(fetch);
	const struct hot_part part = {.offset_bytes = fetch->offset_bytes,
				      .len_bytes = fetch->len_bytes,
				      .slices = fetch->slices,
				      .n_slices = fetch->n_slices};

	return may_be_hot(client, fetch) && hot_cache_get(client->hot, &object, &part);
}

void
get_hot_leave(struct tiffin_client *client, struct fetch *fetch, const struct target *target)
{
	const struct hot_object object = object_of(fetch);

	if (!may_be_hot(client, fetch) || target->is_same_host)
		return;
	if (fetch->len_bytes == object.len_bytes)
		hot_cache_offer(client->hot, &object, fetch->slices, fetch->n_slices);
	else
		fetch->is_wanted_whole = hot_cache_wants(client->hot, &object, fetch->len_bytes);
}

void
get_hot_fill(struct tiffin_client *client, struct fetch *fetch, uint64_t until_ns)
{
	struct fetch whole = *fetch;
	struct iovec slice = {.iov_len = fetch->place->len_bytes};

	if (!fetch->is_wanted_whole)
		return;
	fetch->is_wanted_whole = false;
	slice.iov_base = malloc(slice.iov_len);
	if (slice.iov_base == NULL)
		return;
	whole.slices = &slice;
	whole.n_slices = 1;
	whole.offset_bytes = 0;
	whole.len_bytes = slice.iov_len;
	(void)get_move(client, &whole, until_ns); /* and leaves it there */
	free(slice.iov_base);
}
