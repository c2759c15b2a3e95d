/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_master -- what a request costs the master's one loop thread.
 *
 *      bench_master read [n_objects]     get_replica_list, one by one at depth 64, then batches of
 * 128 bench_master put [n_objects]      put_start + put_end, durable (process), batches of 128
 *      bench_master recover [n_objects]  fill, close, and start again
 *
 * The server runs on a thread of its own with a real socket and a real database; the asker
 * on this one speaks the protocol and moves no bytes.  CPU is the loop thread's own clock: the
 * system calls of a turn are in it, the asker's work is not.  How many requests share a turn
 * depends on how the two threads are scheduled, so that stands beside it.  Reads are measured in
 * rounds; the median is told, and the best one.
 *
 * ns_per_miss, of the same minute, is a load from a random place that depends on the one before,
 * over as many bytes as the books take: what the machine's memory costs, to compare machines by.
 */
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "master/server.h"
#include "transfer/base/loop.h"
#include "transfer/base/sock.h"

#define DEPTH         64
#define BATCH         128
#define OBJECT_BYTES  4096
#define KEY_BYTES_ALL 64
#define N_READS       400000
#define N_ROUNDS      8
#define BYTES_A_BOOK  370 /* of RAM, an object; bench_master recover tells it exactly */
#define N_MISSES      2000000
#define WAIT_NS       (60 * NS_PER_S)

struct box {
	char dir[64], db[96], address[128];
	struct loop *loop;
	struct store *store;
	struct master *master;
	struct server *server;
	struct rand rand;
	pthread_t thread;
	atomic_bool is_over;
	atomic_ulong n_turns;
	int fd;
	uint64_t request_id;
	struct buf out, in;
	struct arena arena;
};

static void
must(int r, const char *what)
{
	if (r == 0)
		return;
	fprintf(stderr, "bench_master: %s: %d\n", what, r);
	exit(1);
}

static double
seconds(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double
cpu_of(pthread_t thread)
{
	clockid_t id;

	must(pthread_getcpuclockid(thread, &id), "pthread_getcpuclockid");
	return seconds(id);
}

static void *
run_server(void *arg)
{
	struct box *box = arg;

	pthread_setname_np(pthread_self(), "loop");
	while (!atomic_load(&box->is_over)) {
		must(server_turn(box->server), "server_turn");
		atomic_fetch_add(&box->n_turns, 1);
	}
	return NULL;
}

static void
wake(void *arg)
{
	loop_wake(arg);
}

/* ---- the master ---- */

static void
box_open(struct box *box)
{
	struct store_config store = {
		.path = box->db,
		.clock = clock_real(),
		.wal_cap_bytes = 64u << 20,
		.sync_every_ms = 100,
		.lease_ms = 5000,
		.wake = wake,
	};
	struct master_config master = {
		.clock = clock_real(),
		.rand = &box->rand,
		.limits = {.lease_ms = 5000,
			   .write_lease_ms = 30000,
			   .ping_ms = 1000,
			   .client_ttl_ms = 600000,
			   .client_grace_ms = 5000,
			   .put_wait_ms = 2000,
			   .evict_high_pct = 100,
			   .evict_low_pct = 99},
	};
	char why[256];

	must(loop_new(&box->loop), "loop_new");
	store.wake_arg = box->loop;
	must(store_open(&store, &box->store, why, sizeof(why)), "store_open");
	must(master_new(&master, &box->store, &box->master, why, sizeof(why)), "master_new");
}

static void
box_serve(struct box *box)
{
	struct server_config server = {.loop = box->loop,
				       .master = box->master,
				       .listen = box->address,
				       .socket_mode = 0600,
				       .connections_max = 16};
	struct sock_addr addr;
	char why[256];

	must(server_new(&server, &box->server, why, sizeof(why)), "server_new");
	atomic_store(&box->is_over, false);
	must(pthread_create(&box->thread, NULL, run_server, box), "pthread_create");
	must(sock_addr_parse(box->address, &addr), "address");
	must(sock_connect(&addr, 5000, &box->fd), "connect");
}

static void
box_close(struct box *box)
{
	if (box->server != NULL) {
		close(box->fd);
		atomic_store(&box->is_over, true);
		loop_wake(box->loop);
		pthread_join(box->thread, NULL);
		server_free(box->server);
		box->server = NULL;
	}
	master_free(box->master);
	loop_free(box->loop);
}

/* ---- asking ---- */

/* Append one request; what `encode` makes of msg is its payload. */
#define APPEND(box, name, msg)                                                                     \
	do {                                                                                       \
		struct frame frame_ = {.type = MSG_##name, .request_id = ++(box)->request_id};     \
		size_t at_;                                                                        \
                                                                                                   \
		must(frame_begin(&(box)->out, &at_), "frame_begin");                               \
		must(msg_##name##_encode(&(box)->out, (msg)), "encode");                           \
		frame_end(&(box)->out, at_, &frame_);                                              \
	} while (0)

static void
flush(struct box *box)
{
	must(sock_send_all(box->fd, buf_first(&box->out), buf_len(&box->out),
			   clock_ns(clock_real()) + WAIT_NS),
	     "send");
	buf_clear(&box->out);
}

/* The next answer; its payload lives until the next call. */
static struct frame
next_answer(struct box *box)
{
	static size_t taken;
	struct frame frame;
	size_t len;

	buf_consume(&box->in, taken);
	taken = 0;
	while (frame_peek(buf_first(&box->in), buf_len(&box->in), &frame, &len) == FRAME_E_SHORT) {
		ssize_t n;

		must(buf_reserve(&box->in, 1u << 18), "buf_reserve");
		n = recv(box->fd, box->in.at + box->in.end, box->in.cap - box->in.end, 0);
		must(n <= 0, "recv");
		box->in.end += (size_t)n;
	}
	must((int)frame.status, "status");
	taken = len;
	return frame;
}

static void
join(struct box *box)
{
	struct msg_hello hello = {.version = PROTO_VERSION};
	struct msg_join join_msg = {.client_id = 7,
				    .name = span_of("bench", 5),
				    .host = span_of("host", 4),
				    .tenant = span_of("default", 7)};
	struct rec_segment_lent lent = {.segment_id = 1,
					.segment_epoch = 1,
					.size_bytes = 1ull << 40,
					.medium = MEDIUM_DRAM,
					.name = span_of("seg", 3),
					.host = span_of("host", 4),
					.endpoint = span_of("unix:/none", 10)};
	struct msg_mount_segment mount = {.n_segments = 1, .segments = &lent};

	APPEND(box, hello, &hello);
	APPEND(box, join, &join_msg);
	APPEND(box, mount_segment, &mount);
	flush(box);
	for (int i = 0; i < 3; i++)
		next_answer(box);
}

static struct span
key_of(char *buf, uint64_t n)
{
	snprintf(buf, KEY_BYTES_ALL + 1, "model-7b/rank-0/%08" PRIx64 "%040" PRIx64,
		 n * 2654435761u % 4294967296u, n);
	return span_of(buf, KEY_BYTES_ALL);
}

static char keys[BATCH][KEY_BYTES_ALL + 1];

static void
put_batch(struct box *box, uint64_t first, uint32_t n)
{
	struct rec_put puts[BATCH];
	struct rec_put_done dones[BATCH];
	struct msg_put_start start = {.replica_num = 1, .n_puts = n, .puts = puts};
	struct msg_put_end end = {.n_puts = n, .puts = dones};
	struct rep_put_start places;
	struct frame frame;

	for (uint32_t i = 0; i < n; i++)
		puts[i] = (struct rec_put){key_of(keys[i], first + i), OBJECT_BYTES};
	APPEND(box, put_start, &start);
	flush(box);
	frame = next_answer(box);
	arena_reset(&box->arena);
	must(rep_put_start_decode(frame.payload, &box->arena, &places), "decode");
	for (uint32_t i = 0; i < n; i++) {
		must((int)places.places[i].status, "put_start");
		dones[i] = (struct rec_put_done){.object_id = places.places[i].object_id,
						 .len_bytes = OBJECT_BYTES,
						 .has_crc = 1,
						 .crc = (uint32_t)i};
	}
	APPEND(box, put_end, &end);
	flush(box);
	next_answer(box);
}

static void
fill(struct box *box, uint64_t n_objects)
{
	for (uint64_t at = 0; at < n_objects; at += BATCH)
		put_batch(box, at, (uint32_t)(n_objects - at < BATCH ? n_objects - at : BATCH));
}

/* ---- the cases ---- */

/* What one round of reads took: CPU of the loop's thread, time of the wall, turns. */
struct took {
	double cpu, wall;
	uint64_t turns;
};

static struct took
now_of(struct box *box)
{
	return (struct took){cpu_of(box->thread), seconds(CLOCK_MONOTONIC),
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

static void
ask_one(struct box *box, uint64_t n_objects)
{
	struct rec_key_only key = {key_of(keys[0], rand_below(&box->rand, n_objects))};
	struct msg_get_replica_list msg = {.n_keys = 1, .keys = &key};

	APPEND(box, get_replica_list, &msg);
}

static struct took
read_one_by_one(struct box *box, uint64_t n_objects, uint64_t n_reads)
{
	struct took from = now_of(box);
	uint64_t n_sent = 0;

	for (uint64_t n_got = 0; n_got < n_reads; n_got++) {
		if (n_sent == n_got || n_sent - n_got <= DEPTH / 2) {
			for (; n_sent < n_reads && n_sent - n_got < DEPTH; n_sent++)
				ask_one(box, n_objects);
			flush(box);
		}
		next_answer(box);
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
			list[i].key = key_of(keys[i], rand_below(&box->rand, n_objects));
		APPEND(box, get_replica_list, &msg);
		flush(box);
		next_answer(box);
	}
	return since(box, from);
}

/* One word a line, and each says where the next one is: a single ring through all (Sattolo). */
static double
ns_per_miss(struct box *box, uint64_t n_objects)
{
	size_t n = n_objects * BYTES_A_BOOK / 64 + 2;
	struct line {
		size_t next, rest[7];
	} *lines = calloc(n, sizeof(*lines));
	volatile size_t at = 0;
	double from;

	must(lines == NULL, "memory");
	for (size_t i = 0; i < n; i++)
		lines[i].next = i;
	for (size_t i = n - 1; i > 0; i--) {
		size_t other = rand_below(&box->rand, i), next = lines[i].next;

		lines[i].next = lines[other].next;
		lines[other].next = next;
	}
	from = seconds(CLOCK_THREAD_CPUTIME_ID);
	for (size_t i = 0; i < N_MISSES; i++)
		at = lines[at].next;
	from = seconds(CLOCK_THREAD_CPUTIME_ID) - from;
	free(lines);
	return from / N_MISSES * 1e9;
}

static void
bench_read(struct box *box, uint64_t n_objects)
{
	const double n_ones = N_READS / N_ROUNDS, n_keys = 2 * N_READS / N_ROUNDS / BATCH * BATCH;
	struct took ones[N_ROUNDS], batches[N_ROUNDS];
	const struct took *one = &ones[N_ROUNDS / 2], *batch = &batches[N_ROUNDS / 2];
	double miss_ns;

	box_serve(box);
	join(box);
	fill(box, n_objects);
	for (unsigned i = 0; i < N_ROUNDS; i++) {
		ones[i] = read_one_by_one(box, n_objects, (uint64_t)n_ones);
		batches[i] = read_batches(box, n_objects, (uint64_t)n_keys);
	}
	miss_ns = ns_per_miss(box, n_objects);
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

	box_serve(box);
	join(box);
	fill(box, n_objects / 4); /* pages and tables are warm */
	store_counts(box->master->store, &before);
	cpu = cpu_of(box->thread);
	wall = seconds(CLOCK_MONOTONIC);
	for (uint64_t at = 0; at < n_objects; at += BATCH)
		put_batch(box, n_objects + at, BATCH);
	cpu = cpu_of(box->thread) - cpu;
	wall = seconds(CLOCK_MONOTONIC) - wall;
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

	must(file == NULL, "statm");
	malloc_trim(0);
	must(fscanf(file, "%*u %lu", &n_pages) != 1, "statm");
	fclose(file);
	return (double)n_pages * (double)sysconf(_SC_PAGESIZE);
}

static void
bench_recover(struct box *box, uint64_t n_objects)
{
	struct stat file;
	double wall, cpu, cpu_loop, ram;

	box_serve(box);
	join(box);
	fill(box, n_objects);
	box_close(box);
	must(stat(box->db, &file), "stat");

	ram = ram_bytes();
	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	cpu_loop = seconds(CLOCK_THREAD_CPUTIME_ID);
	box_open(box);
	wall = seconds(CLOCK_MONOTONIC) - wall;
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	cpu_loop = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_loop;
	ram = ram_bytes() - ram;
	printf("name=recover objects=%" PRIu64
	       " us_per_object=%.2f cpu_us_loop=%.2f cpu_us_all=%.2f ram_bytes_per_object=%.0f "
	       "file_bytes_per_object=%.0f\n",
	       n_objects, wall / (double)n_objects * 1e6, cpu_loop / (double)n_objects * 1e6,
	       cpu / (double)n_objects * 1e6, ram / (double)n_objects,
	       (double)file.st_size / (double)n_objects);
}

int
main(int argc, char **argv)
{
	static struct box box = {.dir = "/tmp/bench-master.XXXXXX"};
	uint64_t n_objects = argc > 2 ? strtoull(argv[2], NULL, 10) : 200000;
	const char *what = argc > 1 ? argv[1] : "";
	char command[128];

	if (mkdtemp(box.dir) == NULL)
		must(1, "mkdtemp");
	snprintf(box.db, sizeof(box.db), "%s/master.db", box.dir);
	snprintf(box.address, sizeof(box.address), "unix:%s/sock", box.dir);
	rand_init(&box.rand, 1);
	buf_init(&box.out);
	buf_init(&box.in);
	arena_init(&box.arena);
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
	snprintf(command, sizeof(command), "rm -rf %s", box.dir);
	return system(command) == 0 && *what != '\0' ? 0 : 2;
}
