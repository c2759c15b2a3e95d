/* SPDX-License-Identifier: Apache-2.0 */

#include "core/hot_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/map.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"

#define SKETCH_EACH  65536 /* bytes of the cache for one column of the sketch */
#define TRIES        16
#define DRAW_SEED    0x686f74
#define SHARED_BYTES 4096 /* of len_bytes: their multiple */

/* ---- memory ---------------------------------------------------------------------- */

/* adopt -- the memory is there; it holds a ring, or is to. */
static int
adopt(struct hot_cache *cache, bool is_new)
{
	if (is_new)
		hot_ring_make(cache->bytes, cache->len_bytes);
	if (!hot_ring_join(&cache->ring, cache->bytes, cache->len_bytes))
		return err_new(-EBADMSG);
	cache->ring.mapping = cache->mapping.bytes != NULL ? &cache->mapping : NULL;
	return 0;
}

static int
map_private(struct hot_cache *cache)
{
	void *bytes = mmap(NULL, cache->len_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		return err_new(-errno);
	cache->bytes = bytes;
	/* Niceties. */
	(void)madvise(cache->bytes, cache->len_bytes, MADV_HUGEPAGE);
	(void)madvise(cache->bytes, cache->len_bytes, MADV_DONTDUMP);
	(void)madvise(cache->bytes, cache->len_bytes, MADV_DONTFORK);
	return 0;
}

static int
map_shared(struct hot_cache *cache)
{
	int r = mapping_open(cache->fd, cache->len_bytes, /* is_writable= */ true, &cache->mapping);

	cache->bytes = r < 0 ? NULL : cache->mapping.bytes;
	return err_up(r);
}

/* name_file -- one for each user and each space of process numbers: they tell writers apart. */
static void
name_file(struct hot_cache *cache, const char *dir)
{
	char space[64] = "";
	ssize_t n = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);

	snprintf(cache->path, sizeof(cache->path), "%s/tiffin-hot-%u-%08x",
		 dir != NULL ? dir : "/dev/shm", (unsigned)geteuid(),
		 (unsigned)map_hash(space, n > 0 ? (size_t)n : 0, 1));
}

/* is_there_still -- does the name lead to what we have opened? */
static bool
is_there_still(const struct hot_cache *cache)
{
	struct stat by_name, ours;

	return stat(cache->path, &by_name) == 0 && fstat(cache->fd, &ours) == 0 &&
	       by_name.st_ino == ours.st_ino && by_name.st_dev == ours.st_dev;
}

/*
 * begin -- we are alone with the file.
 *
 * One that has a length was left by others who died.  It is not used again, nor cut: between two
 * kinds of lock there is a moment without, and somebody may think it his.
 */
static int
begin(struct hot_cache *cache, const struct stat *st)
{
	int r;

	if (st->st_size > 0) {
		unlink(cache->path);
		return -EAGAIN;
	}
	r = posix_fallocate(cache->fd, 0, (off_t)cache->len_bytes);
	if (r != 0) {
		unlink(cache->path);
		return err_new(-r);
	}
	r = map_shared(cache);
	if (r == 0)
		r = adopt(cache, true);
	if (r == 0 && flock(cache->fd, LOCK_SH) < 0)
		r = err_new(-errno);
	return err_up(r);
}

/* join -- others use it: as long as it is. */
static int
join(struct hot_cache *cache)
{
	struct stat st;
	int r;

	if (fstat(cache->fd, &st) < 0)
		return err_new(-errno);
	cache->len_bytes = (uint64_t)st.st_size;
	if (cache->len_bytes < HOT_RING_BYTES_MIN)
		return -EAGAIN; /* who was to make it died */
	r = map_shared(cache);
	if (r == 0)
		r = adopt(cache, false);
	return err_up(r);
}

/* open_file -- one attempt.  -EAGAIN: somebody removed it meanwhile. */
static int
open_file(struct hot_cache *cache)
{
	struct stat st;
	bool is_alone;

	cache->fd = open(cache->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (cache->fd < 0)
		return errno == EACCES || errno == ELOOP ? HOT_CACHE_E_OTHERS : err_new(-errno);
	if (fstat(cache->fd, &st) < 0)
		return err_new(-errno);
	if (st.st_uid != geteuid() || (st.st_mode & 077) != 0 || !S_ISREG(st.st_mode))
		return HOT_CACHE_E_OTHERS;

	is_alone = flock(cache->fd, LOCK_EX | LOCK_NB) == 0;
	if (!is_alone && flock(cache->fd, LOCK_SH) < 0)
		return err_new(-errno);
	if (!is_there_still(cache))
		return -EAGAIN;
	return is_alone ? begin(cache, &st) : join(cache);
}

static void
close_file(struct hot_cache *cache)
{
	if (cache->mapping.bytes != NULL)
		mapping_close(&cache->mapping);
	else if (cache->bytes != NULL)
		munmap(cache->bytes, cache->len_bytes);
	cache->bytes = NULL;
	fd_close_at(&cache->fd);
	cache->fd = -1;
}

static int
open_shared(struct hot_cache *cache, const struct hot_cache_config *config)
{
	int r = -EAGAIN;

	name_file(cache, config->dir);
	for (int i = 0; i < TRIES && r == -EAGAIN; i++) {
		close_file(cache);
		cache->len_bytes = config->len_bytes;
		r = open_file(cache);
	}
	return err_up(r);
}

static int
open_private(struct hot_cache *cache)
{
	int r = map_private(cache);

	return r < 0 ? err_up(r) : err_up(adopt(cache, true));
}

int
hot_cache_open(const struct hot_cache_config *config, struct hot_cache **ret_cache)
{
	cleanup_with(hot_cache_close_at) struct hot_cache *cache = calloc(1, sizeof(*cache));
	uint32_t width = SKETCH_WIDTH_MIN;
	int r;

	assert(config->len_bytes >= HOT_RING_BYTES_MIN && config->min_seen > 0);
	if (cache == NULL)
		return err_new(-ENOMEM);
	cache->fd = -1;
	cache->min_seen = config->min_seen;
	cache->len_bytes = num_align_up(config->len_bytes, SHARED_BYTES);
	while ((uint64_t)width * SKETCH_EACH < cache->len_bytes && width < (1u << 24))
		width *= 2;
	cache->sketch = calloc(1, sketch_bytes(width));
	if (cache->sketch == NULL)
		return err_new(-ENOMEM);
	sketch_init(cache->sketch, width);
	r = config->is_shared ? open_shared(cache, config) : open_private(cache);
	if (r != 0)
		return r;
	*ret_cache = take(&cache);
	return 0;
}

void
hot_cache_close(struct hot_cache *cache)
{
	if (cache == NULL)
		return;
	if (cache->fd >= 0 && cache->bytes != NULL && flock(cache->fd, LOCK_EX | LOCK_NB) == 0 &&
	    is_there_still(cache))
		unlink(cache->path); /* nobody else has it */
	close_file(cache);
	free(cache->sketch);
	free(cache);
}

/* ---- objects --------------------------------------------------------------------- */

static void
count(atomic_uint_fast64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* read_entry -- and judge what was read. */
static bool
read_entry(struct hot_cache *cache, const struct hot_entry *entry, const struct hot_part *part)
{
	uint32_t crc;

	if (!hot_ring_read(&cache->ring, entry, part, &crc))
		return false;
	if (part->len_bytes < entry->len_bytes || crc == entry->crc)
		return true;
	hot_ring_forget(&cache->ring, entry);
	return false;
}

bool
hot_cache_get(struct hot_cache *cache, const struct hot_object *object, const struct hot_part *part)
{
	struct hot_entry entry;

	if (!hot_ring_find(&cache->ring, &object->id, &entry) ||
	    entry.len_bytes != object->len_bytes || entry.crc != object->crc ||
	    !read_entry(cache, &entry, part)) {
		count(&cache->n_misses, 1);
		return false;
	}
	count(&cache->n_hits, 1);
	count(&cache->hit_bytes, part->len_bytes);
	return true;
}

/* is_drawn -- with a chance of part / whole, so that on the average all its bytes are one draw. */
static bool
is_drawn(struct hot_cache *cache, uint64_t part_bytes, uint64_t whole_bytes)
{
	uint64_t n = atomic_fetch_add_explicit(&cache->n_draws, 1, memory_order_relaxed);

	return map_hash(&n, sizeof(n), DRAW_SEED) % whole_bytes < part_bytes;
}

bool
hot_cache_wants(struct hot_cache *cache, const struct hot_object *object, uint64_t part_bytes)
{
	uint64_t key = map_hash(&object->id, sizeof(object->id), 0);
	struct hot_entry entry;

	if (object->len_bytes == 0 || object->len_bytes > HOT_CACHE_WHOLE_MAX ||
	    !hot_ring_fits(&cache->ring, object->len_bytes) ||
	    !is_drawn(cache, part_bytes, object->len_bytes))
		return false;
	return sketch_see(cache->sketch, key) >= cache->min_seen &&
	       !hot_ring_find(&cache->ring, &object->id, &entry);
}

void
hot_cache_offer(struct hot_cache *cache, const struct hot_object *object,
		const struct iovec *slices, size_t n_slices)
{
	uint64_t key = map_hash(&object->id, sizeof(object->id), 0);
	struct hot_entry entry;

	if (sketch_see(cache->sketch, key) < cache->min_seen)
		return;
	if (hot_ring_find(&cache->ring, &object->id, &entry))
		return; /* another thread or process was faster */
	if (hot_ring_add(&cache->ring, object, slices, n_slices))
		count(&cache->n_kept, 1);
}
