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

struct fs_pass {
	struct fs *fs;
	struct fs_arena arena;
	int mount_fd; /* of the file system in which the slots are */
	_Atomic bool
		is_refused; /* the kernel does not take files from us; never becomes false again */
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

/* may_pass -- the first to open a version that nobody writes. */
static bool
may_pass(struct fs_pass *pass, const struct fs_node *node, int flags)
{
	const struct fs_pin *pin = node->pin;

	return node->n_opens == 0 && (flags & O_ACCMODE) == O_RDONLY && !node->was_written &&
	       node->work.put == NULL && pin != NULL && pin->view != NULL &&
	       atomic_load(&pin->n_refs) == 1 && !atomic_load(&pass->is_refused) &&
	       pin->stat.len_bytes >= pass->fs->opts->arena_min &&
	       fs_arena_fits(&pass->arena, pin->stat.len_bytes);
}

/* fill -- a new slot with the bytes of the pin.  NULL: it can't be. */
static struct fs_slot *
fill(struct fs_pass *pass, struct fs_pin *pin)
{
	struct fs_slot *slot;
	int r;

	if (fs_arena_make(&pass->arena, pin->stat.object_id, pin->stat.len_bytes, &slot) != 0)
		return NULL;
	r = fs_fill(pin, slot->fd);
	if (r == 0)
		r = tell_kernel(pass, slot);
	if (r < 0) {
		log_event(LOG_DEBUG, "fs_fill", "object=%" PRIu64 " errno=%d", slot->object_id, -r);
		fs_arena_let_go(slot);
		return NULL;
	}
	fs_arena_filled(slot);
	return slot;
}

bool
fs_pass_open(struct fs *fs, struct fs_node *node, struct fuse_file_info *fi)
{
	struct fs_pass *pass = fs->pass;
	struct fs_slot *slot;

	assert(lock_held(&node->lock));

	if (pass != NULL && may_pass(pass, node, fi->flags)) {
		slot = fs_arena_find(&pass->arena, node->pin->stat.object_id);
		if (slot == NULL)
			slot = fill(pass, node->pin);
		if (slot != NULL)
			fs_pin_settle(node->pin, slot);
	}
	if (node->pin == NULL || node->pin->slot == NULL)
		return false;
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
