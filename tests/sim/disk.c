/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/disk.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "tests/sim/fiber.h"

static struct {
	enum disk_mood mood;
	sqlite3_vfs vfs;   /* as the real one, but for its name and xOpen */
	sqlite3_vfs *real; /* NULL: not registered yet */
} disk;

/* The real file lies behind it. */
struct shell {
	sqlite3_file base;
	sqlite3_file *real;
};

static sqlite3_file *
real_of(sqlite3_file *file)
{
	return ((struct shell *)file)->real;
}

/* ---- what a disk that is ill refuses ---- */

static int
file_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
	sqlite3_file *real = real_of(file);
	sqlite3_int64 size = 0;

	if (disk.mood == DISK_FAILING) {
		(void)real->pMethods->xWrite(real, bytes, n / 2, at);
		return SQLITE_IOERR_WRITE;
	}
	if (disk.mood == DISK_FULL && real->pMethods->xFileSize(real, &size) == SQLITE_OK &&
	    at + n > size)
		return SQLITE_FULL;
	return real->pMethods->xWrite(real, bytes, n, at);
}

static int
file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	sqlite3_file *real = real_of(file);

	return disk.mood == DISK_FAILING ? SQLITE_IOERR_TRUNCATE
					 : real->pMethods->xTruncate(real, size);
}

static int
file_sync(sqlite3_file *file, int flags)
{
	sqlite3_file *real = real_of(file);

	return disk.mood == DISK_FAILING ? SQLITE_IOERR_FSYNC : real->pMethods->xSync(real, flags);
}

/* ---- the rest goes through ---- */

#define THROUGH(name, params, args)                                                                \
	static int file_##name params                                                              \
	{                                                                                          \
		sqlite3_file *real = real_of(file);                                                \
                                                                                                   \
		return real->pMethods->x##name args;                                               \
	}

THROUGH(Close, (sqlite3_file * file), (real))
THROUGH(Read, (sqlite3_file * file, void *to, int n, sqlite3_int64 at), (real, to, n, at))
THROUGH(FileSize, (sqlite3_file * file, sqlite3_int64 *ret), (real, ret))
THROUGH(Lock, (sqlite3_file * file, int level), (real, level))
THROUGH(Unlock, (sqlite3_file * file, int level), (real, level))
THROUGH(CheckReservedLock, (sqlite3_file * file, int *ret), (real, ret))
THROUGH(FileControl, (sqlite3_file * file, int op, void *arg), (real, op, arg))
THROUGH(SectorSize, (sqlite3_file * file), (real))
THROUGH(DeviceCharacteristics, (sqlite3_file * file), (real))
THROUGH(ShmMap, (sqlite3_file * file, int page, int size, int extend, void volatile **ret),
	(real, page, size, extend, ret))
THROUGH(ShmLock, (sqlite3_file * file, int at, int n, int flags), (real, at, n, flags))
THROUGH(ShmUnmap, (sqlite3_file * file, int is_last), (real, is_last))

static void
file_shm_barrier(sqlite3_file *file)
{
	sqlite3_file *real = real_of(file);

	real->pMethods->xShmBarrier(real);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = file_Close,
	.xRead = file_Read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_FileSize,
	.xLock = file_Lock,
	.xUnlock = file_Unlock,
	.xCheckReservedLock = file_CheckReservedLock,
	.xFileControl = file_FileControl,
	.xSectorSize = file_SectorSize,
	.xDeviceCharacteristics = file_DeviceCharacteristics,
	.xShmMap = file_ShmMap,
	.xShmLock = file_ShmLock,
	.xShmBarrier = file_shm_barrier,
	.xShmUnmap = file_ShmUnmap,
};

static int
disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	struct shell *shell = (struct shell *)file;
	int rc;

	(void)vfs;
	shell->real = (sqlite3_file *)(shell + 1);
	shell->base.pMethods = NULL;
	rc = disk.real->xOpen(disk.real, name, shell->real, flags, ret_flags);
	if (rc == SQLITE_OK)
		shell->base.pMethods = &methods;
	return rc;
}

void
disk_set(enum disk_mood mood)
{
	disk.mood = mood;
	if (disk.real != NULL)
		return;
	disk.real = sqlite3_vfs_find(NULL);
	if (disk.real == NULL)
		abort();
	disk.vfs = *disk.real;
	disk.vfs.pNext = NULL;
	disk.vfs.zName = DISK_VFS;
	disk.vfs.szOsFile += (int)sizeof(struct shell);
	disk.vfs.xOpen = disk_open;
	if (sqlite3_vfs_register(&disk.vfs, 0) != SQLITE_OK)
		abort();
}

static void
get_well(void *arg, uint64_t word)
{
	(void)arg;
	(void)word;
	disk_set(DISK_WELL);
}

void
disk_sicken(enum disk_mood mood, uint64_t len_ns)
{
	if (disk.mood != DISK_WELL)
		return;
	sim_say("the master's disk is %s for %" PRIu64 " ms",
		mood == DISK_FULL ? "full" : "failing", len_ns / MS(1));
	disk_set(mood);
	sim_at(sim_now() + len_ns, get_well, NULL, 0);
}
