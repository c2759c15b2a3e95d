/* SPDX-License-Identifier: Apache-2.0 */

/*
 * readback MASTER DIR -- every regular file below DIR must be an object of the same name and bytes.
 *
 * Reads by the C API alone, into slices of odd lengths; small files in batches.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/tiffin.h"

#define N_SLICES  7
#define N_BATCH   64
#define SMALL_MAX 65536

static struct tiffin_client *client;
static size_t root_len;
static unsigned long n_files, n_wrong;

/* Small files wait until a batch is full. */
static struct {
	char key[TIFFIN_KEY_MAX + 1], path[4096];
	size_t len;
	char *bytes;
	struct iovec slice;
} waiting[N_BATCH];
static size_t n_waiting;

static void
wrong(const char *path, const char *why)
{
	fprintf(stderr, "readback: %s: %s\n", path, why);
	n_wrong++;
}

static void
compare(const char *path, const char *bytes, size_t len)
{
	int fd = open(path, O_RDONLY);
	char *truth = len == 0 ? NULL : mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);

	if (fd < 0 || truth == MAP_FAILED || (len > 0 && memcmp(truth, bytes, len) != 0))
		wrong(path, "other bytes");
	if (truth != NULL && truth != MAP_FAILED)
		munmap(truth, len);
	close(fd);
}

static void
get_scattered(const char *key, const char *path, size_t len)
{
	char *bytes = malloc(len);
	struct iovec slices[N_SLICES];
	size_t at = 0, piece = len / N_SLICES + 1;
	uint64_t got = 0;

	for (int i = 0; i < N_SLICES; i++) {
		size_t part = len - at < piece ? len - at : piece;

		slices[i] = (struct iovec){bytes + at, part};
		at += part;
	}
	if (tiffin_get(client, key, slices, N_SLICES, &got) != 0)
		wrong(path, tiffin_why());
	else if (got != len)
		wrong(path, "another length");
	else
		compare(path, bytes, len);
	free(bytes);
}

static void
get_waiting(void)
{
	struct tiffin_item items[N_BATCH];

	memset(items, 0, sizeof(items));
	for (size_t i = 0; i < n_waiting; i++) {
		waiting[i].slice = (struct iovec){waiting[i].bytes, waiting[i].len};
		items[i].key = waiting[i].key;
		items[i].slices = &waiting[i].slice;
		items[i].n_slices = 1;
	}
	if (n_waiting > 0 && tiffin_get_batch(client, items, n_waiting) != 0)
		wrong("batch", tiffin_why());
	for (size_t i = 0; i < n_waiting; i++) {
		if (items[i].result != 0)
			wrong(waiting[i].path, tiffin_strerror(items[i].result));
		else if (items[i].ret_len_bytes != waiting[i].len)
			wrong(waiting[i].path, "another length");
		else
			compare(waiting[i].path, waiting[i].bytes, waiting[i].len);
		free(waiting[i].bytes);
	}
	n_waiting = 0;
}

static int
visit(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	const char *key = path + root_len + 1;

	(void)ftw;
	if (kind != FTW_F || !S_ISREG(st->st_mode) || strchr(key, '%') != NULL)
		return 0; /* a name with % is escaped in the path: another key */
	n_files++;
	if (st->st_size > SMALL_MAX) {
		get_scattered(key, path, (size_t)st->st_size);
		return 0;
	}
	snprintf(waiting[n_waiting].key, sizeof(waiting[0].key), "%s", key);
	snprintf(waiting[n_waiting].path, sizeof(waiting[0].path), "%s", path);
	waiting[n_waiting].len = (size_t)st->st_size;
	waiting[n_waiting].bytes = malloc(waiting[n_waiting].len + 1);
	if (++n_waiting == N_BATCH)
		get_waiting();
	return 0;
}

int
main(int argc, char **argv)
{
	struct tiffin_options options = {.struct_bytes = sizeof(options), .name = "readback"};

	if (argc != 3) {
		fprintf(stderr, "usage: readback MASTER DIR\n");
		return 2;
	}
	options.master = argv[1];
	root_len = strlen(argv[2]);
	if (tiffin_open(&options, &client) != 0) {
		fprintf(stderr, "readback: %s\n", tiffin_why());
		return 1;
	}
	if (nftw(argv[2], visit, 64, FTW_PHYS) != 0)
		wrong(argv[2], "can't be walked");
	get_waiting();
	tiffin_close(client);
	printf("%lu files, %lu wrong\n", n_files, n_wrong);
	return n_wrong == 0 && n_files > 0 ? 0 : 1;
}
