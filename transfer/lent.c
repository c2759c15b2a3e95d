/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The life of a named file:
 *
 *      (missing) --make--> born: sized, header all zero --touch, write header--> whole
 *                            |                                                    |  ^
 *                            | found so by the next: made anew         lent_close |  | adopt
 *                            v                                                    v  |
 *                          born                                               (at rest)
 *
 * To wipe is to unlink and make a new file: a process that still holds the old
 * one mapped goes on writing where nobody looks any more.
 */
#include "transfer/lent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "transfer/base/crc.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/lent_disk.h"
#include "transfer/lent_header.h"
#include "transfer/mapping.h"

#define TOUCH_STEP_BYTES (32ull << 20)
#define MODE_OWNER_ONLY  0600

/* A lent with what only this file needs. */
struct lent_own {
	struct lent lent;
	struct mapping mapping;
	bool is_born; /* the named file is ours from its first byte, and not whole yet */
};

/* ---- header ---- */

static uint32_t
header_crc(const struct lent_header *header)
{
	return crc_of(0, header, offsetof(struct lent_header, crc));
}

bool
lent_header_is_right(const struct lent_header *header)
{
	return header->magic == LENT_MAGIC && header->version == LENT_VERSION &&
	       header->crc == header_crc(header) && header->segment_id != 0;
}

static bool
is_zero(const uint8_t *bytes, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/* header_write -- last of all: from now on the file can be adopted. */
static void
header_write(struct lent *lent, struct rand *rand)
{
	struct lent_header *header = lent->header;

	lent->segment_id = rand_id(rand);
	lent->epoch = rand_id(rand);
	header->version = LENT_VERSION;
	header->segment_id = lent->segment_id;
	header->epoch = lent->epoch;
	header->size_bytes = lent->size_bytes;
	header->lease_ms = 0;
	atomic_store(&header->fence, 1);
	header->magic = LENT_MAGIC;
	header->crc = header_crc(header);
}

/* ---- room ---- */

/* memory_available -- by the kernel's own estimate; UINT64_MAX when it says nothing. */
static uint64_t
memory_available(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	uint64_t bytes = UINT64_MAX;
	char line[128];

	if (file == NULL)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			bytes = (uint64_t)kib << 10;
	fclose(file);
	return bytes;
}

/* has_room -- memory for what the file does not hold yet?  The kernel would kill someone instead.
 */
static bool
has_room(int fd, uint64_t file_bytes)
{
	struct stat st;
	struct statfs fs;
	uint64_t held;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
		return true; /* not memory: fallocate will tell */
	held = (uint64_t)st.st_blocks * 512;
	return held >= file_bytes || file_bytes - held <= memory_available();
}

/* touch -- have every page, by writing; contents stay as they are. */
static int
touch(struct lent_own *own, const struct lent_config *config)
{
	uint64_t all = own->mapping.len_bytes;

	for (uint64_t at = 0; at < all;) {
		uint64_t len = num_min(all - at, TOUCH_STEP_BYTES);

		if (madvise(own->mapping.bytes + at, len, MADV_POPULATE_WRITE) < 0) {
			if (errno == EAGAIN || errno == EINTR)
				continue;
			if (errno == ENOMEM || errno == EFAULT || errno == ENOSPC)
				return LENT_E_NO_ROOM;
			return err_new(-errno);
		}
		at += len;
		if (config->progress != NULL)
			config->progress(config->progress_arg, at, all);
	}
	return 0;
}

/* ---- anonymous ---- */

static int
memfd_of(uint64_t file_bytes, unsigned more_flags, int *ret_fd)
{
	cleanup_with(fd_close_at) int fd =
		memfd_create("tiffin", MFD_CLOEXEC | MFD_ALLOW_SEALING | more_flags);

	/* Others may be given it read-only; its mode keeps them from opening it again for writing.
	 */
	if (fd < 0 || fchmod(fd, MODE_OWNER_ONLY) < 0 || ftruncate(fd, (off_t)file_bytes) < 0)
		return err_new(-errno);
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return err_new(-errno);

	*ret_fd = fd;
	fd = -1;
	return 0;
}

static bool
open_huge(struct lent_own *own)
{
	uint64_t bytes = num_align_up(lent_file_bytes(own->lent.size_bytes), MAPPING_ALIGN);

	if (memfd_of(bytes, MFD_HUGETLB | MFD_HUGE_2MB, &own->lent.fd) < 0)
		return false;
	/* mmap() sets the pages aside: where there are none it fails, and nothing is killed later.
	 */
	if (mapping_open(own->lent.fd, bytes, /* is_writable= */ true, &own->mapping) == 0)
		return true;
	fd_close_at(&own->lent.fd);
	return false;
}

static int
open_anonymous(struct lent_own *own, bool want_huge_pages)
{
	uint64_t bytes = lent_file_bytes(own->lent.size_bytes);
	int r;

	own->lent.has_huge_pages = want_huge_pages && open_huge(own);
	if (own->lent.has_huge_pages)
		return 0;

	r = memfd_of(bytes, 0, &own->lent.fd);
	if (r < 0)
		return err_up(r);
	if (!has_room(own->lent.fd, bytes))
		return LENT_E_NO_ROOM;
	r = mapping_open(own->lent.fd, bytes, /* is_writable= */ true, &own->mapping);
	return err_up(r);
}

/* ---- named ---- */

enum found { FOUND_NEW, FOUND_UNFINISHED, FOUND_WHOLE, FOUND_DAMAGED };

static int
look_at(int fd, uint64_t size_bytes, enum found *ret_found)
{
	union {
		uint8_t bytes[LENT_HEADER_BYTES];
		struct lent_header header;
	} page;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return err_new(-errno);
	*ret_found = st.st_size == 0 ? FOUND_NEW : FOUND_DAMAGED;
	if ((uint64_t)st.st_size != lent_file_bytes(size_bytes))
		return 0;

	n = pread(fd, &page, sizeof(page), 0);
	if (n < 0)
		return err_new(-errno);
	if (n != (ssize_t)sizeof(page))
		return 0;
	if (is_zero(page.bytes, sizeof(page)))
		*ret_found = FOUND_UNFINISHED;
	else if (lent_header_is_right(&page.header) && page.header.size_bytes == size_bytes)
		*ret_found = FOUND_WHOLE;
	return 0;
}

/* make -- size an empty file and have its room set aside. */
static int
make(int fd, uint64_t file_bytes)
{
	int e;

	if (!has_room(fd, file_bytes))
		return LENT_E_NO_ROOM;
	e = posix_fallocate(fd, 0, (off_t)file_bytes);
	if (e == ENOSPC || e == EFBIG || e == ENOMEM || e == EDQUOT) {
		if (ftruncate(fd, 0) < 0)
			return err_new(-errno);
		return LENT_E_NO_ROOM;
	}
	return e == 0 ? 0 : err_new(-e);
}

static int
open_named(struct lent_own *own, const struct lent_config *config)
{
	uint64_t bytes = lent_file_bytes(own->lent.size_bytes);
	enum found found;
	int r;

	r = lent_file_open(config->path, /* more_flags= */ 0, &own->lent.fd);
	if (r != 0)
		return err_up(r);
	r = look_at(own->lent.fd, own->lent.size_bytes, &found);
	if (r < 0)
		return err_up(r);

	if (found != FOUND_NEW && (config->wipe || found == FOUND_UNFINISHED)) {
		if (unlink(config->path) < 0)
			return err_new(-errno);
		fd_close_at(&own->lent.fd);
		r = lent_file_open(config->path, /* more_flags= */ 0, &own->lent.fd);
		if (r != 0)
			return err_up(r);
		found = FOUND_NEW;
	}
	if (found == FOUND_DAMAGED)
		return LENT_E_DAMAGED;

	own->is_born = found == FOUND_NEW;
	r = own->is_born ? make(own->lent.fd, bytes) : 0;
	if (r != 0)
		return err_up(r);
	own->lent.was_adopted = !own->is_born;
	r = mapping_open(own->lent.fd, bytes, /* is_writable= */ true, &own->mapping);
	return err_up(r);
}

/* ---- whole ---- */

static int
open_whole(struct lent_own *own, const struct lent_config *config, struct rand *rand)
{
	struct lent *lent = &own->lent;
	int r;

	r = config->path != NULL ? open_named(own, config)
				 : open_anonymous(own, config->want_huge_pages);
	if (r != 0)
		return err_up(r);
	lent->header = (struct lent_header *)own->mapping.bytes;
	lent->bytes = own->mapping.bytes + LENT_HEADER_BYTES;

	r = touch(own, config);
	if (r != 0)
		return err_up(r);
	r = token_secret_new(lent->secret);
	if (r < 0)
		return err_up(r);

	if (!lent->was_adopted) {
		header_write(lent, rand);
		return 0;
	}
	lent->segment_id = lent->header->segment_id;
	lent->epoch = lent->header->epoch;
	lent_fence(lent); /* writers of the last owner ask again before they go on */
	return 0;
}

int
lent_open(const struct lent_config *config, struct rand *rand, struct lent **ret_lent)
{
	struct lent_own *own;
	int r;

	if (config->size_bytes < LENT_SIZE_MIN || config->size_bytes > LENT_SIZE_MAX ||
	    config->size_bytes % 4096 != 0)
		return err_new(-EINVAL);

	if (config->is_on_disk)
		return err_up(lent_disk_open(config, rand, ret_lent));

	own = calloc(1, sizeof(*own));
	if (own == NULL)
		return err_new(-ENOMEM);
	own->lent.fd = -1;
	own->lent.size_bytes = config->size_bytes;
	own->lent.is_named = config->path != NULL;
	list_link_init(&own->lent.at);

	r = open_whole(own, config, rand);
	if (r != 0) {
		if (own->is_born)
			unlink(config->path);
		lent_close(&own->lent);
		return err_up(r);
	}
	*ret_lent = &own->lent;
	return 0;
}

void
lent_close(struct lent *lent)
{
	struct lent_own *own;

	if (lent == NULL)
		return;
	if (lent->disk != NULL) {
		lent_disk_close(lent);
		return;
	}
	own = container_of(lent, struct lent_own, lent);
	mapping_close(&own->mapping);
	fd_close_at(&lent->fd);
	explicit_bzero(lent->secret, sizeof(lent->secret));
	free(own);
}

/* Whenever we are killed, the page says no less than what may be. */
uint64_t
lent_remember(struct lent *lent, uint64_t master_epoch, uint32_t lease_ms)
{
	struct lent_header *header = lent->header;
	bool is_news = lease_ms > header->lease_ms || master_epoch != header->told_epoch;

	if (lease_ms > header->lease_ms)
		header->lease_ms = lease_ms;
	atomic_signal_fence(memory_order_seq_cst);
	if (master_epoch != header->told_epoch) {
		header->master_epoch = num_max(header->master_epoch, header->told_epoch);
		atomic_signal_fence(memory_order_seq_cst);
		header->told_epoch = master_epoch;
	}
	if (is_news && lent->disk != NULL)
		lent_disk_note(lent);
	return header->master_epoch;
}

uint32_t
lent_longest_lease_ms(const struct lent *lent)
{
	return lent->header->lease_ms;
}

void
lent_has_master(struct lent *lent)
{
	struct lent_header *header = lent->header;

	if (header->told_epoch == 0 || header->master_epoch == header->told_epoch)
		return;
	header->master_epoch = header->told_epoch;
	if (lent->disk != NULL)
		lent_disk_note(lent);
}

int
lent_reopen(const struct lent *lent, bool is_writable, int *ret_fd)
{
	char path[64];
	int flags = (is_writable ? O_RDWR : O_RDONLY) | (lent->disk != NULL ? O_DIRECT : 0);
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", lent->fd);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return err_new(-errno);
	*ret_fd = fd;
	return 0;
}

void
lent_fence(struct lent *lent)
{
	atomic_fetch_add(&lent->header->fence, 1);
}
