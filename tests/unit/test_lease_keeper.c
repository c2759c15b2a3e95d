/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lease_keeper.h"
#include "tests/unit/core_world.h"

static uint8_t seen[4096];

static struct tiffin_view *
open_view(struct world *w, const char *key)
{
	struct tiffin_view *view;

	assert_int_equal(tiffin_view_open(w->client, key, &view), 0);
	return view;
}

static int
read_view(struct tiffin_view *view, uint64_t at, size_t n)
{
	const struct iovec slice = {seen, n};
	uint64_t len;

	return tiffin_view_read(view, at, &slice, 1, &len);
}

static void
kept_lease__is_renewed_at_its_half_by_the_tick(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	view = open_view(w, "a");
	client_tick(w->client);
	assert_int_equal(w->n_heard[MSG_renew_lease], 0);

	for (int i = 0; i < 20; i++) {
		clock_fake_advance_ms(&w->clock, WORLD_LEASE_MS / 2);
		client_tick(w->client);
	}

	assert_int_equal(w->n_heard[MSG_renew_lease], 20);
	assert_int_equal(read_view(view, 0, 5), 0);
	assert_memory_equal(seen, "bytes", 5);
	tiffin_view_close(view);
}

static void
many_kept_leases__are_renewed_in_few_requests_and_each_goes_on(void **state)
{
	struct world *w = *state;
	struct tiffin_view *views[100];

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	for (size_t i = 0; i < 100; i++)
		views[i] = open_view(w, "a");
	for (size_t i = 0; i < 100; i += 3)
		tiffin_view_close(views[i]);

	clock_fake_advance_ms(&w->clock, WORLD_LEASE_MS / 2);
	client_tick(w->client);
	clock_fake_advance_ms(&w->clock, WORLD_LEASE_MS - 1);
	w->link_outcome = LINK_E_LOST; /* so that a look can't win a lease back */

	assert_int_equal(w->n_heard[MSG_renew_lease], 2); /* 66 leases, 64 a request */
	for (size_t i = 0; i < 100; i++) {
		if (i % 3 == 0)
			continue;
		assert_int_equal(tiffin_view_check(views[i]), 0);
		tiffin_view_close(views[i]);
	}
}

static void
lease_that_the_master_forgot__goes_on_when_the_object_is_the_same(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view;

	assert_int_equal(world_put(w, "a", "bytes", 5, 2), 0);
	view = open_view(w, "a");
	w->forgets_leases = true;
	clock_fake_advance_ms(&w->clock, 10 * WORLD_LEASE_MS);

	assert_int_equal(tiffin_view_check(view), 0);
	assert_int_equal(read_view(view, 0, 5), 0);

	tiffin_view_close(view);
}

static void
lease_on_an_object_that_was_replaced__is_lost_for_good(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	view = open_view(w, "a");
	w->forgets_leases = true;
	w->objects[0].object_id = 999; /* the same key and places, but another version */
	clock_fake_advance_ms(&w->clock, WORLD_LEASE_MS);

	assert_int_equal(read_view(view, 0, 5), TIFFIN_E_LEASE);
	w->forgets_leases = false;
	assert_int_equal(tiffin_view_check(view), TIFFIN_E_LEASE);

	tiffin_view_close(view);
}

/* The master was restarted: it knows no lease.  From now on copy i of the object lies elsewhere. */
static void
move_copy(struct world *w, size_t i, const char *bytes)
{
	struct rec_extent *extent = &w->objects[0].replicas[i].extents[0];
	uint8_t *at = w->lents[w->objects[0].replicas[i].segment]->bytes;

	memset(at + extent->offset_bytes, 'x', extent->len_bytes); /* somebody else's by now */
	extent->offset_bytes += 4096;
	memcpy(at + extent->offset_bytes, bytes, extent->len_bytes);
}

static void
forget(struct world *w)
{
	w->forgets_leases = true;
	clock_fake_advance_ms(&w->clock, WORLD_LEASE_MS);
}

static void
view_of_an_object_that_moved__goes_on_where_it_lies_now(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	view = open_view(w, "a");
	forget(w);
	move_copy(w, 0, "bytes");

	assert_int_equal(tiffin_view_check(view), 0);
	assert_int_equal(read_view(view, 0, 5), 0);
	assert_memory_equal(seen, "bytes", 5);
	tiffin_view_close(view);
}

static void
view_of_an_object_that_lost_one_of_its_copies__goes_on_with_the_other(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view;
	const uint8_t *first;

	assert_int_equal(world_put(w, "a", "bytes", 5, 2), 0);
	view = open_view(w, "a");
	forget(w);
	first = w->lents[w->objects[0].replicas[0].segment]->bytes;
	memset((uint8_t *)(uintptr_t)first + w->objects[0].replicas[0].extents[0].offset_bytes, 'x',
	       5);
	w->objects[0].replicas[0] = w->objects[0].replicas[1];
	w->objects[0].n_replicas = 1;

	for (int i = 0; i < 4; i++) {
		memset(seen, 0, sizeof(seen));
		assert_int_equal(read_view(view, 0, 5), 0);
		assert_memory_equal(seen, "bytes", 5);
	}
	assert_int_equal(tiffin_view_check(view), 0);
	tiffin_view_close(view);
	client_tick(w->client);
	assert_int_equal(w->n_released, 2); /* those of both looks; the first is not known */
}

static bool has_moved;

static void
move_in_mid_read(struct world *w, uint16_t type)
{
	if (type != MSG_query_segment || has_moved)
		return;
	has_moved = true;
	forget(w);
	move_copy(w, 0, "bytes");
}

static void
bytes_read_while_the_object_moved__are_read_again(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	where_drop(&w->client->where, w->lents[0]->segment_id);
	w->objects[0].crc = 0; /* so that the sum does not tell */
	view = open_view(w, "a");
	has_moved = false;
	w->on_call = move_in_mid_read; /* its lease was good when the read began */

	assert_int_equal(read_view(view, 0, 3), 0);
	assert_true(has_moved);
	assert_memory_equal(seen, "byt", 3);
	w->on_call = NULL;
	tiffin_view_close(view);
}

static void
borrowed_bytes_whose_copy_moved__are_void__while_reads_go_on(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view;
	const void *bytes;
	uint64_t len;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	view = open_view(w, "a");
	assert_int_equal(tiffin_view_borrow(view, 0, &bytes, &len), 0);
	forget(w);
	move_copy(w, 0, "bytes");

	assert_int_equal(tiffin_view_check(view), TIFFIN_E_LEASE);
	assert_int_equal(read_view(view, 0, 5), 0);
	assert_memory_equal(seen, "bytes", 5);
	assert_int_equal(tiffin_view_check(view), TIFFIN_E_LEASE);
	assert_int_equal(tiffin_view_return(view, 2), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_view_return(view, 1), 0);
	assert_int_equal(tiffin_view_check(view), 0);
	assert_int_equal(tiffin_view_borrow(view, 0, &bytes, &len), 0);
	assert_memory_equal(bytes, "bytes", 5);
	assert_int_equal(tiffin_view_check(view), 0);
	tiffin_view_close(view);
}

static void
borrowed_bytes__while_another_copy_is_lost__stay(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view;
	const void *bytes;
	uint64_t len;

	assert_int_equal(world_put(w, "a", "bytes", 5, 2), 0);
	view = open_view(w, "a");
	assert_int_equal(tiffin_view_borrow(view, 0, &bytes, &len), 0);
	forget(w);
	move_copy(w, 1, "bytes");

	assert_int_equal(tiffin_view_check(view), 0);
	assert_memory_equal(bytes, "bytes", 5);
	tiffin_view_close(view);
}

static void
object_of_the_same_id__in_another_cluster__is_another(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view;

	w->session.cluster_id = 77;
	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	view = open_view(w, "a");
	forget(w);
	w->session.cluster_id = 78; /* fresh books at the same address */

	assert_int_equal(tiffin_view_check(view), TIFFIN_E_LEASE);
	assert_int_equal(read_view(view, 0, 5), TIFFIN_E_LEASE);
	w->session.cluster_id = 77;
	assert_int_equal(tiffin_view_check(view), TIFFIN_E_LEASE); /* for good */
	tiffin_view_close(view);
}

static void
lease_without_a_view__goes_on_wherever_the_copies_lie(void **state)
{
	struct world *w = *state;
	struct tiffin_lease *lease;
	int result;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	assert_int_equal(
		tiffin_lease_take(w->client, (const char *const[]){"a"}, 1, &result, &lease), 0);
	forget(w);
	move_copy(w, 0, "bytes");
	client_tick(w->client);
	assert_int_equal(tiffin_lease_check(lease, 0), 0);
	tiffin_lease_drop(lease);
}

static void
lease__while_the_master_is_away__is_not_given_up_before_it_is_over(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	view = open_view(w, "a");
	w->link_outcome = LINK_E_LOST;
	clock_fake_advance_ms(&w->clock, WORLD_LEASE_MS - 1);
	client_tick(w->client);
	assert_int_equal(tiffin_view_check(view), 0);

	clock_fake_advance_ms(&w->clock, 1);
	assert_int_equal(tiffin_view_check(view), TIFFIN_E_LEASE);

	w->link_outcome = 0;
	assert_int_equal(tiffin_view_check(view), 0); /* it was never lost, only not proven */
	tiffin_view_close(view);
}

static void
closed_view__gives_its_lease_back(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	view = open_view(w, "a");

	tiffin_view_close(view);
	client_tick(w->client);

	assert_int_equal(w->n_released, 1);
}

static void
releases__are_told_in_one_request_for_many(void **state)
{
	struct world *w = *state;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	for (int i = 0; i < RELEASES_MAX; i++)
		assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), 0);
	assert_int_equal(w->n_heard[MSG_release_lease], 0);

	client_tick(w->client);

	assert_int_equal(w->n_heard[MSG_release_lease], 1);
	assert_int_equal(w->n_released, RELEASES_MAX);
}

static void
view__lends_the_bytes_where_they_lie(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view;
	const void *bytes;
	uint64_t len;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	view = open_view(w, "a");

	assert_int_equal(tiffin_view_borrow(view, 2, &bytes, &len), 0);

	assert_int_equal(len, 3);
	assert_memory_equal(bytes, "tes", 3);
	assert_int_equal(tiffin_view_borrow(view, 5, &bytes, &len), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_view_check(view), 0);
	tiffin_view_close(view);
}

static void
view__of_a_missing_key__is_not_found(void **state)
{
	struct world *w = *state;
	struct tiffin_view *view = NULL;

	assert_int_equal(tiffin_view_open(w->client, "nobody", &view), TIFFIN_E_NOT_FOUND);

	assert_null(view);
	assert_int_equal(read_view(NULL, 0, 1), TIFFIN_E_INVALID);
	tiffin_view_close(NULL);
}

#define PLACES 64u

static int
by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The numbers of segments and epochs are small and near each other: their sums are often equal. */
static void
shape__of_no_two_places__is_the_same(void **state)
{
	static uint64_t shapes[PLACES * PLACES];
	size_t n = 0;

	(void)state;
	for (uint64_t segment_id = 1; segment_id <= PLACES; segment_id++) {
		for (uint64_t epoch = 1; epoch <= PLACES; epoch++) {
			struct rec_extent extent = {.offset_bytes = 0, .len_bytes = 4096};
			struct rec_replica replica = {.segment_id = segment_id,
						      .segment_epoch = epoch,
						      .n_extents = 1,
						      .extents = &extent};
			struct rec_object_place place = {
				.len_bytes = 4096, .n_replicas = 1, .replicas = &replica};

			shapes[n++] = lease_shape(&place);
		}
	}
	qsort(shapes, n, sizeof(shapes[0]), by_number);
	for (size_t i = 1; i < n; i++)
		assert_true(shapes[i - 1] != shapes[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(kept_lease__is_renewed_at_its_half_by_the_tick),
		world_test(many_kept_leases__are_renewed_in_few_requests_and_each_goes_on),
		world_test(lease_that_the_master_forgot__goes_on_when_the_object_is_the_same),
		world_test(lease_on_an_object_that_was_replaced__is_lost_for_good),
		world_test(view_of_an_object_that_moved__goes_on_where_it_lies_now),
		world_test(view_of_an_object_that_lost_one_of_its_copies__goes_on_with_the_other),
		world_test(bytes_read_while_the_object_moved__are_read_again),
		world_test(borrowed_bytes_whose_copy_moved__are_void__while_reads_go_on),
		world_test(borrowed_bytes__while_another_copy_is_lost__stay),
		world_test(object_of_the_same_id__in_another_cluster__is_another),
		world_test(lease_without_a_view__goes_on_wherever_the_copies_lie),
		world_test(lease__while_the_master_is_away__is_not_given_up_before_it_is_over),
		cmocka_unit_test(shape__of_no_two_places__is_the_same),
		world_test(closed_view__gives_its_lease_back),
		world_test(releases__are_told_in_one_request_for_many),
		world_test(view__lends_the_bytes_where_they_lie),
		world_test(view__of_a_missing_key__is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
