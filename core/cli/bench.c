/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/bench.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/cli/interrupt.h"
#include "transfer/base/num.h"
#include "transfer/base/rand.h"

#define KEY_CAP      128
#define THREADS_MAX  256
#define REMOVE_BATCH 256
#define SEED         20240229

/* One phase.  `failure` is set once by whoever fails first; everybody looks at it between objects.
 */
struct phase {
	const struct bench *bench;
	enum bench_op op;
	uint8_t *bytes;   /* behind the stamp, size_bytes - BENCH_STAMP_BYTES; read only */
	uint64_t *len_ns; /* [n_objects]; each written by one thread */
	atomic_int failure;
	_Atomic uint64_t n_wrong;
};

struct worker {
	struct phase *phase;
	uint32_t number;
	uint8_t *room; /* owned; for gets: size_bytes */
	pthread_t thread;
};

static void
make_key(const struct bench *bench, uint64_t i, char key[KEY_CAP])
{
	snprintf(key, KEY_CAP, "%s/%" PRIu64 "/%" PRIu64, bench->prefix, bench->size_bytes, i);
}

static int
put_one(struct worker *worker, const char *key, uint64_t i)
{
	const struct bench *bench = worker->phase->bench;
	struct iovec slices[] = {
		{&i, BENCH_STAMP_BYTES},
		{worker->phase->bytes, bench->size_bytes - BENCH_STAMP_BYTES},
	};

	return tiffin_put(bench->client, key, slices, array_len(slices), NULL, NULL);
}

static int
get_one(struct worker *worker, const char *key)
{
	const struct bench *bench = worker->phase->bench;
	struct iovec slice = {worker->room, bench->size_bytes};
	uint64_t len;

	return tiffin_get(bench->client, key, &slice, 1, &len);
}

/* verify -- outside of what is timed. */
static void
verify(struct worker *worker, uint64_t i)
{
	struct phase *phase = worker->phase;
	size_t len = phase->bench->size_bytes - BENCH_STAMP_BYTES;

	if (memcmp(worker->room, &i, BENCH_STAMP_BYTES) != 0 ||
	    memcmp(worker->room + BENCH_STAMP_BYTES, phase->bytes, len) != 0)
		atomic_fetch_add(&phase->n_wrong, 1);
}

static void *
work(void *arg)
{
	struct worker *worker = arg;
	struct phase *phase = worker->phase;
	const struct bench *bench = phase->bench;

	for (uint64_t i = worker->number; i < bench->n_objects; i += bench->n_threads) {
		char key[KEY_CAP];
		uint64_t start_ns;
		int r, none = 0;

		if (interrupted() || atomic_load(&phase->failure) != 0)
			break;
		make_key(bench, i, key);
		start_ns = clock_ns(bench->clock);
		r = phase->op == BENCH_PUT ? put_one(worker, key, i) : get_one(worker, key);
		phase->len_ns[i] = clock_ns(bench->clock) - start_ns;
		if (r < 0)
			atomic_compare_exchange_strong(&phase->failure, &none, r);
		else if (phase->op == BENCH_GET && bench->verify)
			verify(worker, i);
	}
	return NULL;
}

/* make_room -- touched before anything is timed.  0 or TIFFIN_E_SYSTEM. */
static int
make_room(struct worker *worker)
{
	const struct bench *bench = worker->phase->bench;

	if (worker->phase->op == BENCH_PUT)
		return 0;
	worker->room = malloc(bench->size_bytes);
	if (worker->room == NULL)
		return TIFFIN_E_SYSTEM;
	memset(worker->room, 1, bench->size_bytes);
	return 0;
}

/* work_all -- all threads from start to end.  0 or TIFFIN_E_*. */
static int
work_all(struct phase *phase, struct worker *workers, uint64_t *ret_elapsed_ns)
{
	const struct bench *bench = phase->bench;
	uint32_t n_started = 0;
	uint64_t start_ns;
	int r = 0;

	for (uint32_t i = 0; i < bench->n_threads && r == 0; i++) {
		workers[i] = (struct worker){.phase = phase, .number = i};
		r = make_room(&workers[i]);
	}
	start_ns = clock_ns(bench->clock);
	for (; n_started < bench->n_threads && r == 0; n_started++)
		if (pthread_create(&workers[n_started].thread, NULL, work, &workers[n_started]) !=
		    0) {
			r = TIFFIN_E_SYSTEM;
			break;
		}
	for (uint32_t i = 0; i < n_started; i++)
		pthread_join(workers[i].thread, NULL);
	*ret_elapsed_ns = clock_ns(bench->clock) - start_ns;

	for (uint32_t i = 0; i < bench->n_threads; i++)
		free(workers[i].room);
	return r != 0 ? r : atomic_load(&phase->failure);
}

static int
by_value(const void *a_at, const void *b_at)
{
	uint64_t a = *(const uint64_t *)a_at, b = *(const uint64_t *)b_at;

	return (a > b) - (a < b);
}

uint64_t
bench_rank(uint64_t *values, size_t n, unsigned pct)
{
	size_t at;

	assert(n > 0 && pct <= 100);
	qsort(values, n, sizeof(*values), by_value);
	at = (n * pct + 99) / 100; /* the nearest rank */
	return values[at > 0 ? at - 1 : 0];
}

/* make_bytes -- random, so that nothing along the way can be cleverer than with real ones. */
static uint8_t *
make_bytes(size_t len)
{
	uint8_t *bytes = malloc(len + 8);
	struct rand rand;

	if (bytes == NULL)
		return NULL;
	rand_init(&rand, SEED);
	for (size_t i = 0; i < len; i += 8) {
		uint64_t v = rand_u64(&rand);

		memcpy(bytes + i, &v, 8);
	}
	return bytes;
}

int
bench_run(const struct bench *bench, enum bench_op op, struct bench_result *ret_result)
{
	struct phase phase = {.bench = bench, .op = op};
	struct worker *workers = calloc(bench->n_threads, sizeof(*workers));
	struct bench_result result = {0};
	int r = TIFFIN_E_SYSTEM;

	assert(bench->size_bytes >= BENCH_STAMP_BYTES && bench->n_objects >= 1);
	assert(bench->n_threads >= 1 && bench->n_threads <= THREADS_MAX);
	phase.bytes = make_bytes(bench->size_bytes - BENCH_STAMP_BYTES);
	phase.len_ns = calloc(bench->n_objects, sizeof(*phase.len_ns));
	if (workers != NULL && phase.bytes != NULL && phase.len_ns != NULL)
		r = work_all(&phase, workers, &result.elapsed_ns);
	if (r == 0) {
		result.p50_ns = bench_rank(phase.len_ns, bench->n_objects, 50);
		result.p99_ns = bench_rank(phase.len_ns, bench->n_objects, 99);
		result.max_ns = phase.len_ns[bench->n_objects - 1];
		result.n_wrong = atomic_load(&phase.n_wrong);
		*ret_result = result;
	}
	free(phase.len_ns);
	free(phase.bytes);
	free(workers);
	return r;
}

void
bench_clean(const struct bench *bench)
{
	char keys[REMOVE_BATCH][KEY_CAP];
	const char *at[REMOVE_BATCH];
	int results[REMOVE_BATCH];

	for (uint64_t i = 0; i < bench->n_objects; i += REMOVE_BATCH) {
		size_t n = num_min(bench->n_objects - i, REMOVE_BATCH);

		for (size_t k = 0; k < n; k++) {
			make_key(bench, i + k, keys[k]);
			at[k] = keys[k];
		}
		/* Objects that were never put are not there; the rest nobody but us reads. */
		if (tiffin_remove_batch(bench->client, at, n, TIFFIN_FORCE, results) < 0)
			return;
	}
}
