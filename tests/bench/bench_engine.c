/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_engine -- what the transfer engine itself costs: a transport that does nothing.
 *
 *      bench_engine N      N batches of each shape
 *
 * A line a shape: how many ops a batch, how many slices an op; ns per slice, and how often memory
 * was asked for after the first batches (malloc and its like are counted here).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "transfer/engine.h"
#include "transfer/transport.h"

#define OPS_MAX    64
#define SLICES_MAX 16
#define WARM_UP    100
#define WINDOW_OPS 1024 /* timed together */
#define LEN_BYTES  (64u << 10)

static unsigned long n_allocs;

/* The C library's own are behind these names. */
extern void *__libc_malloc(size_t len);
extern void *__libc_calloc(size_t n, size_t len);
extern void *__libc_realloc(void *at, size_t len);

void *
malloc(size_t len)
{
	n_allocs++;
	return __libc_malloc(len);
}

void *
calloc(size_t n, size_t len)
{
	n_allocs++;
	return __libc_calloc(n, len);
}

void *
realloc(void *at, size_t len)
{
	n_allocs++;
	return __libc_realloc(at, len);
}

static void
must(int r, const char *what)
{
	if (r == 0)
		return;
	fprintf(stderr, "bench_engine: %s: %d\n", what, r);
	exit(1);
}

/* ---- a transport that does nothing ---- */

static int
idle_submit(struct transport *t, struct op *op)
{
	op->done_bytes = op->len_bytes;
	engine_complete(t->engine, op, OP_DONE);
	return 0;
}

static void
idle_free(struct transport *t)
{
	free(t);
}

static const struct transport_ops idle_ops = {
	.name = "idle", .submit = idle_submit, .free = idle_free};

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- shapes ---- */

static void
measure(struct engine *engine, struct target *target, size_t n_ops, size_t n_slices,
	unsigned long n_batches)
{
	static struct iovec slices[SLICES_MAX];
	static struct op ops[OPS_MAX];
	static char bytes[LEN_BYTES];
	struct batch batch = {.ops = ops, .n_ops = n_ops};
	unsigned long allocs = 0, n_window = WINDOW_OPS / n_ops;
	uint64_t began_ns = 0, best_ns = UINT64_MAX;

	for (size_t i = 0; i < n_slices; i++)
		slices[i] = (struct iovec){bytes, LEN_BYTES / n_slices};
	for (size_t i = 0; i < n_ops; i++)
		ops[i] = (struct op){.kind = OP_READ,
				     .target = target,
				     .len_bytes = LEN_BYTES,
				     .slices = slices,
				     .n_slices = n_slices,
				     .deadline_ns = UINT64_MAX};
	for (unsigned long k = 0; k < WARM_UP + n_batches; k++) {
		if (k == WARM_UP)
			allocs = n_allocs;
		if (k >= WARM_UP && (k - WARM_UP) % n_window == 0) {
			uint64_t ns = now_ns();

			/* The best window: what others do on this machine is not its cost. */
			if (began_ns != 0 && ns - began_ns < best_ns)
				best_ns = ns - began_ns;
			began_ns = ns;
		}
		must(engine_run(engine, &batch) != OP_DONE, "engine_run");
	}
	printf("name=engine ops=%zu slices=%zu ns_per_slice=%.1f allocs=%lu\n", n_ops, n_slices,
	       (double)best_ns / (double)(n_window * n_ops * n_slices), n_allocs - allocs);
}

int
main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	struct target_desc desc = {.segment_id = 1, .segment_epoch = 1, .size_bytes = LEN_BYTES};
	struct transport *t = calloc(1, sizeof(*t));
	struct engine *engine;
	struct target *target;

	must(t == NULL, "calloc");
	t->ops = &idle_ops;
	must(engine_new(clock_real(), &engine), "engine_new");
	engine_add(engine, &t);
	must(engine_target(engine, &desc, &target), "engine_target");
	measure(engine, target, 1, 1, n);
	measure(engine, target, 1, 16, n);
	measure(engine, target, 16, 1, n);
	measure(engine, target, 64, 1, n);
	engine_target_unref(engine, target);
	engine_free(engine);
	return 0;
}
