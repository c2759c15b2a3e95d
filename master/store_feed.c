/* SPDX-License-Identifier: Apache-2.0 */
#include "master/store_feed.h"

#include <errno.h>

#include "transfer/base/err.h"

void
feed_init(struct feed *feed)
{
	*feed = (struct feed){0};
	lock_init(&feed->lock, LOCK_store_feed);
	lock_cond_init(&feed->cond);
	for (size_t i = 0; i < FEED_JOURNALS; i++)
		journal_init(&feed->journals[i]);
}

void
feed_fini(struct feed *feed)
{
	for (size_t i = 0; i < FEED_JOURNALS; i++)
		journal_fini(&feed->journals[i]);
	pthread_cond_destroy(&feed->cond);
	lock_fini(&feed->lock);
}

/* hand_over -- the journal that is full; then there is an empty one, or nobody wants it. */
static int
hand_over(struct feed *feed)
{
	bool is_off;

	lock_take(&feed->lock);
	feed->n_filled++;
	pthread_cond_signal(&feed->cond);
	while (feed->n_filled - feed->n_emptied == FEED_JOURNALS && !feed->is_off)
		lock_wait(&feed->lock, &feed->cond);
	is_off = feed->is_off;
	lock_drop(&feed->lock);
	return is_off ? err_new(-ECANCELED) : 0;
}

int
feed_add(void *arg, const struct record *record)
{
	struct feed *feed = arg;
	struct journal *journal = &feed->journals[feed->n_filled % FEED_JOURNALS];
	int r = journal_add(journal, record);

	if (r < 0)
		return err_up(r);
	return buf_len(&journal->bytes) < FEED_BYTES ? 0 : err_up(hand_over(feed));
}

void
feed_end(struct feed *feed)
{
	lock_take(&feed->lock);
	if (!feed->is_off)
		feed->n_filled++;
	feed->is_over = true;
	pthread_cond_signal(&feed->cond);
	lock_drop(&feed->lock);
}

/* next_full -- the journal to be emptied next, or NULL at the end. */
static struct journal *
next_full(struct feed *feed)
{
	bool is_there;

	lock_take(&feed->lock);
	while (feed->n_emptied == feed->n_filled && !feed->is_over)
		lock_wait(&feed->lock, &feed->cond);
	is_there = feed->n_emptied < feed->n_filled;
	lock_drop(&feed->lock);
	return is_there ? &feed->journals[feed->n_emptied % FEED_JOURNALS] : NULL;
}

int
feed_drain(struct feed *feed, int (*fn)(void *arg, const struct record *record), void *arg)
{
	struct journal_scratch scratch;
	struct journal *journal;
	int r = 0;

	while (r == 0 && (journal = next_full(feed)) != NULL) {
		struct record record;
		size_t at = 0;

		while (r == 0 && journal_next(journal, &at, &scratch, &record))
			r = fn(arg, &record);
		journal_clear(journal);
		lock_take(&feed->lock);
		feed->n_emptied++;
		feed->is_off = r != 0;
		pthread_cond_signal(&feed->cond);
		lock_drop(&feed->lock);
	}
	return r;
}
