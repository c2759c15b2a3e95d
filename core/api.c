/* SPDX-License-Identifier: Apache-2.0 */

/* Opening and closing: where the real world comes in. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/ask.h"
#include "core/beat.h"
#include "core/hot_cache.h"
#include "core/link_sock.h"
#include "core/mount.h"
#include "core/why.h"
#include "core/work.h"
#include "transfer/base/err.h"
#include "transfer/base/home.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/transport.h"

#define OPEN_MS   5000
#define HOT_READS 2
#define GRACE_MS  100  /* calls under way may end by themselves for so long when we close */
#define SETTLE_MS 300  /* those that are cut off then may look about once more */
#define LEAVE_MS  1000 /* a master that is silent is not waited for any longer at the end */

static pthread_once_t home_once = PTHREAD_ONCE_INIT;
static struct home home_ours;

static void
home_look_up(void)
{
	home_init(&home_ours, geteuid());
}

const char *
tiffin_master_default(void)
{
	pthread_once(&home_once, home_look_up);
	return home_ours.master;
}

/* What tiffin_open() gathers on its way. */
struct opening {
	struct tiffin_options options;
	char name[NAME_MAX_BYTES + 1];
	struct greet_config config;
	struct rand rand;
};

static bool
is_name(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return len >= 1 && len <= NAME_MAX_BYTES;
}

/* default_name -- "program-pid", fit for the wire. */
static void
default_name(char *ret, size_t cap)
{
	snprintf(ret, cap, "%.100s-%d", program_invocation_short_name, (int)getpid());
	for (char *at = ret; *at != '\0'; at++)
		if (*at <= ' ' || *at > '~')
			*at = '_';
}

static int
load_key(struct opening *opening, const char *path)
{
	int r;

	if (path == NULL)
		return 0;
	r = key_load(path, &opening->config.key);
	if (r == -EACCES)
		return why_set(TIFFIN_E_DENIED,
			       "%s: can't be read, or can be read by others; its "
			       "mode must be 0600",
			       path);
	if (r == -EINVAL)
		return why_set(TIFFIN_E_INVALID, "%s: is no cluster key (64 hexadecimal digits)",
			       path);
	return r < 0 ? why_system(r, path) : 0;
}

/* judge -- everything the caller says, once. */
static int
judge(const struct tiffin_options *options, struct opening *opening)
{
	struct tiffin_options *mine = &opening->options;
	struct sock_addr addr;
	int r;

	if (options != NULL && options->struct_bytes < sizeof(*options))
		return why_set(TIFFIN_E_INVALID, "tiffin_options: set struct_bytes");
	if (options != NULL)
		*mine = *options;
	if (mine->master == NULL)
		mine->master = tiffin_master_default();
	if (mine->tenant == NULL)
		mine->tenant = "default";
	if (mine->open_ms == 0)
		mine->open_ms = OPEN_MS;
	default_name(opening->name, sizeof(opening->name));
	if (mine->name == NULL)
		mine->name = opening->name;
	if (!is_name(mine->name) || !is_name(mine->tenant))
		return why_set(TIFFIN_E_INVALID,
			       "names of clients and tenants are 1 to %d "
			       "printable characters without a blank",
			       NAME_MAX_BYTES);
	if (mine->rdma_conns > TRANSPORT_RDMA_CONNS_MAX)
		return why_set(TIFFIN_E_INVALID, "rdma_conns is at most %d, not %u",
			       TRANSPORT_RDMA_CONNS_MAX, mine->rdma_conns);
	if (mine->tenant[0] == '_')
		return why_set(TIFFIN_E_INVALID, "a tenant's name may not begin with '_'");
	if (sock_addr_parse(mine->master, &addr) != 0)
		return why_set(TIFFIN_E_INVALID,
			       "\"%s\" is not the address of a master, or its "
			       "name is not known; write unix:/path or host:port",
			       mine->master);
	r = load_key(opening, mine->key_file);
	if (r != 0)
		return r;

	r = rand_init_os(&opening->rand);
	if (r < 0)
		return why_system(r, "asking for randomness");
	opening->config.client_id = rand_id(&opening->rand);
	opening->config.name = mine->name;
	opening->config.tenant = mine->tenant;
	opening->config.must_prove = !sock_addr_is_local(&addr);
	return 0;
}

static void
link_free_at(struct link **at)
{
	if (*at != NULL)
		(*at)->ops->free(*at);
}

static unsigned
rdma_conns(const struct tiffin_options *options)
{
	return options->no_rdma ? 0 : num_max(options->rdma_conns, 1u);
}

static int
open_hot(const struct tiffin_options *options, struct hot_cache **ret_hot)
{
	const struct hot_cache_config config = {
		.len_bytes = options->hot_cache_bytes,
		.is_shared = options->is_hot_cache_shared,
		.min_seen = options->hot_cache_reads != 0 ? options->hot_cache_reads : HOT_READS,
	};
	int r;

	if (config.len_bytes == 0)
		return 0;
	if (config.len_bytes < HOT_RING_BYTES_MIN || config.min_seen > SKETCH_COUNT_MAX)
		return why_set(
			TIFFIN_E_INVALID,
			"a hot cache has at least 1 MiB, and takes what is read the first to "
			"the %dth time",
			SKETCH_COUNT_MAX);
	r = hot_cache_open(&config, ret_hot);
	if (r == HOT_CACHE_E_OTHERS)
		return why_set(TIFFIN_E_DENIED, "the shared hot cache's file in /dev/shm is not "
						"ours alone: remove it");
	return r < 0 ? why_system(r, "making the hot cache") : 0;
}

int
tiffin_hot_cache(struct tiffin_client *client, struct tiffin_hot_cache *ret_cache)
{
	int r = client_enter(client);

	if (r != 0)
		return r;
	*ret_cache = (struct tiffin_hot_cache){0};
	if (client->hot != NULL)
		*ret_cache = (struct tiffin_hot_cache){
			.len_bytes = client->hot->len_bytes,
			.n_hits = atomic_load(&client->hot->n_hits),
			.hit_bytes = atomic_load(&client->hot->hit_bytes),
			.n_misses = atomic_load(&client->hot->n_misses),
			.n_kept = atomic_load(&client->hot->n_kept),
		};
	return client_leave(client, 0);
}

/* build -- a client in the real world, not connected yet. */
static int
build(struct opening *opening, struct tiffin_client **ret_client)
{
	cleanup_with(engine_free_at) struct engine *engine = NULL;
	cleanup_with(link_free_at) struct link *link = NULL;
	cleanup_with(hot_cache_close_at) struct hot_cache *hot = NULL;
	struct client_world world;
	int r;

	r = link_sock_new(opening->options.master, &opening->config, &link);
	if (r < 0)
		return why_system(r, "opening a client");
	r = engine_new(clock_real(), &engine);
	if (r == 0)
		r = engine_add_default(engine, rdma_conns(&opening->options));
	if (r < 0)
		return why_system(r, "starting the transfer engine");

	r = open_hot(&opening->options, &hot);
	if (r != 0)
		return r;

	world = (struct client_world){
		.clock = clock_real(),
		.client_id = opening->config.client_id,
		.seed = rand_u64(&opening->rand),
		.link_taken = &link,
		.engine_taken = &engine,
		.hot_taken = &hot,
		.name = opening->options.name,
		.master = opening->options.master,
		.timeout_ms = opening->options.timeout_ms,
		.transfer_ms = opening->options.transfer_ms,
		.no_verify = opening->options.no_verify,
		.verify_rdma = opening->options.verify_rdma,
		.has_key = opening->config.key.present,
		.door = &opening->config,
	};
	r = tiffin_client_new(&world, ret_client);
	return r < 0 ? why_system(r, "opening a client") : 0;
}

int
tiffin_open(const struct tiffin_options *options, struct tiffin_client **ret_client)
{
	struct opening opening = {0};
	struct tiffin_client *client = NULL;
	int r;

	if (ret_client == NULL)
		return why_set(TIFFIN_E_INVALID, "there is no place for the client");
	r = judge(options, &opening);
	if (r == 0)
		r = build(&opening, &client);
	if (r != 0)
		return r;

	r = beat_ping_until(client, clock_ns(client->clock) + opening.options.open_ms * NS_PER_MS);
	if (r == 0 && (r = beat_start(client)) < 0)
		r = why_system(r, "starting the beat thread");
	if (r != 0) {
		client->link->ops->stop(client->link);
		tiffin_client_free(client);
		return r;
	}
	*ret_client = client;
	return 0;
}

/* say_goodbye -- nothing that we had is needed any more. */
static void
say_goodbye(struct tiffin_client *client)
{
	const struct msg_leave msg = {};
	cleanup_with(ask_fini) struct ask ask;
	struct link_session session;

	client->link->ops->session(client->link, &session);
	if (session.n_joins == 0)
		return; /* we never met */
	ask_init(&ask, client);
	(void)ask_call(&ask, MSG_leave, msg_leave_encode(&ask.payload, &msg),
		       clock_ns(client->clock) + LEAVE_MS * NS_PER_MS);
}

/* wait_for_calls -- until none is under way, for so long at most. */
static void
wait_for_calls(struct tiffin_client *client, uint64_t len_ms)
{
	uint64_t until = num_add_sat(clock_ns(client->clock), len_ms * NS_PER_MS);

	while (atomic_load(&client->n_calls) > 0 && clock_ns(client->clock) < until)
		clock_sleep_ms(client->clock, 1);
}

void
tiffin_close(struct tiffin_client *client)
{
	int r;

	if (client == NULL)
		return;
	r = client_enter(client);
	if (r != 0) /* another process's, or being closed already */
		return;
	atomic_store(&client->is_closing, true);
	atomic_fetch_sub(&client->n_calls, 1);

	wait_for_calls(client, GRACE_MS);
	if (atomic_load(&client->n_calls) > 0) {
		engine_stop(client->engine); /* they wait for peers: no longer */
		/* who asked the master after our goodbye would join again */
		wait_for_calls(client, SETTLE_MS);
	}
	work_stop(client);
	beat_stop(client);
	lease_keeper_flush(client);
	if (!mount_close_all(client, clock_ns(client->clock) + LEAVE_MS * NS_PER_MS))
		say_goodbye(client); /* else the next owner of the file finds all as it was */
	client->link->ops->stop(client->link);
	while (atomic_load(&client->n_calls) > 0)
		wait_for_calls(client, LEAVE_MS);
	tiffin_client_free(client);
}

static int
ping(struct tiffin_client *client)
{
	return beat_ping_until(client, client_until(client));
}

int
tiffin_ping(struct tiffin_client *client)
{
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, ping(client));
}
