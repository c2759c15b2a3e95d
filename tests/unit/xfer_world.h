/* SPDX-License-Identifier: Apache-2.0 */

/*
 * xfer_world.h -- a provider and a client of the transfer engine in one test process.
 *
 *      lent segment <-- serve <-- sockets --> engine with the transports under test
 *
 * The segment's byte at offset i is pattern(i) unless a test writes it.
 */
#ifndef TESTS_XFER_WORLD_H
#define TESTS_XFER_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transfer/base/crc.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/engine.h"
#include "transfer/lent_header.h"
#include "transfer/serve.h"
#include "transfer/transport.h"
#include "transfer/wire.h"

#ifndef WORLD_SIZE /* of the segment */
#define WORLD_SIZE (8ull << 20)
#endif
#define WORLD_CLIENT 7
#define FAR_MS       600000

/* What serve_config.rdma is to be; NULL: no RDMA. */
static const char *world_rdma;

struct world {
	struct rand rand;
	char dir[64];
	struct lent *lent;
	struct serve *serve;
	struct engine *engine;
	struct target *target;
};

static inline uint8_t
pattern(uint64_t i)
{
	return (uint8_t)(i * 131 + (i >> 8) * 17 + (i >> 16) * 7 + 1);
}

static inline uint64_t
far_ns(void)
{
	return clock_ns(clock_real()) + 30 * NS_PER_S;
}

/* ---- tokens ---- */

static inline struct token
token_for(const struct lent *lent, uint32_t rights)
{
	struct token token = {
		.client_id = WORLD_CLIENT,
		.segment_id = lent->segment_id,
		.segment_epoch = lent->epoch,
		.until_ms = clock_ms(clock_real()) + FAR_MS,
		.rights = rights,
	};

	token_sign(&token, lent->secret);
	return token;
}

/* ---- the world ---- */

static inline void
world_serve(struct world *w, const char *listen)
{
	struct serve_config config = {
		.clock = clock_real(),
		.listen = listen,
		.rdma = world_rdma,
		.idle_ms = 2000,
		.connections_max = 16,
	};

	assert_int_equal(serve_new(&config, &w->serve), 0);
	assert_int_equal(serve_add(w->serve, w->lent), 0);
}

static inline struct target_desc
desc_of(const struct lent *lent, const char *endpoint)
{
	struct target_desc desc = {
		.segment_id = lent->segment_id,
		.segment_epoch = lent->epoch,
		.size_bytes = lent->size_bytes,
	};

	snprintf(desc.host, sizeof(desc.host), "%s", host_id());
	snprintf(desc.endpoint, sizeof(desc.endpoint), "%s", endpoint);
	return desc;
}

static inline void
world_target(struct world *w, const char *endpoint)
{
	struct target_desc desc = desc_of(w->lent, endpoint);

	engine_target_unref(w->engine, w->target);
	assert_int_equal(engine_target(w->engine, &desc, &w->target), 0);
}

/* world_open -- make: the client's one transport; listen: "unix" (in a folder of its own) or an
 * address. */
static inline struct world *
world_open(int (*make)(struct transport **), const char *listen)
{
	struct lent_config config = {.size_bytes = WORLD_SIZE};
	struct world *w = calloc(1, sizeof(*w));
	struct transport *t;
	char address[128];

	assert_non_null(w);
	rand_init(&w->rand, 42);
	snprintf(w->dir, sizeof(w->dir), "/tmp/tiffin-test-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(address, sizeof(address), "unix:%s/s", w->dir);
	assert_int_equal(lent_open(&config, &w->rand, &w->lent), 0);
	for (uint64_t i = 0; i < WORLD_SIZE; i++)
		w->lent->bytes[i] = pattern(i);
	world_serve(w, strcmp(listen, "unix") == 0 ? address : listen);

	assert_int_equal(engine_new(clock_real(), &w->engine), 0);
	assert_int_equal(make(&t), 0);
	engine_add(w->engine, &t);
	world_target(w, serve_endpoint(w->serve));
	return w;
}

static inline void
world_close(struct world *w)
{
	char path[128];

	if (w->engine != NULL)
		engine_target_unref(w->engine, w->target);
	engine_free(w->engine);
	serve_free(w->serve);
	lent_close(w->lent);
	snprintf(path, sizeof(path), "%s/s", w->dir);
	unlink(path);
	rmdir(w->dir);
	free(w);
}

/* ---- ops ---- */

/* Slices with gaps between them; the gaps hold GAP and must go on doing so. */
#define GAP 0xa5

struct scatter {
	uint8_t *area;
	size_t area_bytes;
	struct iovec slices[64];
	size_t n;
	uint64_t len_bytes;
};

/* scatter_new -- len_bytes cut into pieces of every kind: empty, one byte, unaligned, large. */
static inline struct scatter
scatter_new(struct rand *rand, uint64_t len_bytes)
{
	struct scatter s = {.len_bytes = len_bytes, .area_bytes = len_bytes + 64 * 64};
	uint64_t left = len_bytes;
	uint8_t *at;

	s.area = malloc(s.area_bytes);
	assert_non_null(s.area);
	memset(s.area, GAP, s.area_bytes);
	at = s.area + 1;
	while (left > 0 || s.n == 0) {
		uint64_t len = rand_below(rand, len_bytes / 4 + 3);

		if (s.n % 5 == 1)
			len = 0;
		if (s.n % 5 == 3)
			len = 1;
		if (len > left || s.n + 1 == array_len(s.slices))
			len = left;
		s.slices[s.n++] = (struct iovec){at, len};
		at += len + 1 + rand_below(rand, 40);
		left -= len;
	}
	return s;
}

static inline void
scatter_fill(struct scatter *s, uint8_t salt)
{
	uint64_t at = 0;

	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->slices[i].iov_len; k++)
			((uint8_t *)s->slices[i].iov_base)[k] = (uint8_t)(pattern(at++) ^ salt);
}

/* scatter_differs -- from the len_bytes at `bytes`; also when a gap was touched. */
static inline bool
scatter_differs(const struct scatter *s, const uint8_t *bytes)
{
	const uint8_t *at = s->area;

	for (size_t i = 0; i < s->n; i++) {
		const uint8_t *begin = s->slices[i].iov_base;

		for (; at < begin; at++)
			if (*at != GAP)
				return true;
		if (memcmp(begin, bytes, s->slices[i].iov_len) != 0)
			return true;
		at += s->slices[i].iov_len;
		bytes += s->slices[i].iov_len;
	}
	for (; at < s->area + s->area_bytes; at++)
		if (*at != GAP)
			return true;
	return false;
}

static inline struct op
op_for(struct world *w, enum op_kind kind, const struct token *token, struct scatter *s,
       uint64_t offset_bytes)
{
	return (struct op){
		.kind = kind,
		.want_crc = true,
		.target = w->target,
		.token = token,
		.offset_bytes = offset_bytes,
		.len_bytes = s->len_bytes,
		.slices = s->slices,
		.n_slices = s->n,
		.deadline_ns = far_ns(),
	};
}

static inline enum op_result
run(struct world *w, struct op *op)
{
	struct batch batch = {.ops = op, .n_ops = 1};

	return engine_run(w->engine, &batch);
}

static const uint64_t world_sizes[] = {1,    2,     7,      63,      4095,   4096,
				       4097, 65537, 262145, 1048576, 3000001};

/* Every size, at odd offsets, both ways: bytes, gaps and sums are right. */
static inline void
world_moves_every_size(struct world *w)
{
	struct token read = token_for(w->lent, TOKEN_READ | TOKEN_MAP);
	struct token write = token_for(w->lent, TOKEN_WRITE);

	for (size_t i = 0; i < array_len(world_sizes); i++) {
		uint64_t offset = 4096 * i + i * i;
		struct scatter in = scatter_new(&w->rand, world_sizes[i]);
		struct scatter out = scatter_new(&w->rand, world_sizes[i]);
		struct op op;

		op = op_for(w, OP_READ, &read, &in, offset);
		assert_int_equal(run(w, &op), OP_DONE);
		assert_false(scatter_differs(&in, w->lent->bytes + offset));
		assert_int_equal(op.crc, crc_of(0, w->lent->bytes + offset, world_sizes[i]));

		scatter_fill(&out, (uint8_t)(i + 1));
		op = op_for(w, OP_WRITE, &write, &out, offset);
		assert_int_equal(run(w, &op), OP_DONE);
		assert_false(scatter_differs(&out, w->lent->bytes + offset));
		assert_int_equal(op.crc, crc_of(0, w->lent->bytes + offset, world_sizes[i]));
		free(in.area);
		free(out.area);
	}
}

#endif
