/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/tiffin.h"
#include "fs/control.h"
#include "fs/fs.h"
#include "fs/invalidate.h"
#include "fs/killpriv.h"
#include "fs/mountpoint.h"
#include "fs/ops.h"
#include "fs/passthrough.h"
#include "fs/work.h"
#include "transfer/base/log.h"
#include "transfer/base/vec.h"

struct fs_mount {
	struct fs fs;
	struct fuse_args args;
	bool has_nodes, is_mounted;
	pthread_t settling;
	bool is_settling;
	_Atomic bool is_ready; /* once true it stays */
	dev_t dev;             /* once it is mounted */
	bool is_left;          /* unmounted by somebody else: the kernel has gone already */
	void (*ready)(void *arg);
	void *ready_arg;
};

static __attribute__((format(printf, 4, 5))) int
refuse(int status, char *why, size_t why_cap, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, why_cap, fmt, args);
	va_end(args);
	return status;
}

/* ---- the way in ---- */

#define IN_THE_WAY_MAX 16 /* dead mounts, one upon another */

/* look -- the directory must be there, or a dead mount on it. */
static int
look(const char *dir, enum fs_mountpoint *ret_state, char *why, size_t why_cap)
{
	int r = fs_mountpoint_look(dir, FS_MOUNTPOINT_MS, ret_state);

	if (r == -ETIMEDOUT)
		return refuse(FS_EXIT_MOUNT, why, why_cap, "%s: does not answer", dir);
	if (r < 0)
		return refuse(FS_EXIT_MOUNT, why, why_cap, "%s: %s", dir, strerrordesc_np(-r));
	return FS_EXIT_OK;
}

/*
 * clear_way -- take away what is dead or hung.
 *
 * needs:   the master has answered: a mount that only waits for it is not hung.
 */
static int
clear_way(const char *dir, enum fs_mountpoint state, char *why, size_t why_cap)
{
	int status = FS_EXIT_OK;
	int r;

	for (int n = 0; status == FS_EXIT_OK && state != FS_MOUNTPOINT_FREE; n++) {
		const char *what = state == FS_MOUNTPOINT_DEAD ? "dead" : "hung";

		r = n < IN_THE_WAY_MAX ? fs_mountpoint_detach(dir) : -EBUSY;
		if (r < 0)
			return refuse(FS_EXIT_MOUNT, why, why_cap,
				      "%s: a %s mount is there and can't be detached: %s", dir,
				      what, strerrordesc_np(-r));
		log_event(LOG_WARN, "fs_mount_detached", "dir=\"%s\" was=%s", dir, what);
		status = look(dir, &state, why, why_cap);
	}
	return status;
}

static int
join_master(struct fs *fs, char *why, size_t why_cap)
{
	const struct fs_options *opts = fs->opts;
	struct tiffin_options options = {
		.struct_bytes = sizeof(options),
		.master = opts->source[0] != '\0' ? opts->source : tiffin_master_default(),
		.name = opts->name[0] != '\0' ? opts->name : NULL,
		.tenant = opts->tenant[0] != '\0' ? opts->tenant : NULL,
		.key_file = opts->key_file[0] != '\0' ? opts->key_file : NULL,
		.timeout_ms = (uint32_t)opts->timeout,
		.transfer_ms = (uint32_t)(opts->timeout < 10000 ? opts->timeout : 10000),
		.no_verify = opts->verify == 0,
		.hot_cache_bytes = opts->hot_cache,
		.is_hot_cache_shared = opts->hot_cache > 0,
	};
	int r;

	r = tiffin_open(&options, &fs->client);
	if (r == 0)
		r = tiffin_ping(fs->client);
	if (r < 0)
		return refuse(FS_EXIT_MASTER, why, why_cap, "master %s: %s (%s)", options.master,
			      tiffin_strerror(r), tiffin_why());
	return FS_EXIT_OK;
}

static int
set_root(struct fs *fs, char *why, size_t why_cap)
{
	const char *prefix = fs->opts->prefix;
	size_t n = strlen(prefix);

	fs->started_ms = clock_wall_ms(fs->clock);
	fs->defaults =
		(struct fs_attr_defaults){fs->opts->uid_is, fs->opts->gid_is, fs->opts->umask_is};
	fs_attr_default(&fs->defaults, FS_ATTR_DIR, fs->started_ms, &fs->root_attr);
	if (fs_key_make(prefix, n > 0 && prefix[n - 1] != '/' ? "/" : "", "", fs->root_key) < 0)
		return refuse(FS_EXIT_USAGE, why, why_cap, "prefix is longer than a key may be");
	if (fs_nodes_init(&fs->nodes, fs->root_key) < 0)
		return refuse(FS_EXIT_SYSTEM, why, why_cap, "no memory");
	fs->nodes.has_negatives = fs->opts->negative_timeout > 0;
	return FS_EXIT_OK;
}

/* ---- the kernel ---- */

static int
add_arg(struct fuse_args *args, const char *fmt, ...)
{
	char *text;
	va_list list;
	int r;

	va_start(list, fmt);
	r = vasprintf(&text, fmt, list);
	va_end(list);
	if (r < 0)
		return -ENOMEM;
	r = fuse_opt_add_arg(args, text);
	free(text);
	return r < 0 ? -ENOMEM : 0;
}

/* comma_safe -- libfuse splits at commas, also those in a name. */
static int
add_fsname(struct fuse_args *args, const char *name)
{
	char *safe = malloc(2 * strlen(name) + 1);
	size_t n = 0;
	int r;

	if (safe == NULL)
		return -ENOMEM;
	for (; *name != '\0'; name++) {
		if (*name == ',' || *name == '\\')
			safe[n++] = '\\';
		safe[n++] = *name;
	}
	safe[n] = '\0';
	r = add_arg(args, "-ofsname=%s", safe);
	free(safe);
	return r;
}

static int
make_args(const struct fs_options *opts, struct fuse_args *args)
{
	const char *source = opts->source[0] != '\0' ? opts->source : tiffin_master_default();
	int r;

	r = add_arg(args, "tiffinfs");
	if (r == 0)
		r = add_fsname(args, opts->fsname[0] != '\0' ? opts->fsname : source);
	if (r == 0)
		r = add_arg(args, "-osubtype=tiffin,max_read=%" PRIu64, opts->max_read);
	if (r == 0 && opts->mount_words[0] != '\0')
		r = add_arg(args, "-o%s", opts->mount_words);
	if (r == 0 && opts->ro)
		r = add_arg(args, "-oro");
	if (r == 0 && opts->allow_other)
		r = add_arg(args, "-oallow_other");
	if (r == 0 && opts->default_permissions)
		r = add_arg(args, "-odefault_permissions");
	if (r == 0 && opts->auto_unmount)
		r = add_arg(args, "-oauto_unmount");
	if (r == 0 && opts->is_debug)
		r = add_arg(args, "-odebug");
	return r;
}

static int
mount_kernel(struct fs_mount *mount, char *why, size_t why_cap)
{
	struct fs *fs = &mount->fs;
	int r;

	if (make_args(fs->opts, &mount->args) < 0)
		return refuse(FS_EXIT_SYSTEM, why, why_cap, "no memory");
	fs->session = fuse_session_new(&mount->args, &fs_ops, sizeof(fs_ops), fs);
	if (fs->session == NULL)
		return refuse(FS_EXIT_SYSTEM, why, why_cap, "libfuse can't begin a session");
	if (fuse_session_mount(fs->session, fs->opts->dir) != 0)
		return refuse(FS_EXIT_MOUNT, why, why_cap,
			      "%s: mounting failed (is /dev/fuse there, and allowed?)",
			      fs->opts->dir);
	mount->is_mounted = true;
	r = fs_killpriv_greet(fs->session);
	if (r < 0)
		log_event(LOG_WARN, "fs_greet", "errno=%d small_writes=slow", -r);
	mount->dev = fs_mountpoint_dev(fs->opts->dir);
	return FS_EXIT_OK;
}

int
fs_mount_open(const struct fs_options *opts, struct fs_mount **ret_mount, char *why, size_t why_cap)
{
	struct fs_mount *mount = calloc(1, sizeof(*mount));
	enum fs_mountpoint state = FS_MOUNTPOINT_FREE;
	int status;

	if (mount == NULL)
		return refuse(FS_EXIT_SYSTEM, why, why_cap, "no memory");
	mount->fs.opts = opts;
	mount->fs.clock = clock_real();
	list_init(&mount->fs.opens);

	status = look(opts->dir, &state, why, why_cap);
	if (status == FS_EXIT_OK)
		status = set_root(&mount->fs, why, why_cap);
	mount->has_nodes = mount->fs.nodes.root != NULL;
	if (status == FS_EXIT_OK)
		status = join_master(&mount->fs, why, why_cap);
	if (status == FS_EXIT_OK)
		status = clear_way(opts->dir, state, why, why_cap);
	if (status == FS_EXIT_OK && opts->control != FS_CONTROL_OFF &&
	    fs_control_new(&mount->fs, &mount->fs.control) < 0)
		status = refuse(FS_EXIT_SYSTEM, why, why_cap, "no memory");
	if (status == FS_EXIT_OK)
		status = mount_kernel(mount, why, why_cap);
	if (status == FS_EXIT_OK && fs_invalidate_new(&mount->fs, &mount->fs.invalidate) < 0)
		status = refuse(FS_EXIT_SYSTEM, why, why_cap, "can't begin a thread");
	if (status != FS_EXIT_OK) {
		fs_mount_close(mount);
		return status;
	}
	if (fs_invalidate_start(mount->fs.invalidate) < 0)
		log_event(LOG_WARN, "fs_no_watch", "why=\"%s\" changes_seen_after_ms=%" PRIu64,
			  tiffin_why(), opts->attr_timeout);
	*ret_mount = mount;
	return FS_EXIT_OK;
}

/* ---- serving ---- */

/*
 * set_read_ahead -- only root may.
 *
 * Two windows are under way at once.  Larger ones make the reader wait for a whole one before it
 * may copy anything: 1 MiB was several times slower on a busy machine.
 */
static void
set_read_ahead(dev_t dev, uint64_t len_bytes)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", major(dev), minor(dev));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (dprintf(fd, "%" PRIu64, len_bytes / 1024) < 0)
		log_event(LOG_DEBUG, "fs_read_ahead", "errno=%d", errno);
	close(fd);
}

/* settle -- the way of any program: through the kernel, to us and back. */
static void *
settle(void *arg)
{
	struct fs_mount *mount = arg;
	struct stat st;

	if (stat(mount->fs.opts->dir, &st) < 0) {
		log_event(LOG_ERROR, "fs_not_usable", "dir=\"%s\" errno=%d", mount->fs.opts->dir,
			  errno);
		fuse_session_exit(mount->fs.session);
		return NULL;
	}
	set_read_ahead(st.st_dev, mount->fs.opts->read_ahead);
	atomic_store(&mount->is_ready, true);
	log_event(LOG_INFO, "fs_ready", "dir=\"%s\"", mount->fs.opts->dir);
	mount->ready(mount->ready_arg);
	return NULL;
}

static int
loop_many(const struct fs *fs)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int r;

	if (config == NULL)
		return -ENOMEM;
	fuse_loop_cfg_set_clone_fd(config, 1);
	fuse_loop_cfg_set_idle_threads(config, (unsigned)fs->opts->idle_threads);
	fuse_loop_cfg_set_max_threads(config, (unsigned)fs->opts->max_threads);
	r = fuse_session_loop_mt(fs->session, config);
	fuse_loop_cfg_destroy(config);
	return r;
}

static void
let_signals_in(bool is_in)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(is_in ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

int
fs_mount_serve(struct fs_mount *mount, void (*ready)(void *arg), void *arg)
{
	struct fs *fs = &mount->fs;
	int r;

	mount->ready = ready;
	mount->ready_arg = arg;
	if (fuse_set_signal_handlers(fs->session) != 0)
		return FS_EXIT_SYSTEM;
	if (pthread_create(&mount->settling, NULL, settle, mount) != 0)
		return FS_EXIT_SYSTEM;
	mount->is_settling = true;

	let_signals_in(true);
	r = fs->opts->is_single ? fuse_session_loop(fs->session) : loop_many(fs);
	let_signals_in(false);
	fuse_remove_signal_handlers(fs->session);
	mount->is_left = r == 0 && atomic_load(&mount->is_ready); /* a signal leaves it mounted */
	if (r < 0)
		log_event(LOG_ERROR, "fs_loop", "errno=%d", -r);
	return r < 0 ? FS_EXIT_SYSTEM : atomic_load(&mount->is_ready) ? FS_EXIT_OK : FS_EXIT_MOUNT;
}

/* ---- the way out ---- */

struct left {
	VEC(struct fs_node *) nodes;
};

static void
gather_left(void *arg, struct fs_node *node)
{
	struct left *left = arg;

	if (!node->is_dir && vec_push(&left->nodes, node) == 0)
		node->n_refs++;
}

/* drop_left -- files that are still open: half written is not stored. */
static void
drop_left(struct fs *fs)
{
	struct left left = {0};
	char key[FS_KEY_ROOM];

	fs_nodes_each(&fs->nodes, "", gather_left, &left);
	for (size_t i = 0; i < left.nodes.n; i++) {
		struct fs_node *node = left.nodes.at[i];

		lock_take(&node->lock);
		if (node->work.put != NULL && node->work.is_dirty) {
			fs_node_key(&fs->nodes, node, key);
			log_event(LOG_WARN, "fs_not_stored", "key=\"%s\" why=\"still open\"", key);
		}
		fs_work_drop(fs, node);
		lock_drop(&node->lock);
		fs_node_unref(&fs->nodes, node);
	}
	vec_fini(&left.nodes);
}

/* is_connected -- once it is not, its device's number may be another mount's. */
static bool
is_connected(const struct fs *fs)
{
	struct pollfd at = {.fd = fuse_session_fd(fs->session)};

	return poll(&at, 1, 0) == 0 || (at.revents & POLLERR) == 0;
}

void
fs_mount_close(struct fs_mount *mount)
{
	struct fs *fs = &mount->fs;

	if (fs->invalidate != NULL)
		fs_invalidate_ask_stop(fs->invalidate);
	/* Else a thread of ours that tells the kernel something could wait for a program that waits
	 * for us. */
	if (mount->is_mounted && !mount->is_left && is_connected(fs))
		fs_mountpoint_abort(fs->opts->dir, mount->dev);
	if (fs->invalidate != NULL)
		fs_invalidate_stop(fs->invalidate);
	if (mount->is_mounted)
		fuse_session_unmount(fs->session);
	if (mount->is_settling)
		pthread_join(mount->settling, NULL);
	if (fs->session != NULL)
		fuse_session_destroy(fs->session);
	fs_invalidate_free(take(&fs->invalidate));
	fs->session = NULL;
	if (mount->has_nodes) {
		if (!mount->is_left)
			drop_left(fs);
		fs_open_close_all(fs); /* a clean unmount closed them all; some releases got lost */
		fs_nodes_fini(&fs->nodes);
	}
	fs_pass_end(fs);
	fs_control_free(fs->control);
	tiffin_close(fs->client);
	fuse_opt_free_args(&mount->args);
	free(mount);
}
