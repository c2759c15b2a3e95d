/* SPDX-License-Identifier: Apache-2.0 */

/*
 * box.h -- a master for a bench: its loop on a thread of its own, with a real socket and a real
 * database in a directory under /tmp; askers speak the protocol to it and move no bytes.
 *
 *      box_make -- box_open -- box_serve -- asker_open ... asker_close -- box_close -- box_remove
 *                     ^                                                      |
 *                     +------------------ start again -----------------------+
 *
 * What fails ends the program, with what was being done.
 *
 * thread:  the bench's; the loop's own is made and joined here.
 */
#ifndef TESTS_BENCH_BOX_H
#define TESTS_BENCH_BOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "master/server.h"
#include "transfer/base/hist.h"
#include "transfer/base/loop.h"

#define BOX_BATCH     128
#define BOX_KEY_BYTES 64
#define BOX_LONG_NS   (5 * NS_PER_MS) /* a turn that takes more is told */

struct box {
	char dir[64], db[96], address[128];
	struct master_limits limits; /* of the next box_open() */
	struct loop *loop;
	struct store *store;
	struct master *master;
	struct warm *warm;
	struct server *server;
	struct rand rand;
	pthread_t thread;
	atomic_bool is_over;
	atomic_ulong n_turns;

	/* with has_watch: processor time of the loop's thread, turn by turn */
	bool has_watch;
	atomic_ulong longest_ns, n_long;
	atomic_bool is_fresh; /* of `turns`, which is the loop's until box_close() */
	struct hist turns;
};

struct asker {
	int fd;
	uint64_t request_id;
	struct buf out, in;
	size_t taken; /* of `in`, by the answer at hand */
	struct arena arena;
	char keys[BOX_BATCH][BOX_KEY_BYTES + 1];
};

/* box_must -- 0, or exit with what was being done and its number. */
void box_must(int r, const char *what);
double box_seconds(clockid_t id);

/* box_make -- a directory, and limits that evict nothing and lose nobody. */
void box_make(struct box *box);
void box_open(struct box *box);
void box_serve(struct box *box);
void box_close(struct box *box);
void box_remove(struct box *box);

/* box_cpu_s -- of the loop's thread since it began.  needs: box_serve(). */
double box_cpu_s(struct box *box);

/* box_watch -- from now on: how long turns are, the longest, how many are longer than BOX_LONG_NS.
 */
void box_watch(struct box *box);

void asker_open(struct asker *asker, const struct box *box);
void asker_close(struct asker *asker);

/* asker_join -- as this client, lending a segment of that size (0: none). */
void asker_join(struct asker *asker, uint64_t client_id, uint64_t segment_bytes);

/* ASKER_APPEND -- one more request; what `encode` makes of msg is its payload. */
#define ASKER_APPEND(asker, name, msg)                                                             \
	do {                                                                                       \
		struct frame frame_ = {.type = MSG_##name, .request_id = ++(asker)->request_id};   \
		size_t at_;                                                                        \
                                                                                                   \
		box_must(frame_begin(&(asker)->out, &at_), "frame_begin");                         \
		box_must(msg_##name##_encode(&(asker)->out, (msg)), "encode");                     \
		frame_end(&(asker)->out, at_, &frame_);                                            \
	} while (0)

/* asker_flush -- what was appended is sent. */
void asker_flush(struct asker *asker);

/* asker_answer -- the next one, which must be OK; its payload lives until the next call. */
struct frame asker_answer(struct asker *asker);

/* asker_key -- the n-th key, BOX_KEY_BYTES long; written to buf, which has room for one more. */
struct span asker_key(char *buf, uint64_t n);

/* asker_put -- n <= BOX_BATCH objects from the first-th key on, of that size, put whole. */
void asker_put(struct asker *asker, uint64_t first, uint32_t n, uint64_t object_bytes);

/* asker_fill -- objects 0 to n_objects, in batches. */
void asker_fill(struct asker *asker, uint64_t n_objects, uint64_t object_bytes);

/* asker_get -- append a get_replica_list of the n-th key, alone. */
void asker_get(struct asker *asker, uint64_t n);

#endif
