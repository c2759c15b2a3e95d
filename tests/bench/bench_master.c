/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_master -- what a request costs the master's one loop thread.
 *
 *      bench_master read [n_objects]     get_replica_list, one by one at depth 64, then batches of
 * 128 bench_master put [n_objects]      put_start + put_end, durable (process), batches of 128
 *      bench_master recover [n_objects]  fill, close, and start again
 *
 * The master is that of box.h.  CPU is the loop thread's own clock: the system calls of a turn are
 * in it, the asker's work is not.  How many requests share a turn depends on how the two threads
 * are scheduled, so that stands beside it.  Reads are measured in rounds; the median is told, and
 * the best one.
 *
 * ns_per_miss, of the same minute: what the machine's memory costs (yard.h), over as many bytes as
 * the books take, to compare machines by.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/box.h"
#include "tests/bench/yard.h"

#define DEPTH        64
#define BATCH        BOX_BATCH
#define OBJECT_BYTES 4096
#define LENT_BYTES   ((uint64_t)1 << 40)
#define N_READS      400000
#define N_ROUNDS     8
#define BYTES_A_BOOK 370 /* of RAM, an object; bench_master recover tells it exactly */

static struct asker asker;

/* What one round of reads took: CPU of the loop's thread, time of the wall, turns. */
struct took {
	double cpu, wall;
	uint64_t turns;
};

static struct took
now_of(struct box *box)
{
	return (struct took){box_cpu_s(box), box_seconds(CLOCK_MONOTONIC),
			     atomic_load(&box->n_turns)};
}

static struct took
since(struct box *box, struct took from)
{
	struct took now = now_of(box);

	return (struct took){now.cpu - from.cpu, now.wall - from.wall, now.turns - from.turns};
}

static int
by_cpu(const void *a, const void *b)
{
	const struct took *one = a, *other = b;

	return (one->cpu > other->cpu) - (one->cpu < other->cpu);
}

static struct took
read_one_by_one(struct box *box, uint64_t n_objects, uint64_t n_reads)
{
	struct took from = now_of(box);
	uint64_t n_sent = 0;

	for (uint64_t n_got = 0; n_got < n_reads; n_got++) {
		if (n_sent == n_got || n_sent - n_got <= DEPTH / 2) {
			for (; n_sent < n_reads && n_sent - n_got < DEPTH; n_sent++)
				asker_get(&asker, rand_below(&box->rand, n_objects));
			asker_flush(&asker);
		}
		asker_answer(&asker);
	}
	return since(box, from);
}

static struct took
read_batches(struct box *box, uint64_t n_objects, uint64_t n_reads)
{
	struct took from = now_of(box);

	for (uint64_t n = 0; n < n_reads; n += BATCH) {
		struct rec_key_only list[BATCH];
		struct msg_get_replica_list msg = {.n_keys = BATCH, .keys = list};

		for (unsigned i = 0; i < BATCH; i++)
			list[i].key = asker_key(asker.keys[i], rand_below(&box->rand, n_objects));
		ASKER_APPEND(&asker, get_replica_list, &msg);
		asker_flush(&asker);
		asker_answer(&asker);
	}
	return since(box, from);
}

static void
serve(struct box *box)
{
	box_serve(box);
	asker_open(&asker, box);
	asker_join(&asker, 7, LENT_BYTES);
}

static void
bench_read(struct box *box, uint64_t n_objects)
{
	const double n_ones = N_READS / N_ROUNDS, n_keys = 2 * N_READS / N_ROUNDS / BATCH * BATCH;
	struct took ones[N_ROUNDS], batches[N_ROUNDS];
	const struct took *one = &ones[N_ROUNDS / 2], *batch = &batches[N_ROUNDS / 2];
	double miss_ns;

	serve(box);
	asker_fill(&asker, n_objects, OBJECT_BYTES);
	for (unsigned i = 0; i < N_ROUNDS; i++) {
		ones[i] = read_one_by_one(box, n_objects, (uint64_t)n_ones);
		batches[i] = read_batches(box, n_objects, (uint64_t)n_keys);
	}
	miss_ns = yard_ns_per_miss(n_objects * BYTES_A_BOOK);
	qsort(ones, N_ROUNDS, sizeof(*ones), by_cpu);
	qsort(batches, N_ROUNDS, sizeof(*batches), by_cpu);
	printf("name=master_read objects=%" PRIu64
	       " depth=%d kops=%.0f requests_per_turn=%.1f cpu_us_per_request=%.3f "
	       "cpu_us_best=%.3f ns_per_miss=%.0f\n",
	       n_objects, DEPTH, n_ones / one->wall / 1e3, n_ones / (double)one->turns,
	       one->cpu / n_ones * 1e6, ones[0].cpu / n_ones * 1e6, miss_ns);
	printf("name=master_read objects=%" PRIu64
	       " batch=%d kops_batch=%.0f cpu_us_per_key=%.3f cpu_us_best=%.3f ns_per_miss=%.0f\n",
	       n_objects, BATCH, n_keys / batch->wall / 1e3, batch->cpu / n_keys * 1e6,
	       batches[0].cpu / n_keys * 1e6, miss_ns);
}

static void
bench_put(struct box *box, uint64_t n_objects)
{
	struct store_counts before, after;
	double cpu, wall;

	serve(box);
	asker_fill(&asker, n_objects / 4, OBJECT_BYTES); /* pages and tables are warm */
	store_counts(box->master->store, &before);
	cpu = box_cpu_s(box);
	wall = box_seconds(CLOCK_MONOTONIC);
	for (uint64_t at = 0; at < n_objects; at += BATCH)
		asker_put(&asker, n_objects + at, BATCH, OBJECT_BYTES);
	cpu = box_cpu_s(box) - cpu;
	wall = box_seconds(CLOCK_MONOTONIC) - wall;
	store_counts(box->master->store, &after);
	printf("name=master_put objects=%" PRIu64
	       " batch=%d kops=%.0f cpu_us_loop=%.2f cpu_us_store=%.2f\n",
	       n_objects, BATCH, (double)n_objects / wall / 1e3, cpu / (double)n_objects * 1e6,
	       (double)(after.busy_ns - before.busy_ns) / (double)n_objects / 1e3);
}

/* What is resident; what was given back and is kept for later is let go of first. */
static double
ram_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long n_pages = 0;

	box_must(file == NULL, "statm");
	malloc_trim(0);
	box_must(fscanf(file, "%*u %lu", &n_pages) != 1, "statm");
	fclose(file);
	return (double)n_pages * (double)sysconf(_SC_PAGESIZE);
}

static void
bench_recover(struct box *box, uint64_t n_objects)
{
	struct stat file;
	double wall, cpu, cpu_loop, ram;

	serve(box);
	asker_fill(&asker, n_objects, OBJECT_BYTES);
	asker_close(&asker);
	box_close(box);
	box_must(stat(box->db, &file), "stat");

	ram = ram_bytes();
	wall = box_seconds(CLOCK_MONOTONIC);
	cpu = box_seconds(CLOCK_PROCESS_CPUTIME_ID);
	cpu_loop = box_seconds(CLOCK_THREAD_CPUTIME_ID);
	box_open(box);
	wall = box_seconds(CLOCK_MONOTONIC) - wall;
	cpu = box_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	cpu_loop = box_seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_loop;
	ram = ram_bytes() - ram;
	printf("name=recover objects=%" PRIu64
	       " us_per_object=%.2f cpu_us_loop=%.2f cpu_us_all=%.2f ram_bytes_per_object=%.0f "
	       "file_bytes_per_object=%.0f ns_per_miss=%.0f\n",
	       n_objects, wall / (double)n_objects * 1e6, cpu_loop / (double)n_objects * 1e6,
	       cpu / (double)n_objects * 1e6, ram / (double)n_objects,
	       (double)file.st_size / (double)n_objects,
	       yard_ns_per_miss(n_objects * BYTES_A_BOOK));
}

int
main(int argc, char **argv)
{
	static struct box box;
	uint64_t n_objects = argc > 2 ? strtoull(argv[2], NULL, 10) : 200000;
	const char *what = argc > 1 ? argv[1] : "";

	box_make(&box);
	box_open(&box);
	if (strcmp(what, "read") == 0)
		bench_read(&box, n_objects);
	else if (strcmp(what, "put") == 0)
		bench_put(&box, n_objects);
	else if (strcmp(what, "recover") == 0)
		bench_recover(&box, n_objects);
	else
		fprintf(stderr, "usage: bench_master read|put|recover [n_objects]\n");
	box_close(&box);
	box_remove(&box);
	return *what != '\0' ? 0 : 2;
}
