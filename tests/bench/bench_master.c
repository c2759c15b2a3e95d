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
 * the best one.  Puts are measured twice: while the master grows, and with the memory of objects
 * that were removed, as in a store that is full.
 *
 * ns_per_miss, of the same minute: what the machine's memory costs (yard.h), over as many bytes as
 * the books take, to compare machines by.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
put_some(uint64_t first, uint64_t n_objects)
{
	for (uint64_t at = 0; at < n_objects; at += BATCH)
		asker_put(&asker, first + at, BATCH, OBJECT_BYTES);
}

/*
 * measure_puts -- of n_objects; a fourth of that before them is not measured: tables are warm.
 *
 * memory   where the books' memory comes from, as the line says.
 */
static void
measure_puts(struct box *box, uint64_t first, uint64_t n_objects, const char *memory)
{
	struct store_counts before, after;
	double cpu, wall;

	put_some(first, n_objects / 4);
	store_counts(box->master->store, &before);
	cpu = box_cpu_s(box);
	wall = box_seconds(CLOCK_MONOTONIC);
	put_some(first + n_objects, n_objects);
	cpu = box_cpu_s(box) - cpu;
	wall = box_seconds(CLOCK_MONOTONIC) - wall;
	store_counts(box->master->store, &after);
	printf("name=master_put objects=%" PRIu64
	       " batch=%d memory=%s kops=%.0f cpu_us_loop=%.2f cpu_us_store=%.2f\n",
	       n_objects, BATCH, memory, (double)n_objects / wall / 1e3,
	       cpu / (double)n_objects * 1e6,
	       (double)(after.busy_ns - before.busy_ns) / (double)n_objects / 1e3);
}

/* Each request takes the first thousand keys that are left; asked all at once, they wait for the
 * disk together. */
static void
remove_all(uint64_t n_objects)
{
	struct msg_remove_all msg = {.force = 1};
	struct rep_remove_all removed = {.has_more = 1};
	uint64_t n_asked = n_objects / 1024 + 1;

	for (uint64_t i = 0; i < n_asked; i++)
		ASKER_APPEND(&asker, remove_all, &msg);
	asker_flush(&asker);
	for (uint64_t i = 0; i < n_asked; i++) {
		struct frame frame = asker_answer(&asker);

		arena_reset(&asker.arena);
		box_must(rep_remove_all_decode(frame.payload, &asker.arena, &removed), "decode");
	}
	box_must(removed.has_more != 0, "remove_all");
}

/* Until what was removed is free: that is not work for puts. */
static void
wait_for_rest(void)
{
	struct msg_space msg = {};
	struct rep_space space = {.resting_bytes = 1};

	while (space.resting_bytes > 0) {
		struct frame frame;

		ASKER_APPEND(&asker, space, &msg);
		asker_flush(&asker);
		frame = asker_answer(&asker);
		box_must(rep_space_decode(frame.payload, &asker.arena, &space), "decode");
		usleep(1000); /* each turn some of it becomes free */
	}
}

/*
 * A store that grows takes memory that nobody had before: the kernel clears it, and a host behind
 * it may have to find it first.  One that is full takes what removed objects left.
 */
static void
bench_put(struct box *box, uint64_t n_objects)
{
	serve(box);
	measure_puts(box, 0, n_objects, "fresh");
	remove_all(2 * n_objects);
	wait_for_rest();
	measure_puts(box, 3 * n_objects, n_objects, "used");
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

/*
 * A process of its own fills the books: memory that it gave back would be missing in what a start
 * takes.
 */
static void
fill_elsewhere(struct box *box, uint64_t n_objects)
{
	pid_t child = fork();
	int status = 1;

	box_must(child < 0, "fork");
	if (child > 0) {
		box_must(waitpid(child, &status, 0) != child || status != 0, "fill");
		return;
	}
	box_open(box);
	serve(box);
	asker_fill(&asker, n_objects, OBJECT_BYTES);
	asker_close(&asker);
	box_close(box);
	_exit(0);
}

/* The RAM of n objects is what a master has more than one with empty books. */
static void
bench_recover(struct box *box, uint64_t n_objects)
{
	struct stat file;
	double wall, cpu, cpu_loop, ram = ram_bytes();

	box_close(box);
	fill_elsewhere(box, n_objects);
	box_must(stat(box->db, &file), "stat");

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
