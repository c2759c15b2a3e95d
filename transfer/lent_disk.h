/* SPDX-License-Identifier: Apache-2.0 */

/*
 * lent_disk.h -- what lent.c leaves to others: files by their names, and segments on disks.
 *
 *      disk:  0          4096                    4096 + size
 *             |-- page --|======== segment =======|
 *      page:  who the bytes are, who has it open; all of it in the first 512 bytes, which a device
 *             writes whole or not at all
 */
#ifndef TRANSFER_LENT_DISK_H
#define TRANSFER_LENT_DISK_H

#include "transfer/lent.h"

#define LENT_DISK_MAGIC   0x31444e4cu /* "LND1" */
#define LENT_DISK_VERSION 1

/* As it lies on the disk, little-endian. */
struct lent_disk_page {
	uint32_t magic, version;
	uint64_t segment_id, epoch, size_bytes;
	uint64_t master_epoch, told_epoch; /* as in lent_header.h */
	char opened_at[40];                /* host_id(): the machine, since it was started */
	uint32_t is_open;                  /* 0: synced and closed */
	uint32_t is_synced;                /* each write was, before it was answered */
	uint32_t lease_ms;                 /* as in lent_header.h */
	uint32_t crc;                      /* of what stands before */
};

static_assert(sizeof(struct lent_disk_page) <= 512, "one write of any device");

/* lent_disk_page_is_right -- magic, version and sum. */
bool lent_disk_page_is_right(const struct lent_disk_page *page);

/*
 * lent_file_open -- the file that bears this name while we hold its lock, made when missing.
 *
 * result:  0, LENT_E_IN_USE, LENT_E_DAMAGED (it is no regular file), -errno.
 */
int lent_file_open(const char *path, int more_flags, int *ret_fd) MUST_CHECK;

/* lent_disk_open, lent_disk_close -- as lent_open() and lent_close(), which call them. */
int lent_disk_open(const struct lent_config *config, struct rand *rand,
		   struct lent **ret_lent) MUST_CHECK;
void lent_disk_close(struct lent *lent);

/* lent_disk_note -- what lent->header says of masters is on the disk; if that fails it is failing,
 * and no write will be answered as done. */
void lent_disk_note(struct lent *lent);

#endif
