/* SPDX-License-Identifier: Apache-2.0 */
#include "core/beat.h"

#include <errno.h>

#include "core/ask.h"
#include "core/mount.h"
#include "core/thread.h"
#include "core/why.h"
#include "core/work.h"
#include "core/writing.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

#define BEAT_MIN_MS     20
#define BEAT_DEFAULT_MS 1000

struct beat {
	pthread_t thread;
	struct tiffin_client *client;
	pthread_cond_t cond; /* with the client's lock */
	bool is_stopping, is_hurried;
};

/* keep_order -- a fence to be carried out, unless it waits already. */
static int
keep_order(struct tiffin_client *client, const struct rec_fence *fence)
{
	assert(lock_held(&client->lock));
	for (size_t i = 0; i < client->to_fence.n; i++)
		if (client->to_fence.at[i].fence_id == fence->fence_id)
			return 0;
	return vec_push(&client->to_fence, *fence);
}

/* keep_orders -- what a ping brought back: clients to fence, segments to say again. */
static int
keep_orders(struct tiffin_client *client, const struct rep_ping *rep)
{
	int r = 0;

	lock_take(&client->lock);
	client->to_fence.n = 0; /* each answer names all that are wanted: others are so no more */
	for (uint32_t i = 0; i < rep->n_fences && r == 0; i++)
		r = keep_order(client, &rep->fences[i]);
	lock_drop(&client->lock);
	for (uint32_t i = 0; i < rep->n_unknown; i++)
		mount_forgotten(client, rep->unknown[i].id);
	return r < 0 ? why_no_memory() : 0;
}

/* ping_fill -- what we have to tell; gives the number of fences told. */
static size_t
ping_fill(struct tiffin_client *client, struct rec_id *fenced, struct rec_id *failing,
	  struct msg_ping *ret_msg)
{
	size_t n_fenced, n_failing;

	lock_take(&client->lock);
	n_fenced = num_min(client->fenced.n, (size_t)BATCH_MAX);
	for (size_t i = 0; i < n_fenced; i++)
		fenced[i].id = client->fenced.at[i];
	lock_drop(&client->lock);

	n_failing = where_take_failing(&client->where, failing, BATCH_MAX);
	*ret_msg = (struct msg_ping){.now_ms = clock_ms(client->clock),
				     .quiet_epoch = writing_quiet_epoch(client),
				     .has_worker = atomic_load(&client->has_worker),
				     .n_fenced = (uint32_t)n_fenced,
				     .fenced = fenced,
				     .n_failing = (uint32_t)n_failing,
				     .failing = failing};
	return n_fenced;
}

/* forget_told -- the master knows of the first n confirmed fences. */
static void
forget_told(struct tiffin_client *client, size_t n)
{
	lock_take(&client->lock);
	assert(n <= client->fenced.n);
	for (size_t i = n; i < client->fenced.n; i++)
		client->fenced.at[i - n] = client->fenced.at[i];
	client->fenced.n -= n;
	lock_drop(&client->lock);
}

int
beat_ping_until(struct tiffin_client *client, uint64_t until_ns)
{
	struct rec_id fenced[BATCH_MAX], failing[BATCH_MAX];
	cleanup_with(ask_fini) struct ask ask;
	struct rep_ping rep;
	struct msg_ping msg;
	size_t n_told;
	int r;

	ask_init(&ask, client);
	n_told = ping_fill(client, fenced, failing, &msg);
	r = ask_call(&ask, MSG_ping, msg_ping_encode(&ask.payload, &msg), until_ns);
	if (r == 0)
		r = ask_read(&ask, rep_ping_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r != 0)
		return r;

	if (n_told > 0)
		forget_told(client, n_told);
	if (rep.n_tasks > 0)
		work_hint(client);
	return keep_orders(client, &rep);
}

void
beat_ping(struct tiffin_client *client)
{
	if (beat_ping_until(client, client_tick_until(client)) != 0)
		log_event(LOG_WARN, "ping_failed", "master=%s why=\"%s\"", client->master,
			  tiffin_why());
}

/* pause_ms -- the master's pace, but leases must be looked at four times in their life. */
static uint64_t
pause_ms(struct tiffin_client *client)
{
	struct link_session session;
	uint64_t len_ms;

	client->link->ops->session(client->link, &session);
	len_ms = session.ping_ms != 0 ? session.ping_ms : BEAT_DEFAULT_MS;
	if (session.lease_ms != 0)
		len_ms = num_min(len_ms, (uint64_t)session.lease_ms / 4);
	if (session.write_lease_ms != 0)
		len_ms = num_min(len_ms, (uint64_t)session.write_lease_ms / 4);
	return num_max(len_ms, (uint64_t)BEAT_MIN_MS);
}

static void *
beat_run(void *arg)
{
	struct beat *beat = arg;
	struct tiffin_client *client = beat->client;
	uint64_t len_ms;

	lock_take(&client->lock);
	while (!beat->is_stopping) {
		beat->is_hurried = false;
		lock_drop(&client->lock);
		client_tick(client);
		len_ms = pause_ms(client);
		lock_take(&client->lock);
		if (!beat->is_stopping && !beat->is_hurried)
			(void)lock_wait_for(&client->lock, &beat->cond, len_ms * NS_PER_MS);
	}
	lock_drop(&client->lock);
	return NULL;
}

int
beat_start(struct tiffin_client *client)
{
	struct beat *beat = calloc(1, sizeof(*beat));
	int r;

	assert(client->beat == NULL);
	if (beat == NULL)
		return err_new(-ENOMEM);
	beat->client = client;
	lock_cond_init(&beat->cond);
	client->beat = beat;
	r = thread_start(&beat->thread, beat_run, beat);
	if (r < 0) {
		client->beat = NULL;
		pthread_cond_destroy(&beat->cond);
		free(beat);
		return err_up(r);
	}
	return 0;
}

void
beat_stop(struct tiffin_client *client)
{
	struct beat *beat = client->beat;

	if (beat == NULL)
		return;
	lock_take(&client->lock);
	beat->is_stopping = true;
	pthread_cond_signal(&beat->cond);
	lock_drop(&client->lock);
	pthread_join(beat->thread, NULL);
	pthread_cond_destroy(&beat->cond);
	free(beat);
	client->beat = NULL;
}

void
beat_hurry(struct tiffin_client *client)
{
	lock_take(&client->lock);
	if (client->beat != NULL) {
		client->beat->is_hurried = true;
		pthread_cond_signal(&client->beat->cond);
	}
	lock_drop(&client->lock);
}
