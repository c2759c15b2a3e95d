/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_store -- what the books cost: puts of one replica with one extent, then a load.
 *
 * The store works inline, so that every batch is a transaction of its own.
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

static int
count(void *arg, const struct record *record)
{
	*(uint64_t *)arg += record->kind == RECORD_OBJECT_ADD;
	return 0;
}

/* put_all -- n objects in batches.  CPU time of the journal alone; wall time of it all. */
static void
put_all(struct store *store, uint64_t n, uint64_t per_batch, uint64_t *ret_cpu, uint64_t *ret_wall)
{
	struct store_counts counts;
	struct journal journal;
	uint64_t batch, wall = clock_ns(clock_real());
	uint64_t cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID);

	journal_init(&journal);
	for (uint64_t id = 1; id <= n; id++) {
		add_object(&journal, id);
		if (journal.n_records < per_batch && id < n)
			continue;
		if (store_submit(store, &journal, &batch) < 0)
			die("submit", "no memory");
		store_step(store);
	}
	store_counts(store, &counts);
	*ret_cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu - counts.busy_ns;
	*ret_wall = clock_ns(clock_real()) - wall;
	journal_fini(&journal);
}

/* load_all -- CPU time of opening (every page is checked) and of loading. */
static void
load_all(const struct store_config *config, uint64_t n, uint64_t *ret_open, uint64_t *ret_load)
{
	uint64_t n_loaded = 0, cpu = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	struct store *store;
	char why[512];

	if (store_open(config, &store, why, sizeof(why)) != 0)
		die("open again", why);
	*ret_open = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	if (store_load(store, count, &n_loaded, why, sizeof(why)) != 0)
		die("load", why);
	*ret_load = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - cpu - *ret_open;
	store_close(store);
	if (n_loaded != n)
		die("load", "lost objects");
}

int
main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	uint64_t per_batch = argc > 3 ? strtoull(argv[3], NULL, 10) : 128;
	struct store_config config = {.clock = clock_real(),
				      .is_inline = true,
				      .wal_cap_bytes = 64u << 20,
				      .sync_every_ms = 1000};
	uint64_t journal_cpu, wall, open_cpu, load_cpu;
	char path[4096], why[512];
	struct store_counts counts;
	struct store *store;
	struct stat st;

	if (argc < 2 || n == 0 || per_batch == 0)
		die("usage", "bench_store DIRECTORY [OBJECTS [BATCH]]");
	snprintf(path, sizeof(path), "%s/bench.db", argv[1]);
	config.path = path;
	if (access(path, F_OK) == 0)
		die(path, "is there already");
	if (store_open(&config, &store, why, sizeof(why)) != 0)
		die("open", why);

	add_segment(store);
	put_all(store, n, per_batch, &journal_cpu, &wall);
	store_counts(store, &counts);
	store_close(store);
	if (stat(path, &st) < 0)
		die("stat", path);
	load_all(&config, n, &open_cpu, &load_cpu);

	printf("bench=store objects=%llu batch=%llu kops=%.0f cpu_us_store=%.2f "
	       "cpu_us_journal=%.2f open_us_per_object=%.2f load_us_per_object=%.2f "
	       "file_bytes_per_object=%.1f commits=%llu syncs=%llu checkpoints=%llu\n",
	       (unsigned long long)n, (unsigned long long)per_batch,
	       (double)n / ((double)wall / 1e6), (double)counts.busy_ns / 1e3 / (double)n,
	       (double)journal_cpu / 1e3 / (double)n, (double)open_cpu / 1e3 / (double)n,
	       (double)load_cpu / 1e3 / (double)n, (double)st.st_size / (double)n,
	       (unsigned long long)counts.n_commits, (unsigned long long)counts.n_syncs,
	       (unsigned long long)counts.n_checkpoints);
	return 0;
}
