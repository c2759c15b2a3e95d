/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_rdma -- one-sided READs and WRITEs against perftest's, on the same device, in turns.
 *
 *      bench_rdma rdma_read|rdma_write ADDRESS SIZE COUNT [--alone]
 *
 * Ours: COUNT ops of SIZE between registered memory and a segment that another process lends.
 * perftest's: as many of that size (tests/lab/perftest.sh; --alone: not, for profiles).  Of some
 * rounds the best of each counts.  A line tells what the transport did, too.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transfer/base/clock.h"
#include "transfer/base/num.h"
#include "transfer/engine.h"
#include "transfer/lent.h"
#include "transfer/serve.h"
#include "transfer/target.h"
#include "transfer/transport.h"

#define ROUNDS     3
#define DEPTH      32 /* ops of a batch; two are under way */
#define MIB        (1ull << 20)
#define ROOM_BYTES (64 * MIB)
#define CLIENT_ID  7
#define FAR_MS     600000

/* What the provider tells of itself. */
struct told {
	struct target_desc desc;
	uint8_t secret[TOKEN_SECRET_BYTES];
};

static pid_t provider;

static void
fail(const char *what)
{
	fprintf(stderr, "bench_rdma: %s\n", what);
	if (provider > 0)
		kill(provider, SIGKILL);
	exit(1);
}

/* provide -- in a process of its own, until it is killed. */
static void
provide(const char *address, int out)
{
	const struct lent_config lending = {.size_bytes = ROOM_BYTES};
	struct serve_config serving = {.clock = clock_real(),
				       .listen = "127.0.0.1:0",
				       .idle_ms = FAR_MS,
				       .connections_max = 16};
	char rdma[128];
	struct told told = {0};
	struct serve *serve;
	struct lent *lent;
	struct rand rand;

	rand_init(&rand, 1);
	snprintf(rdma, sizeof(rdma), "%s:0", address);
	serving.rdma = rdma;
	if (lent_open(&lending, &rand, &lent) != 0 || serve_new(&serving, &serve) != 0 ||
	    serve_add(serve, lent) != 0)
		_exit(1);
	memset(lent->bytes, 0x5a, ROOM_BYTES);
	told.desc = (struct target_desc){.segment_id = lent->segment_id,
					 .segment_epoch = lent->epoch,
					 .size_bytes = lent->size_bytes};
	snprintf(told.desc.endpoint, sizeof(told.desc.endpoint), "%s", serve_endpoint(serve));
	memcpy(told.secret, lent->secret, sizeof(told.secret));
	if (write(out, &told, sizeof(told)) != (ssize_t)sizeof(told))
		_exit(1);
	for (;;)
		pause();
}

static struct told
start_provider(const char *address)
{
	struct told told;
	int fds[2];

	if (pipe(fds) < 0 || (provider = fork()) < 0)
		fail("no process");
	if (provider == 0)
		provide(address, fds[1]);
	close(fds[1]);
	if (read(fds[0], &told, sizeof(told)) != (ssize_t)sizeof(told))
		fail("the provider does not come up");
	return told;
}

/* ---- ours ---- */

struct job {
	struct engine *engine;
	struct target *target;
	struct token token;
	enum op_kind kind;
	uint64_t size_bytes, count;
	uint8_t *bytes; /* two batches' */
};

struct wave {
	struct op ops[DEPTH];
	struct iovec slices[DEPTH];
	struct batch batch;
};

static void
submit(struct job *job, struct wave *wave, size_t which, uint64_t n)
{
	uint64_t until_ns = clock_ns(clock_real()) + FAR_MS * NS_PER_MS;

	wave->batch = (struct batch){.ops = wave->ops, .n_ops = n};
	for (size_t i = 0; i < n; i++) {
		uint64_t place = (which * DEPTH + i) * job->size_bytes % ROOM_BYTES;

		wave->slices[i] = (struct iovec){job->bytes + place, job->size_bytes};
		wave->ops[i] = (struct op){.kind = job->kind,
					   .target = job->target,
					   .token = &job->token,
					   .offset_bytes = place,
					   .len_bytes = job->size_bytes,
					   .slices = &wave->slices[i],
					   .n_slices = 1,
					   .deadline_ns = until_ns};
	}
	engine_submit(job->engine, &wave->batch);
}

/* ours -- MiB/s. */
static double
ours(struct job *job)
{
	static struct wave waves[2];
	uint64_t began_ns = clock_ns(clock_real()), left = job->count;
	size_t n_open = 0, which = 0;

	while (left > 0 || n_open > 0) {
		if (left > 0 && n_open < 2) {
			uint64_t n = num_min(left, (uint64_t)DEPTH);

			submit(job, &waves[which], which, n);
			left -= n;
			n_open++;
			which = 1 - which;
			continue;
		}
		/* The older one: two are open, or the last is that alone. */
		if (engine_wait(job->engine, &waves[n_open == 2 ? which : 1 - which].batch) !=
		    OP_DONE)
			fail("an op failed");
		n_open--;
	}
	return (double)(job->count * job->size_bytes) / MIB /
	       ((double)(clock_ns(clock_real()) - began_ns) / NS_PER_S);
}

/* ---- theirs ---- */

static double
perftest(const struct job *job, const char *address)
{
	char command[256], line[64] = "";
	FILE *pipe;

	snprintf(command, sizeof(command), "sh tests/lab/perftest.sh %s %s %lu %lu",
		 job->kind == OP_READ ? "ib_read_bw" : "ib_write_bw", address, job->size_bytes,
		 job->count);
	pipe = popen(command, "r");
	if (pipe == NULL || fgets(line, sizeof(line), pipe) == NULL || pclose(pipe) != 0)
		fail("perftest does not run");
	return strtod(line, NULL);
}

static uint64_t
cpu_us(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void
open_job(struct job *job, const struct told *told)
{
	struct memory memory = {.len_bytes = ROOM_BYTES, .dmabuf_fd = -1};
	struct transport *t;

	job->bytes = aligned_alloc(2 * MIB, ROOM_BYTES);
	if (job->bytes == NULL || engine_new(clock_real(), &job->engine) < 0 ||
	    transport_rdma_new(&t) < 0)
		fail("no memory");
	memset(job->bytes, 0x33, ROOM_BYTES);
	memory.at = job->bytes;
	engine_add(job->engine, &t);
	if (engine_target(job->engine, &told->desc, &job->target) < 0 ||
	    engine_learn(job->engine, &memory) < 0)
		fail("no memory");
	job->token = (struct token){.client_id = CLIENT_ID,
				    .segment_id = told->desc.segment_id,
				    .segment_epoch = told->desc.segment_epoch,
				    .until_ms = clock_ms(clock_real()) + FAR_MS,
				    .rights = job->kind == OP_READ ? TOKEN_READ : TOKEN_WRITE};
	token_sign(&job->token, told->secret);
}

int
main(int argc, char **argv)
{
	bool is_alone = argc == 6 && strcmp(argv[5], "--alone") == 0;
	double best = 0, best_perftest = 0;
	struct transport_counts counts;
	struct job job = {0};
	struct told told;
	uint64_t used_us;

	if (argc != 5 && !is_alone)
		return 2;
	job.kind = strcmp(argv[1], "rdma_write") == 0 ? OP_WRITE : OP_READ;
	job.size_bytes = strtoull(argv[3], NULL, 10);
	job.count = strtoull(argv[4], NULL, 10);
	if (job.size_bytes == 0 || job.size_bytes > ROOM_BYTES)
		fail("SIZE is from 1 to 64 MiB");
	told = start_provider(argv[2]);
	open_job(&job, &told);

	(void)ours(&job); /* connects */
	used_us = cpu_us();
	for (int i = 0; i < ROUNDS; i++) {
		best = num_max(best, ours(&job));
		if (!is_alone)
			best_perftest = num_max(best_perftest, perftest(&job, argv[2]));
	}
	used_us = cpu_us() - used_us;
	engine_counts(job.engine, "rdma", &counts);
	printf("bench=%s size=%lu mib_s=%.2f perftest_mib_s=%.2f ratio=%.3f cpu_us_mib=%.0f "
	       "broken=%lu\n",
	       argv[1], job.size_bytes, best, best_perftest,
	       best_perftest > 0 ? best / best_perftest : 0,
	       (double)used_us * MIB / (double)(ROUNDS * job.count * job.size_bytes),
	       counts.n_broken);

	engine_unlearn(job.engine, job.bytes);
	engine_target_unref(job.engine, job.target);
	engine_free(job.engine);
	free(job.bytes);
	kill(provider, SIGKILL);
	waitpid(provider, NULL, 0);
	return 0;
}
