/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The TCP transport and the provider's side with a bad network between them (tests/fault/proxy.h):
 * 200 seeds, each with an engine of its own, several at once.
 *
 *      segment  | read by all, never written ..... | thread 0 | thread 1 | thread 2 | thread 3 |
 */
#include "tests/unit/xfer_world.h"

#include <arpa/inet.h>
#include <pthread.h>

#include "tests/fault/proxy.h"

#define SEEDS       200
#define THREADS     4
#define OPS         5
#define READ_BYTES  (4ull << 20)
#define WRITE_BYTES (1ull << 20)
#define PATIENCE_NS (150 * NS_PER_MS)
#define GRACE_NS    NS_PER_S

struct worker {
	struct world *w;
	pthread_t thread;
	unsigned number;
	uint16_t port;
	char why[160]; /* "" while all is well */
	unsigned n_done, n_failed, n_noticed;
	unsigned n_struck[PROXY_N_KINDS];
};

static void blame(struct worker *worker, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void
blame(struct worker *worker, const char *fmt, ...)
{
	va_list ap;

	if (worker->why[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(worker->why, sizeof(worker->why), fmt, ap);
	va_end(ap);
}

/* One seed's own client. */
struct seed {
	struct worker *worker;
	uint64_t seed;
	struct rand rand;
	struct proxy *proxy;
	struct engine *engine;
	struct target *target;
	struct scatter scatters[OPS];
};

static bool
seed_open(struct seed *s, struct worker *worker, uint64_t seed)
{
	struct target_desc desc;
	struct transport *t;
	char endpoint[32];

	*s = (struct seed){.worker = worker, .seed = seed};
	rand_init(&s->rand, seed);
	if (proxy_open(worker->port, seed, (enum proxy_kind)(seed % PROXY_N_KINDS), &s->proxy) < 0)
		return false;
	snprintf(endpoint, sizeof(endpoint), "127.0.0.1:%u", proxy_port(s->proxy));
	desc = desc_of(worker->w->lent, endpoint);
	if (engine_new(clock_real(), &s->engine) < 0 || transport_tcp_new(&t) < 0)
		return false;
	engine_add(s->engine, &t);
	return engine_target(s->engine, &desc, &s->target) == 0;
}

static void
seed_close(struct seed *s)
{
	if (s->target != NULL)
		engine_target_unref(s->engine, s->target);
	engine_free(s->engine);
	for (unsigned k = 0; s->proxy != NULL && k < PROXY_N_KINDS; k++)
		s->worker->n_struck[k] += proxy_n_struck(s->proxy, (enum proxy_kind)k);
	proxy_close(s->proxy);
}

/* judge_done -- it is said that every byte has arrived: then so it is, or its sum tells that not.
 */
static void
judge_done(struct seed *s, const struct op *op, struct scatter *scatter)
{
	const uint8_t *bytes = s->worker->w->lent->bytes + op->offset_bytes;
	bool differs = scatter_differs(scatter, bytes);

	s->worker->n_done++;
	if (!differs)
		return;
	s->worker->n_noticed++;
	if (op->crc == crc_of(0, bytes, op->len_bytes))
		blame(s->worker, "seed %lu: wrong bytes, and their sum says nothing", s->seed);
	if (proxy_n_struck(s->proxy, PROXY_FLIP) == 0)
		blame(s->worker, "seed %lu: wrong bytes, and nobody had turned a bit", s->seed);
}

static void
one_op(struct seed *s, struct scatter *scatter, bool is_write)
{
	struct worker *worker = s->worker;
	struct token token = token_for(worker->w->lent, is_write ? TOKEN_WRITE : TOKEN_READ);
	uint64_t most = is_write ? WRITE_BYTES : READ_BYTES, late_ns;
	uint64_t len = 1 + rand_below(&s->rand, 1ull << rand_below(&s->rand, 21));
	struct batch batch;
	struct op op;
	enum op_result result;

	*scatter = scatter_new(&s->rand, len);
	op = op_for(worker->w, is_write ? OP_WRITE : OP_READ, &token, scatter,
		    rand_below(&s->rand, most - len + 1));
	op.target = s->target;
	if (is_write) {
		op.offset_bytes += READ_BYTES + worker->number * WRITE_BYTES;
		scatter_fill(scatter, (uint8_t)s->seed);
	}
	op.deadline_ns = clock_ns(clock_real()) + PATIENCE_NS;
	batch = (struct batch){.ops = &op, .n_ops = 1};

	result = engine_run(s->engine, &batch);

	late_ns = clock_ns(clock_real());
	if (late_ns > op.deadline_ns + GRACE_NS)
		blame(worker, "seed %lu: an op ends %llu ms behind its deadline", s->seed,
		      (late_ns - op.deadline_ns) / NS_PER_MS);
	if (result == OP_DONE)
		judge_done(s, &op, scatter);
	else
		worker->n_failed++;
	/* From here on nobody may touch it any more. */
	memset(scatter->area, GAP, scatter->area_bytes);
}

static bool
is_untouched(const struct scatter *scatter)
{
	for (size_t i = 0; i < scatter->area_bytes; i++)
		if (scatter->area[i] != GAP)
			return false;
	return true;
}

static void
one_seed(struct worker *worker, uint64_t seed)
{
	struct seed s;

	if (!seed_open(&s, worker, seed)) {
		blame(worker, "seed %lu: no client", seed);
		seed_close(&s);
		return;
	}
	for (unsigned i = 0; i < OPS; i++)
		one_op(&s, &s.scatters[i], rand_below(&s.rand, 2) == 1);
	seed_close(&s);
	for (unsigned i = 0; i < OPS; i++) {
		if (!is_untouched(&s.scatters[i]))
			blame(worker, "seed %lu: slices are written after their op had ended",
			      seed);
		free(s.scatters[i].area);
	}
}

static void *
work(void *arg)
{
	struct worker *worker = arg;

	for (uint64_t seed = 1 + worker->number; seed <= SEEDS; seed += THREADS)
		one_seed(worker, seed);
	return NULL;
}

static void
ops__over_a_bad_network__end_in_time_and_no_wrong_byte_passes(void **state)
{
	struct world *w = world_open(transport_tcp_new, "127.0.0.1:0");
	struct worker workers[THREADS], all = {0};

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.w = w, .number = i};
		assert_int_equal(
			sscanf(serve_endpoint(w->serve), "127.0.0.1:%hu", &workers[i].port), 1);
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_string_equal(workers[i].why, "");
		all.n_done += workers[i].n_done;
		all.n_failed += workers[i].n_failed;
		all.n_noticed += workers[i].n_noticed;
		for (unsigned k = 0; k < PROXY_N_KINDS; k++)
			all.n_struck[k] += workers[i].n_struck[k];
	}
	print_message("%u done, %u failed, %u wrong ones noticed\n", all.n_done, all.n_failed,
		      all.n_noticed);
	/* Each kind of trouble was met, and good ops went through between them. */
	for (unsigned k = PROXY_CALM + 1; k < PROXY_N_KINDS; k++)
		if (all.n_struck[k] < 10)
			fail_msg("%s struck %u times", proxy_kind_name((enum proxy_kind)k),
				 all.n_struck[k]);
	assert_true(all.n_done > SEEDS && all.n_failed > SEEDS / 4 && all.n_noticed > 0);
	for (uint64_t i = 0; i < READ_BYTES; i++)
		assert_int_equal(w->lent->bytes[i], pattern(i));
	world_close(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops__over_a_bad_network__end_in_time_and_no_wrong_byte_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
