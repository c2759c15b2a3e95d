/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
ring_put_one(struct tiffin_client *client, const char *key, void *buf, size_t len)
{
	struct iovec slice = {buf, len};
	struct tiffin_put_options options = {.struct_bytes = sizeof(options),
					     .flags = TIFFIN_REPLACE};

	house_must(tiffin_put(client, key, &slice, 1, &options, NULL), "tiffin_put");
}

void
ring_get_one(struct tiffin_client *client, const char *key, void *buf, size_t len)
{
	struct iovec slice = {buf, len};
	uint64_t got = 0;

	house_must(tiffin_get(client, key, &slice, 1, &got), "tiffin_get");
	house_must(got != len, "length");
}

void
legs_note(struct legs *legs, int i, double our_s, double their_s, double floor_s)
{
	legs->n = i + 1;
	legs->ratio[i] = their_s / our_s;
	legs->floor[i] = floor_s / our_s;
	legs->our_s += our_s;
	legs->their_s += their_s;
}

void
legs_tell(const char *name, size_t len, const char *word, struct legs *legs, size_t n_ops)
{
	double bytes = (double)(len * n_ops) * legs->n;

	printf("name=%s mib=%zu gb_per_s=%.2f %s_gb_per_s=%.2f ratio_%s=%.3f ratio_floor=%.3f\n",
	       name, len / MIB, bytes / legs->our_s / 1e9, word, bytes / legs->their_s / 1e9, word,
	       house_median(legs->ratio, (size_t)legs->n),
	       house_median(legs->floor, (size_t)legs->n));
}

void
ring_fill(struct ring *ring, struct tiffin_client *client, size_t len, char *buf)
{
	*ring = (struct ring){.n = RING_BYTES / len, .len = len};
	ring->keys = calloc(ring->n, sizeof(*ring->keys));
	ring->views = calloc(ring->n, sizeof(*ring->views));
	ring->there = calloc(ring->n, sizeof(*ring->there));
	for (size_t i = 0; i < ring->n; i++) {
		uint64_t there_len;

		snprintf(ring->keys[i], sizeof(ring->keys[i]), "object-%zu", i);
		ring_put_one(client, ring->keys[i], buf, len);
		house_must(tiffin_view_open(client, ring->keys[i], &ring->views[i]), "view");
		house_must(tiffin_view_borrow(ring->views[i], 0, &ring->there[i], &there_len),
			   "borrow");
		house_must(there_len < len, "borrowed length");
	}
}

void
ring_drop(struct ring *ring)
{
	for (size_t i = 0; i < ring->n; i++)
		tiffin_view_close(ring->views[i]);
	free(ring->keys);
	free(ring->views);
	free(ring->there);
}

double
ring_copy(const struct ring *ring, char *buf, const struct clerk *clerk, size_t n_apart)
{
	double began = house_now_s();

	for (size_t i = 0; i < ring->n; i++) {
		if (clerk != NULL && i % n_apart == 0)
			clerk_ask(clerk, /* is_kept= */ false);
		memcpy(buf, ring->there[i], ring->len);
		__asm__ volatile("" : : "r"(buf) : "memory");
	}
	return house_now_s() - began;
}

double
ring_get(const struct ring *ring, struct tiffin_client *client, char *buf)
{
	double began = house_now_s();

	for (size_t i = 0; i < ring->n; i++)
		ring_get_one(client, ring->keys[i], buf, ring->len);
	return house_now_s() - began;
}
