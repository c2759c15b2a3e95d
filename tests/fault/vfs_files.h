/* SPDX-License-Identifier: Apache-2.0 */

/*
 * vfs_files.h -- the files of the disk of vfs.h: what was written, what was synced, what lies
 * between.
 *
 *      bytes      all that was written: the page cache, which survives the process
 *      synced     its bytes as of the last sync: what a power cut leaves for certain
 *      pending    writes and truncations since, in order
 *      openings   who has it open, with their locks; memory that they share lasts as long as one
 *                 of them does
 *
 * A file is known by the last part of its path: who opens it in another folder finds it again.
 */
#ifndef TESTS_FAULT_VFS_FILES_H
#define TESTS_FAULT_VFS_FILES_H

#include "transfer/base/base.h"
#include "transfer/base/vec.h"

#define FILES_MAX    8
#define OPENINGS_MAX 8
#define REGIONS_MAX  8

struct opening;

struct pending {
	uint64_t offset;
	size_t len_bytes;
	uint8_t *bytes; /* NULL: the file ends at offset */
};

struct content {
	uint8_t *at;
	size_t n, cap;
};

struct file {
	char name[64]; /* "": free */
	struct content bytes, synced;
	VEC(struct pending) pending;
	struct opening *openings[OPENINGS_MAX];
	void *regions[REGIONS_MAX];
};

/* file_find -- NULL: there is none of that name. */
struct file *file_find(const char *path);
struct file *file_find_or_make(const char *path);

void file_put(struct file *file, uint64_t offset, const void *bytes, size_t len_bytes);
void file_cut(struct file *file, uint64_t len_bytes);

/* file_settle -- all that is pending reaches the plate. */
void file_settle(struct file *file);

void file_forget(struct file *file);
void file_forget_regions(struct file *file);

/* files_forget -- all of them. */
void files_forget(void);

/* files_bytes -- of all of them. */
uint64_t files_bytes(void);

#endif
