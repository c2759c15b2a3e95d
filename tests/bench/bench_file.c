/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_file -- a segment on a disk against fio, on the same file, in turns.
 *
 *      bench_file file_read|file_write MIB
 *      bench_file nof_read MIB DEVICE        a namespace that is connected; what lies there is lost
 *
 * Ours: batches of four ops of 16 MiB, in this process, pieces of 1 MiB, 16 at once.  fio's: the
 * same bytes in blocks of 1 MiB, 16 at once, by io_uring and O_DIRECT.  The file was written
 * before, so that nobody pays for new blocks.  Of some rounds the best of each counts: others work
 * beside us.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transfer/base/clock.h"
#include "transfer/base/num.h"
#include "transfer/disk.h"
#include "transfer/engine.h"
#include "transfer/lent.h"
#include "transfer/target.h"
#include "transfer/transport.h"

#define ROUNDS   5
#define OPS      4
#define OP_BYTES (16ull << 20)
#define MIB      (1ull << 20)

static char path[64] = "/var/tmp/tiffin-bench-XXXXXX";
static bool is_device;

static void
fail(const char *what)
{
	fprintf(stderr, "bench_file: %s\n", what);
	if (!is_device)
		unlink(path);
	exit(1);
}

static struct lent *
lend(uint64_t size_bytes)
{
	const struct lent_config config = {
		.path = path, .size_bytes = size_bytes, .is_on_disk = true, .wipe = is_device};
	struct lent *lent;
	struct rand rand;
	int fd = is_device ? -1 : mkstemp(path);

	if (fd < 0 && !is_device)
		fail("no room for a file in /var/tmp");
	if (fd >= 0)
		close(fd);
	rand_init(&rand, 1);
	if (lent_open(&config, &rand, &lent) != 0)
		fail("the file can't be lent");
	return lent;
}

/* ours -- MiB/s over the whole segment, a batch of some ops at a time. */
static double
ours(struct engine *engine, struct target *target, enum op_kind kind, uint8_t *bytes)
{
	const struct clock *clock = clock_real();
	uint64_t began_ns = clock_ns(clock), at = 0;

	while (at < target->desc.size_bytes) {
		struct iovec slices[OPS];
		struct op ops[OPS];
		struct batch batch = {.ops = ops};

		for (; batch.n_ops < OPS && at < target->desc.size_bytes; at += OP_BYTES) {
			size_t i = batch.n_ops++;

			slices[i] = (struct iovec){bytes + i * OP_BYTES, OP_BYTES};
			ops[i] = (struct op){.kind = kind,
					     .target = target,
					     .offset_bytes = at,
					     .len_bytes = OP_BYTES,
					     .slices = &slices[i],
					     .n_slices = 1,
					     .deadline_ns = began_ns + 600 * NS_PER_S};
		}
		if (engine_run(engine, &batch) != OP_DONE)
			fail("an op failed");
	}
	return (double)at / MIB / ((double)(clock_ns(clock) - began_ns) / NS_PER_S);
}

/* fio -- MiB/s, of its own report: field 7 (reads) or 48 (writes) of terse version 3, in KiB/s. */
static double
fio(enum op_kind kind, uint64_t size_bytes)
{
	char command[512], line[4096] = "", *at = line, *field = NULL;
	int wanted = kind == OP_READ ? 7 : 48;
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "fio --name=b --filename=%s --rw=%s --bs=1M --iodepth=16 --ioengine=io_uring "
		 "--direct=1 --offset=4096 --size=%llu --minimal --terse-version=3 2>/dev/null",
		 path, kind == OP_READ ? "read" : "write", (unsigned long long)size_bytes);
	pipe = popen(command, "r");
	if (pipe == NULL || fgets(line, sizeof(line), pipe) == NULL)
		fail("fio does not run");
	pclose(pipe);
	for (int i = 0; i < wanted; i++)
		field = strsep(&at, ";");
	return field == NULL ? 0 : strtod(field, NULL) / 1024;
}

int
main(int argc, char **argv)
{
	enum op_kind kind;
	uint64_t size_bytes;
	double best = 0, best_fio = 0;
	struct target_desc desc = {.is_on_disk = true};
	struct engine *engine = NULL;
	struct target *target;
	struct lent *lent;
	uint8_t *bytes;

	if (argc != 3 && argc != 4)
		return 2;
	if (argc == 4) {
		is_device = true;
		snprintf(path, sizeof(path), "%s", argv[3]);
	}
	kind = strcmp(argv[1], "file_write") == 0 ? OP_WRITE : OP_READ;
	size_bytes = num_align_up(strtoull(argv[2], NULL, 10) * MIB, OP_BYTES);
	bytes = aligned_alloc(DISK_BLOCK_MAX, OPS * OP_BYTES);
	lent = lend(size_bytes);
	if (bytes == NULL || engine_new(clock_real(), &engine) < 0 ||
	    engine_add_default(engine, 0) < 0 || engine_lend(engine, lent) < 0)
		fail("no memory");
	memset(bytes, 0x5a, OPS * OP_BYTES);
	desc.segment_id = lent->segment_id;
	desc.segment_epoch = lent->epoch;
	desc.size_bytes = size_bytes;
	if (engine_target(engine, &desc, &target) < 0)
		fail("no memory");

	(void)ours(engine, target, OP_WRITE, bytes);
	for (int i = 0; i < ROUNDS; i++) {
		best = num_max(best, ours(engine, target, kind, bytes));
		best_fio = num_max(best_fio, fio(kind, size_bytes));
	}
	printf("bench=%s mib_s=%.0f fio_mib_s=%.0f ratio=%.3f\n", argv[1], best, best_fio,
	       best_fio > 0 ? best / best_fio : 0);

	engine_target_unref(engine, target);
	engine_unlend(engine, lent);
	engine_free(engine);
	lent_close(lent);
	if (!is_device)
		unlink(path);
	free(bytes);
	return 0;
}
