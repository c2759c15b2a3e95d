/* SPDX-License-Identifier: Apache-2.0 */

/* local.c -- memory lent by this very process: plain copies. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "transfer/base/err.h"
#include "transfer/base/lock.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/engine.h"
#include "transfer/lends.h"
#include "transfer/lent_header.h"
#include "transfer/mapping.h"
#include "transfer/op_cursor.h"
#include "transfer/transport.h"

struct local {
	struct transport base;
	struct lock lock; /* LOCK_xfer_path; guards the slots: struct mapping of its own */
};

/* is_ours -- in memory, and in this life. */
static bool
is_ours(const struct lends_row *row, const struct target *target)
{
	return row->lent->disk == NULL && row->lent->epoch == target->desc.segment_epoch;
}

static int
local_submit(struct transport *t, struct op *op)
{
	struct lends *lends = engine_lends(t->engine);
	struct lends_row *row = lends_hold(lends, op->target->desc.segment_id);
	enum op_result result = OP_DONE;
	struct op_cursor cursor;

	if (row == NULL)
		return TRANSPORT_E_CANT;
	if (!is_ours(row, op->target)) {
		lends_drop(lends, row);
		return TRANSPORT_E_CANT;
	}

	if (!num_range_fits(op->offset_bytes, op->len_bytes, row->lent->size_bytes)) {
		result = OP_E_INVALID;
	} else {
		op_cursor_init(&cursor, op, 0);
		op_copy(op, &cursor, row->lent->bytes + op->offset_bytes, op->len_bytes);
	}
	lends_drop(lends, row);
	engine_complete(t->engine, op, result);
	return 0;
}

/* map_again -- a mapping of its own, which lives on when the segment is unlent and closed. */
static int
map_again(const struct lent *lent, struct mapping **ret_mapping)
{
	struct mapping *mapping;
	cleanup_with(fd_close_at) int fd = -1;
	struct stat st;
	int r;

	r = lent_reopen(lent, /* is_writable= */ false, &fd);
	if (r < 0)
		return err_up(r);
	if (fstat(fd, &st) < 0)
		return err_new(-errno);
	mapping = calloc(1, sizeof(*mapping));
	if (mapping == NULL)
		return err_new(-ENOMEM);
	r = mapping_open(fd, (size_t)st.st_size, /* is_writable= */ false, mapping);
	if (r < 0) {
		free(mapping);
		return err_up(r);
	}
	*ret_mapping = mapping;
	return 0;
}

static int
local_map(struct transport *t, struct target *target, const struct token *token,
	  const void **ret_bytes)
{
	struct local *local = container_of(t, struct local, base);
	struct lends *lends = engine_lends(t->engine);
	struct lends_row *row = lends_hold(lends, target->desc.segment_id);
	struct mapping *mapping;
	int r = 0;

	(void)token;
	if (row == NULL)
		return TRANSPORT_E_CANT;

	lock_take(&local->lock);
	mapping = target->slot[t->index];
	if (!is_ours(row, target))
		r = TRANSPORT_E_CANT;
	else if (mapping == NULL)
		r = map_again(row->lent, &mapping);
	if (r == 0) {
		target->slot[t->index] = mapping;
		*ret_bytes = mapping->bytes + LENT_HEADER_BYTES;
	}
	lock_drop(&local->lock);
	lends_drop(lends, row);
	return r == 0 ? 0 : TRANSPORT_E_CANT;
}

static void
local_drop(struct transport *t, struct target *target)
{
	struct mapping *mapping = take((struct mapping **)&target->slot[t->index]);

	if (mapping != NULL)
		mapping_close(mapping);
	free(mapping);
}

static void
local_free(struct transport *t)
{
	struct local *local = container_of(t, struct local, base);

	lock_fini(&local->lock);
	free(local);
}

static const struct transport_ops local_ops = {
	.name = "local",
	.submit = local_submit,
	.map = local_map,
	.drop = local_drop,
	.free = local_free,
};

int
transport_local_new(struct transport **ret_t)
{
	struct local *local = calloc(1, sizeof(*local));

	if (local == NULL)
		return err_new(-ENOMEM);
	local->base.ops = &local_ops;
	lock_init(&local->lock, LOCK_xfer_path);
	*ret_t = &local->base;
	return 0;
}
