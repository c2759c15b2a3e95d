/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/vfs_files.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fault/vfs.h"
#include "transfer/base/rand.h"

#define SECTOR_BYTES 512u

static struct file files[FILES_MAX];

static void
resize(struct content *content, size_t n)
{
	if (n > content->cap) {
		content->cap = 2 * n + 4096;
		content->at = realloc(content->at, content->cap);
		assert(content->at != NULL);
	}
	if (n > content->n)
		memset(content->at + content->n, 0, n - content->n);
	content->n = n;
}

static void
put_bytes(struct content *content, uint64_t offset, const uint8_t *bytes, size_t len_bytes)
{
	if (len_bytes == 0)
		return;
	if (offset + len_bytes > content->n)
		resize(content, offset + len_bytes);
	memcpy(content->at + offset, bytes, len_bytes);
}

static const char *
name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static struct file *
named(const char *name)
{
	for (size_t i = 0; i < FILES_MAX; i++)
		if (strcmp(files[i].name, name) == 0)
			return &files[i];
	return NULL;
}

struct file *
file_find(const char *path)
{
	return named(name_of(path));
}

struct file *
file_find_or_make(const char *path)
{
	const char *name = name_of(path);
	struct file *file = named(name);

	if (file != NULL)
		return file;
	file = named("");
	assert(file != NULL && strlen(name) < sizeof(file->name));
	memcpy(file->name, name, strlen(name) + 1);
	return file;
}

static void
forget_pending(struct file *file)
{
	for (size_t i = 0; i < file->pending.n; i++)
		free(file->pending.at[i].bytes);
	file->pending.n = 0;
}

void
file_forget_regions(struct file *file)
{
	for (size_t i = 0; i < REGIONS_MAX; i++) {
		free(file->regions[i]);
		file->regions[i] = NULL;
	}
}

void
file_forget(struct file *file)
{
	forget_pending(file);
	vec_fini(&file->pending);
	file_forget_regions(file);
	free(file->bytes.at);
	free(file->synced.at);
	*file = (struct file){0};
}

static void
note(struct file *file, uint64_t offset, const void *bytes, size_t len_bytes)
{
	struct pending pending = {offset, len_bytes, NULL};
	int r;

	if (bytes != NULL) {
		pending.bytes = malloc(len_bytes);
		assert(pending.bytes != NULL);
		memcpy(pending.bytes, bytes, len_bytes);
	}
	r = vec_push(&file->pending, pending);
	assert(r == 0);
}

/* settle -- pending writes reach the plate: all, or (rand) those sectors that chance likes. */
static void
settle(struct file *file, struct rand *rand)
{
	for (size_t i = 0; i < file->pending.n; i++) {
		const struct pending *p = &file->pending.at[i];

		if (p->bytes == NULL && (rand == NULL || rand_below(rand, 2) == 0))
			resize(&file->synced, p->offset);
		for (size_t at = 0; p->bytes != NULL && at < p->len_bytes;) {
			size_t to_edge = SECTOR_BYTES - (p->offset + at) % SECTOR_BYTES;
			size_t n = to_edge < p->len_bytes - at ? to_edge : p->len_bytes - at;

			if (rand == NULL || rand_below(rand, 2) == 0)
				put_bytes(&file->synced, p->offset + at, p->bytes + at, n);
			at += n;
		}
	}
	forget_pending(file);
}

void
file_settle(struct file *file)
{
	settle(file, NULL);
}

void
file_put(struct file *file, uint64_t offset, const void *bytes, size_t len_bytes)
{
	note(file, offset, bytes, len_bytes);
	put_bytes(&file->bytes, offset, bytes, len_bytes);
}

void
file_cut(struct file *file, uint64_t len_bytes)
{
	note(file, len_bytes, NULL, 0);
	resize(&file->bytes, (size_t)len_bytes);
}

void
files_forget(void)
{
	for (size_t i = 0; i < FILES_MAX; i++)
		file_forget(&files[i]);
}

uint64_t
files_bytes(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < FILES_MAX; i++)
		sum += files[i].bytes.n;
	return sum;
}

void
vfs_death(void)
{
	for (size_t i = 0; i < FILES_MAX; i++) {
		struct file *file = &files[i];

		memset(file->openings, 0, sizeof(file->openings));
		file_forget_regions(file);
	}
}

void
vfs_power_cut(uint64_t seed)
{
	struct rand rand;

	rand_init(&rand, seed);
	vfs_death();
	for (size_t i = 0; i < FILES_MAX; i++) {
		struct file *file = &files[i];

		settle(file, &rand);
		resize(&file->bytes, 0);
		put_bytes(&file->bytes, 0, file->synced.at, file->synced.n);
	}
}

uint64_t
vfs_hash(void)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a, eight bytes at a time */

	for (size_t i = 0; i < FILES_MAX; i++) {
		const struct file *file = &files[i];

		for (const char *c = file->name; *c != '\0'; c++)
			hash = (hash ^ (uint64_t)*c) * 1099511628211u;
		for (size_t at = 0; at < file->bytes.n; at += 8) {
			size_t n = file->bytes.n - at < 8 ? file->bytes.n - at : 8;
			uint64_t word = 0;

			memcpy(&word, file->bytes.at + at, n);
			hash = (hash ^ word) * 1099511628211u;
			hash ^= hash >> 29;
		}
		hash = (hash ^ file->bytes.n) * 1099511628211u;
	}
	return hash;
}
