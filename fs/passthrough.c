/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/passthrough.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fuse.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fs/arena_limits.h"
#include "fs/fill.h"
#include "fs/pin.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

/* An open waits so long for a copy, and then for the rest of one piece. */
#define FILL_MS_MAX 1000

struct fs_pass {
	struct fs *fs;
	struct fs_arena arena;
	int mount_fd;               /* of the file system in which the slots are */
	_Atomic bool is_refused;    /* the kernel takes no files from us; never false again */
	_Atomic uint32_t n_copying; /* threads at it, or waiting; one too many turns back */
};

/* Why there is none; a text that stays. */
static const char *why_not = "the kernel has not begun yet";

/* ---- files ---- */

/* tmpfs_new -- a file system of our own that nobody else can reach; it goes with the descriptor. */
static int
tmpfs_new(uint64_t size_bytes, int *ret_fd)
{
	int fd = fsopen("tmpfs", FSOPEN_CLOEXEC), mount_fd = -1;
	char size[32];

	if (fd < 0)
		return -errno;
	snprintf(size, sizeof(size), "%" PRIu64, size_bytes);
	if (fsconfig(fd, FSCONFIG_SET_STRING, "size", size, 0) == 0 &&
	    fsconfig(fd, FSCONFIG_SET_STRING, "huge", "always", 0) == 0 &&
	    fsconfig(fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		mount_fd = fsmount(fd, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	*ret_fd = mount_fd;
	if (mount_fd < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	close(fd);
	return 0;
}

static int
file_make(void *owner)
{
	const struct fs_pass *pass = owner;
	int fd = openat(pass->mount_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static void
file_drop(void *owner, const struct fs_slot *slot)
{
	const struct fs_pass *pass = owner;
	uint32_t id = (uint32_t)slot->backing_id;

	/* Without a session the connection has ended, and with it what the kernel knew. */
	if (slot->backing_id > 0 && pass->fs->session != NULL &&
	    ioctl(fuse_session_fd(pass->fs->session), FUSE_DEV_IOC_BACKING_CLOSE, &id) < 0)
		log_event(LOG_WARN, "fs_backing", "errno=%d", errno);
	if (slot->fd >= 0)
		close(slot->fd);
}

static const struct fs_arena_files files = {file_make, file_drop};

/* tell_kernel -- of a file that is filled.  0 or -errno. */
static int
tell_kernel(struct fs_pass *pass, struct fs_slot *slot)
{
	struct fuse_backing_map map = {.fd = slot->fd};
	int id = ioctl(fuse_session_fd(pass->fs->session), FUSE_DEV_IOC_BACKING_OPEN, &map);

	if (id > 0) {
		slot->backing_id = id;
		return 0;
	}
	id = id < 0 ? -errno : -EIO;
	if (id != -ENOMEM && !atomic_exchange(&pass->is_refused, true))
		log_event(LOG_WARN, "fs_passthrough",
			  "is_used=no why=\"the kernel refuses\" errno=%d", -id);
	return id;
}

/* ---- life ---- */

static struct fs_arena_limits
limits_of(const struct fs *fs)
{
	struct fs_arena_limits limits = {fs_arena_bound(fs->opts->arena), 0};
	struct rlimit rlimit;

	if (getrlimit(RLIMIT_NOFILE, &rlimit) == 0)
		limits.n_slots = rlimit.rlim_cur / 2;
	return limits;
}

static const char *
begin(struct fs *fs, struct fuse_conn_info *conn)
{
	struct fs_arena_limits limits = limits_of(fs);
	struct fs_pass *pass;

	if (fs->opts->arena == 0)
		return "arena=0";
	if ((conn->capable & FUSE_CAP_PASSTHROUGH) == 0)
		return "the kernel has none";
	if (limits.size_bytes / FS_ARENA_SHARE < fs->opts->arena_min)
		return "arena is too small for files of arena_min";
	pass = calloc(1, sizeof(*pass));
	if (pass == NULL)
		return "no memory";
	if (tmpfs_new(limits.size_bytes, &pass->mount_fd) < 0) {
		free(pass);
		return "no memory of our own with huge pages (root alone may mount it)";
	}
	pass->fs = fs;
	atomic_init(&pass->is_refused, false);
	atomic_init(&pass->n_copying, 0);
	fs_arena_init(&pass->arena, limits, &files, pass);
	conn->want |= FUSE_CAP_PASSTHROUGH;
	conn->max_backing_stack_depth = 1;
	fs->pass = pass;
	return NULL;
}

void
fs_pass_begin(struct fs *fs, struct fuse_conn_info *conn)
{
	why_not = begin(fs, conn);
	if (why_not != NULL)
		log_event(LOG_INFO, "fs_passthrough", "is_used=no why=\"%s\"", why_not);
	else
		log_event(LOG_INFO, "fs_passthrough", "is_used=yes arena_bytes=%" PRIu64,
			  fs->pass->arena.limits.size_bytes);
}

void
fs_pass_end(struct fs *fs)
{
	struct fs_pass *pass = take(&fs->pass);

	if (pass == NULL)
		return;
	fs_arena_fini(&pass->arena);
	close(pass->mount_fd);
	free(pass);
}

const char *
fs_pass_tell(struct fs *fs, struct fs_arena_limits *ret_limits, struct fs_arena_counts *ret_counts)
{
	*ret_limits = (struct fs_arena_limits){0};
	*ret_counts = (struct fs_arena_counts){0};
	if (fs->pass == NULL)
		return why_not;
	if (atomic_load(&fs->pass->is_refused))
		return "the kernel refuses our files";
	*ret_limits = fs->pass->arena.limits;
	fs_arena_count(&fs->pass->arena, ret_counts);
	return NULL;
}

/* ---- opening ---- */

/* may_pass -- a version that nobody writes, and that nobody was told to ask us for. */
static bool
may_pass(struct fs_pass *pass, const struct fs_node *node, int flags)
{
	const struct fs_pin *pin = node->pin;

	return !node->is_asked && (flags & O_ACCMODE) == O_RDONLY && !node->was_written &&
	       !node->was_slow && node->work.put == NULL && pin != NULL && pin->slot == NULL &&
	       !atomic_load(&pass->is_refused) &&
	       pin->stat.len_bytes >= pass->fs->opts->arena_min &&
	       fs_arena_fits(&pass->arena, pin->stat.len_bytes);
}

/* fill -- a new slot with the bytes of the pin.  0, an outcome of the arena, -errno. */
static int
fill(struct fs_pass *pass, struct fs_pin *pin, struct fs_slot **ret_slot)
{
	const struct clock *clock = pass->fs->clock;
	struct fs_slot *slot;
	int r;

	r = fs_arena_make(&pass->arena, pin->stat.object_id, pin->stat.len_bytes, &slot);
	if (r != 0)
		return r;
	r = fs_fill(pin, slot->fd, clock, clock_ns(clock) + FILL_MS_MAX * NS_PER_MS);
	if (r == 0)
		r = tell_kernel(pass, slot);
	if (r < 0) {
		log_event(LOG_DEBUG, "fs_fill", "object=%" PRIu64 " errno=%d", slot->object_id, -r);
		fs_arena_let_go(slot);
		return r;
	}
	fs_arena_filled(slot);
	*ret_slot = slot;
	return 0;
}

/* copy -- from the arena or into it; NULL: it can't be, or so many copy that names would wait. */
static struct fs_slot *
copy(struct fs_pass *pass, struct fs_pin *pin, int *ret_why)
{
	uint64_t n_max = num_max(pass->fs->opts->max_threads / 4, (uint64_t)1);
	struct fs_slot *slot = NULL;

	*ret_why = 0;
	if (atomic_fetch_add(&pass->n_copying, 1) < n_max) {
		slot = fs_arena_find(&pass->arena, pin->stat.object_id);
		if (slot == NULL)
			*ret_why = fill(pass, pin, &slot);
	}
	atomic_fetch_sub(&pass->n_copying, 1);
	return slot;
}

/* bring -- its bytes into the arena, or what is there; without the lock meanwhile. */
static void
bring(struct fs_pass *pass, struct fs_node *node)
{
	struct fs_pin *pin = fs_pin_ref(node->pin);
	struct fs_slot *slot;
	int r;

	lock_drop(&node->lock);
	slot = copy(pass, pin, &r);
	lock_take(&node->lock);

	/* A writer, or a reader who found no room, may have come first: then all ask us. */
	node->was_slow |= r == -ETIMEDOUT;
	if (slot != NULL && node->pin == pin && pin->slot == NULL && !node->is_asked &&
	    node->work.put == NULL)
		fs_pin_settle(pin, take(&slot));
	fs_arena_let_go(slot);
	fs_pin_unref(pin);
}

bool
fs_pass_open(struct fs *fs, struct fs_node *node, struct fuse_file_info *fi)
{
	assert(lock_held(&node->lock) && node->n_opens > 0);

	if (node->n_opens == 1)
		node->is_asked = false;
	if (fs->pass != NULL && may_pass(fs->pass, node, fi->flags))
		bring(fs->pass, node);
	if (node->pin == NULL || node->pin->slot == NULL) {
		node->is_asked = true;
		return false;
	}
	fi->backing_id = node->pin->slot->backing_id;
	return true;
}

int
fs_pass_yield(struct fs *fs, struct fs_node *node)
{
	assert(lock_held(&node->lock));

	if (node->pin == NULL || node->pin->slot == NULL)
		return 0;
	if (fs_node_is_linked(&fs->nodes, node))
		fs_node_detach(&fs->nodes, node);
	return -ESTALE;
}
