/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The life of a segment on a disk:
 *
 *      (no page) --make: room set aside, page written--> open --close: synced, page--> at rest
 *                                                        ^  |                            |
 *                                                        |  | killed, machine stopped    |
 *                                                        |  v                            |
 *                                                        +- (open) <----- adopt ---------+
 */
#include "transfer/lent_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/base/clock.h"
#include "transfer/base/crc.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/disk_queue.h"
#include "transfer/lent_header.h"
#include "transfer/target.h"

/* A device that is wiped can't be made anew, as a file is: whoever still reads there may see other
 * bytes.  So its next master is told that another had it: that one lets its room rest. */
#define MASTER_UNKNOWN INT64_MAX

union page {
	struct lent_disk_page page;
	uint8_t bytes[LENT_HEADER_BYTES];
};

struct lent_disk {
	struct lent lent;
	struct disk disk;
	bool is_open;              /* `disk` is */
	bool is_born;              /* the file is ours from its first byte, and not whole yet */
	struct lent_header header; /* the fence word and the epochs; no process maps this one */
	_Alignas(DISK_BLOCK_MAX) union page page;
};

/* ---- the page ---- */

static uint32_t
page_crc(const struct lent_disk_page *page)
{
	return crc_of(0, page, offsetof(struct lent_disk_page, crc));
}

bool
lent_disk_page_is_right(const struct lent_disk_page *page)
{
	return page->magic == LENT_DISK_MAGIC && page->version == LENT_DISK_VERSION &&
	       page->crc == page_crc(page) && page->segment_id != 0 && page->epoch != 0 &&
	       memchr(page->opened_at, 0, sizeof(page->opened_at)) != NULL;
}

/* page_write -- also synced: 0 or -errno. */
static int
page_write(struct lent_disk *own, bool is_open)
{
	struct lent_disk_page *page = &own->page.page;
	int r;

	page->magic = LENT_DISK_MAGIC;
	page->version = LENT_DISK_VERSION;
	page->segment_id = own->lent.segment_id;
	page->epoch = own->lent.epoch;
	page->size_bytes = own->lent.size_bytes;
	page->master_epoch = own->header.master_epoch;
	page->told_epoch = own->header.told_epoch;
	page->is_open = is_open;
	page->is_synced = own->disk.is_synced;
	page->lease_ms = own->header.lease_ms;
	memset(page->opened_at, 0, sizeof(page->opened_at));
	snprintf(page->opened_at, sizeof(page->opened_at), "%s", host_id());
	page->crc = page_crc(page);
	r = disk_write(&own->disk, 0, own->page.bytes, sizeof(own->page));
	return r < 0 ? err_up(r) : err_up(disk_sync(&own->disk));
}

void
lent_disk_note(struct lent *lent)
{
	struct lent_disk *own = container_of(lent, struct lent_disk, lent);

	if (page_write(own, /* is_open= */ true) < 0)
		atomic_store(&own->disk.is_failing, true);
}

/* ---- the file or device ---- */

static bool
is_block_device(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISBLK(st.st_mode);
}

/* open_device -- for us alone: also not while a file system lies on it. */
static int
open_device(const char *path, int *ret_fd)
{
	cleanup_with(fd_close_at) int fd = open(path, O_RDWR | O_DIRECT | O_EXCL | O_CLOEXEC);

	if (fd < 0)
		return errno == EBUSY ? LENT_E_IN_USE : err_new(-errno);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? LENT_E_IN_USE : err_new(-errno);
	*ret_fd = fd;
	fd = -1;
	return 0;
}

/* open_file -- O_NONBLOCK, of use to open() alone, would have io_uring answer "again". */
static int
open_file(const char *path, int *ret_fd)
{
	int r = lent_file_open(path, O_DIRECT, ret_fd);

	if (r == -EINVAL)
		return LENT_E_NOT_DIRECT;
	if (r != 0)
		return err_up(r);
	return fcntl(*ret_fd, F_SETFL, O_DIRECT) < 0 ? err_new(-errno) : 0;
}

/* make_room -- for a new file. */
static int
make_room(int fd, uint64_t file_bytes)
{
	if (fallocate(fd, 0, 0, (off_t)file_bytes) == 0)
		return 0;
	if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)
		return LENT_E_NO_ROOM;
	return err_new(-errno);
}

/* born_anew -- an empty file of this name; another one may still be read by those who have it open.
 */
static int
born_anew(struct lent_disk *own, const char *path, int *fd)
{
	int r;

	if (unlink(path) < 0)
		return err_new(-errno);
	fd_close_at(fd);
	r = open_file(path, fd);
	own->is_born = r == 0;
	return err_up(r);
}

static int
open_disk(struct lent_disk *own, const struct lent_config *config)
{
	uint64_t file_bytes = lent_file_bytes(config->size_bytes);
	bool is_device = is_block_device(config->path);
	cleanup_with(fd_close_at) int fd = -1;
	struct stat st;
	int r = is_device ? open_device(config->path, &fd) : open_file(config->path, &fd);

	if (r == 0 && fstat(fd, &st) < 0)
		return err_new(-errno);
	if (r == 0 && !is_device) {
		own->is_born = st.st_size == 0;
		if (config->wipe && !own->is_born)
			r = born_anew(own, config->path, &fd);
		if (r == 0 && own->is_born)
			r = make_room(fd, file_bytes);
	}
	if (r != 0)
		return err_up(r);
	r = disk_open(&own->disk, fd);
	fd = -1;
	if (r != 0)
		return r == DISK_E_NOT_DIRECT ? LENT_E_NOT_DIRECT : err_up(r);
	own->is_open = true;
	own->lent.fd = own->disk.fd;
	own->disk.is_synced = config->is_synced;
	if (own->disk.size_bytes < file_bytes)
		return is_device ? LENT_E_NO_ROOM : LENT_E_DAMAGED;
	return is_device || own->disk.size_bytes == file_bytes ? 0 : LENT_E_DAMAGED;
}

/* ---- who the bytes are ---- */

static bool
is_zero(const union page *page)
{
	for (size_t i = 0; i < sizeof(page->bytes); i++)
		if (page->bytes[i] != 0)
			return false;
	return true;
}

static void
begin_life(struct lent_disk *own, struct rand *rand, uint64_t master_epoch)
{
	own->lent.segment_id = rand_id(rand);
	own->lent.epoch = rand_id(rand);
	own->header.master_epoch = master_epoch;
	own->header.told_epoch = 0;
	if (lent_disk_page_is_right(&own->page.page))
		own->header.lease_ms =
			own->page.page.lease_ms; /* of those who may read there still */
}

static bool
is_as_it_was_left(const struct lent_disk_page *page)
{
	return page->is_open == 0 || page->is_synced != 0 ||
	       strcmp(page->opened_at, host_id()) == 0;
}

/* read_page -- once nobody writes there any more. */
static int
read_page(struct lent_disk *own, const struct lent_config *config)
{
	const struct lent_disk_page *page = &own->page.page;
	int r = disk_read(&own->disk, 0, own->page.bytes, sizeof(own->page));

	if (r < 0 || config->rest_ms == 0 || !lent_disk_page_is_right(page) || page->is_open == 0)
		return err_up(r);
	log_event(LOG_INFO, "segment_rests",
		  "path=%s ms=%u why=\"it was not closed, and its target may still write\"",
		  config->path, config->rest_ms);
	clock_sleep_ms(config->clock != NULL ? config->clock : clock_real(), config->rest_ms);
	return err_up(disk_read(&own->disk, 0, own->page.bytes, sizeof(own->page)));
}

static int
identify(struct lent_disk *own, const struct lent_config *config, struct rand *rand)
{
	const struct lent_disk_page *page = &own->page.page;
	int r = read_page(own, config);

	if (r < 0)
		return err_up(r);
	if (is_zero(&own->page) || own->is_born) {
		begin_life(own, rand, 0);
		return 0;
	}
	if (config->wipe) {
		begin_life(own, rand, MASTER_UNKNOWN);
		return 0;
	}
	if (!lent_disk_page_is_right(page) || page->size_bytes != config->size_bytes)
		return LENT_E_DAMAGED;
	own->lent.was_lost = !is_as_it_was_left(page);
	own->lent.was_adopted = !own->lent.was_lost;
	if (own->lent.was_lost) {
		begin_life(own, rand, MASTER_UNKNOWN);
		return 0;
	}
	/* What it wrote last is to outlive a power cut in this life, too. */
	r = page->is_open != 0 ? disk_sync(&own->disk) : 0;
	if (r < 0)
		return err_up(r);
	own->lent.segment_id = page->segment_id;
	own->lent.epoch = page->epoch;
	own->header.master_epoch = page->master_epoch;
	own->header.told_epoch = page->told_epoch;
	own->header.lease_ms = page->lease_ms;
	return 0;
}

/* ---- whole ---- */

/* has_uring -- said at the start, not by the first op. */
static bool
has_uring(void)
{
	struct disk_queue *queue;

	if (disk_queue_new(clock_real(), &queue) < 0)
		return false;
	disk_queue_free(queue);
	return true;
}

static int
open_whole(struct lent_disk *own, const struct lent_config *config, struct rand *rand)
{
	int r;

	if (!has_uring())
		return LENT_E_NO_URING;
	r = open_disk(own, config);
	if (r == 0)
		r = identify(own, config, rand);
	if (r == 0)
		r = token_secret_new(own->lent.secret);
	if (r == 0)
		r = page_write(own, /* is_open= */ true);
	return err_up(r);
}

int
lent_disk_open(const struct lent_config *config, struct rand *rand, struct lent **ret_lent)
{
	struct lent_disk *own;
	int r;

	assert(config->path != NULL);

	own = aligned_alloc(DISK_BLOCK_MAX, num_align_up(sizeof(*own), (uint64_t)DISK_BLOCK_MAX));
	if (own == NULL)
		return err_new(-ENOMEM);
	memset(own, 0, sizeof(*own));
	own->lent.fd = -1;
	own->lent.disk = &own->disk;
	own->lent.size_bytes = config->size_bytes;
	own->lent.is_named = true;
	own->lent.is_nof = config->is_nof;
	own->lent.header = &own->header;
	atomic_store(&own->header.fence, 1);
	list_link_init(&own->lent.at);

	r = open_whole(own, config, rand);
	if (r != 0) {
		if (own->is_born)
			unlink(config->path);
		if (own->is_open)
			disk_close(&own->disk);
		explicit_bzero(own->lent.secret, sizeof(own->lent.secret));
		free(own);
		return err_up(r);
	}
	*ret_lent = &own->lent;
	return 0;
}

void
lent_disk_close(struct lent *lent)
{
	struct lent_disk *own = container_of(lent, struct lent_disk, lent);

	/* First the bytes, then the word that they are there. */
	if (disk_sync(&own->disk) == 0)
		(void)page_write(own, /* is_open= */ false);
	disk_close(&own->disk);
	explicit_bzero(lent->secret, sizeof(lent->secret));
	free(own);
}
