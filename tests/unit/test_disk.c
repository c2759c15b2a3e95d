/* SPDX-License-Identifier: Apache-2.0 */

/* A file of 4 MiB that holds pattern(); the device's answers are bent on their way back. */
#include <errno.h>
#include <fcntl.h>

#include "tests/unit/xfer_world.h"
#include "transfer/disk_lanes.h"

#define SIZE (4ull << 20)

struct shelf {
	char path[64];
	struct disk disk;
	struct disk_bend bend;
	struct disk_queue *queue;
	struct rand rand;
	uint8_t *model; /* what the file should hold */
	enum op_result last;
	unsigned n_over;

	/* how answers are bent */
	unsigned n_asked, bend_at;
	int32_t bend_to; /* 0: shorter by a block, where it is longer than one */
	bool only_writes;
};

static int32_t
bend(void *arg, bool is_write, uint64_t offset_bytes, int32_t result)
{
	struct shelf *s = arg;

	(void)offset_bytes;
	if (s->only_writes && !is_write)
		return result;
	if (s->n_asked++ != s->bend_at && s->bend_at != UINT32_MAX)
		return result;
	if (s->bend_to != 0)
		return s->bend_to;
	return result > (int32_t)s->disk.block_bytes ? result - (int32_t)s->disk.block_bytes
						     : result;
}

static void
note(void *arg, struct op *op, enum op_result result)
{
	struct shelf *s = arg;

	(void)op;
	s->last = result;
	s->n_over++;
}

static int
setup(void **state)
{
	struct shelf *s = calloc(1, sizeof(*s));
	int fd;

	assert_non_null(s);
	rand_init(&s->rand, 3);
	snprintf(s->path, sizeof(s->path), "/tmp/tiffin-test-XXXXXX");
	fd = mkstemp(s->path);
	assert_true(fd >= 0);
	s->model = malloc(SIZE);
	assert_non_null(s->model);
	for (uint64_t i = 0; i < SIZE; i++)
		s->model[i] = pattern(i);
	assert_int_equal(pwrite(fd, s->model, SIZE, 0), SIZE);
	assert_int_equal(fsync(fd), 0);
	close(fd);

	fd = open(s->path, O_RDWR | O_DIRECT | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(disk_open(&s->disk, fd), 0);
	assert_int_equal(s->disk.size_bytes, SIZE);
	s->disk.block_bytes = s->disk.memory_align = 4096; /* coarser is right everywhere */
	s->bend = (struct disk_bend){bend, s};
	assert_int_equal(disk_queue_new(clock_real(), &s->queue), 0);
	s->queue->over = note;
	s->queue->arg = s;
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct shelf *s = *state;

	disk_queue_free(s->queue);
	disk_close(&s->disk);
	unlink(s->path);
	free(s->model);
	free(s);
	return 0;
}

/* bent -- from now on: answer number `at` (UINT32_MAX: each) becomes `to`. */
static void
bent(struct shelf *s, unsigned at, int32_t to, bool only_writes)
{
	s->n_asked = 0;
	s->bend_at = at;
	s->bend_to = to;
	s->only_writes = only_writes;
	s->disk.bend = &s->bend;
}

static struct op
op_of(enum op_kind kind, struct iovec *slices, size_t n, uint64_t offset, uint64_t len)
{
	return (struct op){.kind = kind,
			   .want_crc = true,
			   .offset_bytes = offset,
			   .len_bytes = len,
			   .slices = slices,
			   .n_slices = n,
			   .deadline_ns = far_ns()};
}

static enum op_result
run_op(struct shelf *s, struct op *op)
{
	unsigned n_before = s->n_over;

	disk_queue_add(s->queue, &s->disk, 0, op);
	disk_queue_run(s->queue);
	assert_int_equal(s->n_over, n_before + 1);
	return s->last;
}

/* file_differs -- from the model, seen through the page cache. */
static bool
file_differs(struct shelf *s)
{
	uint8_t *bytes = malloc(SIZE);
	int fd = open(s->path, O_RDONLY | O_CLOEXEC);
	bool differs;

	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, SIZE, 0), SIZE);
	differs = memcmp(bytes, s->model, SIZE) != 0;
	close(fd);
	free(bytes);
	return differs;
}

/* moves -- one READ and one WRITE of scattered slices; what is there is as the model says. */
static void
moves(struct shelf *s, uint64_t offset, uint64_t len, uint8_t salt)
{
	struct scatter in = scatter_new(&s->rand, len), out = scatter_new(&s->rand, len);
	struct op op = op_of(OP_READ, in.slices, in.n, offset, len);
	uint64_t at = offset;

	assert_int_equal(run_op(s, &op), OP_DONE);
	assert_false(scatter_differs(&in, s->model + offset));
	assert_int_equal(op.crc, crc_of(0, s->model + offset, len));

	scatter_fill(&out, salt);
	for (size_t i = 0; i < out.n; i++) {
		memcpy(s->model + at, out.slices[i].iov_base, out.slices[i].iov_len);
		at += out.slices[i].iov_len;
	}
	op = op_of(OP_WRITE, out.slices, out.n, offset, len);
	assert_int_equal(run_op(s, &op), OP_DONE);
	assert_int_equal(op.crc, crc_of(0, s->model + offset, len));
	free(in.area);
	free(out.area);
}

/* aligned_moves -- as moves(), from and to one aligned run of memory: straight to the device. */
static void
aligned_moves(struct shelf *s, uint64_t offset, uint64_t len, uint8_t salt)
{
	uint8_t *bytes = aligned_alloc(4096, num_align_up(len, 4096ull));
	struct iovec slice = {bytes, len};
	struct op op = op_of(OP_READ, &slice, 1, offset, len);

	assert_non_null(bytes);
	assert_int_equal(run_op(s, &op), OP_DONE);
	assert_memory_equal(bytes, s->model + offset, len);
	assert_int_equal(op.crc, crc_of(0, bytes, len));
	for (uint64_t i = 0; i < len; i++)
		bytes[i] = s->model[offset + i] ^= salt;
	op = op_of(OP_WRITE, &slice, 1, offset, len);
	assert_int_equal(run_op(s, &op), OP_DONE);
	assert_int_equal(op.crc, crc_of(0, bytes, len));
	free(bytes);
}

static void
ops__of_every_size_at_odd_places__move_the_right_bytes(void **state)
{
	static const uint64_t offsets[] = {0, 1, 511, 512, 4095, 4096, 8191, 100000};
	struct shelf *s = *state;

	for (size_t i = 0; i < array_len(world_sizes); i++)
		for (size_t k = 0; k < array_len(offsets); k++) {
			moves(s, offsets[k], world_sizes[i], (uint8_t)(i + k));
			aligned_moves(s, offsets[k], world_sizes[i], (uint8_t)(i * k + 1));
		}
	assert_false(file_differs(s));
}

static void
ops__with_the_memory_s_own_alignment__move_the_right_bytes(void **state)
{
	struct shelf *s = *state;
	struct disk_shape shape;

	assert_int_equal(disk_probe(s->disk.fd, &shape), 0);
	s->disk.block_bytes = shape.block_bytes;
	s->disk.memory_align = shape.memory_align;

	for (size_t i = 0; i < array_len(world_sizes); i++) {
		moves(s, 4096 * i + 3, world_sizes[i], (uint8_t)(i + 1));
		aligned_moves(s, 512 * i, world_sizes[i], (uint8_t)(i + 1));
	}

	assert_false(file_differs(s));
}

/* Many slices of one page each, and one that is not: the piece ends there and another way is taken.
 */
static void
op__whose_slices_are_aligned_but_one__is_whole(void **state)
{
	struct shelf *s = *state;
	uint8_t *area = aligned_alloc(4096, 2 << 20);
	struct iovec slices[200];
	struct op op;
	uint64_t len = 0;

	assert_non_null(area);
	for (size_t i = 0; i < array_len(slices); i++) {
		slices[i] = (struct iovec){area + i * 8192, i == 90 ? 4097 : 4096};
		len += slices[i].iov_len;
	}
	op = op_of(OP_READ, slices, array_len(slices), 8192, len);
	assert_int_equal(run_op(s, &op), OP_DONE);

	assert_int_equal(op.crc, crc_of(0, s->model + 8192, len));
	assert_memory_equal(slices[199].iov_base, s->model + 8192 + len - 4096, 4096);
	free(area);
}

static void
answers__that_come_short_each_time__are_continued(void **state)
{
	struct shelf *s = *state;

	bent(s, UINT32_MAX, 0, false);
	moves(s, 5, 300001, 9);
	aligned_moves(s, 4096, 1 << 20, 5);

	assert_false(file_differs(s));
}

static void
answer__again__is_asked_once_more(void **state)
{
	struct shelf *s = *state;

	for (unsigned at = 0; at < 4; at++) {
		bent(s, at, at % 2 == 0 ? -EAGAIN : -EINTR, false);
		aligned_moves(s, 8192, 2 << 20, 7);
	}

	assert_false(file_differs(s));
}

static void
read__whichever_piece_fails__ends_with_an_io_error_and_the_disk_goes_on(void **state)
{
	struct shelf *s = *state;
	uint8_t *bytes = aligned_alloc(4096, 3 << 20);
	struct iovec slice = {bytes, 3 << 20};

	assert_non_null(bytes);
	for (unsigned at = 0; at < 3; at++) {
		struct op op = op_of(OP_READ, &slice, 1, 0, 3 << 20);

		bent(s, at, -EIO, false);
		assert_int_equal(run_op(s, &op), OP_E_IO);
	}
	s->disk.bend = NULL;
	aligned_moves(s, 0, 3 << 20, 1);

	assert_false(atomic_load(&s->disk.is_failing));
	assert_false(file_differs(s));
	free(bytes);
}

static void
write__whichever_piece_fails__makes_the_disk_failing_and_none_follows(void **state)
{
	struct shelf *s = *state;
	uint8_t *bytes = aligned_alloc(4096, 3 << 20);
	struct iovec slice = {bytes, 3 << 20};

	assert_non_null(bytes);
	memset(bytes, 1, 3 << 20);
	for (unsigned at = 0; at < 3; at++) {
		struct op op = op_of(OP_WRITE, &slice, 1, 0, 3 << 20);

		atomic_store(&s->disk.is_failing, false);
		bent(s, at, -ENOSPC, true);
		assert_int_equal(run_op(s, &op), OP_E_IO);
		assert_true(atomic_load(&s->disk.is_failing));

		s->disk.bend = NULL;
		op = op_of(OP_WRITE, &slice, 1, 0, 4096);
		assert_int_equal(run_op(s, &op), OP_E_IO);
		op = op_of(OP_READ, &slice, 1, 0, 4096);
		assert_int_equal(run_op(s, &op), OP_DONE);
	}
	free(bytes);
}

static void
write__of_a_part_of_a_block_that_can_t_be_read__is_an_io_error(void **state)
{
	struct shelf *s = *state;
	uint8_t bytes[100] = {0};
	struct iovec slice = {bytes, sizeof(bytes)};
	struct op op = op_of(OP_WRITE, &slice, 1, 50, sizeof(bytes));

	bent(s, 0, -EIO, false);

	assert_int_equal(run_op(s, &op), OP_E_IO);
	assert_false(file_differs(s));
}

static void
sync__that_fails__makes_the_disk_failing_and_is_not_tried_again(void **state)
{
	struct shelf *s = *state;
	_Alignas(4096) uint8_t block[4096] = {0};

	bent(s, 0, -EIO, true);
	assert_int_equal(disk_sync(&s->disk), -EIO);

	assert_int_equal(disk_sync(&s->disk), -EIO); /* the device would say 0 by now */
	assert_int_equal(disk_write(&s->disk, 0, block, sizeof(block)), -EIO);
	assert_int_equal(disk_read(&s->disk, 0, block, sizeof(block)), 0);
}

static void
op__whose_time_is_over__times_out_and_moves_nothing(void **state)
{
	struct shelf *s = *state;
	uint8_t bytes[64];
	struct iovec slice = {bytes, sizeof(bytes)};
	struct op op = op_of(OP_READ, &slice, 1, 0, sizeof(bytes));

	memset(bytes, GAP, sizeof(bytes));
	op.deadline_ns = 1;

	assert_int_equal(run_op(s, &op), OP_E_TIMEOUT);
	assert_int_equal(bytes[0], GAP);
}

static void
many_ops_at_once__more_than_there_are_slots__each_is_over_once(void **state)
{
	struct shelf *s = *state;
	struct op ops[100];
	struct iovec slices[100];
	uint8_t *bytes = malloc(100 * 5000);

	assert_non_null(bytes);
	for (size_t i = 0; i < 100; i++) {
		slices[i] = (struct iovec){bytes + i * 5000, 5000};
		ops[i] = op_of(OP_READ, &slices[i], 1, i * 7001, 5000);
		disk_queue_add(s->queue, &s->disk, 0, &ops[i]);
	}
	disk_queue_run(s->queue);

	assert_int_equal(s->n_over, 100);
	for (size_t i = 0; i < 100; i++)
		assert_memory_equal(bytes + i * 5000, s->model + i * 7001, 5000);
	free(bytes);
}

static void
probe__of_a_pipe__says_that_it_is_no_disk(void **state)
{
	struct disk_shape shape;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(disk_probe(ends[0], &shape), DISK_E_NOT_DIRECT);
	close(ends[0]);
	close(ends[1]);
}

static void
lanes__keep_a_few_queues_and_free_the_others(void **state)
{
	struct shelf *s = *state;
	struct disk_queue *queues[DISK_LANES_KEPT + 2];
	struct disk_lanes lanes;

	disk_lanes_init(&lanes);
	for (size_t i = 0; i < array_len(queues); i++) {
		queues[i] = disk_lanes_take(&lanes, clock_real(), note, s);
		assert_non_null(queues[i]);
	}
	for (size_t i = 0; i < array_len(queues); i++)
		disk_lanes_give(&lanes, queues[i]);

	assert_int_equal(lanes.n_spare, DISK_LANES_KEPT);
	disk_lanes_fini(&lanes);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(ops__of_every_size_at_odd_places__move_the_right_bytes),
		T(ops__with_the_memory_s_own_alignment__move_the_right_bytes),
		T(op__whose_slices_are_aligned_but_one__is_whole),
		T(answers__that_come_short_each_time__are_continued),
		T(answer__again__is_asked_once_more),
		T(read__whichever_piece_fails__ends_with_an_io_error_and_the_disk_goes_on),
		T(write__whichever_piece_fails__makes_the_disk_failing_and_none_follows),
		T(write__of_a_part_of_a_block_that_can_t_be_read__is_an_io_error),
		T(sync__that_fails__makes_the_disk_failing_and_is_not_tried_again),
		T(op__whose_time_is_over__times_out_and_moves_nothing),
		T(many_ops_at_once__more_than_there_are_slots__each_is_over_once),
		T(probe__of_a_pipe__says_that_it_is_no_disk),
		T(lanes__keep_a_few_queues_and_free_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
