/* SPDX-License-Identifier: Apache-2.0 */

/* Memory that is made ready by another thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "master/warm.h"

#define PAGE_BYTES 4096u
#define N_PAGES    512u
#define LEN_BYTES  (N_PAGES * PAGE_BYTES)

struct stove {
	struct warm *warm;
	uint8_t *memory;
};

static int
setup(void **state)
{
	struct stove *stove = calloc(1, sizeof(*stove));

	assert_non_null(stove);
	assert_int_equal(warm_new(&stove->warm), 0);
	stove->memory =
		mmap(NULL, LEN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(stove->memory, MAP_FAILED);
	*state = stove;
	return 0;
}

static int
teardown(void **state)
{
	struct stove *stove = *state;

	warm_free(stove->warm);
	munmap(stove->memory, LEN_BYTES);
	free(stove);
	return 0;
}

static size_t
n_resident(const struct stove *stove)
{
	unsigned char resident[N_PAGES];
	size_t n = 0;

	assert_int_equal(mincore(stove->memory, LEN_BYTES, resident), 0);
	for (size_t i = 0; i < N_PAGES; i++)
		n += resident[i] & 1;
	return n;
}

static void
memory__asked_for__is_there_before_it_is_touched(void **state)
{
	struct stove *stove = *state;

	assert_int_equal(n_resident(stove), 0);
	warm_ask(stove->warm, stove->memory, LEN_BYTES);
	warm_rest(stove->warm);
	if (madvise(stove->memory, PAGE_BYTES, 23) != 0)
		skip(); /* a kernel that can't */
	assert_int_equal(n_resident(stove), N_PAGES);
}

static void
memory__in_use__keeps_its_contents(void **state)
{
	struct stove *stove = *state;

	memset(stove->memory, 7, 3 * PAGE_BYTES);
	warm_ask(stove->warm, stove->memory, LEN_BYTES);
	stove->memory[LEN_BYTES - 1] = 9;
	warm_rest(stove->warm);
	for (size_t i = 0; i < 3 * PAGE_BYTES; i++)
		assert_int_equal(stove->memory[i], 7);
	assert_int_equal(stove->memory[3 * PAGE_BYTES], 0);
	assert_int_equal(stove->memory[LEN_BYTES - 1], 9);
}

static void
more_than_it_remembers__is_asked_for_in_vain_and_waits_for_nobody(void **state)
{
	struct stove *stove = *state;

	for (unsigned i = 0; i < 100 * WARM_ASKS_MAX; i++)
		warm_ask(stove->warm, stove->memory + i % N_PAGES * PAGE_BYTES, PAGE_BYTES);
	warm_rest(stove->warm);
	warm_ask(stove->warm, stove->memory, PAGE_BYTES);
	warm_rest(stove->warm);
}

static void
memory__that_is_none__harms_nobody(void **state)
{
	struct stove *stove = *state;

	warm_ask(stove->warm, NULL, PAGE_BYTES);
	warm_rest(stove->warm);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory__asked_for__is_there_before_it_is_touched),
		TEST(memory__in_use__keeps_its_contents),
		TEST(more_than_it_remembers__is_asked_for_in_vain_and_waits_for_nobody),
		TEST(memory__that_is_none__harms_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
