/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/bench_transfer.h"

#include <string.h>

#include "core/cli/bench.h"
#include "core/cli/interrupt.h"
#include "transfer/base/num.h"
#include "transfer/lent.h"
#include "transfer/transport.h"

#define PATIENCE_NS (10 * NS_PER_S)
#define ALIGN_BYTES 4096ull /* disks take whole blocks directly, the rest by way of others */

static const struct {
	const char *name;
	int (*make)(struct transport **);
} ways[] = {
	{"local", transport_local_new}, {"shm", transport_shm_new}, {"file", transport_file_new},
	{"rdma", transport_rdma_new},   {"tcp", transport_tcp_new},
};

const char *
bench_way(size_t i)
{
	return i < array_len(ways) ? ways[i].name : NULL;
}

/* ---- an engine ------------------------------------------------------------------- */

static int
add_transport(struct bench_transfer *bench, const char *way)
{
	struct transport *t;
	int r = TRANSPORT_E_CANT;

	for (size_t i = 0; i < array_len(ways); i++)
		if (strcmp(ways[i].name, way) == 0)
			r = ways[i].make(&t);
	if (r == TRANSPORT_E_CANT)
		return BENCH_TRANSFER_E_CANT;
	if (r < 0)
		return TIFFIN_E_SYSTEM;
	engine_add(bench->engine, &t);
	return 0;
}

/* learn -- what is to be pinned is pinned before anything is timed. */
static int
learn(struct bench_transfer *bench)
{
	const struct memory memories[] = {
		{(void *)(uintptr_t)bench->pattern, bench->pattern_bytes, -1, 0},
		{bench->sink, bench->sink_bytes, -1, 0},
	};

	for (size_t i = 0; i < array_len(memories); i++)
		if (engine_learn(bench->engine, &memories[i]) < 0)
			return TIFFIN_E_SYSTEM;
	return 0;
}

/* lend_own -- a segment of this process, as large as the pattern and filled with it. */
static int
lend_own(struct bench_transfer *bench, struct target_desc *ret_desc)
{
	const struct lent_config config = {
		.size_bytes =
			num_align_up(num_max(bench->pattern_bytes, LENT_SIZE_MIN), ALIGN_BYTES)};
	struct rand rand;

	if (rand_init_os(&rand) < 0 || lent_open(&config, &rand, &bench->lent) != 0)
		return TIFFIN_E_SYSTEM;
	memcpy(bench->lent->bytes, bench->pattern, bench->pattern_bytes);
	if (engine_lend(bench->engine, bench->lent) < 0)
		return TIFFIN_E_SYSTEM;
	*ret_desc = (struct target_desc){.segment_id = bench->lent->segment_id,
					 .segment_epoch = bench->lent->epoch,
					 .size_bytes = bench->lent->size_bytes};
	return 0;
}

int
bench_transfer_open(struct bench_transfer *bench, const char *way)
{
	struct target_desc own;
	int r;

	if (engine_new(bench->clock, &bench->engine) < 0)
		return TIFFIN_E_SYSTEM;
	r = add_transport(bench, way);
	if (r == 0)
		r = learn(bench);
	if (r == 0 && bench->room == NULL)
		r = lend_own(bench, &own);
	if (r == 0 && engine_target(bench->engine, bench->room != NULL ? bench->room->desc : &own,
				    &bench->target) < 0)
		r = TIFFIN_E_SYSTEM;
	if (r != 0)
		bench_transfer_close(bench);
	return r;
}

void
bench_transfer_close(struct bench_transfer *bench)
{
	if (bench->engine == NULL)
		return;
	if (bench->target != NULL)
		engine_target_unref(bench->engine, bench->target);
	if (bench->lent != NULL)
		engine_unlend(bench->engine, bench->lent);
	engine_free(bench->engine);
	lent_close(bench->lent);
	bench->engine = NULL;
	bench->target = NULL;
	bench->lent = NULL;
}

/* ---- batches --------------------------------------------------------------------- */

/* One batch's ops, and the slice of each. */
struct shot {
	struct op *ops;
	struct iovec *slices;
	size_t n;
};

/* place -- where in the room the i-th op works: from one end to the other, again and again. */
static uint64_t
place(const struct bench_transfer *bench, uint64_t i, uint64_t size_bytes)
{
	uint64_t step = num_align_up(size_bytes, ALIGN_BYTES);
	uint64_t n_places = num_max((bench->pattern_bytes - size_bytes) / step + 1, 1ull);

	return i % n_places * step;
}

static void
fill(const struct bench_transfer *bench, const struct bench_load *load, uint64_t first,
     struct shot *shot)
{
	const struct token *token =
		bench->room != NULL ? bench_room_token(bench->room, load->kind) : NULL;
	uint64_t base = bench->room != NULL ? bench->room->at_bytes : 0;

	shot->n = num_min(load->depth, load->n_ops - first);
	for (size_t k = 0; k < shot->n; k++) {
		uint64_t at = place(bench, first + k, load->size_bytes);
		uint8_t *bytes = load->kind == OP_READ ? bench->sink + k * load->size_bytes
						       : (uint8_t *)(uintptr_t)bench->pattern + at;

		shot->slices[k] = (struct iovec){bytes, load->size_bytes};
		shot->ops[k] = (struct op){
			.kind = load->kind,
			.target = bench->target,
			.token = token,
			.offset_bytes = base + at,
			.len_bytes = load->size_bytes,
			.slices = &shot->slices[k],
			.n_slices = 1,
			.deadline_ns = clock_ns(bench->clock) + PATIENCE_NS,
		};
	}
}

/* shoot -- 0 and how long it took; LOST, TIFFIN_E_*. */
static int
shoot(struct bench_transfer *bench, const struct shot *shot, uint64_t *ret_len_ns)
{
	struct batch batch = {.ops = shot->ops, .n_ops = shot->n};
	struct writing_span span;
	enum op_result worst;
	uint64_t start_ns;
	int r = bench->room != NULL ? bench_room_begin(bench->room, &span) : 0;

	if (r < 0)
		return r;
	start_ns = clock_ns(bench->clock);
	worst = engine_run(bench->engine, &batch);
	*ret_len_ns = clock_ns(bench->clock) - start_ns;
	if (bench->room != NULL)
		bench_room_finish(bench->room, &span,
				  worst == OP_DONE || shot->ops[0].kind == OP_READ);
	return worst == OP_DONE ? 0 : BENCH_TRANSFER_E_LOST;
}

static uint64_t
count_wrong(const struct bench_transfer *bench, const struct shot *shot)
{
	uint64_t base = bench->room != NULL ? bench->room->at_bytes : 0, n = 0;

	for (size_t k = 0; k < shot->n; k++)
		if (memcmp(shot->slices[k].iov_base,
			   bench->pattern + (shot->ops[k].offset_bytes - base),
			   shot->slices[k].iov_len) != 0)
			n++;
	return n;
}

static int
shoot_all(struct bench_transfer *bench, const struct bench_load *load, struct shot *shot,
	  struct bench_speed *speed)
{
	size_t n_batches = 0;

	for (uint64_t first = 0; first < load->n_ops && !interrupted(); first += shot->n) {
		int r;

		fill(bench, load, first, shot);
		if (bench->verify && load->kind == OP_READ)
			memset(bench->sink, 0, shot->n * load->size_bytes);
		r = shoot(bench, shot, &load->len_ns[n_batches]);
		if (r != 0)
			return r;
		speed->elapsed_ns += load->len_ns[n_batches++];
		if (bench->verify && load->kind == OP_READ)
			speed->n_wrong += count_wrong(bench, shot);
	}
	if (n_batches == 0)
		return 0;
	speed->p50_ns = bench_rank(load->len_ns, n_batches, 50);
	speed->p99_ns = bench_rank(load->len_ns, n_batches, 99);
	speed->max_ns = load->len_ns[n_batches - 1];
	return 0;
}

int
bench_transfer_run(struct bench_transfer *bench, const struct bench_load *load,
		   struct bench_speed *ret_speed)
{
	struct shot shot = {
		.ops = calloc(load->depth, sizeof(*shot.ops)),
		.slices = calloc(load->depth, sizeof(*shot.slices)),
	};
	struct bench_speed speed = {0};
	int r = TIFFIN_E_SYSTEM;

	assert(load->size_bytes > 0 && load->size_bytes <= bench->pattern_bytes);
	assert(load->depth > 0 && load->depth * load->size_bytes <= bench->sink_bytes);
	if (shot.ops != NULL && shot.slices != NULL)
		r = shoot_all(bench, load, &shot, &speed);
	free(shot.ops);
	free(shot.slices);
	if (r == 0)
		*ret_speed = speed;
	return r;
}

int
bench_transfer_reaches(struct bench_transfer *bench, enum op_kind kind)
{
	uint64_t len_ns;
	const struct bench_load one = {.kind = kind,
				       .size_bytes = num_min(bench->pattern_bytes, ALIGN_BYTES),
				       .depth = 1,
				       .n_ops = 1,
				       .len_ns = &len_ns};
	struct bench_speed speed;
	int r = bench_transfer_run(bench, &one, &speed);

	return r == BENCH_TRANSFER_E_LOST ? BENCH_TRANSFER_E_CANT : r;
}
