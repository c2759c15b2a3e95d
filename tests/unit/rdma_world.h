/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_world.h -- the world of xfer_world.h over devices that are none (tests/mock/verbs): both
 * ends in this process, and bad luck where it is asked for.
 */
#ifndef TESTS_RDMA_WORLD_H
#define TESTS_RDMA_WORLD_H

#include "tests/unit/xfer_world.h"

#include "tests/mock/verbs/fake.h"

static const struct fake_config calm = {.seed = 1, .n_devices = 1};

/* world_over -- a world whose devices are such; rdma alone, or with tcp behind it. */
static inline struct world *
world_over(const struct fake_config *config, bool has_tcp)
{
	struct transport *tcp;
	struct world *w;

	fake_init(config);
	world_rdma = "127.0.0.1:0";
	w = world_open(transport_rdma_new, "unix");
	if (has_tcp) {
		assert_int_equal(transport_tcp_new(&tcp), 0);
		engine_add(w->engine, &tcp);
	}
	return w;
}

/* world_end -- and nothing is left of it. */
static inline void
world_end(struct world *w)
{
	const char *last = "";

	world_close(w);
	assert_int_equal(fake_complaints(&last), 0);
	assert_string_equal(last == NULL ? "" : last, "");
	assert_int_equal(fake_fini(), 0);
}

static inline struct transport_counts
counts_of(struct world *w)
{
	struct transport_counts counts;

	engine_counts(w->engine, "rdma", &counts);
	return counts;
}

/* move -- one op on a plain buffer. */
static inline enum op_result
move(struct world *w, enum op_kind kind, const struct token *token, uint8_t *bytes, size_t len)
{
	struct iovec slice = {bytes, len};
	struct op op = {.kind = kind,
			.target = w->target,
			.token = token,
			.len_bytes = len,
			.slices = &slice,
			.n_slices = 1,
			.deadline_ns = far_ns()};

	return run(w, &op);
}

#endif
