/* SPDX-License-Identifier: Apache-2.0 */
#include "master/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "master/store_internal.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"

static void
free_batches(struct list *batches)
{
	list_each_safe(batches, link) {
		struct store_batch *batch = list_of(link, struct store_batch, at);

		list_remove(link);
		journal_fini(&batch->journal);
		free(batch);
	}
}

static size_t
count_batches(const struct list *batches)
{
	size_t n = 0;

	list_each(batches, link)
		n++;
	return n;
}

/* store_free -- everything but the flushing. */
static void
store_free(struct store *store)
{
	if (store == NULL)
		return;

	store_db_close(&store->db);
	store_files_close(&store->files);
	free_batches(&store->queue);
	free_batches(&store->group);
	free_batches(&store->spare);
	pthread_cond_destroy(&store->cond);
	lock_fini(&store->lock);
	free((char *)store->config.path);
	free((char *)store->config.vfs);
	free(store);
}

DEFINE_CLEANUP(struct store, store_free);

static int
store_new(const struct store_config *config, struct store **ret_store)
{
	struct store *store = calloc(1, sizeof(*store));

	if (store == NULL)
		return err_new(-ENOMEM);

	store->magic = STORE_MAGIC;
	store->config = *config;
	store->config.path = strdup(config->path);
	store->config.vfs = config->vfs != NULL ? strdup(config->vfs) : NULL;
	store->files = (struct store_files){.lock_fd = -1, .reserve_fd = -1};
	list_init(&store->queue);
	list_init(&store->spare);
	list_init(&store->group);
	lock_init(&store->lock, LOCK_store_queue);
	lock_cond_init(&store->cond);
	if (store->config.path == NULL || (config->vfs != NULL && store->config.vfs == NULL)) {
		store_free(store);
		return err_new(-ENOMEM);
	}
	*ret_store = store;
	return 0;
}

static int
start_thread(struct store *store, char *why, size_t why_cap)
{
	int e = pthread_create(&store->thread, NULL, store_thread_main, store);

	if (e != 0) {
		store_say(why, why_cap, store->config.path, "can't start its thread: %s",
			  strerror(e));
		return err_new(-e);
	}
	store->has_thread = true;
	return 0;
}

int
store_open(const struct store_config *config, struct store **ret_store, char *why, size_t why_cap)
{
	cleanup_with(store_free_at) struct store *store = NULL;
	int r;

	assert(config->path != NULL && config->clock != NULL);
	assert(why_cap > 0);

	why[0] = '\0';
	r = store_new(config, &store);
	if (r < 0) {
		store_say(why, why_cap, config->path, "can't open it: %s", strerror(-r));
		return err_up(r);
	}
	r = store_files_open(&store->files, store->config.path, why, why_cap);
	if (r == 0)
		r = store_database_open(store, why, why_cap);
	if (r == 0) {
		store_watch_wal(store);
		store->progress.is_full = store->files.is_full;
		store->commit_at_ns = clock_ns(store->config.clock);
		store->reserve_at_ns = store->commit_at_ns + NS_PER_S;
	}
	if (r == 0 && !store->config.is_inline)
		r = start_thread(store, why, why_cap);
	if (r != 0)
		return err_up(r);

	if (store->was_put_back)
		log_event(LOG_WARN, "store_put_back", "path=\"%s\" epoch=%llu next_object_id=%llu",
			  store->config.path, (unsigned long long)store->epoch,
			  (unsigned long long)store->next_object_id);
	*ret_store = take(&store);
	return 0;
}

uint64_t
store_epoch(const struct store *store)
{
	return store->epoch;
}

uint64_t
store_cluster_id(const struct store *store)
{
	return store->cluster_id;
}

uint64_t
store_next_object_id(const struct store *store)
{
	return store->next_object_id;
}

uint64_t
store_longest_lease_ms(const struct store *store)
{
	return store->longest_lease_ms;
}

bool
store_was_put_back(const struct store *store)
{
	return store->was_put_back;
}

/* kick -- drop the lock; there is news for the store thread. */
static void
kick(struct store *store)
{
	assert(lock_held(&store->lock));

	store->is_kicked = true;
	lock_drop(&store->lock);
	pthread_cond_signal(&store->cond); /* who wakes finds the lock free */
}

/* take_spare -- a batch with memory from earlier, or a new one; NULL: no memory. */
static struct store_batch *
take_spare(struct store *store)
{
	struct list_link *link;
	struct store_batch *batch;

	lock_take(&store->lock);
	link = list_first(&store->spare);
	if (link != NULL)
		list_remove(link);
	lock_drop(&store->lock);
	if (link != NULL)
		return list_of(link, struct store_batch, at);

	batch = calloc(1, sizeof(*batch));
	if (batch == NULL)
		return NULL;
	list_link_init(&batch->at);
	journal_init(&batch->journal);
	return batch;
}

int
store_submit(struct store *store, struct journal *journal, uint64_t *ret_batch)
{
	struct store_batch *batch = take_spare(store);
	struct journal empty;

	assert(store->magic == STORE_MAGIC);

	if (batch == NULL)
		return err_new(-ENOMEM);

	empty = batch->journal;
	batch->journal = *journal;
	*journal = empty;
	journal_clear(journal);

	lock_take(&store->lock);
	batch->number = ++store->n_submitted;
	list_push_back(&store->queue, &batch->at);
	*ret_batch = batch->number;
	if (!store_here_begin(store, batch)) {
		kick(store);
		return 0;
	}
	lock_drop(&store->lock);
	store_here(store);
	return 0;
}

void
store_want_sync(struct store *store)
{
	lock_take(&store->lock);
	store->wants_sync = true;
	kick(store);
}

void
store_progress(struct store *store, struct store_progress *ret_progress)
{
	lock_take(&store->lock);
	*ret_progress = store->progress;
	lock_drop(&store->lock);
}

void
store_step(struct store *store)
{
	assert(store->config.is_inline);

	while (store_work(store) == 0)
		;
}

void
store_close(struct store *store)
{
	if (store == NULL)
		return;

	assert(store->magic == STORE_MAGIC);

	if (store->has_thread) {
		lock_take(&store->lock);
		store->is_closing = true;
		kick(store);
		pthread_join(store->thread, NULL);
	}
	if (!store_flush(store))
		log_event(LOG_ERROR, "store_lost", "path=\"%s\" batches=%zu why=\"%s\"",
			  store->config.path,
			  count_batches(&store->group) + count_batches(&store->queue),
			  store->progress.why);
	store_free(store);
}

void
store_counts(struct store *store, struct store_counts *ret_counts)
{
	lock_take(&store->lock);
	*ret_counts = store->counts;
	lock_drop(&store->lock);
}
