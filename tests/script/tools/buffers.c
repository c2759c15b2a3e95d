/* SPDX-License-Identifier: Apache-2.0 */

/*
 * buffers -- destination buffers of every kind: too small, just right, larger, none; between guard
 * pages; registered wholly, by half, twice, not at all; and batches in which every item is another
 * case.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/script/tools/tool.h"

#define LEN      100000u
#define N_MANY   10000
#define N_CYCLES 20000

static struct tiffin_client *client;

/* guarded -- len_bytes that end at a page which must not be touched. */
static char *
guarded(size_t len_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t whole = (len_bytes + page - 1) / page * page;
	char *at = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	tool_demand(at != MAP_FAILED);
	tool_demand(mprotect(at + whole, page, PROT_NONE) == 0);
	return at + whole - len_bytes;
}

static int
is_untouched(const char *bytes, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (bytes[i] != 0x55)
			return 0;
	return 1;
}

static void
sizes(void)
{
	char *right = guarded(LEN), *larger = guarded(LEN + 5000), *small = guarded(LEN - 1);
	struct iovec slice = {right, LEN};
	uint64_t len = 7;

	tool_demand(tiffin_get(client, "k", &slice, 1, &len) == 0);
	tool_demand(len == LEN && tool_is(right, LEN, 1));

	memset(larger, 0x55, LEN + 5000);
	slice = (struct iovec){larger, LEN + 5000};
	tool_demand(tiffin_get(client, "k", &slice, 1, &len) == 0);
	tool_demand(len == LEN && tool_is(larger, LEN, 1));
	tool_demand(is_untouched(larger, LEN, LEN + 5000));

	memset(small, 0x55, LEN - 1);
	slice = (struct iovec){small, LEN - 1};
	len = 7;
	tool_demand(tiffin_get(client, "k", &slice, 1, &len) == TIFFIN_E_TOO_SMALL);
	tool_demand(len == 7 && is_untouched(small, 0, LEN - 1));
	tool_demand(tiffin_get(client, "k", NULL, 0, &len) == TIFFIN_E_TOO_SMALL);
	tool_demand(tiffin_get(client, "k", NULL, 1, &len) == TIFFIN_E_INVALID);
	slice = (struct iovec){NULL, 10};
	tool_demand(tiffin_get(client, "k", &slice, 1, &len) == TIFFIN_E_INVALID);
	slice = (struct iovec){NULL, 0};
	tool_demand(tiffin_get(client, "empty", &slice, 1, &len) == 0 && len == 0);
}

static void
ranges(void)
{
	char *bytes = guarded(1000);
	struct iovec slices[3] = {{bytes, 300}, {NULL, 0}, {bytes + 300, 700}};
	char whole[1000];
	struct iovec one = {whole, sizeof(whole)};
	uint64_t len;

	tool_demand(tiffin_get_range(client, "k", 12345, slices, 3, &len) == 0 && len == 1000);
	tool_demand(tiffin_get_range(client, "k", 12345, &one, 1, &len) == 0 && len == 1000);
	tool_demand(memcmp(bytes, whole, 1000) == 0);
	memset(bytes, 0x55, 1000);
	tool_demand(tiffin_get_range(client, "k", LEN - 10, slices, 3, &len) == 0 && len == 10);
	tool_demand(is_untouched(bytes, 10, 1000));
	tool_demand(tiffin_get_range(client, "k", LEN, slices, 3, &len) == 0 && len == 0);
	tool_demand(tiffin_get_range(client, "k", UINT64_MAX, slices, 3, &len) == 0 && len == 0);
}

static void
registered(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *bytes = guarded(64 * page);
	struct iovec slice = {bytes, LEN};
	uint64_t len;

	tool_demand(tiffin_register(client, bytes, 8 * page) == 0);
	tool_demand(tiffin_get(client, "k", &slice, 1, &len) == 0); /* half of it registered */
	tool_demand(tool_is(bytes, LEN, 1));
	tool_demand(tiffin_register(client, bytes, 8 * page) != 0);        /* twice */
	tool_demand(tiffin_register(client, bytes + page, 2 * page) != 0); /* within */
	tool_demand(tiffin_register(client, bytes + 4 * page, 8 * page) != 0);
	tool_demand(tiffin_unregister(client, bytes + page) != 0); /* not from there on */
	tool_demand(tiffin_unregister(client, bytes) == 0);
	tool_demand(tiffin_unregister(client, bytes) != 0);
	tool_demand(tiffin_register(client, NULL, page) == TIFFIN_E_INVALID);
	tool_demand(tiffin_register(client, bytes, 0) == TIFFIN_E_INVALID);
	memset(bytes, 0, LEN);
	tool_demand(tiffin_get(client, "k", &slice, 1, &len) == 0 && tool_is(bytes, LEN, 1));
}

static size_t
rss_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long pages = 0;

	tool_demand(file != NULL && fscanf(file, "%*s %ld", &pages) == 1);
	fclose(file);
	return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void
registered_often(void)
{
	char *bytes = guarded(1u << 16);
	size_t before = 0;

	for (int i = 0; i < N_CYCLES; i++) {
		tool_demand(tiffin_register(client, bytes, 1u << 16) == 0);
		tool_demand(tiffin_unregister(client, bytes) == 0);
		if (i == 1000)
			before = rss_bytes();
	}
	tool_demand(rss_bytes() < before + (1u << 20));
}

static void
mixed_batch(void)
{
	char *right = guarded(LEN), *small = guarded(10), *again = guarded(LEN);
	struct iovec slices[] = {{right, LEN}, {small, 10}, {again, LEN}, {NULL, 5}};
	struct tiffin_item items[] = {
		{.key = "k", .slices = &slices[0], .n_slices = 1},
		{.key = "none", .slices = &slices[0], .n_slices = 0},
		{.key = "k", .slices = &slices[1], .n_slices = 1},
		{.key = "k", .slices = &slices[2], .n_slices = 1}, /* the same key again */
		{.key = "k", .slices = &slices[3], .n_slices = 1},
		{.key = NULL, .slices = NULL, .n_slices = 0},
		{.key = "", .slices = NULL, .n_slices = 0},
		{.key = "empty", .slices = NULL, .n_slices = 0},
	};

	memset(small, 0x55, 10);
	tool_demand(tiffin_get_batch(client, items, 8) == 0);
	tool_demand(items[0].result == 0 && items[0].ret_len_bytes == LEN);
	tool_demand(tool_is(right, LEN, 1));
	tool_demand(items[1].result == TIFFIN_E_NOT_FOUND);
	tool_demand(items[2].result == TIFFIN_E_TOO_SMALL && is_untouched(small, 0, 10));
	tool_demand(items[3].result == 0 && tool_is(again, LEN, 1));
	tool_demand(items[4].result == TIFFIN_E_INVALID);
	tool_demand(items[5].result == TIFFIN_E_INVALID);
	tool_demand(items[6].result == TIFFIN_E_INVALID);
	tool_demand(items[7].result == 0 && items[7].ret_len_bytes == 0);
	tool_demand(tiffin_get_batch(client, NULL, 0) == 0);
	tool_demand(tiffin_put_batch(client, NULL, 0, NULL) == 0);
	tool_demand(tiffin_get_batch(client, NULL, 3) == TIFFIN_E_INVALID);
}

static void
many_items(void)
{
	struct tiffin_item *items = calloc(N_MANY, sizeof(*items));
	uint64_t *values = calloc(N_MANY, sizeof(*values));
	struct iovec *slices = calloc(N_MANY, sizeof(*slices));
	char(*keys)[16] = calloc(N_MANY, sizeof(*keys));

	tool_demand(items != NULL && values != NULL && slices != NULL && keys != NULL);
	for (size_t i = 0; i < N_MANY; i++) {
		snprintf(keys[i], sizeof(keys[i]), "many%zu", i / 2 * 2); /* each key twice */
		values[i] = i / 2 * 2 + 1;
		slices[i] = (struct iovec){&values[i], sizeof(values[i])};
		items[i] =
			(struct tiffin_item){.key = keys[i], .slices = &slices[i], .n_slices = 1};
	}
	tool_demand(tiffin_put_batch(client, items, N_MANY, NULL) == 0);
	for (size_t i = 0; i < N_MANY; i += 2)
		tool_demand(items[i].result + items[i + 1].result == TIFFIN_E_EXISTS);
	memset(values, 0, N_MANY * sizeof(*values));
	tool_demand(tiffin_get_batch(client, items, N_MANY) == 0);
	for (size_t i = 0; i < N_MANY; i++)
		tool_demand(items[i].result == 0 && items[i].ret_len_bytes == 8 &&
			    values[i] == i / 2 * 2 + 1);
	free(items);
	free(values);
	free(slices);
	free(keys);
}

int
main(void)
{
	char *bytes = guarded(LEN);
	struct iovec slice = {bytes, LEN};

	client = tool_open();
	tool_fill(bytes, LEN, 1);
	tool_demand(tiffin_put(client, "k", &slice, 1, NULL, NULL) == 0);
	tool_demand(tiffin_put(client, "empty", NULL, 0, NULL, NULL) == 0);
	sizes();
	ranges();
	registered();
	registered_often();
	mixed_batch();
	many_items();
	tiffin_close(client);
	return 0;
}
