/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/cli/bench.h"
#include "core/cli/bench_transfer.h"
#include "transfer/lent.h"

#define PATTERN_BYTES (1u << 20)
#define SIZE_BYTES    5000u
#define DEPTH         4u
#define OPS           30u

static void
rank__is_the_value_that_so_many_of_a_hundred_do_not_exceed(void **state)
{
	uint64_t values[200], one[] = {7};

	(void)state;
	for (size_t i = 0; i < 200; i++)
		values[i] = 200 - i;

	assert_int_equal(bench_rank(values, 200, 50), 100);
	assert_int_equal(bench_rank(values, 200, 99), 198);
	assert_int_equal(bench_rank(values, 200, 100), 200);
	assert_int_equal(bench_rank(values, 200, 0), 1);
	assert_int_equal(bench_rank(one, 1, 99), 7);
}

/* A transfer within this process. */
struct own {
	uint8_t *pattern, *sink;
	uint64_t len_ns[OPS];
	struct bench_transfer bench;
};

static void
own_open(struct own *own)
{
	own->pattern = malloc(PATTERN_BYTES);
	own->sink = calloc(DEPTH, SIZE_BYTES);
	assert_true(own->pattern != NULL && own->sink != NULL);
	for (size_t i = 0; i < PATTERN_BYTES; i++)
		own->pattern[i] = (uint8_t)(i * 131 + i / 251);
	own->bench = (struct bench_transfer){.clock = clock_real(),
					     .pattern = own->pattern,
					     .pattern_bytes = PATTERN_BYTES,
					     .sink = own->sink,
					     .sink_bytes = DEPTH * SIZE_BYTES,
					     .verify = true};
}

static void
own_close(struct own *own)
{
	bench_transfer_close(&own->bench);
	free(own->pattern);
	free(own->sink);
}

static struct bench_load
load_of(struct own *own, enum op_kind kind)
{
	return (struct bench_load){.kind = kind,
				   .size_bytes = SIZE_BYTES,
				   .depth = DEPTH,
				   .n_ops = OPS,
				   .len_ns = own->len_ns};
}

static void
transfer__within_this_process__is_timed_and_its_bytes_are_right(void **state)
{
	struct bench_load load;
	struct bench_speed speed;
	struct own own;

	(void)state;
	own_open(&own);
	assert_int_equal(bench_transfer_open(&own.bench, "local"), 0);
	load = load_of(&own, OP_READ);
	assert_int_equal(bench_transfer_reaches(&own.bench, OP_READ), 0);
	assert_int_equal(bench_transfer_run(&own.bench, &load, &speed), 0);
	assert_int_equal(speed.n_wrong, 0);
	assert_true(speed.elapsed_ns > 0 && speed.p50_ns <= speed.p99_ns);
	assert_true(speed.p99_ns <= speed.max_ns && speed.max_ns <= speed.elapsed_ns);
	own_close(&own);
}

static void
bytes__that_are_not_the_patterns__are_counted_and_written_over(void **state)
{
	struct bench_load read, write;
	struct bench_speed speed;
	struct own own;

	(void)state;
	own_open(&own);
	assert_int_equal(bench_transfer_open(&own.bench, "local"), 0);
	read = load_of(&own, OP_READ);
	write = load_of(&own, OP_WRITE);
	memset(own.bench.lent->bytes, 0, own.bench.lent->size_bytes);
	assert_int_equal(bench_transfer_run(&own.bench, &read, &speed), 0);
	assert_int_equal(speed.n_wrong, OPS);
	assert_int_equal(bench_transfer_run(&own.bench, &write, &speed), 0);
	assert_int_equal(bench_transfer_run(&own.bench, &read, &speed), 0);
	assert_int_equal(speed.n_wrong, 0);
	own_close(&own);
}

static void
transport__that_does_not_get_there__is_told_apart_from_a_failure(void **state)
{
	struct own own;

	(void)state;
	own_open(&own);
	for (size_t i = 1; bench_way(i) != NULL; i++) { /* all but local */
		int r = bench_transfer_open(&own.bench, bench_way(i));

		if (r == 0)
			r = bench_transfer_reaches(&own.bench, OP_READ);
		assert_int_equal(r, BENCH_TRANSFER_E_CANT);
		bench_transfer_close(&own.bench);
	}
	own_close(&own);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rank__is_the_value_that_so_many_of_a_hundred_do_not_exceed),
		cmocka_unit_test(transfer__within_this_process__is_timed_and_its_bytes_are_right),
		cmocka_unit_test(bytes__that_are_not_the_patterns__are_counted_and_written_over),
		cmocka_unit_test(transport__that_does_not_get_there__is_told_apart_from_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
