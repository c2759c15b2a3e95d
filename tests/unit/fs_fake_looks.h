/* SPDX-License-Identifier: Apache-2.0 */

/* fs_fake_looks.h -- behind fs_fake.h: where copies lie, segments, pins, events.  Every object has
 * one copy on segment 7, "p1" of host "h1". */
#ifndef TESTS_UNIT_FS_FAKE_LOOKS_H
#define TESTS_UNIT_FS_FAKE_LOOKS_H

#include "fs_fake.h"

static struct {
	uint32_t pin;
	uint64_t pin_ttl_ms;
	char pinned[TIFFIN_KEY_MAX + 1];
	size_t n_extents;
	uint64_t n_events; /* with ids from 1 on */
} fake_looks;

int
tiffin_where(struct tiffin_client *client, const char *key,
	     int (*fn)(void *arg, const struct tiffin_replica *replica), void *arg)
{
	struct tiffin_extent extents[64];
	struct tiffin_replica replica = {7, 1, extents, fake_looks.n_extents};
	int r = fake_fails("where");

	(void)client;
	for (size_t i = 0; i < array_len(extents); i++)
		extents[i] = (struct tiffin_extent){4096 * i, 100};
	if (r == 0 && fake_find(key) == NULL)
		r = TIFFIN_E_NOT_FOUND;
	return r < 0 ? r : fn(arg, &replica);
}

int
tiffin_segments(struct tiffin_client *client,
		int (*fn)(void *arg, const struct tiffin_segment *segment), void *arg)
{
	const struct tiffin_segment segment = {.segment_id = 7,
					       .size_bytes = 1 << 20,
					       .used_bytes = 4096,
					       .name = "p1",
					       .host = "h1",
					       .endpoint = "unix:/p1",
					       .medium = "dram",
					       .state = "ok"};
	int r = fake_fails("segments");

	(void)client;
	return r < 0 ? r : fn(arg, &segment);
}

int
tiffin_pin(struct tiffin_client *client, const char *key, uint32_t flags, uint64_t ttl_ms)
{
	(void)client;
	fake_looks.pin = flags;
	fake_looks.pin_ttl_ms = ttl_ms;
	snprintf(fake_looks.pinned, sizeof(fake_looks.pinned), "%s", key);
	return fake_fails("pin");
}

int
tiffin_unpin(struct tiffin_client *client, const char *key)
{
	return tiffin_pin(client, key, 0, 0);
}

int
tiffin_list_segment_open(struct tiffin_client *client, uint64_t segment_id, const char *prefix,
			 struct tiffin_list **ret_list)
{
	return segment_id == 7 ? tiffin_list_open(client, prefix, '\0', NULL, ret_list)
			       : TIFFIN_E_NOT_FOUND;
}

int
tiffin_events(struct tiffin_client *client, uint64_t *cursor, uint32_t wait_ms,
	      int (*fn)(void *arg, const struct tiffin_event *event), void *arg)
{
	int r = fake_fails("events");

	(void)client;
	(void)wait_ms;
	while (r == 0 && *cursor < fake_looks.n_events) {
		struct tiffin_event event = {.event_id = ++*cursor,
					     .at_ms = 1000 + *cursor,
					     .count = 1,
					     .kind = "kind",
					     .words = "some \"words\""};

		r = fn(arg, &event);
	}
	return r;
}

#endif
