/* SPDX-License-Identifier: Apache-2.0 */

/* A segment on a disk, seen by a client of the same host: straight from the file, or by the
 * provider. */
#include <errno.h>

#include "tests/unit/xfer_world.h"
#include "transfer/disk.h"
#include "transfer/lent_disk.h"

struct site {
	struct world w;
	char path[96];
	struct disk_bend bend;
	uint8_t *model;
};

static void
fill(struct site *s)
{
	uint8_t *bytes = aligned_alloc(4096, WORLD_SIZE);

	assert_non_null(bytes);
	for (uint64_t i = 0; i < WORLD_SIZE; i++)
		bytes[i] = pattern(i);
	assert_int_equal(disk_write(s->w.lent->disk, LENT_HEADER_BYTES, bytes, WORLD_SIZE), 0);
	free(s->model);
	s->model = bytes;
}

static void
target(struct site *s, const char *host)
{
	struct target_desc desc = desc_of(s->w.lent, serve_endpoint(s->w.serve));

	desc.is_on_disk = true;
	if (host != NULL)
		snprintf(desc.host, sizeof(desc.host), "%s", host);
	engine_target_unref(s->w.engine, s->w.target);
	assert_int_equal(engine_target(s->w.engine, &desc, &s->w.target), 0);
}

/* site_open -- served on a Unix socket and on TCP; the client's transports are made by these. */
static struct site *
site_open(int (*const make[])(struct transport **), size_t n)
{
	struct site *s = calloc(1, sizeof(*s));
	struct lent_config config = {.size_bytes = WORLD_SIZE, .is_on_disk = true};
	struct world *w;
	char address[160];

	assert_non_null(s);
	w = &s->w;
	rand_init(&w->rand, 42);
	snprintf(w->dir, sizeof(w->dir), "/tmp/tiffin-test-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(s->path, sizeof(s->path), "%s/f", w->dir);
	snprintf(address, sizeof(address), "unix:%s/s 127.0.0.1:0", w->dir);
	config.path = s->path;
	assert_int_equal(lent_open(&config, &w->rand, &w->lent), 0);
	fill(s);
	world_serve(w, address);
	assert_int_equal(engine_new(clock_real(), &w->engine), 0);
	for (size_t i = 0; i < n; i++) {
		struct transport *t;

		assert_int_equal(make[i](&t), 0);
		engine_add(w->engine, &t);
	}
	target(s, NULL);
	return s;
}

static void
site_close(struct site *s)
{
	char path[128];

	engine_target_unref(s->w.engine, s->w.target);
	engine_free(s->w.engine);
	serve_free(s->w.serve);
	lent_close(s->w.lent);
	unlink(s->path);
	snprintf(path, sizeof(path), "%s/s", s->w.dir);
	unlink(path);
	rmdir(s->w.dir);
	free(s->model);
	free(s);
}

/* moves -- every size at odd places, both ways. */
static void
moves(struct site *s)
{
	struct token read = token_for(s->w.lent, TOKEN_READ | TOKEN_MAP);
	struct token write = token_for(s->w.lent, TOKEN_WRITE);

	for (size_t i = 0; i < array_len(world_sizes); i++) {
		uint64_t offset = 4096 * i + i * i, at = offset;
		struct scatter in = scatter_new(&s->w.rand, world_sizes[i]);
		struct scatter out = scatter_new(&s->w.rand, world_sizes[i]);
		struct op op = op_for(&s->w, OP_READ, &read, &in, offset);

		assert_int_equal(run(&s->w, &op), OP_DONE);
		assert_false(scatter_differs(&in, s->model + offset));
		assert_int_equal(op.crc, crc_of(0, s->model + offset, world_sizes[i]));

		scatter_fill(&out, (uint8_t)(i + 1));
		for (size_t k = 0; k < out.n; at += out.slices[k++].iov_len)
			memcpy(s->model + at, out.slices[k].iov_base, out.slices[k].iov_len);
		op = op_for(&s->w, OP_WRITE, &write, &out, offset);
		assert_int_equal(run(&s->w, &op), OP_DONE);
		free(in.area);
		free(out.area);
	}
}

static void
check_all(struct site *s)
{
	uint8_t *bytes = aligned_alloc(4096, WORLD_SIZE);

	assert_non_null(bytes);
	assert_int_equal(disk_read(s->w.lent->disk, LENT_HEADER_BYTES, bytes, WORLD_SIZE), 0);
	assert_memory_equal(bytes, s->model, WORLD_SIZE);
	free(bytes);
}

static uint64_t
bytes_served(struct site *s)
{
	struct serve_counts counts;

	serve_counts(s->w.serve, &counts);
	return counts.bytes_read;
}

static int (*const all[])(struct transport **) = {transport_local_new, transport_shm_new,
						  transport_file_new, transport_tcp_new};
static int (*const tcp_only[])(struct transport **) = {transport_tcp_new};
static int (*const file_only[])(struct transport **) = {transport_file_new};

static void
ops__by_way_of_the_provider__move_the_right_bytes(void **state)
{
	struct site *s = site_open(tcp_only, 1);

	(void)state;
	moves(s);
	check_all(s);
	site_close(s);
}

static void
ops__with_all_transports__read_past_the_provider_and_write_through_it(void **state)
{
	struct site *s = site_open(all, array_len(all));
	struct serve_counts counts;

	(void)state;
	moves(s);
	check_all(s);

	serve_counts(s->w.serve, &counts);
	assert_int_equal(counts.bytes_read, 0);
	assert_true(counts.bytes_written > 0);
	site_close(s);
}

static void
ops__on_a_segment_of_this_process__need_no_provider(void **state)
{
	struct site *s = site_open(file_only, 1);

	(void)state;
	assert_int_equal(engine_lend(s->w.engine, s->w.lent), 0);
	moves(s);
	check_all(s);
	engine_unlend(s->w.engine, s->w.lent);
	site_close(s);
}

static void
read__with_a_token_that_may_not_map__goes_by_way_of_the_provider(void **state)
{
	struct site *s = site_open(all, array_len(all));
	struct token token = token_for(s->w.lent, TOKEN_READ);
	struct scatter in = scatter_new(&s->w.rand, 5000);
	struct op op = op_for(&s->w, OP_READ, &token, &in, 0);

	(void)state;
	assert_int_equal(run(&s->w, &op), OP_DONE);
	assert_int_equal(bytes_served(s), 5000);
	free(in.area);
	site_close(s);
}

static void
read__with_a_forged_token__is_refused(void **state)
{
	struct site *s = site_open(all, array_len(all));
	struct token token = token_for(s->w.lent, TOKEN_READ | TOKEN_MAP);
	struct scatter in = scatter_new(&s->w.rand, 5000);
	struct op op = op_for(&s->w, OP_READ, &token, &in, 0);

	(void)state;
	token.mac[0] ^= 1;
	assert_int_equal(run(&s->w, &op), OP_E_REFUSED);
	free(in.area);
	site_close(s);
}

static void
read__from_another_host__does_not_ask_for_the_file(void **state)
{
	struct site *s = site_open(all, array_len(all));
	struct token token = token_for(s->w.lent, TOKEN_READ | TOKEN_MAP);
	struct scatter in = scatter_new(&s->w.rand, 70000);
	struct op op = op_for(&s->w, OP_READ, &token, &in, 123);

	(void)state;
	target(s, "another host");
	op.target = s->w.target;
	/* Loopback counts on the same host alone: nothing is left. */
	assert_int_equal(run(&s->w, &op), OP_E_LOST);
	assert_int_equal(bytes_served(s), 0);
	free(in.area);
	site_close(s);
}

static void
target__of_another_epoch__is_not_read_from_the_file(void **state)
{
	struct site *s = site_open(all, array_len(all));
	struct target_desc desc = desc_of(s->w.lent, serve_endpoint(s->w.serve));
	struct token token;
	struct scatter in = scatter_new(&s->w.rand, 5000);
	struct op op;

	(void)state;
	desc.is_on_disk = true;
	desc.segment_epoch ^= 1;
	engine_target_unref(s->w.engine, s->w.target);
	assert_int_equal(engine_target(s->w.engine, &desc, &s->w.target), 0);
	token = token_for(s->w.lent, TOKEN_READ | TOKEN_MAP);
	op = op_for(&s->w, OP_READ, &token, &in, 0);

	assert_int_equal(run(&s->w, &op), OP_E_REFUSED);
	free(in.area);
	site_close(s);
}

static void
map__of_a_segment_on_a_disk__is_not_to_be_had(void **state)
{
	struct site *s = site_open(all, array_len(all));
	struct token token = token_for(s->w.lent, TOKEN_READ | TOKEN_MAP);
	const void *bytes;

	(void)state;
	assert_int_equal(engine_map(s->w.engine, s->w.target, &token, &bytes), ENGINE_E_NOT_HERE);
	assert_int_equal(engine_lend(s->w.engine, s->w.lent), 0);
	assert_int_equal(engine_map(s->w.engine, s->w.target, &token, &bytes), ENGINE_E_NOT_HERE);
	engine_unlend(s->w.engine, s->w.lent);
	site_close(s);
}

/* bend -- each answer of the kind named by arg is an I/O error. */
static int32_t
bend(void *arg, bool is_write, uint64_t offset_bytes, int32_t result)
{
	(void)offset_bytes;
	return is_write == *(bool *)arg ? -EIO : result;
}

static void
write__that_the_disk_refuses__is_an_io_error_and_reads_go_on(void **state)
{
	struct site *s = site_open(all, array_len(all));
	struct token write = token_for(s->w.lent, TOKEN_WRITE);
	struct token read = token_for(s->w.lent, TOKEN_READ | TOKEN_MAP);
	struct scatter out = scatter_new(&s->w.rand, 3000001);
	struct op op = op_for(&s->w, OP_WRITE, &write, &out, 0);
	bool of_writes = true;

	(void)state;
	s->bend = (struct disk_bend){bend, &of_writes};
	s->w.lent->disk->bend = &s->bend;
	assert_int_equal(run(&s->w, &op), OP_E_IO);
	s->w.lent->disk->bend = NULL;
	assert_true(atomic_load(&s->w.lent->disk->is_failing));

	op = op_for(&s->w, OP_WRITE, &write, &out, 0);
	assert_int_equal(run(&s->w, &op), OP_E_IO);
	op = op_for(&s->w, OP_READ, &read, &out, 4 << 20);
	assert_int_equal(run(&s->w, &op), OP_DONE);
	assert_false(scatter_differs(&out, s->model + (4 << 20)));
	free(out.area);
	site_close(s);
}

static void
read__that_the_disk_refuses__is_an_io_error_told_by_the_provider(void **state)
{
	struct site *s = site_open(tcp_only, 1);
	struct token read = token_for(s->w.lent, TOKEN_READ);
	struct scatter in = scatter_new(&s->w.rand, 100000);
	struct op op = op_for(&s->w, OP_READ, &read, &in, 0);
	bool of_writes = false;

	(void)state;
	s->bend = (struct disk_bend){bend, &of_writes};
	s->w.lent->disk->bend = &s->bend;
	assert_int_equal(run(&s->w, &op), OP_E_IO);
	s->w.lent->disk->bend = NULL;
	op = op_for(&s->w, OP_READ, &read, &in, 0);
	assert_int_equal(run(&s->w, &op), OP_DONE);
	free(in.area);
	site_close(s);
}

static void
fence__in_the_middle_of_a_write__has_the_disk_at_rest_when_it_is_confirmed(void **state)
{
	struct site *s = site_open(tcp_only, 1);
	struct token write = token_for(s->w.lent, TOKEN_WRITE);
	uint8_t *bytes = calloc(1, 1 << 20);
	struct wire_request request = {.kind = WIRE_WRITE,
				       .id = 1,
				       .segment_id = s->w.lent->segment_id,
				       .segment_epoch = s->w.lent->epoch,
				       .len_bytes = 4 << 20,
				       .token = write};
	uint8_t head[WIRE_REQUEST_BYTES];
	struct serve_counts counts;
	struct sock_addr addr;
	char address[160];
	int fd;

	(void)state;
	assert_non_null(bytes);
	snprintf(address, sizeof(address), "unix:%s/s", s->w.dir);
	assert_int_equal(sock_addr_parse(address, &addr), 0);
	assert_int_equal(sock_connect(&addr, 1000, &fd), 0);
	wire_request_encode(&request, head);
	assert_int_equal(sock_send_all(fd, head, sizeof(head), far_ns()), 0);
	assert_int_equal(sock_send_all(fd, bytes, 1 << 20, far_ns()), 0); /* a quarter */

	assert_int_equal(serve_fence(s->w.serve, WORLD_CLIENT), 0);
	serve_counts(s->w.serve, &counts);
	assert_int_equal(counts.n_connections, 0);
	fill(s); /* the range has another owner now */
	check_all(s);
	close(fd);
	free(bytes);
	site_close(s);
}

static void
batch__of_reads_from_the_file_and_writes_by_the_provider__is_done_in_one_wait(void **state)
{
	struct site *s = site_open(all, array_len(all));
	struct token read = token_for(s->w.lent, TOKEN_READ | TOKEN_MAP);
	struct token write = token_for(s->w.lent, TOKEN_WRITE);
	struct scatter scatters[40];
	struct op ops[40];
	struct batch batch = {.ops = ops, .n_ops = 40};
	struct serve_counts counts;

	(void)state;
	for (size_t i = 0; i < 40; i++) {
		bool is_read = i % 2 == 0;

		scatters[i] = scatter_new(&s->w.rand, 50001);
		if (!is_read)
			scatter_fill(&scatters[i], 3);
		ops[i] = op_for(&s->w, is_read ? OP_READ : OP_WRITE, is_read ? &read : &write,
				&scatters[i], i * 60000);
	}
	assert_int_equal(engine_run(s->w.engine, &batch), OP_DONE);
	for (size_t i = 0; i < 40; i++) {
		if (i % 2 == 0)
			assert_false(scatter_differs(&scatters[i], s->model + i * 60000));
		free(scatters[i].area);
	}
	serve_counts(s->w.serve, &counts);
	assert_int_equal(counts.bytes_read, 0);
	assert_int_equal(counts.bytes_written, 20 * 50001);
	site_close(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops__by_way_of_the_provider__move_the_right_bytes),
		cmocka_unit_test(
			ops__with_all_transports__read_past_the_provider_and_write_through_it),
		cmocka_unit_test(ops__on_a_segment_of_this_process__need_no_provider),
		cmocka_unit_test(read__with_a_token_that_may_not_map__goes_by_way_of_the_provider),
		cmocka_unit_test(read__with_a_forged_token__is_refused),
		cmocka_unit_test(read__from_another_host__does_not_ask_for_the_file),
		cmocka_unit_test(target__of_another_epoch__is_not_read_from_the_file),
		cmocka_unit_test(map__of_a_segment_on_a_disk__is_not_to_be_had),
		cmocka_unit_test(write__that_the_disk_refuses__is_an_io_error_and_reads_go_on),
		cmocka_unit_test(read__that_the_disk_refuses__is_an_io_error_told_by_the_provider),
		cmocka_unit_test(
			fence__in_the_middle_of_a_write__has_the_disk_at_rest_when_it_is_confirmed),
		cmocka_unit_test(
			batch__of_reads_from_the_file_and_writes_by_the_provider__is_done_in_one_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
