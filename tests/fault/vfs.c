/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every file has a shadow that outlives its opening:
 *
 *      synced     its bytes as of the last sync: what a power cut leaves for certain
 *      pending    writes and truncations since, in order
 *
 * The real file always has all of it: that is the page cache, which survives the
 * process.  Real syncs are left out: they would prove nothing here and take time.
 */
#include "tests/fault/vfs.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/base/rand.h"
#include "transfer/base/vec.h"

#define SECTOR_BYTES 512u
#define SHADOWS_MAX  16

struct pending {
	uint64_t offset;
	size_t len_bytes;
	uint8_t *bytes; /* NULL: the file ends at offset */
};

struct shadow {
	char path[256]; /* "": free */
	uint8_t *synced;
	size_t n_synced, cap_synced;
	VEC(struct pending) pending;
};

struct vfs_file {
	sqlite3_file base;
	sqlite3_file *real;    /* behind this struct */
	struct shadow *shadow; /* NULL: a temporary file */
};

static struct {
	sqlite3_vfs vfs;
	sqlite3_vfs *real;
	uint32_t n_ops, n_failed, fail_at, fail_len;
	enum vfs_fault fault;
	bool fails_next_sync;
	uint64_t room_bytes;
	char other[256];
	struct shadow shadows[SHADOWS_MAX];
} disk;

/* ---- faults --------------------------------------------------------------------------- */

/* fate -- SQLITE_OK, or the failure that is due for the op that comes now. */
static int
fate(int io_error)
{
	bool is_due;

	disk.n_ops++;
	is_due = disk.fail_len > 0 && disk.n_ops >= disk.fail_at &&
		 disk.n_ops - disk.fail_at < disk.fail_len;
	if (!is_due)
		return SQLITE_OK;
	disk.n_failed++;
	return disk.fault == VFS_FULL ? SQLITE_FULL : io_error;
}

void
vfs_fail_at(uint32_t n, uint32_t len, enum vfs_fault fault)
{
	disk.fail_at = disk.n_ops + n;
	disk.fail_len = len;
	disk.fault = fault;
}

void
vfs_fail_next_sync(void)
{
	disk.fails_next_sync = true;
}

void
vfs_succeed(void)
{
	disk.fails_next_sync = false;
	disk.fail_len = 0;
}

uint32_t
vfs_n_ops(void)
{
	return disk.n_ops;
}

uint32_t
vfs_n_failed(void)
{
	return disk.n_failed;
}

void
vfs_set_room(uint64_t len_bytes, const char *other)
{
	disk.room_bytes = len_bytes;
	strncpy(disk.other, other != NULL ? other : "", sizeof(disk.other) - 1);
}

static uint64_t
file_bytes(const char *path)
{
	struct stat st;

	return path[0] != '\0' && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* has_room -- may this file grow to end? */
static bool
has_room(const struct shadow *grows, uint64_t end)
{
	uint64_t sum = file_bytes(disk.other);

	if (disk.room_bytes == 0 || grows == NULL || end <= file_bytes(grows->path))
		return true;
	for (size_t i = 0; i < SHADOWS_MAX; i++)
		if (&disk.shadows[i] != grows)
			sum += file_bytes(disk.shadows[i].path);
	return sum + end <= disk.room_bytes;
}

/* ---- shadows -------------------------------------------------------------------------- */

static void
forget_pending(struct shadow *shadow)
{
	for (size_t i = 0; i < shadow->pending.n; i++)
		free(shadow->pending.at[i].bytes);
	shadow->pending.n = 0;
}

static void
forget(struct shadow *shadow)
{
	forget_pending(shadow);
	vec_fini(&shadow->pending);
	free(shadow->synced);
	*shadow = (struct shadow){0};
}

static struct shadow *
find_shadow(const char *path)
{
	for (size_t i = 0; i < SHADOWS_MAX; i++)
		if (strcmp(disk.shadows[i].path, path) == 0)
			return &disk.shadows[i];
	return NULL;
}

/* read_whole -- what the file has now. */
static void
read_whole(const char *path, uint8_t **ret, size_t *ret_n)
{
	size_t n = file_bytes(path);
	uint8_t *bytes = malloc(n + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, bytes, n);

	assert(bytes != NULL && (fd < 0 || (size_t)got == n));
	if (fd >= 0)
		close(fd);
	*ret = bytes;
	*ret_n = (size_t)got;
}

static struct shadow *
shadow_of(const char *path)
{
	struct shadow *shadow = find_shadow(path);

	if (shadow != NULL)
		return shadow;

	shadow = find_shadow("");
	assert(shadow != NULL && strlen(path) < sizeof(shadow->path));
	memcpy(shadow->path, path, strlen(path) + 1);
	read_whole(path, &shadow->synced, &shadow->n_synced);
	shadow->cap_synced = shadow->n_synced;
	return shadow;
}

static void
note(struct shadow *shadow, uint64_t offset, const void *bytes, size_t len_bytes)
{
	struct pending pending = {offset, len_bytes, NULL};
	int r;

	if (shadow == NULL)
		return;
	if (bytes != NULL) {
		pending.bytes = malloc(len_bytes);
		assert(pending.bytes != NULL);
		memcpy(pending.bytes, bytes, len_bytes);
	}
	r = vec_push(&shadow->pending, pending);
	assert(r == 0);
}

static void
resize_synced(struct shadow *shadow, size_t n)
{
	if (n > shadow->cap_synced) {
		shadow->cap_synced = 2 * n + 4096;
		shadow->synced = realloc(shadow->synced, shadow->cap_synced);
		assert(shadow->synced != NULL);
	}
	if (n > shadow->n_synced)
		memset(shadow->synced + shadow->n_synced, 0, n - shadow->n_synced);
	shadow->n_synced = n;
}

/* settle -- pending writes reach the plate: all, or (rand) those sectors that chance likes. */
static void
settle(struct shadow *shadow, struct rand *rand)
{
	for (size_t i = 0; i < shadow->pending.n; i++) {
		const struct pending *p = &shadow->pending.at[i];

		if (p->bytes == NULL && (rand == NULL || rand_below(rand, 2) == 0))
			resize_synced(shadow, p->offset);
		for (size_t at = 0; p->bytes != NULL && at < p->len_bytes;) {
			size_t to_edge = SECTOR_BYTES - (p->offset + at) % SECTOR_BYTES;
			size_t n = to_edge < p->len_bytes - at ? to_edge : p->len_bytes - at;

			if (rand == NULL || rand_below(rand, 2) == 0) {
				if (p->offset + at + n > shadow->n_synced)
					resize_synced(shadow, p->offset + at + n);
				memcpy(shadow->synced + p->offset + at, p->bytes + at, n);
			}
			at += n;
		}
	}
	forget_pending(shadow);
}

void
vfs_power_cut(uint64_t seed)
{
	struct rand rand;

	rand_init(&rand, seed);
	for (size_t i = 0; i < SHADOWS_MAX; i++) {
		struct shadow *shadow = &disk.shadows[i];
		ssize_t n;
		int fd;

		if (shadow->path[0] == '\0')
			continue;
		settle(shadow, &rand);
		fd = open(shadow->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert(fd >= 0);
		n = write(fd, shadow->synced, shadow->n_synced);
		assert((size_t)n == shadow->n_synced);
		close(fd);
		forget(shadow);
	}
}

/* ---- the methods of a file ---------------------------------------------------------------- */

static struct vfs_file *
of(sqlite3_file *file)
{
	return (struct vfs_file *)file;
}

static int
file_close(sqlite3_file *file)
{
	return of(file)->real->pMethods->xClose(of(file)->real);
}

static int
file_read(sqlite3_file *file, void *bytes, int n, sqlite3_int64 at)
{
	return of(file)->real->pMethods->xRead(of(file)->real, bytes, n, at);
}

static int
file_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
	struct shadow *shadow = of(file)->shadow;
	int rc = fate(SQLITE_IOERR_WRITE);

	if (rc != SQLITE_OK)
		return rc;
	if (!has_room(shadow, (uint64_t)at + (uint64_t)n))
		return SQLITE_FULL;
	note(shadow, (uint64_t)at, bytes, (size_t)n);
	return of(file)->real->pMethods->xWrite(of(file)->real, bytes, n, at);
}

static int
file_truncate(sqlite3_file *file, sqlite3_int64 len)
{
	int rc = fate(SQLITE_IOERR_TRUNCATE);

	if (rc != SQLITE_OK)
		return rc;
	note(of(file)->shadow, (uint64_t)len, NULL, 0);
	return of(file)->real->pMethods->xTruncate(of(file)->real, len);
}

static int
file_sync(sqlite3_file *file, int flags)
{
	int rc = fate(SQLITE_IOERR_FSYNC);

	(void)flags;
	if (disk.fails_next_sync) {
		disk.fails_next_sync = false;
		disk.n_failed++;
		return SQLITE_IOERR_FSYNC;
	}
	if (rc == SQLITE_OK && of(file)->shadow != NULL)
		settle(of(file)->shadow, NULL);
	return rc;
}

static int
file_len(sqlite3_file *file, sqlite3_int64 *ret)
{
	return of(file)->real->pMethods->xFileSize(of(file)->real, ret);
}

static int
file_lock(sqlite3_file *file, int level)
{
	return of(file)->real->pMethods->xLock(of(file)->real, level);
}

static int
file_unlock(sqlite3_file *file, int level)
{
	return of(file)->real->pMethods->xUnlock(of(file)->real, level);
}

static int
file_is_reserved(sqlite3_file *file, int *ret)
{
	return of(file)->real->pMethods->xCheckReservedLock(of(file)->real, ret);
}

static int
file_control(sqlite3_file *file, int op, void *arg)
{
	if (op == SQLITE_FCNTL_SIZE_HINT || op == SQLITE_FCNTL_CHUNK_SIZE)
		return SQLITE_OK; /* growing by the back door would go unseen */
	return of(file)->real->pMethods->xFileControl(of(file)->real, op, arg);
}

static int
file_sector(sqlite3_file *file)
{
	return of(file)->real->pMethods->xSectorSize(of(file)->real);
}

static int
file_traits(sqlite3_file *file)
{
	return of(file)->real->pMethods->xDeviceCharacteristics(of(file)->real);
}

static int
file_shm_map(sqlite3_file *file, int region, int n, int extend, void volatile **ret)
{
	return of(file)->real->pMethods->xShmMap(of(file)->real, region, n, extend, ret);
}

static int
file_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
	return of(file)->real->pMethods->xShmLock(of(file)->real, offset, n, flags);
}

static void
file_shm_barrier(sqlite3_file *file)
{
	of(file)->real->pMethods->xShmBarrier(of(file)->real);
}

static int
file_shm_unmap(sqlite3_file *file, int is_delete)
{
	return of(file)->real->pMethods->xShmUnmap(of(file)->real, is_delete);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_len,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_is_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_traits,
	.xShmMap = file_shm_map,
	.xShmLock = file_shm_lock,
	.xShmBarrier = file_shm_barrier,
	.xShmUnmap = file_shm_unmap,
};

/* ---- the methods of the disk ---------------------------------------------------------------- */

static int
disk_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *ret_flags)
{
	struct vfs_file *f = of(file);
	int rc = fate(SQLITE_CANTOPEN);

	(void)vfs;
	*f = (struct vfs_file){.real = (sqlite3_file *)(f + 1)};
	if (rc == SQLITE_OK)
		rc = disk.real->xOpen(disk.real, path, f->real, flags, ret_flags);
	if (rc != SQLITE_OK)
		return rc == SQLITE_FULL ? SQLITE_CANTOPEN : rc;

	f->base.pMethods = &methods;
	f->shadow = path != NULL ? shadow_of(path) : NULL;
	return SQLITE_OK;
}

static int
disk_delete(sqlite3_vfs *vfs, const char *path, int sync_dir)
{
	struct shadow *shadow = find_shadow(path);
	int rc = fate(SQLITE_IOERR_DELETE);

	(void)vfs;
	if (rc != SQLITE_OK)
		return rc;
	if (shadow != NULL && path[0] != '\0')
		forget(shadow);
	return disk.real->xDelete(disk.real, path, sync_dir);
}

void
vfs_start(void)
{
	if (disk.real == NULL) {
		disk.real = sqlite3_vfs_find(NULL);
		disk.vfs = *disk.real;
		disk.vfs.zName = VFS_NAME;
		disk.vfs.pNext = NULL;
		disk.vfs.szOsFile = (int)sizeof(struct vfs_file) + disk.real->szOsFile;
		disk.vfs.xOpen = disk_open;
		disk.vfs.xDelete = disk_delete;
		sqlite3_vfs_register(&disk.vfs, 0);
	}
	vfs_stop();
}

void
vfs_stop(void)
{
	for (size_t i = 0; i < SHADOWS_MAX; i++)
		if (disk.shadows[i].path[0] != '\0')
			forget(&disk.shadows[i]);
	disk.n_ops = disk.n_failed = disk.fail_len = 0;
	disk.room_bytes = 0;
}
