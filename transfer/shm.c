/* SPDX-License-Identifier: Apache-2.0 */

/*
 * shm.c -- segments of another process on this host: mapped once, then plain copies.
 *
 *      (nothing) --ask--> mapped read-only   --\
 *          |                                    >-- until the target is dropped
 *          +-----ask--> mapped for writing   --/
 *          |               |  fence word changed: ask again before the next piece
 *          +--not to be had--> resting for REST_NS: ops go to the next transport
 *
 * To ask is to send a token to the provider's Unix socket; it answers with a
 * descriptor.  What it gives is looked at before it is mapped: the right size,
 * and that nobody can shrink it under our feet (a memfd's seals).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "transfer/base/err.h"
#include "transfer/base/lock.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/engine.h"
#include "transfer/lent_header.h"
#include "transfer/map_ask.h"
#include "transfer/mapping.h"
#include "transfer/op_cursor.h"
#include "transfer/transport.h"

#define PIECE_BYTES (1ull << 20)
#define REST_NS     (1 * NS_PER_S)

/* One segment, in the target's slot.  What is mapped stays so until drop(). */
struct view {
	struct mapping mapping[MAP_N_USES];
	uint64_t fence; /* the word as it was when writing was last granted */
	uint64_t rest_until_ns[MAP_N_USES];
	bool is_asking;
};

struct shm {
	struct transport base;
	struct lock lock; /* LOCK_xfer_path; guards all views, not what is mapped */
	pthread_cond_t answered;
};

/* ---- asking the provider ---- */

/* is_sound -- of the size it should be, and of no use to who would like to see us trip over its
 * end. */
static bool
is_sound(int fd, const struct target_desc *desc, const struct wire_reply *reply)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct stat st;
	int seals;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	if ((uint64_t)st.st_size != reply->file_bytes ||
	    reply->file_bytes < lent_file_bytes(desc->size_bytes))
		return false;
	if (st.st_nlink > 0)
		return true; /* a named file: there are no seals for it */
	seals = fcntl(fd, F_GET_SEALS);
	return seals >= 0 && (seals & wanted) == wanted;
}

static const struct lent_header *
header_of(const struct mapping *mapping)
{
	return (const struct lent_header *)mapping->bytes;
}

static bool
is_the_segment(const struct mapping *mapping, const struct target_desc *desc)
{
	const struct lent_header *header = header_of(mapping);

	return lent_header_is_right(header) && header->segment_id == desc->segment_id &&
	       header->epoch == desc->segment_epoch && header->size_bytes == desc->size_bytes;
}

/*
 * fetch -- ask, look, and map when it `is_first`: nothing is mapped twice.
 *
 * result:  0, MAP_ASK_E_NO, MAP_ASK_E_REFUSED.
 * thread:  no lock held; one at a time for a view (is_asking).
 */
static int
fetch(struct shm *shm, const struct map_wish *wish, bool is_first, struct mapping *ret_mapping,
      uint64_t *ret_fence)
{
	cleanup_with(fd_close_at) int fd = -1;
	struct mapping mapping;
	struct wire_reply reply;
	int r;

	r = map_ask(wish, clock_ns(engine_clock(shm->base.engine)), &reply, &fd);
	if (r != 0)
		return r;
	if (!is_sound(fd, &wish->target->desc, &reply))
		return MAP_ASK_E_NO;

	*ret_fence = reply.fence;
	if (!is_first)
		return 0;
	if (mapping_open(fd, reply.file_bytes, wish->use == MAP_WRITING, &mapping) < 0)
		return MAP_ASK_E_NO;
	if (!is_the_segment(&mapping, &wish->target->desc)) {
		mapping_close(&mapping);
		return MAP_ASK_E_NO;
	}
	*ret_mapping = mapping;
	return 0;
}

/* ---- what is mapped ---- */

static struct view *
view_of(struct shm *shm, struct target *target)
{
	assert(lock_held(&shm->lock));

	if (target->slot[shm->base.index] == NULL)
		target->slot[shm->base.index] = calloc(1, sizeof(struct view));
	return target->slot[shm->base.index];
}

/* ready -- the mapping that serves this use now, or NULL. */
static struct mapping *
ready(struct view *view, int use)
{
	struct mapping *mapping = &view->mapping[use];

	if (mapping->bytes == NULL)
		return NULL;
	if (use == MAP_WRITING && atomic_load(&header_of(mapping)->fence) != view->fence)
		return NULL;
	return mapping;
}

/* fetch_alone -- with the lock put aside meanwhile; others wait for the answer. */
static int
fetch_alone(struct shm *shm, const struct map_wish *wish, struct view *view)
{
	struct mapping *mapping = &view->mapping[wish->use];
	bool is_first = mapping->bytes == NULL;
	struct mapping fresh;
	uint64_t fence;
	int r;

	view->is_asking = true;
	lock_drop(&shm->lock);
	r = fetch(shm, wish, is_first, &fresh, &fence);
	lock_take(&shm->lock);
	view->is_asking = false;
	pthread_cond_broadcast(&shm->answered);
	if (r != 0)
		return r;

	if (is_first)
		*mapping = fresh;
	if (wish->use == MAP_WRITING)
		view->fence = fence;
	return 0;
}

static int
get_locked(struct shm *shm, const struct map_wish *wish, struct mapping **ret_mapping)
{
	const struct clock *clock = engine_clock(shm->base.engine);
	struct view *view = view_of(shm, wish->target);
	int r;

	if (view == NULL)
		return MAP_ASK_E_NO;
	while ((*ret_mapping = ready(view, wish->use)) == NULL) {
		if (!map_can_open(wish) || clock_ns(clock) < view->rest_until_ns[wish->use])
			return MAP_ASK_E_NO;
		if (view->is_asking) {
			if (!lock_wait_for(&shm->lock, &shm->answered, MAP_ASK_MS_MAX * NS_PER_MS))
				return MAP_ASK_E_NO;
			continue;
		}
		r = fetch_alone(shm, wish, view);
		if (r == MAP_ASK_E_NO)
			view->rest_until_ns[wish->use] = num_add_sat(clock_ns(clock), REST_NS);
		if (r != 0)
			return r;
	}
	return 0;
}

/* get -- the mapping for this wish.  0, MAP_ASK_E_NO, MAP_ASK_E_REFUSED. */
static int
get(struct shm *shm, const struct map_wish *wish, struct mapping **ret_mapping)
{
	int r;

	lock_take(&shm->lock);
	r = get_locked(shm, wish, ret_mapping);
	lock_drop(&shm->lock);
	return r;
}

/* ---- moving bytes ---- */

static int
shm_submit(struct transport *t, struct op *op)
{
	struct shm *shm = container_of(t, struct shm, base);
	const struct clock *clock = engine_clock(t->engine);
	struct map_wish wish = {
		.target = op->target,
		.token = op->token,
		.use = op->kind == OP_READ ? MAP_READING : MAP_WRITING,
		.offset_bytes = op->offset_bytes,
		.len_bytes = op->len_bytes,
		.deadline_ns = op->deadline_ns,
	};
	enum op_result result = OP_DONE;
	struct op_cursor cursor;

	if (op->target->desc.is_on_disk || !map_may_ask(op->target, op->token) || !map_may(op))
		return TRANSPORT_E_CANT;

	op_cursor_init(&cursor, op, 0);
	while (op->done_bytes < op->len_bytes) {
		uint64_t len = num_min(op->len_bytes - op->done_bytes, PIECE_BYTES);
		uint64_t at = LENT_HEADER_BYTES + op->offset_bytes + op->done_bytes;
		struct mapping *mapping;

		if (clock_ns(clock) >= op->deadline_ns) {
			result = OP_E_TIMEOUT;
			break;
		}
		if (get(shm, &wish, &mapping) != 0) {
			op->done_bytes = 0; /* the next transport begins anew */
			op->crc = 0;
			return TRANSPORT_E_CANT;
		}
		mapping_warm(mapping, at, len);
		op_copy(op, &cursor, mapping->bytes + at, len);
	}
	engine_complete(t->engine, op, result);
	return 0;
}

static int
shm_map(struct transport *t, struct target *target, const struct token *token,
	const void **ret_bytes)
{
	struct shm *shm = container_of(t, struct shm, base);
	struct map_wish wish = {
		.target = target,
		.token = token,
		.use = MAP_READING,
		.deadline_ns = clock_ns(engine_clock(t->engine)) + MAP_ASK_MS_MAX * NS_PER_MS,
	};
	struct mapping *mapping;

	if (target->desc.is_on_disk || !map_may_ask(target, token))
		return TRANSPORT_E_CANT;
	if (get(shm, &wish, &mapping) != 0)
		return TRANSPORT_E_CANT;
	*ret_bytes = mapping->bytes + LENT_HEADER_BYTES;
	return 0;
}

static void
shm_drop(struct transport *t, struct target *target)
{
	struct view *view = take((struct view **)&target->slot[t->index]);

	if (view == NULL)
		return;
	for (int use = 0; use < MAP_N_USES; use++)
		mapping_close(&view->mapping[use]);
	free(view);
}

static void
shm_free(struct transport *t)
{
	struct shm *shm = container_of(t, struct shm, base);

	pthread_cond_destroy(&shm->answered);
	lock_fini(&shm->lock);
	free(shm);
}

static const struct transport_ops shm_ops = {
	.name = "shm",
	.submit = shm_submit,
	.map = shm_map,
	.drop = shm_drop,
	.free = shm_free,
};

int
transport_shm_new(struct transport **ret_t)
{
	struct shm *shm = calloc(1, sizeof(*shm));

	if (shm == NULL)
		return err_new(-ENOMEM);
	shm->base.ops = &shm_ops;
	lock_init(&shm->lock, LOCK_xfer_path);
	lock_cond_init(&shm->answered);
	*ret_t = &shm->base;
	return 0;
}
