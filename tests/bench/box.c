/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/box.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/place.h"
#include "master/warm.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"

#define WAIT_NS (60 * NS_PER_S)

void
box_must(int r, const char *what)
{
	if (r == 0)
		return;
	fprintf(stderr, "bench: %s: %d\n", what, r);
	exit(1);
}

double
box_seconds(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double
box_cpu_s(struct box *box)
{
	clockid_t id;

	box_must(pthread_getcpuclockid(box->thread, &id), "pthread_getcpuclockid");
	return box_seconds(id);
}

/* ---- the master ---- */

static uint64_t
own_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void
watched_turn(struct box *box)
{
	uint64_t from_ns = own_cpu_ns(), len_ns;

	box_must(server_turn(box->server), "server_turn");
	len_ns = own_cpu_ns() - from_ns;
	if (atomic_exchange(&box->is_fresh, false))
		box->turns = (struct hist){0};
	hist_add(&box->turns, len_ns);
	atomic_fetch_add(&box->n_long, len_ns > BOX_LONG_NS);
	if (len_ns > atomic_load(&box->longest_ns))
		atomic_store(&box->longest_ns, len_ns);
}

static void *
run_server(void *arg)
{
	struct box *box = arg;

	pthread_setname_np(pthread_self(), "loop");
	while (!atomic_load(&box->is_over)) {
		if (box->has_watch)
			watched_turn(box);
		else
			box_must(server_turn(box->server), "server_turn");
		atomic_fetch_add(&box->n_turns, 1);
	}
	return NULL;
}

static void
wake(void *arg)
{
	loop_wake(arg);
}

void
box_make(struct box *box)
{
	*box = (struct box){
		.dir = "/tmp/bench-master.XXXXXX",
		.limits = {.lease_ms = 5000,
			   .write_lease_ms = 30000,
			   .ping_ms = 1000,
			   .client_ttl_ms = 600000,
			   .client_grace_ms = 5000,
			   .put_wait_ms = 2000,
			   .evict_high_pct = 100,
			   .evict_low_pct = 99,
			   .placement = PLACEMENT_FREE_RATIO_FIRST},
	};
	box_must(mkdtemp(box->dir) == NULL, "mkdtemp");
	snprintf(box->db, sizeof(box->db), "%s/master.db", box->dir);
	snprintf(box->address, sizeof(box->address), "unix:%s/sock", box->dir);
	rand_init(&box->rand, 1);
}

void
box_open(struct box *box)
{
	struct store_config store = {
		.path = box->db,
		.clock = clock_real(),
		.wal_cap_bytes = 64u << 20,
		.sync_every_ms = 100,
		.here_max_records = 16,
		.lease_ms = box->limits.lease_ms,
		.wake = wake,
	};
	struct master_config master = {
		.clock = clock_real(), .rand = &box->rand, .limits = box->limits};
	char why[256];

	box_must(loop_new(&box->loop), "loop_new");
	box_must(warm_new(&box->warm), "warm_new");
	master.warm = box->warm;
	store.wake_arg = box->loop;
	box_must(store_open(&store, &box->store, why, sizeof(why)), "store_open");
	box_must(master_new(&master, &box->store, &box->master, why, sizeof(why)), "master_new");
}

void
box_serve(struct box *box)
{
	struct server_config server = {.loop = box->loop,
				       .master = box->master,
				       .listen = box->address,
				       .socket_mode = 0600,
				       .connections_max = 16};
	char why[256];

	box_must(server_new(&server, &box->server, why, sizeof(why)), "server_new");
	atomic_store(&box->is_over, false);
	box_must(pthread_create(&box->thread, NULL, run_server, box), "pthread_create");
}

void
box_watch(struct box *box)
{
	atomic_store(&box->longest_ns, 0);
	atomic_store(&box->n_long, 0);
	atomic_store(&box->is_fresh, true);
}

void
box_close(struct box *box)
{
	if (box->server != NULL) {
		atomic_store(&box->is_over, true);
		loop_wake(box->loop);
		pthread_join(box->thread, NULL);
		server_free(box->server);
		box->server = NULL;
	}
	master_free(box->master);
	warm_free(box->warm);
	loop_free(box->loop);
}

void
box_remove(struct box *box)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", box->dir);
	box_must(system(command), command);
}

/* ---- asking ---- */

void
asker_open(struct asker *asker, const struct box *box)
{
	struct sock_addr addr;

	*asker = (struct asker){.fd = -1};
	buf_init(&asker->out);
	buf_init(&asker->in);
	arena_init(&asker->arena);
	box_must(sock_addr_parse(box->address, &addr), "address");
	box_must(sock_connect(&addr, 5000, &asker->fd), "connect");
}

void
asker_close(struct asker *asker)
{
	close(asker->fd);
	buf_fini(&asker->out);
	buf_fini(&asker->in);
	arena_fini(&asker->arena);
}

void
asker_flush(struct asker *asker)
{
	box_must(sock_send_all(asker->fd, buf_first(&asker->out), buf_len(&asker->out),
			       clock_ns(clock_real()) + WAIT_NS),
		 "send");
	buf_clear(&asker->out);
}

struct frame
asker_answer(struct asker *asker)
{
	struct buf *in = &asker->in;
	struct frame frame;
	size_t len;

	buf_consume(in, asker->taken);
	asker->taken = 0;
	while (frame_peek(buf_first(in), buf_len(in), &frame, &len) == FRAME_E_SHORT) {
		struct pollfd p = {.fd = asker->fd, .events = POLLIN};
		ssize_t n;

		box_must(buf_reserve(in, 1u << 18), "buf_reserve");
		/* As the library does: a sleep in recv() would also end, for nothing, when the
		 * master takes in what was asked. */
		box_must(poll(&p, 1, -1) != 1, "poll");
		n = recv(asker->fd, in->at + in->end, in->cap - in->end, 0);
		box_must(n <= 0, "recv");
		in->end += (size_t)n;
	}
	box_must((int)frame.status, "status");
	asker->taken = len;
	return frame;
}

void
asker_join(struct asker *asker, uint64_t client_id, uint64_t segment_bytes)
{
	char name[32];
	struct msg_hello hello = {.version = PROTO_VERSION};
	struct msg_join join_msg = {.client_id = client_id,
				    .name = span_of("bench", 5),
				    .host = span_of("host", 4),
				    .tenant = span_of("default", 7)};
	struct rec_segment_lent lent = {.segment_id = client_id,
					.segment_epoch = 1,
					.size_bytes = segment_bytes,
					.medium = MEDIUM_DRAM,
					.host = span_of("host", 4),
					.endpoint = span_of("unix:/none", 10)};
	struct msg_mount_segment mount = {.n_segments = 1, .segments = &lent};
	int n_asked = segment_bytes > 0 ? 3 : 2;

	snprintf(name, sizeof(name), "segment-%" PRIu64, client_id);
	lent.name = span_of(name, strlen(name));
	ASKER_APPEND(asker, hello, &hello);
	ASKER_APPEND(asker, join, &join_msg);
	if (segment_bytes > 0)
		ASKER_APPEND(asker, mount_segment, &mount);
	asker_flush(asker);
	for (int i = 0; i < n_asked; i++)
		asker_answer(asker);
}

struct span
asker_key(char *buf, uint64_t n)
{
	snprintf(buf, BOX_KEY_BYTES + 1, "model-7b/rank-0/%08" PRIx64 "%040" PRIx64,
		 n * 2654435761u % 4294967296u, n);
	return span_of(buf, BOX_KEY_BYTES);
}

void
asker_put(struct asker *asker, uint64_t first, uint32_t n, uint64_t object_bytes)
{
	struct rec_put puts[BOX_BATCH];
	struct rec_put_done dones[BOX_BATCH];
	struct msg_put_start start = {.replica_num = 1, .n_puts = n, .puts = puts};
	struct msg_put_end end = {.n_puts = n, .puts = dones};
	struct rep_put_start places;
	struct frame frame;

	for (uint32_t i = 0; i < n; i++)
		puts[i] = (struct rec_put){asker_key(asker->keys[i], first + i), object_bytes};
	ASKER_APPEND(asker, put_start, &start);
	asker_flush(asker);
	frame = asker_answer(asker);
	arena_reset(&asker->arena);
	box_must(rep_put_start_decode(frame.payload, &asker->arena, &places), "decode");
	for (uint32_t i = 0; i < n; i++) {
		box_must((int)places.places[i].status, "put_start");
		dones[i] = (struct rec_put_done){.object_id = places.places[i].object_id,
						 .len_bytes = object_bytes,
						 .has_crc = 1,
						 .crc = (uint32_t)i};
	}
	ASKER_APPEND(asker, put_end, &end);
	asker_flush(asker);
	asker_answer(asker);
}

void
asker_fill(struct asker *asker, uint64_t n_objects, uint64_t object_bytes)
{
	for (uint64_t at = 0; at < n_objects; at += BOX_BATCH)
		asker_put(asker, at, (uint32_t)num_min(n_objects - at, BOX_BATCH), object_bytes);
}

void
asker_get(struct asker *asker, uint64_t n)
{
	struct rec_key_only key = {asker_key(asker->keys[0], n)};
	struct msg_get_replica_list msg = {.n_keys = 1, .keys = &key};

	ASKER_APPEND(asker, get_replica_list, &msg);
}
