/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_store -- what the books cost: puts of one replica with one extent, then a load.
 *
 *      bench_store DIRECTORY [OBJECTS [BATCH]]
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "master/store.h"

#define KEY_BYTES    64
#define SEGMENT_ID   0x7123456789abcdefull
#define OBJECT_BYTES (1u << 20)

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "bench_store: %s: %s\n", what, why);
	exit(1);
}

static uint64_t
cpu_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void
add_segment(struct store *store)
{
	struct record record = {.kind = RECORD_SEGMENT_ADD,
				.segment_id = SEGMENT_ID,
				.len_bytes = 1ull << 43,
				.medium = 1,
				.name = "bench",
				.name_len = 5};
	struct journal journal;
	uint64_t batch;

	journal_init(&journal);
	if (journal_add(&journal, &record) < 0 || store_submit(store, &journal, &batch) < 0)
		die("submit", "no memory");
	journal_fini(&journal);
}

static void
add_object(struct journal *journal, uint64_t id)
{
	struct extent extent = {(id - 1) * OBJECT_BYTES, OBJECT_BYTES};
	struct replica_record replica = {SEGMENT_ID, 1, &extent};
	char key[KEY_BYTES + 1];
	struct record record = {.kind = RECORD_OBJECT_ADD,
				.object_id = id,
				.tenant_id = 1,
				.len_bytes = OBJECT_BYTES,
				.put_at_ms = 1790000000000 + id,
				.has_crc = true,
				.crc = (uint32_t)(id * 2654435761u),
				.key = (const uint8_t *)key,
				.key_len = KEY_BYTES,
				.n_replicas = 1,
				.replicas = &replica};

	snprintf(key, sizeof(key), "model/%016llx/layer/%035llx",
		 (unsigned long long)(id * 0x9e3779b97f4a7c15ull), (unsigned long long)id);
	if (journal_add(journal, &record) < 0)
		die("journal_add", "no memory");
}

static void
wait_committed(struct store *store, uint64_t batch)
{
	struct store_progress progress;

	for (;;) {
		store_progress(store, &progress);
		if (progress.committed >= batch)
			return;
		clock_sleep_ms(clock_real(), 1);
	}
}

static int
count(void *arg, const struct record *record)
{
	*(uint64_t *)arg += record->kind == RECORD_OBJECT_ADD;
	return 0;
}

int
main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	uint64_t per_batch = argc > 3 ? strtoull(argv[3], NULL, 10) : 128;
	struct store_config config = {
		.clock = clock_real(), .wal_cap_bytes = 64u << 20, .sync_every_ms = 1000};
	struct store *store;
	struct store_counts counts;
	struct journal journal;
	struct stat st;
	uint64_t batch = 0, n_loaded = 0, wall, journal_cpu, load_cpu;
	char path[4096], why[512];

	if (argc < 2)
		die("usage", "bench_store DIRECTORY [OBJECTS [BATCH]]");
	snprintf(path, sizeof(path), "%s/bench.db", argv[1]);
	config.path = path;
	if (store_open(&config, &store, why, sizeof(why)) != 0)
		die("open", why);
	add_segment(store);

	journal_init(&journal);
	wall = clock_ns(clock_real());
	journal_cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	for (uint64_t id = 1; id <= n; id++) {
		add_object(&journal, id);
		if (journal.n_records == per_batch && store_submit(store, &journal, &batch) < 0)
			die("submit", "no memory");
		if (journal.n_records == 0 && batch % 16 == 0)
			wait_committed(store, batch - 8);
	}
	if (journal.n_records > 0 && store_submit(store, &journal, &batch) < 0)
		die("submit", "no memory");
	wait_committed(store, batch);
	wall = clock_ns(clock_real()) - wall;
	journal_cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - journal_cpu;
	store_counts(store, &counts);
	store_close(store);
	if (stat(path, &st) < 0)
		die("stat", path);

	if (store_open(&config, &store, why, sizeof(why)) != 0)
		die("open again", why);
	load_cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	if (store_load(store, count, &n_loaded, why, sizeof(why)) != 0)
		die("load", why);
	load_cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - load_cpu;
	store_close(store);
	if (n_loaded != n)
		die("load", "lost objects");

	printf("bench=store objects=%llu batch=%llu kops=%.0f cpu_us_store=%.2f "
	       "cpu_us_journal=%.2f load_us_per_object=%.2f file_bytes_per_object=%.1f "
	       "commits=%llu syncs=%llu checkpoints=%llu\n",
	       (unsigned long long)n, (unsigned long long)per_batch,
	       (double)n / ((double)wall / 1e6), (double)counts.busy_ns / 1e3 / (double)n,
	       (double)journal_cpu / 1e3 / (double)n, (double)load_cpu / 1e3 / (double)n,
	       (double)st.st_size / (double)n, (unsigned long long)counts.n_commits,
	       (unsigned long long)counts.n_syncs, (unsigned long long)counts.n_checkpoints);
	journal_fini(&journal);
	return 0;
}
