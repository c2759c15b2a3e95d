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
#include "transfer/mapping.h"
#include "transfer/op_cursor.h"
#include "transfer/transport.h"
#include "transfer/wire.h"

#define PIECE_BYTES (1ull << 20)
#define REST_NS     (1 * NS_PER_S)
#define ASK_MS_MAX  2000

enum { FOR_READING, FOR_WRITING, N_USES };

/* One segment, in the target's slot.  What is mapped stays so until drop(). */
struct view {
	struct mapping mapping[N_USES];
	uint64_t fence; /* the word as it was when writing was last granted */
	uint64_t rest_until_ns[N_USES];
	bool is_asking;
};

struct shm {
	struct transport base;
	struct lock lock; /* LOCK_xfer_path; guards all views, not what is mapped */
	pthread_cond_t answered;
};

enum shm_outcome {
	SHM_E_NO = 1,  /* nobody there, or not for us: no use in asking again soon */
	SHM_E_REFUSED, /* this token does not open it; another may */
};

/* What an op, or a look, wants of a segment. */
struct wish {
	struct target *target;
	const struct token *token;
	int use; /* FOR_READING, FOR_WRITING */
	uint64_t offset_bytes, len_bytes;
	uint64_t deadline_ns; /* on the engine's clock */
};

/* ---- asking the provider ---- */

static int
send_request(int fd, const struct wish *wish, uint64_t until_ns)
{
	struct wire_request request = {
		.kind = WIRE_MAP,
		.flags = wish->use == FOR_WRITING ? WIRE_WRITABLE : 0,
		.id = 1,
		.segment_id = wish->target->desc.segment_id,
		.segment_epoch = wish->target->desc.segment_epoch,
		.offset_bytes = wish->offset_bytes,
		.len_bytes = wish->len_bytes,
		.token = *wish->token,
	};
	uint8_t bytes[WIRE_REQUEST_BYTES];

	wire_request_encode(&request, bytes);
	return sock_send_all(fd, bytes, sizeof(bytes), until_ns);
}

/* ask_at -- 0 with the answer and its descriptor, or one of the outcomes. */
static int
ask_at(const struct sock_addr *addr, const struct wish *wish, uint64_t wait_ms,
       struct wire_reply *ret_reply, int *ret_fd)
{
	uint64_t until_ns = clock_ns(clock_real()) + wait_ms * NS_PER_MS;
	cleanup_with(fd_close_at) int sock = -1;
	cleanup_with(fd_close_at) int fd = -1;
	uint8_t bytes[WIRE_REPLY_BYTES];

	if (sock_connect(addr, wait_ms, &sock) != 0)
		return SHM_E_NO;
	if (send_request(sock, wish, until_ns) != 0)
		return SHM_E_NO;
	if (sock_recv_fd(sock, bytes, sizeof(bytes), &fd, until_ns) != 0)
		return SHM_E_NO;
	if (wire_reply_decode(bytes, ret_reply) != 0 || ret_reply->kind != WIRE_MAP ||
	    ret_reply->id != 1)
		return SHM_E_NO;
	if (ret_reply->status == WIRE_REFUSED)
		return SHM_E_REFUSED;
	if (ret_reply->status != WIRE_DONE || fd < 0)
		return SHM_E_NO;

	*ret_fd = fd;
	fd = -1;
	return 0;
}

static int
ask(const struct wish *wish, uint64_t now_ns, struct wire_reply *ret_reply, int *ret_fd)
{
	char text[SOCK_ADDR_TEXT_MAX];
	uint64_t wait_ms;
	int r = SHM_E_NO;

	if (wish->deadline_ns <= now_ns)
		return SHM_E_NO;
	wait_ms = num_min((wish->deadline_ns - now_ns) / NS_PER_MS + 1, (uint64_t)ASK_MS_MAX);

	for (size_t i = 0;
	     r == SHM_E_NO && target_address(&wish->target->desc, i, text, sizeof(text)); i++) {
		struct sock_addr addr;

		if (strncmp(text, "unix:", 5) == 0 && sock_addr_parse(text, &addr) == 0)
			r = ask_at(&addr, wish, wait_ms, ret_reply, ret_fd);
	}
	return r;
}

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
 * result:  0, SHM_E_NO, SHM_E_REFUSED.
 * thread:  no lock held; one at a time for a view (is_asking).
 */
static int
fetch(struct shm *shm, const struct wish *wish, bool is_first, struct mapping *ret_mapping,
      uint64_t *ret_fence)
{
	cleanup_with(fd_close_at) int fd = -1;
	struct mapping mapping;
	struct wire_reply reply;
	int r;

	r = ask(wish, clock_ns(engine_clock(shm->base.engine)), &reply, &fd);
	if (r != 0)
		return r;
	if (!is_sound(fd, &wish->target->desc, &reply))
		return SHM_E_NO;

	*ret_fence = reply.fence;
	if (!is_first)
		return 0;
	if (mapping_open(fd, reply.file_bytes, wish->use == FOR_WRITING, &mapping) < 0)
		return SHM_E_NO;
	if (!is_the_segment(&mapping, &wish->target->desc)) {
		mapping_close(&mapping);
		return SHM_E_NO;
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

/* can_open -- is it a token that a provider answers with memory at all? */
static bool
can_open(const struct wish *wish)
{
	const uint32_t needed = wish->use == FOR_READING ? TOKEN_READ | TOKEN_MAP : TOKEN_WRITE;

	return (wish->token->rights & needed) == needed;
}

/* ready -- the mapping that serves this use now, or NULL. */
static struct mapping *
ready(struct view *view, int use)
{
	struct mapping *mapping = &view->mapping[use];

	if (mapping->bytes == NULL)
		return NULL;
	if (use == FOR_WRITING && atomic_load(&header_of(mapping)->fence) != view->fence)
		return NULL;
	return mapping;
}

/* fetch_alone -- with the lock put aside meanwhile; others wait for the answer. */
static int
fetch_alone(struct shm *shm, const struct wish *wish, struct view *view)
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
	if (wish->use == FOR_WRITING)
		view->fence = fence;
	return 0;
}

static int
get_locked(struct shm *shm, const struct wish *wish, struct mapping **ret_mapping)
{
	const struct clock *clock = engine_clock(shm->base.engine);
	struct view *view = view_of(shm, wish->target);
	int r;

	if (view == NULL)
		return SHM_E_NO;
	while ((*ret_mapping = ready(view, wish->use)) == NULL) {
		if (!can_open(wish) || clock_ns(clock) < view->rest_until_ns[wish->use])
			return SHM_E_NO;
		if (view->is_asking) {
			if (!lock_wait_for(&shm->lock, &shm->answered, ASK_MS_MAX * NS_PER_MS))
				return SHM_E_NO;
			continue;
		}
		r = fetch_alone(shm, wish, view);
		if (r == SHM_E_NO)
			view->rest_until_ns[wish->use] = num_add_sat(clock_ns(clock), REST_NS);
		if (r != 0)
			return r;
	}
	return 0;
}

/* get -- the mapping for this wish.  0, SHM_E_NO, SHM_E_REFUSED. */
static int
get(struct shm *shm, const struct wish *wish, struct mapping **ret_mapping)
{
	int r;

	lock_take(&shm->lock);
	r = get_locked(shm, wish, ret_mapping);
	lock_drop(&shm->lock);
	return r;
}

/* ---- moving bytes ---- */

/* may -- our own library, too, uses a mapping only with the master's word for it. */
static bool
may(const struct op *op)
{
	const struct target_desc *desc = &op->target->desc;

	return token_allows(op->token, op->kind == OP_READ ? TOKEN_READ : TOKEN_WRITE,
			    desc->segment_id, desc->segment_epoch, op->offset_bytes, op->len_bytes,
			    /* now_ms, the provider's alone: */ 0);
}

static bool
has_unix_address(const struct target_desc *desc)
{
	return strncmp(desc->endpoint, "unix:", 5) == 0 || strstr(desc->endpoint, " unix:") != NULL;
}

static int
shm_submit(struct transport *t, struct op *op)
{
	struct shm *shm = container_of(t, struct shm, base);
	const struct clock *clock = engine_clock(t->engine);
	struct wish wish = {
		.target = op->target,
		.token = op->token,
		.use = op->kind == OP_READ ? FOR_READING : FOR_WRITING,
		.offset_bytes = op->offset_bytes,
		.len_bytes = op->len_bytes,
		.deadline_ns = op->deadline_ns,
	};
	enum op_result result = OP_DONE;
	struct op_cursor cursor;

	if (op->token == NULL || !op->target->is_same_host ||
	    !has_unix_address(&op->target->desc) || !may(op))
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
	struct wish wish = {
		.target = target,
		.token = token,
		.use = FOR_READING,
		.deadline_ns = clock_ns(engine_clock(t->engine)) + ASK_MS_MAX * NS_PER_MS,
	};
	struct mapping *mapping;

	if (token == NULL || !target->is_same_host || !has_unix_address(&target->desc))
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
	for (int use = 0; use < N_USES; use++)
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
