/* SPDX-License-Identifier: Apache-2.0 */

/* fs_fake_looks.h -- behind fs_fake.h: where copies lie, segments, pins.  Every object has one copy
 * on segment 7, "p1" of host "h1". */
#ifndef TESTS_UNIT_FS_FAKE_LOOKS_H
#define TESTS_UNIT_FS_FAKE_LOOKS_H

#include "fs_fake.h"

static struct {
	uint32_t pin;
	uint64_t pin_ttl_ms;
	char pinned[TIFFIN_KEY_MAX + 1];
	size_t n_extents;
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

#endif
