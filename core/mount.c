/* SPDX-License-Identifier: Apache-2.0 */
#include "core/mount.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/ask.h"
#include "core/beat.h"
#include "transfer/base/home.h"
#include "core/statuses.h"
#include "core/why.h"
#include "core/work.h"
#include "core/writing.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"

#define SERVE_IDLE_MS         30000
#define SERVE_CONNECTIONS_MAX 1024
#define UNMOUNT_MS            2000

/* ---- one mount, shared between the list and whoever works on it --------------------- */

static void
mount_free(struct tiffin_client *client, struct mount *mount)
{
	engine_unlend(client->engine, mount->lent);
	if (mount->serve != NULL) {
		serve_remove(mount->serve, mount->lent);
		serve_free(mount->serve);
	}
	lent_close(mount->lent);
	free(mount);
}

static void
mount_unref(struct tiffin_client *client, struct mount *mount)
{
	bool is_last;

	lock_take(&client->lock);
	assert(mount->n_refs > 0);
	is_last = --mount->n_refs == 0;
	lock_drop(&client->lock);
	if (is_last)
		mount_free(client, mount);
}

/* ref_all -- a reference to each mount (only those to be said, if so wished). */
static size_t
ref_all(struct tiffin_client *client, bool only_unsaid, struct mount *ret_mounts[SEGMENTS_MAX])
{
	size_t n = 0;

	lock_take(&client->lock);
	list_each(&client->mounts, at) {
		struct mount *mount = list_of(at, struct mount, at);

		if (only_unsaid && !mount->is_to_be_said)
			continue;
		mount->n_refs++;
		mount->is_to_be_said = mount->is_to_be_said && !only_unsaid;
		assert(n < SEGMENTS_MAX);
		ret_mounts[n++] = mount;
	}
	lock_drop(&client->lock);
	return n;
}

/* unlist -- from now on nobody finds it; the list's reference goes to the caller. */
static struct mount *
unlist(struct tiffin_client *client, uint64_t segment_id)
{
	struct mount *found = NULL;

	lock_take(&client->lock);
	list_each(&client->mounts, at) {
		struct mount *mount = list_of(at, struct mount, at);

		if (segment_id == 0 || mount->lent->segment_id == segment_id)
			found = mount;
	}
	if (found != NULL)
		list_remove(&found->at);
	lock_drop(&client->lock);
	return found;
}

bool
mount_is_ours(struct tiffin_client *client, uint64_t segment_id)
{
	bool is_ours = false;

	lock_take(&client->lock);
	list_each(&client->mounts, at)
		is_ours |= list_of(at, struct mount, at)->lent->segment_id == segment_id;
	lock_drop(&client->lock);
	return is_ours;
}

void
mount_forgotten(struct tiffin_client *client, uint64_t segment_id)
{
	lock_take(&client->lock);
	list_each(&client->mounts, at) {
		struct mount *mount = list_of(at, struct mount, at);

		mount->is_to_be_said |= segment_id == 0 || mount->lent->segment_id == segment_id;
	}
	lock_drop(&client->lock);
}

void
mount_say_all(struct tiffin_client *client)
{
	mount_forgotten(client, 0);
}

/* ---- said again ----------------------------------------------------------------------- */

/* say_unsaid -- mounts that the master does not know; one that it refuses is tried again later.
 * true: it knows one more. */
static bool
say_unsaid(struct tiffin_client *client)
{
	uint64_t until = client_tick_until(client);
	struct mount *mounts[SEGMENTS_MAX];
	size_t n = ref_all(client, true, mounts);
	bool has_said = false;

	for (size_t i = 0; i < n; i++) {
		int r = mount_say(client, mounts[i], true, until);

		log_event(r == 0 ? LOG_INFO : LOG_WARN, r == 0 ? "segment_said" : "segment_unsaid",
			  "segment=%lu name=%s why=\"%s\"", mounts[i]->lent->segment_id,
			  mounts[i]->name, r == 0 ? "" : tiffin_why());
		if (r != 0)
			mount_forgotten(client, mounts[i]->lent->segment_id);
		has_said |= r == 0;
		mount_unref(client, mounts[i]);
	}
	return has_said;
}

/* ---- fences ------------------------------------------------------------------------------ */

/* fence_one -- everywhere, and in this process too.  false: it is still alive somewhere. */
static bool
fence_one(struct tiffin_client *client, const struct rec_fence *fence)
{
	struct mount *mounts[SEGMENTS_MAX];
	size_t n = ref_all(client, false, mounts);
	bool is_ours = fence->client_id == client->client_id;
	bool is_fenced = !is_ours || writing_fence(client, fence->fence_id);

	for (size_t i = 0; i < n; i++) {
		if (mounts[i]->serve == NULL)
			lent_fence(mounts[i]->lent);
		else if (serve_fence(mounts[i]->serve, fence->client_id) != 0)
			is_fenced = false;
		mount_unref(client, mounts[i]);
	}
	return is_fenced;
}

/* take_order -- the first order that waits.  false: there is none. */
static bool
take_order(struct tiffin_client *client, struct rec_fence *ret_fence)
{
	bool is_there;

	lock_take(&client->lock);
	is_there = client->to_fence.n > 0;
	if (is_there) {
		*ret_fence = client->to_fence.at[0];
		client->to_fence.at[0] = client->to_fence.at[--client->to_fence.n];
	}
	lock_drop(&client->lock);
	return is_there;
}

/* file -- it was carried out, or the order stays. */
static void
file(struct tiffin_client *client, const struct rec_fence *fence, bool is_done)
{
	int r;

	lock_take(&client->lock);
	r = is_done ? vec_push(&client->fenced, fence->fence_id)
		    : vec_push(&client->to_fence, *fence);
	lock_drop(&client->lock);
	if (r < 0) /* the master orders again with each ping until it hears of it */
		log_event(LOG_WARN, "fence_forgotten", "fence=%lu", fence->fence_id);
}

void
mount_fence(struct tiffin_client *client)
{
	bool has_news = false;
	struct rec_fence fence;
	size_t n_orders;

	if (say_unsaid(client))
		beat_ping(client); /* the room rests until those named are fenced: here the orders
				      come */
	lock_take(&client->lock);
	n_orders = client->to_fence.n;
	lock_drop(&client->lock);

	for (size_t i = 0; i < n_orders && take_order(client, &fence); i++) {
		bool is_done = fence_one(client, &fence);

		file(client, &fence, is_done);
		has_news |= is_done;
		log_event(LOG_INFO, "fence", "fence=%lu client=%lu done=%d", fence.fence_id,
			  fence.client_id, is_done);
	}
	if (has_news)
		beat_ping(client);
}

/* ---- coming and going ---------------------------------------------------------------------- */

static bool
name_is_good(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return len >= 1 && len <= NAME_MAX_BYTES;
}

/* undo -- what mount_add() took, when it goes no further. */
static void
undo(struct lent *lent, struct serve *serve)
{
	serve_free(serve);
	lent_close(lent);
}

/* enlist -- into the client's list, if there is room. */
static bool
enlist(struct tiffin_client *client, struct mount *mount)
{
	size_t n = 0;

	lock_take(&client->lock);
	list_each(&client->mounts, at)
		n += at != NULL;
	if (n < SEGMENTS_MAX)
		list_push_back(&client->mounts, &mount->at);
	lock_drop(&client->lock);
	return n < SEGMENTS_MAX;
}

int
mount_add(struct tiffin_client *client, const char *name, struct lent **lent_taken,
	  struct serve **serve_taken, uint64_t until_ns)
{
	struct lent *lent = take(lent_taken);
	struct serve *serve = take(serve_taken);
	struct mount *mount = calloc(1, sizeof(*mount));
	int r;

	assert(name_is_good(name));
	if (mount == NULL) {
		undo(lent, serve);
		return why_no_memory();
	}

	r = serve != NULL ? serve_add(serve, lent) : 0;
	if (r == SERVE_E_NO_RDMA) {
		r = why_set(TIFFIN_E_NO_SPACE, "rdma: %s", serve_why(serve));
		free(mount);
		undo(lent, serve);
		return r;
	}
	if (r == 0) {
		r = engine_lend(client->engine, lent);
		if (r != 0 && serve != NULL)
			serve_remove(serve, lent);
	}
	if (r != 0) {
		free(mount);
		undo(lent, serve);
		return why_system(err_fold(r), "lending the segment");
	}

	*mount = (struct mount){.lent = lent, .serve = serve, .n_refs = 1};
	list_link_init(&mount->at);
	snprintf(mount->name, sizeof(mount->name), "%s", name);
	if (serve != NULL)
		snprintf(mount->endpoint, sizeof(mount->endpoint), "%s", serve_endpoint(serve));
	r = mount_say(client, mount, false, until_ns);
	if (r == 0 && !enlist(client, mount))
		r = why_set(TIFFIN_E_BUSY, "a client lends at most %d segments", SEGMENTS_MAX);
	if (r != 0)
		mount_unref(client, mount);
	return r;
}

/* listen_default -- "unix:DIR/NAME.sock" beside the master's socket, or in our own run directory.
 */
static int
listen_default(const struct tiffin_client *client, const char *name, char *ret, size_t cap)
{
	const char *slash = strrchr(client->master, '/');
	struct home home;
	char file_name[NAME_MAX_BYTES + 1];
	int r;

	snprintf(file_name, sizeof(file_name), "%s", name);
	for (char *at = strchr(file_name, '/'); at != NULL; at = strchr(at, '/'))
		*at = '_';
	if (strncmp(client->master, "unix:", 5) == 0 && slash != NULL) {
		snprintf(ret, cap, "%.*s/%s.sock", (int)(slash - client->master), client->master,
			 file_name);
		return 0;
	}
	home_init(&home, geteuid());
	r = home_make(home.run);
	if (r < 0)
		return why_system(r, home.run);
	snprintf(ret, cap, "unix:%s/%s.sock", home.run, file_name);
	return 0;
}

/* is_beyond -- does one of the addresses reach beyond this machine?  needs: they are well-formed.
 */
static bool
is_beyond(const char *addresses)
{
	char copy[TARGET_ENDPOINT_MAX + 64], *rest = copy;
	bool is = false;

	snprintf(copy, sizeof(copy), "%s", addresses);
	for (char *one = strtok_r(copy, " ", &rest); one != NULL;
	     one = strtok_r(NULL, " ", &rest)) {
		struct sock_addr addr;

		is |= sock_addr_parse(one, &addr) == 0 && !sock_addr_is_local(&addr);
	}
	return is;
}

/* listen_check -- well-formed, and nothing open to the network without a cluster key. */
static int
listen_check(const struct tiffin_client *client, const char *listen, bool is_insecure)
{
	char copy[TARGET_ENDPOINT_MAX + 1], *rest = copy;

	if (strlen(listen) >= sizeof(copy))
		return why_set(TIFFIN_E_INVALID, "the addresses to listen at are too long");
	snprintf(copy, sizeof(copy), "%s", listen);
	for (char *one = strtok_r(copy, " ", &rest); one != NULL;
	     one = strtok_r(NULL, " ", &rest)) {
		struct sock_addr addr;

		if (sock_addr_parse(one, &addr) != 0)
			return why_set(TIFFIN_E_INVALID, "\"%s\" is not an address", one);
		if (!sock_addr_is_local(&addr) && !client->has_key && !is_insecure)
			return why_set(TIFFIN_E_DENIED,
				       "%s can be reached from other machines: "
				       "give a cluster key (key_file), or insecure",
				       one);
	}
	return 0;
}

/* rdma_addresses -- what serve_config.rdma is to be.  0 or TIFFIN_E_*. */
static int
rdma_addresses(const struct tiffin_client *client, const char *listen,
	       const struct mount_door *door, const char **ret_addresses)
{
	const char *rdma = door->rdma != NULL ? door->rdma : "auto";

	*ret_addresses = NULL;
	if (strcmp(rdma, "off") == 0)
		return 0;
	if (strcmp(rdma, "auto") == 0) {
		if (is_beyond(listen))
			*ret_addresses = rdma;
		return 0;
	}
	*ret_addresses = rdma;
	return listen_check(client, rdma, door->is_insecure);
}

static int
serve_open(struct tiffin_client *client, const char *listen, const struct mount_door *door,
	   struct serve **ret_serve)
{
	struct serve_config config = {.clock = client->clock,
				      .listen = listen,
				      .idle_ms = SERVE_IDLE_MS,
				      .connections_max = SERVE_CONNECTIONS_MAX,
				      .unix_mode = door->unix_mode};
	struct link_session session;
	int r = rdma_addresses(client, listen, door, &config.rdma);

	if (r != 0)
		return r;
	client->link->ops->session(client->link, &session);
	config.write_token_ms = session.write_lease_ms;
	r = serve_new(&config, ret_serve);
	if (r == SERVE_E_IN_USE)
		return why_set(TIFFIN_E_EXISTS, "somebody listens at %s already", listen);
	if (r == SERVE_E_BAD_ADDRESS)
		return why_set(TIFFIN_E_INVALID, "can't listen at \"%s\"", listen);
	if (r == SERVE_E_NO_RDMA)
		return why_set(
			TIFFIN_E_INVALID,
			"rdma: can't listen at \"%s\": it is not the address of an RDMA "
			"device of this machine, or is taken (tiffin doctor tells which there are)",
			config.rdma);
	return r < 0 ? why_system(r, listen) : 0;
}

static int
lend_room(struct tiffin_client *client, const struct tiffin_mount_options *options,
	  struct lent **ret_lent)
{
	struct lent_config config = {
		.path = options->file != NULL ? options->file : options->path,
		.is_on_disk = options->file != NULL || options->nof != NULL,
		.is_nof = options->nof != NULL,
		.is_synced = options->file_sync,
		.size_bytes = options->size_bytes,
		.wipe = options->wipe,
		.want_huge_pages = options->huge_pages,
		.progress = options->progress,
		.progress_arg = options->progress_arg,
	};
	char device[MOUNT_DEVICE_MAX + 1];
	struct rand rand;
	int r;

	if (options->nof != NULL) {
		r = mount_find_device(options, device, &config.rest_ms);
		if (r != 0)
			return r;
		config.path = device;
	}
	lock_take(&client->lock);
	rand_init(&rand, rand_u64(&client->rand));
	lock_drop(&client->lock);
	r = lent_open(&config, &rand, ret_lent);
	if (r == 0 && (*ret_lent)->was_lost)
		log_event(LOG_WARN, "segment_lost_contents",
			  "path=%s why=\"the machine stopped while it was open, and file_sync was "
			  "off\"",
			  config.path);
	return r != 0 ? mount_why_lent(options, r) : 0;
}

int
mount_open(struct tiffin_client *client, const struct tiffin_mount_options *options,
	   const struct mount_door *door, uint64_t *ret_segment_id)
{
	char listen[TARGET_ENDPOINT_MAX + 64], name[NAME_MAX_BYTES + 1];
	struct serve *serve = NULL;
	struct lent *lent = NULL;
	uint64_t segment_id;
	int r;

	snprintf(name, sizeof(name), "%s.%u", client->name,
		 atomic_fetch_add(&client->n_mounted, 1) + 1);
	if (options->name != NULL)
		snprintf(name, sizeof(name), "%s", options->name);
	if (!name_is_good(name))
		return why_set(TIFFIN_E_INVALID,
			       "a segment's name is 1 to %d printable "
			       "characters without a blank",
			       NAME_MAX_BYTES);
	if (options->size_bytes < LENT_SIZE_MIN || options->size_bytes > LENT_SIZE_MAX ||
	    options->size_bytes % 4096 != 0)
		return why_set(TIFFIN_E_INVALID,
			       "a segment is 1 MiB to 16 TiB, in whole pages of "
			       "4 KiB; not %lu bytes",
			       options->size_bytes);

	if ((options->path != NULL) + (options->file != NULL) + (options->nof != NULL) > 1)
		return why_set(
			TIFFIN_E_INVALID,
			"either path (memory), file (a disk) or nof (a namespace), not both");

	if (options->listen != NULL)
		snprintf(listen, sizeof(listen), "%s", options->listen);
	r = options->listen != NULL ? 0 : listen_default(client, name, listen, sizeof(listen));
	if (r == 0)
		r = listen_check(client, listen, door->is_insecure);
	if (r == 0)
		r = lend_room(client, options, &lent);
	if (r == 0)
		r = serve_open(client, listen, door, &serve);
	if (r != 0) {
		lent_close(lent);
		return r;
	}
	segment_id = lent->segment_id;
	r = mount_add(client, name, &lent, &serve, client_until(client));
	if (r != 0)
		return r;
	if (work_start(client) < 0) /* it lends all the same; others carry out its tasks */
		log_event(LOG_WARN, "no_worker", "segment=%lu", segment_id);
	beat_hurry(client); /* that the master hears of the worker */
	if (ret_segment_id != NULL)
		*ret_segment_id = segment_id;
	return 0;
}

/* close_one -- tell the master, then give the memory back when nobody works on it any more. */
static int
close_one(struct tiffin_client *client, struct mount *mount, uint64_t until_ns)
{
	int r = mount_say_gone(client, mount, until_ns);

	if (r != 0)
		log_event(LOG_WARN, "unmount_unsaid", "segment=%lu why=\"%s\"",
			  mount->lent->segment_id, tiffin_why());
	mount_unref(client, mount);
	return r;
}

bool
mount_close_all(struct tiffin_client *client, uint64_t until_ns)
{
	bool has_kept = false;
	struct mount *mount;

	while ((mount = unlist(client, 0)) != NULL) {
		if (!mount->lent->is_named) {
			(void)close_one(client, mount, until_ns);
			continue;
		}
		log_event(LOG_INFO, "segment_kept", "segment=%lu name=%s", mount->lent->segment_id,
			  mount->name);
		has_kept = true;
		mount_unref(client, mount);
	}
	return has_kept;
}

int
tiffin_mount(struct tiffin_client *client, const struct tiffin_mount_options *options,
	     uint64_t *ret_segment_id)
{
	static const struct mount_door closed;
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (options == NULL || options->struct_bytes < sizeof(*options))
		r = why_set(TIFFIN_E_INVALID, "tiffin_mount_options: set struct_bytes");
	else
		r = mount_open(client, options, &closed, ret_segment_id);
	return client_leave(client, r);
}

int
tiffin_unmount(struct tiffin_client *client, uint64_t segment_id)
{
	struct mount *mount;
	int r = client_enter(client);

	if (r != 0)
		return r;
	mount = segment_id != 0 ? unlist(client, segment_id) : NULL;
	if (mount == NULL)
		r = why_set(TIFFIN_E_NOT_FOUND, "this client lends no segment %lu", segment_id);
	else
		r = close_one(client, mount, clock_ns(client->clock) + UNMOUNT_MS * NS_PER_MS);
	return client_leave(client, r);
}
