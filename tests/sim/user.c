/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/user.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/calls.h"
#include "tests/sim/ferry.h"
#include "tests/sim/keeper.h"
#include "tests/sim/ledger.h"
#include "tests/sim/line.h"
#include "transfer/base/num.h"
#include "transfer/engine.h"

#define FIBERS 2

struct user_habits user_habits;

static struct user *users[USERS_MAX];
static unsigned n_users, n_lives;
static unsigned n_looking; /* clients that take the last look, one a tenant */
static bool has_looked;

static void
leave(struct user *user)
{
	if (--user->n_fibers > 0)
		return;
	tiffin_client_free(user->client);
	user->client = NULL;
	user->proc.is_dead = true; /* whatever it had mapped is gone */
	sim_say("user %u has ended", user->index);
}

static void
work(void *arg)
{
	struct user *user = arg;

	while (!user->proc.is_dead && !user_habits.is_over) {
		call_some(user);
		fiber_wait(sim_now() + sim_between(MS(1), sim_chance(10) ? MS(500) : MS(30)));
	}
	user->is_leaving = true;
	leave(user);
}

static void
beat(void *arg)
{
	struct user *user = arg;

	while (!user->proc.is_dead && user->n_fibers > 1) {
		struct link_session session;
		uint64_t len_ms;

		client_tick(user->client);
		user->link->ops->session(user->link, &session);
		len_ms = num_min(num_min(session.ping_ms, session.lease_ms / 4),
				 session.write_lease_ms / 4);
		fiber_wait(sim_now() + MS(num_max(len_ms, (uint64_t)20)));
	}
	leave(user);
}

static struct user *
user_new(unsigned index)
{
	struct user *user = sim_alloc(sizeof(*user));
	struct line_config line = {.node = USER_NODES + index,
				   .proc = &user->proc,
				   .clock = &user->clock.base,
				   .client_id = rand_id(sim_rand()),
				   .name = "user",
				   .host = user->host,
				   .tenant = user->tenant};
	struct ferry_config ferry = {.node = USER_NODES + index,
				     .client_id = line.client_id,
				     .proc = &user->proc,
				     .clock = &user->clock.base,
				     .maps_to_read = sim_chance(2),
				     .maps_to_write = sim_chance(4)};
	struct client_world world = {.clock = &user->clock.base,
				     .client_id = line.client_id,
				     .seed = rand_u64(sim_rand()),
				     .name = "user",
				     .master = "the master",
				     .timeout_ms = 8000,
				     .transfer_ms = 2000,
				     .no_verify = sim_chance(2)};
	struct engine *engine;
	struct transport *t;

	user->index = index;
	snprintf(user->tenant, sizeof(user->tenant), "t%u", index % user_habits.n_tenants);
	snprintf(user->host, sizeof(user->host), sim_chance(2) ? "away%u" : "host%u", index);
	node_clock_init(&user->clock);
	user->link = line_new(&line);
	user->ferry = t = ferry_new(&ferry);
	if (engine_new(&user->clock.base, &engine) < 0)
		abort();
	engine_add(engine, &t);
	world.link_taken = &user->link;
	world.engine_taken = &engine;
	{
		struct link *link = user->link;

		if (tiffin_client_new(&world, &user->client) < 0)
			abort();
		user->link = link;
	}
	n_lives++;
	sim_say("user %u starts as client %" PRIu64 "%s", index, line.client_id,
		ferry.maps_to_write ? ", maps" : "");
	return user;
}

static void
start(void *arg, uint64_t index)
{
	struct user *user;

	(void)arg;
	if (user_habits.is_over)
		return;
	users[index] = user = user_new((unsigned)index);
	user->n_fibers = FIBERS + 1;
	for (unsigned i = 0; i < FIBERS; i++)
		fiber_start(&user->proc, work, user);
	fiber_start(&user->proc, beat, user);
}

void
users_init(unsigned n)
{
	memset(users, 0, sizeof(users));
	n_users = n;
	has_looked = false;
	for (unsigned i = 0; i < n; i++)
		start(NULL, i);
}

void
users_fini(void)
{
	for (unsigned i = 0; i < n_users; i++)
		assert(users[i] == NULL || users[i]->client == NULL);
}

unsigned
users_n(void)
{
	return n_users;
}

void
user_kill(unsigned index, uint64_t down_ns)
{
	struct user *user = users[index];

	if (user == NULL || user->client == NULL || user->proc.is_dead)
		return;
	sim_say("user %u is killed", index);
	user->proc.is_dead = true;
	atomic_store(&user->client->is_closing, true);
	line_die(user->link);
	ferry_die(user->ferry);
	if (down_ns != UINT64_MAX)
		sim_at(sim_now() + down_ns, start, NULL, index);
}

void
user_stop(unsigned index, uint64_t len_ns)
{
	struct user *user = users[index];

	if (user == NULL || user->client == NULL)
		return;
	sim_say("user %u is stopped for %" PRIu64 " ms", index, len_ns / MS(1));
	user->proc.stopped_until_ns = sim_now() + len_ns;
}

void
user_cut(unsigned index)
{
	if (users[index] != NULL && users[index]->client != NULL)
		line_cut(users[index]->link);
}

bool
users_idle(void)
{
	for (unsigned i = 0; i < n_users; i++)
		if (users[i] != NULL && users[i]->client != NULL)
			return false;
	return true;
}

static void
look(void *arg)
{
	struct user *user = arg;

	client_tick(user->client);
	for (unsigned key = user->index; key < user_habits.n_keys; key += user_habits.n_tenants)
		call_look(user, key);
	client_tick(user->client); /* gives the leases back */
	fiber_wait(sim_now() + MS(100));
	has_looked = --n_looking == 0;
	leave(user);
}

void
users_look(void)
{
	n_looking = user_habits.n_tenants;
	for (unsigned i = 0; i < user_habits.n_tenants; i++) {
		struct user *user = user_new(i);

		users[i] = user;
		user->n_fibers = 1;
		fiber_start(&user->proc, look, user);
	}
}

bool
users_have_looked(void)
{
	return has_looked;
}
