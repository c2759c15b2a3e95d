/* SPDX-License-Identifier: Apache-2.0 */
#include "core/client.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "core/beat.h"
#include "core/hot_cache.h"
#include "core/mount.h"
#include "core/put_stream.h"
#include "core/register.h"
#include "core/why.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define TIMEOUT_MS  30000
#define TRANSFER_MS 10000
#define SETTLE_MS   5000
#define PAUSE_MS    20
#define TICK_MS     2000

/* Counts the forks that led to this process; a client of another count is not ours to
	   touch. */
static unsigned fork_generation;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void
count_fork(void)
{
	fork_generation++;
}

static void
watch_forks(void)
{
	int r = pthread_atfork(NULL, NULL, count_fork);

	assert(r == 0);
}

static int
take_world(struct tiffin_client *client, const struct client_world *world)
{
	client->clock = world->clock;
	client->client_id = world->client_id;
	client->timeout_ms = world->timeout_ms != 0 ? world->timeout_ms : TIMEOUT_MS;
	client->transfer_ms = world->transfer_ms != 0 ? world->transfer_ms : TRANSFER_MS;
	client->no_verify = world->no_verify;
	client->verify_rdma = world->verify_rdma;
	client->has_key = world->has_key;
	client->name = strdup(world->name);
	client->master = strdup(world->master);
	rand_init(&client->rand, world->seed);
	if (client->name == NULL || client->master == NULL)
		return err_new(-ENOMEM);
	if (world->door == NULL)
		return 0;
	client->door = *world->door;
	client->door.name = strdup(world->door->name);
	client->door.tenant = strdup(world->door->tenant);
	return client->door.name != NULL && client->door.tenant != NULL ? 0 : err_new(-ENOMEM);
}

static void
forget_world(struct tiffin_client *client)
{
	free(client->name);
	free(client->master);
	free((char *)client->door.name); /* one of them may have found no memory */
	free((char *)client->door.tenant);
}

int
tiffin_client_new(const struct client_world *world, struct tiffin_client **ret_client)
{
	struct tiffin_client *client = calloc(1, sizeof(*client));

	assert(world->client_id != 0);
	if (client == NULL)
		return err_new(-ENOMEM);
	if (take_world(client, world) < 0) {
		forget_world(client);
		free(client);
		return err_new(-ENOMEM);
	}

	pthread_once(&fork_once, watch_forks);
	client->magic = CLIENT_MAGIC;
	client->fork_generation = fork_generation;
	client->link = take(world->link_taken);
	client->engine = take(world->engine_taken);
	client->hot = world->hot_taken != NULL ? take(world->hot_taken) : NULL;
	where_init(&client->where, client->engine, client->clock, client->client_id);
	lease_keeper_init(&client->lease_keeper, client->clock);
	lock_init(&client->lock, LOCK_core_client);
	lock_cond_init(&client->put_idle);
	list_init(&client->puts);
	list_init(&client->mounts);
	list_init(&client->writings);
	list_init(&client->regions);
	*ret_client = client;
	return 0;
}

void
tiffin_client_free(struct tiffin_client *client)
{
	if (client == NULL)
		return;
	assert(client->magic == CLIENT_MAGIC && client->beat == NULL && client->work == NULL);
	assert(atomic_load(&client->n_calls) == 0);
	assert(list_is_empty(&client->puts) && list_is_empty(&client->mounts));

	register_forget_all(client);
	where_fini(&client->where);
	lease_keeper_fini(&client->lease_keeper);
	engine_free(client->engine);
	hot_cache_close(client->hot);
	client->link->ops->free(client->link);
	vec_fini(&client->to_fence);
	vec_fini(&client->fenced);
	pthread_cond_destroy(&client->put_idle);
	lock_fini(&client->lock);
	forget_world(client);
	client->magic = 0;
	free(client);
}

int
client_enter(struct tiffin_client *client)
{
	if (client == NULL || client->magic != CLIENT_MAGIC)
		return why_set(TIFFIN_E_INVALID, "no client: tiffin_open() makes one");
	if (client->fork_generation != fork_generation)
		return why_set(TIFFIN_E_FORKED, "this client was opened in the process that "
						"forked; open another one here");

	atomic_fetch_add(&client->n_calls, 1);
	if (!atomic_load(&client->is_closing))
		return 0;
	atomic_fetch_sub(&client->n_calls, 1);
	return why_set(TIFFIN_E_CLOSED, "the client is being closed");
}

int
client_leave(struct tiffin_client *client, int r)
{
	if (atomic_load(&client->is_closing))
		r = why_set(TIFFIN_E_CLOSED, "the client was closed meanwhile");
	/* The last touch: tiffin_close() may free the client as soon as it sees 0. */
	atomic_fetch_sub(&client->n_calls, 1);
	return r;
}

uint64_t
client_until(const struct tiffin_client *client)
{
	return num_add_sat(clock_ns(client->clock), client->timeout_ms * NS_PER_MS);
}

bool
client_settling(struct tiffin_client *client, bool is_patient)
{
	uint64_t now = clock_ns(client->clock);
	struct link_session session;
	bool is_fresh;

	client->link->ops->session(client->link, &session);
	lock_take(&client->lock);
	if (session.n_joins != client->n_joins) {
		/* client_tick() has not seen it yet: this is the moment. */
		is_fresh = is_patient || session.n_joins > 1;
	} else {
		is_fresh = (is_patient || session.n_joins > 1) &&
			   now < client->rejoined_at_ns + SETTLE_MS * NS_PER_MS;
	}
	lock_drop(&client->lock);
	return is_fresh;
}

bool
client_pause(struct tiffin_client *client, uint64_t until_ns)
{
	if (atomic_load(&client->is_closing))
		return false;
	if (num_add_sat(clock_ns(client->clock), PAUSE_MS * NS_PER_MS) >= until_ns)
		return false;
	clock_sleep_ms(client->clock, PAUSE_MS);
	return !atomic_load(&client->is_closing);
}

int
client_key_check(const char *key)
{
	size_t len;

	if (key == NULL)
		return why_set(TIFFIN_E_INVALID, "the key is NULL");
	len = strnlen(key, TIFFIN_KEY_MAX + 1);
	if (len == 0)
		return why_set(TIFFIN_E_INVALID, "the key is empty; it must be 1 to %d bytes",
			       TIFFIN_KEY_MAX);
	if (len > TIFFIN_KEY_MAX)
		return why_set(TIFFIN_E_INVALID, "the key is longer than %d bytes", TIFFIN_KEY_MAX);
	return 0;
}

/* note_joins -- the link may have joined a master that does not know us: say all mounts again? */
static bool
note_joins(struct tiffin_client *client)
{
	struct link_session session;
	bool is_again;

	client->link->ops->session(client->link, &session);
	lock_take(&client->lock);
	is_again = session.n_joins != client->n_joins;
	if (is_again)
		client->rejoined_at_ns = clock_ns(client->clock);
	is_again = is_again && client->n_joins > 0 &&
		   (session.fresh_join > client->n_joins ||
		    session.master_epoch != client->master_epoch);
	client->n_joins = session.n_joins;
	client->master_epoch = session.master_epoch;
	lock_drop(&client->lock);
	return is_again;
}

uint64_t
client_tick_until(const struct tiffin_client *client)
{
	return clock_ns(client->clock) + TICK_MS * NS_PER_MS;
}

static void
say_again(struct tiffin_client *client)
{
	if (note_joins(client))
		mount_say_all(client);
}

void
client_tick(struct tiffin_client *client)
{
	static void (*const steps[])(struct tiffin_client *) = {
		lease_keeper_flush, beat_ping,          say_again,        mount_fence,
		mount_failing,      lease_keeper_renew, put_stream_renew,
	};

	for (size_t i = 0; i < array_len(steps) && !atomic_load(&client->is_closing); i++)
		steps[i](client);
}
