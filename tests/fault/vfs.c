/* SPDX-License-Identifier: Apache-2.0 */

/* What SQLite asks of a disk, answered from memory (vfs_files.h): so fork() is a copy of it. */
#include "tests/fault/vfs.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fault/vfs_files.h"

struct opening {
	sqlite3_file base;
	struct file *file;
	int level;              /* of lock: SQLITE_LOCK_NONE... */
	uint32_t shared, alone; /* locks of the memory that is shared, a bit each */
	bool has_regions;
};

static struct {
	sqlite3_vfs vfs;
	sqlite3_vfs *real;
	uint32_t n_ops, n_failed, fail_at, fail_len;
	enum vfs_fault fault;
	int last_errno;
	bool fails_next_sync;
	void (*before_op)(uint32_t n);
	uint64_t room_bytes;
	char other[256];
} disk;

/* ---- faults --------------------------------------------------------------------------- */

/* fate -- SQLITE_OK, or the failure that is due for the op that comes now. */
static int
fate(int io_error)
{
	bool is_due;

	if (disk.before_op != NULL)
		disk.before_op(disk.n_ops + 1);
	disk.n_ops++;
	is_due = disk.fail_len > 0 && disk.n_ops >= disk.fail_at &&
		 disk.n_ops - disk.fail_at < disk.fail_len;
	if (!is_due)
		return SQLITE_OK;
	disk.n_failed++;
	disk.last_errno = disk.fault == VFS_FULL ? ENOSPC : EIO;
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

void
vfs_before_op(void (*fn)(uint32_t n))
{
	disk.before_op = fn;
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

uint64_t
vfs_used_bytes(void)
{
	struct stat st;
	uint64_t sum = 0;

	if (disk.other[0] != '\0' && stat(disk.other, &st) == 0)
		sum = (uint64_t)st.st_size;
	return sum + files_bytes();
}

/* has_room -- may this file grow to end? */
static bool
has_room(const struct file *file, uint64_t end)
{
	return disk.room_bytes == 0 || end <= file->bytes.n ||
	       vfs_used_bytes() + (end - file->bytes.n) <= disk.room_bytes;
}

/* ---- the methods of a file: bytes --------------------------------------------------------- */

static struct opening *
of(sqlite3_file *base)
{
	return (struct opening *)base;
}

static int
file_read(sqlite3_file *base, void *bytes, int n_wanted, sqlite3_int64 at)
{
	const struct content *content = &of(base)->file->bytes;
	size_t offset = (size_t)at, n = (size_t)n_wanted;
	size_t has = offset < content->n ? content->n - offset : 0;

	if (has >= n) {
		memcpy(bytes, content->at + offset, n);
		return SQLITE_OK;
	}
	memset(bytes, 0, n);
	if (has > 0)
		memcpy(bytes, content->at + offset, has);
	return SQLITE_IOERR_SHORT_READ;
}

static int
file_write(sqlite3_file *base, const void *bytes, int n, sqlite3_int64 at)
{
	struct file *file = of(base)->file;
	int rc = fate(SQLITE_IOERR_WRITE);

	if (rc != SQLITE_OK)
		return rc;
	if (!has_room(file, (uint64_t)at + (uint64_t)n)) {
		disk.last_errno = ENOSPC;
		return SQLITE_FULL;
	}
	file_put(file, (uint64_t)at, bytes, (size_t)n);
	return SQLITE_OK;
}

static int
file_truncate(sqlite3_file *base, sqlite3_int64 len)
{
	struct file *file = of(base)->file;
	int rc = fate(SQLITE_IOERR_TRUNCATE);

	if (rc != SQLITE_OK)
		return rc;
	file_cut(file, (uint64_t)len);
	return SQLITE_OK;
}

static int
file_sync(sqlite3_file *base, int flags)
{
	int rc = fate(SQLITE_IOERR_FSYNC);

	(void)flags;
	if (disk.fails_next_sync) {
		disk.fails_next_sync = false;
		disk.n_failed++;
		return SQLITE_IOERR_FSYNC;
	}
	if (rc == SQLITE_OK)
		file_settle(of(base)->file);
	return rc;
}

static int
file_len(sqlite3_file *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)of(base)->file->bytes.n;
	return SQLITE_OK;
}

static int
file_control(sqlite3_file *base, int op, void *arg)
{
	(void)base;
	switch (op) {
	case SQLITE_FCNTL_LAST_ERRNO:
		*(int *)arg = disk.last_errno;
		return SQLITE_OK;
	case SQLITE_FCNTL_SIZE_HINT: /* growing by the back door would go unseen */
	case SQLITE_FCNTL_CHUNK_SIZE:
		return SQLITE_OK;
	default:
		return SQLITE_NOTFOUND;
	}
}

static int
file_sector(sqlite3_file *base)
{
	(void)base;
	return 4096;
}

static int
file_traits(sqlite3_file *base)
{
	(void)base;
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* ---- the methods of a file: locks ----------------------------------------------------------- */

/* others_have -- somebody else's lock of that level, or a higher one. */
static bool
others_have(const struct opening *me, int level)
{
	for (size_t i = 0; i < OPENINGS_MAX; i++) {
		const struct opening *other = me->file->openings[i];

		if (other != NULL && other != me && other->level >= level)
			return true;
	}
	return false;
}

static int
file_lock(sqlite3_file *base, int level)
{
	struct opening *me = of(base);

	if (me->level >= level)
		return SQLITE_OK;
	if (others_have(me,
			level == SQLITE_LOCK_SHARED ? SQLITE_LOCK_PENDING : SQLITE_LOCK_RESERVED))
		return SQLITE_BUSY;
	if (level == SQLITE_LOCK_EXCLUSIVE && others_have(me, SQLITE_LOCK_SHARED)) {
		me->level = SQLITE_LOCK_PENDING;
		return SQLITE_BUSY;
	}
	me->level = level;
	return SQLITE_OK;
}

static int
file_unlock(sqlite3_file *base, int level)
{
	if (of(base)->level > level)
		of(base)->level = level;
	return SQLITE_OK;
}

static int
file_is_reserved(sqlite3_file *base, int *ret)
{
	*ret = of(base)->level >= SQLITE_LOCK_RESERVED ||
	       others_have(of(base), SQLITE_LOCK_RESERVED);
	return SQLITE_OK;
}

static int
file_shm_map(sqlite3_file *base, int region, int n, int extend, void volatile **ret)
{
	struct file *file = of(base)->file;

	assert(region < REGIONS_MAX);
	if (file->regions[region] == NULL && extend) {
		file->regions[region] = calloc(1, (size_t)n);
		assert(file->regions[region] != NULL);
	}
	of(base)->has_regions = true;
	*ret = file->regions[region];
	return SQLITE_OK;
}

static int
file_shm_lock(sqlite3_file *base, int offset, int n, int flags)
{
	struct opening *me = of(base);
	uint32_t bits = ((1u << n) - 1) << offset;

	if (flags & SQLITE_SHM_UNLOCK) {
		me->shared &= ~bits;
		me->alone &= ~bits;
		return SQLITE_OK;
	}
	for (size_t i = 0; i < OPENINGS_MAX; i++) {
		const struct opening *other = me->file->openings[i];

		if (other == NULL || other == me)
			continue;
		if ((other->alone & bits) != 0 ||
		    ((flags & SQLITE_SHM_EXCLUSIVE) && (other->shared & bits) != 0))
			return SQLITE_BUSY;
	}
	if (flags & SQLITE_SHM_EXCLUSIVE)
		me->alone |= bits;
	else
		me->shared |= bits;
	return SQLITE_OK;
}

static void
file_shm_barrier(sqlite3_file *base)
{
	(void)base;
	__sync_synchronize();
}

static int
file_shm_unmap(sqlite3_file *base, int is_delete)
{
	struct opening *me = of(base);

	(void)is_delete; /* without anybody who has it open its contents are void either way */
	me->has_regions = false;
	me->shared = me->alone = 0;
	for (size_t i = 0; i < OPENINGS_MAX; i++)
		if (me->file->openings[i] != NULL && me->file->openings[i]->has_regions)
			return SQLITE_OK;
	file_forget_regions(me->file);
	return SQLITE_OK;
}

static int
file_close(sqlite3_file *base)
{
	struct opening *me = of(base);

	for (size_t i = 0; i < OPENINGS_MAX; i++)
		if (me->file->openings[i] == me)
			me->file->openings[i] = NULL;
	return SQLITE_OK;
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
disk_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *ret_flags)
{
	struct opening *me = of(base);
	size_t slot = 0;
	int rc = fate(SQLITE_CANTOPEN);

	(void)vfs;
	*me = (struct opening){0};
	if (rc != SQLITE_OK)
		return rc == SQLITE_FULL ? SQLITE_CANTOPEN : rc;
	assert(path != NULL); /* nothing of the books goes to temporary files */

	me->file = file_find_or_make(path);
	while (me->file->openings[slot] != NULL) {
		slot++;
		assert(slot < OPENINGS_MAX);
	}
	me->file->openings[slot] = me;
	me->base.pMethods = &methods;
	if (ret_flags != NULL)
		*ret_flags = flags;
	return SQLITE_OK;
}

static int
disk_delete(sqlite3_vfs *vfs, const char *path, int sync_dir)
{
	struct file *file = file_find(path);
	int rc = fate(SQLITE_IOERR_DELETE);

	(void)vfs;
	(void)sync_dir;
	if (rc != SQLITE_OK)
		return rc;
	if (file == NULL)
		return SQLITE_IOERR_DELETE_NOENT;
	file_forget(file);
	return SQLITE_OK;
}

static int
disk_access(sqlite3_vfs *vfs, const char *path, int flags, int *ret)
{
	const struct file *file = file_find(path);

	(void)vfs;
	(void)flags;
	*ret = file != NULL && file->bytes.n > 0;
	return SQLITE_OK;
}

static int
disk_last_error(sqlite3_vfs *vfs, int len, char *text)
{
	(void)vfs;
	(void)len;
	(void)text;
	return disk.last_errno;
}

void
vfs_start(void)
{
	if (disk.real == NULL) {
		disk.real = sqlite3_vfs_find(NULL);
		disk.vfs = *disk.real;
		disk.vfs.zName = VFS_NAME;
		disk.vfs.pNext = NULL;
		disk.vfs.szOsFile = (int)sizeof(struct opening);
		disk.vfs.xOpen = disk_open;
		disk.vfs.xDelete = disk_delete;
		disk.vfs.xAccess = disk_access;
		disk.vfs.xGetLastError = disk_last_error;
		sqlite3_vfs_register(&disk.vfs, 0);
	}
	vfs_stop();
}

void
vfs_stop(void)
{
	files_forget();
	disk.n_ops = disk.n_failed = disk.fail_len = 0;
	disk.room_bytes = 0;
	disk.before_op = NULL;
}
