/* SPDX-License-Identifier: Apache-2.0 */

/* Batches: items of the caller become parcels and fetches, judged one by one. */
#include <string.h>

#include "core/get.h"
#include "core/put.h"
#include "core/why.h"

/* judge -- one item, before anything is asked of the master. */
static int
judge(const struct tiffin_item *item)
{
	int r = client_key_check(item->key);

	if (r == 0)
		r = get_slices_check(item->slices, item->n_slices);
	if (r == 0)
		r = put_attr_check(item->attr, item->attr_bytes);
	if (r == 0)
		r = put_group_check(item->group);
	if (r == 0 && get_slices_len(item->slices, item->n_slices) > OBJECT_LEN_MAX)
		r = why_set(TIFFIN_E_INVALID, "an object is at most 16 TiB");
	return r;
}

/* judge_all -- sets result of each; gives how many are good. */
static size_t
judge_all(struct tiffin_item *items, size_t n_items)
{
	size_t n_good = 0;

	for (size_t i = 0; i < n_items; i++) {
		items[i].result = judge(&items[i]);
		n_good += items[i].result == 0;
	}
	return n_good;
}

static int
put_items(struct tiffin_client *client, struct tiffin_item *items, size_t n_items,
	  const struct tiffin_put_options *options)
{
	struct parcel *parcels;
	size_t n_good, at = 0;
	int r = put_options_check(options);

	if (r != 0)
		return r;
	n_good = judge_all(items, n_items);
	if (n_good == 0)
		return 0;
	parcels = calloc(n_good, sizeof(*parcels));
	if (parcels == NULL)
		return why_no_memory();

	for (size_t i = 0; i < n_items; i++)
		if (items[i].result == 0)
			parcels[at++] = (struct parcel){.key = items[i].key,
							.slices = items[i].slices,
							.n_slices = items[i].n_slices,
							.attr = items[i].attr,
							.attr_bytes = items[i].attr_bytes,
							.group = items[i].group};
	r = put_run(client, parcels, n_good, options, client_until(client));
	at = 0;
	for (size_t i = 0; i < n_items; i++) {
		if (items[i].result != 0)
			continue;
		items[i].result = parcels[at].result;
		items[i].ret_id = parcels[at].object_id;
		at++;
	}
	free(parcels);
	return r;
}

static int
get_items(struct tiffin_client *client, struct tiffin_item *items, size_t n_items)
{
	struct fetch *fetches;
	size_t n_good, at = 0;
	int r;

	n_good = judge_all(items, n_items);
	if (n_good == 0)
		return 0;
	fetches = calloc(n_good, sizeof(*fetches));
	if (fetches == NULL)
		return why_no_memory();

	for (size_t i = 0; i < n_items; i++)
		if (items[i].result == 0)
			fetches[at++] = (struct fetch){.key = items[i].key,
						       .slices = items[i].slices,
						       .n_slices = items[i].n_slices};
	r = get_run(client, fetches, n_good, client_until(client));
	at = 0;
	for (size_t i = 0; i < n_items; i++) {
		if (items[i].result != 0)
			continue;
		items[i].result = fetches[at].result;
		items[i].ret_len_bytes = fetches[at].len_bytes;
		items[i].ret_id = fetches[at].object_id;
		at++;
	}
	free(fetches);
	return r;
}

/* enter -- the door of both. */
static int
enter(struct tiffin_client *client, const struct tiffin_item *items, size_t n_items)
{
	int r = client_enter(client);

	if (r == 0 && n_items > 0 && items == NULL)
		r = client_leave(client, why_set(TIFFIN_E_INVALID, "no items are given"));
	return r;
}

int
tiffin_put_batch(struct tiffin_client *client, struct tiffin_item *items, size_t n_items,
		 const struct tiffin_put_options *options)
{
	int r = enter(client, items, n_items);

	return r != 0 ? r : client_leave(client, put_items(client, items, n_items, options));
}

int
tiffin_get_batch(struct tiffin_client *client, struct tiffin_item *items, size_t n_items)
{
	int r = enter(client, items, n_items);

	return r != 0 ? r : client_leave(client, get_items(client, items, n_items));
}
