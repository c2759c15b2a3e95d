/* SPDX-License-Identifier: Apache-2.0 */

/* The client's stories again and again, each time with another allocation that fails. */
#include "tests/unit/allocs.h"
#include "tests/unit/core_world.h"

static uint8_t sent[2500000], seen[2500000];

/* The little master never runs out of memory. */
static int
call_with_memory(struct link *link, uint16_t type, const struct buf *payload, uint64_t until_ns,
		 struct link_reply *ret_reply)
{
	unsigned left = allocs_left;
	int r;

	allocs_succeed();
	r = toy_call(link, type, payload, until_ns, ret_reply);
	allocs_left = left;
	return r;
}

static void
post_with_memory(struct link *link, uint16_t type, const struct buf *payload)
{
	unsigned left = allocs_left;

	allocs_succeed();
	toy_post(link, type, payload);
	allocs_left = left;
}

static const struct link_ops ops_with_memory = {.call = call_with_memory,
						.post = post_with_memory,
						.session = toy_session,
						.stop = toy_nothing,
						.free = toy_nothing};

static int
put_and_get(struct world *w)
{
	uint64_t len;
	int r = world_put(w, "a", sent, 5000, 2);

	if (r == 0)
		r = world_get(w, "a", seen, sizeof(seen), &len);
	if (r == 0)
		assert_memory_equal(seen, sent, 5000);
	return r;
}

static int
batches(struct world *w)
{
	struct iovec from[2] = {{sent, 100}, {sent + 100, 200}},
		     to[2] = {{seen, 100}, {seen + 100, 200}};
	struct tiffin_item puts[2] = {{.key = "b", .slices = &from[0], .n_slices = 1},
				      {.key = "c", .slices = &from[1], .n_slices = 1}};
	struct tiffin_item gets[2] = {{.key = "b", .slices = &to[0], .n_slices = 1},
				      {.key = "c", .slices = &to[1], .n_slices = 1}};
	int r = tiffin_put_batch(w->client, puts, 2, NULL);

	for (size_t i = 0; r == 0 && i < 2; i++)
		r = puts[i].result;
	if (r == 0)
		r = tiffin_get_batch(w->client, gets, 2);
	for (size_t i = 0; r == 0 && i < 2; i++)
		r = gets[i].result;
	if (r == 0)
		assert_memory_equal(seen, sent, 300);
	return r;
}

static int
stream(struct world *w)
{
	const struct tiffin_put_options options = {
		.struct_bytes = sizeof(options), .attr = "attr", .attr_bytes = 4};
	struct tiffin_put *put;
	uint64_t len;
	int r = tiffin_put_begin(w->client, "s", 0, &options, &put);

	if (r != 0)
		return r;
	for (size_t at = 0; r == 0 && at < 2500000; at += 250000) {
		const struct iovec slice = {sent + at, 250000};

		r = tiffin_put_write(put, at, &slice, 1);
	}
	if (r != 0) {
		tiffin_put_abort(put);
		return r;
	}
	r = tiffin_put_commit(put, "other", 5, NULL);
	if (r == 0)
		r = world_get(w, "s", seen, sizeof(seen), &len);
	if (r == 0)
		assert_memory_equal(seen, sent, 2500000);
	return r;
}

static int
view(struct world *w)
{
	const struct iovec slice = {seen, 100};
	struct tiffin_view *v;
	const void *bytes;
	uint64_t len;
	int r = world_put(w, "v", sent, 5000, 1);

	if (r == 0)
		r = tiffin_view_open(w->client, "v", &v);
	if (r != 0)
		return r;
	r = tiffin_view_read(v, 50, &slice, 1, &len);
	if (r == 0)
		r = tiffin_view_borrow(v, 0, &bytes, &len);
	clock_fake_advance_ms(&w->clock, WORLD_LEASE_MS / 2);
	client_tick(w->client);
	tiffin_view_close(v);
	return r;
}

/* walk -- the story with the 1st, 2nd, ... allocation failing, until it goes through. */
static void
walk(int (*story)(struct world *w))
{
	world_pattern(sent, sizeof(sent), 6);
	for (unsigned n = 0;; n++) {
		struct world w;
		int r;

		world_init(&w, NULL);
		w.link.ops = &ops_with_memory;
		allocs_fail_after(n);
		r = story(&w);
		allocs_succeed();
		for (size_t i = 0; i < WORLD_OBJECTS && r != 0; i++)
			assert_true(!w.objects[i].is_there || w.objects[i].is_complete ||
				    w.n_heard[MSG_put_revoke] == 0);
		world_fini(&w);
		if (r == 0)
			return; /* nothing was left to fail */
		assert_true(r == TIFFIN_E_SYSTEM || r == TIFFIN_E_NOT_FOUND);
		assert_true(n < 500);
	}
}

static void
put_and_get__survive_the_failure_of_each_allocation(void **state)
{
	(void)state;
	walk(put_and_get);
}

static void
batches__survive_the_failure_of_each_allocation(void **state)
{
	(void)state;
	walk(batches);
}

static void
stream__survives_the_failure_of_each_allocation(void **state)
{
	(void)state;
	walk(stream);
}

static void
view__survives_the_failure_of_each_allocation(void **state)
{
	(void)state;
	walk(view);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_and_get__survive_the_failure_of_each_allocation),
		cmocka_unit_test(batches__survive_the_failure_of_each_allocation),
		cmocka_unit_test(stream__survives_the_failure_of_each_allocation),
		cmocka_unit_test(view__survives_the_failure_of_each_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
