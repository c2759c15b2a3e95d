/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The transports of today (local, shm, tcp) need to know nothing of memory beforehand.  What is
 * announced is kept and judged all the same, so that a program that is wrong here is wrong
 * everywhere, and not only where memory must be pinned.
 */
#include "core/register.h"

#include "core/why.h"

struct region {
	struct list_link at;
	uintptr_t from, to;
};

void
register_forget_all(struct tiffin_client *client)
{
	list_each_safe(&client->regions, at) {
		list_remove(at);
		free(list_of(at, struct region, at));
	}
}

/* add -- unless it overlaps another. */
static bool
add(struct tiffin_client *client, struct region *region)
{
	bool is_free = true;

	lock_take(&client->lock);
	list_each(&client->regions, at) {
		const struct region *other = list_of(at, struct region, at);

		is_free = is_free && (region->to <= other->from || other->to <= region->from);
	}
	if (is_free)
		list_push_back(&client->regions, &region->at);
	lock_drop(&client->lock);
	return is_free;
}

static int
announce(struct tiffin_client *client, void *at, size_t len_bytes)
{
	struct region *region;
	uintptr_t to;

	if (at == NULL || len_bytes == 0 || __builtin_add_overflow((uintptr_t)at, len_bytes, &to))
		return why_set(TIFFIN_E_INVALID, "%zu bytes at %p are no memory", len_bytes, at);

	region = calloc(1, sizeof(*region));
	if (region == NULL)
		return why_no_memory();
	list_link_init(&region->at);
	region->from = (uintptr_t)at;
	region->to = to;
	if (add(client, region))
		return 0;
	free(region);
	return why_set(TIFFIN_E_INVALID, "memory at %p is registered already", at);
}

static int
withdraw(struct tiffin_client *client, void *at)
{
	struct region *found = NULL;

	lock_take(&client->lock);
	list_each(&client->regions, link) {
		struct region *region = list_of(link, struct region, at);

		if (region->from == (uintptr_t)at)
			found = region;
	}
	if (found != NULL)
		list_remove(&found->at);
	lock_drop(&client->lock);

	if (found == NULL)
		return why_set(TIFFIN_E_INVALID, "memory at %p is not registered", at);
	free(found);
	return 0;
}

int
tiffin_register(struct tiffin_client *client, void *at, size_t len_bytes)
{
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, announce(client, at, len_bytes));
}

int
tiffin_unregister(struct tiffin_client *client, void *at)
{
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, withdraw(client, at));
}
