/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/lends.h"

#include <errno.h>

#include "transfer/base/err.h"

void
lends_init(struct lends *lends)
{
	lock_init(&lends->lock, LOCK_xfer_lends);
	lock_cond_init(&lends->dropped);
	map_init(&lends->rows);
}

void
lends_fini(struct lends *lends)
{
	uint64_t id;
	size_t at = 0;
	void *row;

	while (map_next(&lends->rows, &at, &id, &row))
		free(row);
	map_fini(&lends->rows);
	pthread_cond_destroy(&lends->dropped);
	lock_fini(&lends->lock);
}

static int
add_locked(struct lends *lends, struct lent *lent)
{
	struct lends_row *row;
	int r;

	if (map_get(&lends->rows, lent->segment_id) != NULL)
		return LENDS_E_EXISTS;

	row = calloc(1, sizeof(*row));
	if (row == NULL)
		return err_new(-ENOMEM);
	row->lent = lent;
	r = map_put(&lends->rows, lent->segment_id, row);
	if (r < 0) {
		free(row);
		return err_up(r);
	}
	return 0;
}

int
lends_add(struct lends *lends, struct lent *lent)
{
	int r;

	lock_take(&lends->lock);
	r = add_locked(lends, lent);
	lock_drop(&lends->lock);
	return r;
}

struct lends_row *
lends_hold(struct lends *lends, uint64_t segment_id)
{
	struct lends_row *row;

	if (segment_id == 0)
		return NULL; /* not an id */

	lock_take(&lends->lock);
	row = map_get(&lends->rows, segment_id);
	if (row != NULL && row->is_leaving)
		row = NULL;
	if (row != NULL)
		row->n_users++;
	lock_drop(&lends->lock);
	return row;
}

void
lends_drop(struct lends *lends, struct lends_row *row)
{
	lock_take(&lends->lock);
	assert(row->n_users > 0);
	row->n_users--;
	if (row->n_users == 0 && row->is_leaving)
		pthread_cond_broadcast(&lends->dropped);
	lock_drop(&lends->lock);
}

/* own_row -- the row of this very segment, not of another with its id. */
static struct lends_row *
own_row(struct lends *lends, const struct lent *lent)
{
	struct lends_row *row = map_get(&lends->rows, lent->segment_id);

	return row != NULL && row->lent == lent ? row : NULL;
}

void
lends_leave(struct lends *lends, const struct lent *lent)
{
	struct lends_row *row;

	lock_take(&lends->lock);
	row = own_row(lends, lent);
	if (row != NULL)
		row->is_leaving = true;
	lock_drop(&lends->lock);
}

void
lends_wait(struct lends *lends, const struct lent *lent)
{
	struct lends_row *row;

	lock_take(&lends->lock);
	row = own_row(lends, lent);
	if (row != NULL) {
		assert(row->is_leaving);
		while (row->n_users > 0)
			lock_wait(&lends->lock, &lends->dropped);
		map_take(&lends->rows, lent->segment_id);
		free(row);
	}
	lock_drop(&lends->lock);
}

void
lends_fence(struct lends *lends, uint64_t segment_id)
{
	struct lends_row *row = lends_hold(lends, segment_id);

	if (row == NULL)
		return;
	lent_fence(row->lent);
	lends_drop(lends, row);
}
