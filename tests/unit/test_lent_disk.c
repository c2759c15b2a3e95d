/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>

#include "tests/unit/xfer_world.h"
#include "transfer/disk.h"
#include "transfer/lent_disk.h"

#define SIZE (2ull << 20)

struct place {
	struct rand rand;
	char dir[64], path[128];
};

static int
setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	rand_init(&p->rand, 1);
	snprintf(p->dir, sizeof(p->dir), "/tmp/tiffin-test-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/segment", p->dir);
	*state = p;
	return 0;
}

static int
teardown(void **state)
{
	struct place *p = *state;

	unlink(p->path);
	rmdir(p->dir);
	free(p);
	return 0;
}

struct how {
	bool wipe, is_synced;
	uint32_t rest_ms;
	const struct clock *clock;
	uint64_t size_bytes;
};

static int
open_as(struct place *p, struct how how, struct lent **ret_lent)
{
	const struct lent_config config = {.path = p->path,
					   .is_on_disk = true,
					   .is_synced = how.is_synced,
					   .wipe = how.wipe,
					   .rest_ms = how.rest_ms,
					   .clock = how.clock,
					   .size_bytes =
						   how.size_bytes != 0 ? how.size_bytes : SIZE};

	return lent_open(&config, &p->rand, ret_lent);
}

static struct lent *
opened(struct place *p, struct how how)
{
	struct lent *lent;

	assert_int_equal(open_as(p, how, &lent), 0);
	assert_non_null(lent->disk);
	assert_null(lent->bytes);
	return lent;
}

static void
put_byte(struct lent *lent, uint8_t byte)
{
	_Alignas(4096) uint8_t block[4096];

	memset(block, byte, sizeof(block));
	assert_int_equal(disk_write(lent->disk, LENT_HEADER_BYTES, block, sizeof(block)), 0);
}

static uint8_t
get_byte(struct lent *lent)
{
	_Alignas(4096) uint8_t block[4096];

	assert_int_equal(disk_read(lent->disk, LENT_HEADER_BYTES, block, sizeof(block)), 0);
	return block[0];
}

/* left_open -- the page as who was stopped leaves it, on a machine that has been started since. */
static void
left_open(struct place *p, bool is_synced, const char *opened_at)
{
	struct lent_disk_page page;
	int fd = open(p->path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &page, sizeof(page), 0), sizeof(page));
	assert_true(lent_disk_page_is_right(&page));
	page.is_open = 1;
	page.is_synced = is_synced;
	snprintf(page.opened_at, sizeof(page.opened_at), "%s", opened_at);
	page.crc = crc_of(0, &page, offsetof(struct lent_disk_page, crc));
	assert_int_equal(pwrite(fd, &page, sizeof(page), 0), sizeof(page));
	close(fd);
}

static void
open__of_a_new_file__sets_its_room_aside(void **state)
{
	struct place *p = *state;
	struct lent *lent = opened(p, (struct how){0});
	struct stat st;

	assert_false(lent->was_adopted);
	assert_true(lent->segment_id != 0 && lent->epoch != 0);
	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_size, LENT_HEADER_BYTES + SIZE);
	assert_true(st.st_blocks * 512ll >= (long long)SIZE);
	assert_int_equal(st.st_mode & 0777, 0600);
	lent_close(lent);
}

static void
open__after_a_good_end__adopts_id_epoch_and_bytes(void **state)
{
	struct place *p = *state;
	struct lent *lent = opened(p, (struct how){0});
	uint64_t id = lent->segment_id, epoch = lent->epoch;

	put_byte(lent, 77);
	assert_int_equal(lent_remember(lent, 5, 5000), 0);
	lent_has_master(lent);
	lent_close(lent);
	lent = opened(p, (struct how){0});

	assert_true(lent->was_adopted);
	assert_int_equal(lent->segment_id, id);
	assert_int_equal(lent->epoch, epoch);
	assert_int_equal(get_byte(lent), 77);
	assert_int_equal(lent_remember(lent, 6, 100), 5);
	assert_int_equal(lent_longest_lease_ms(lent), 5000);
	lent_close(lent);
}

static void
open__of_a_file_that_another_process_has__is_refused(void **state)
{
	struct place *p = *state;
	struct lent *lent = opened(p, (struct how){0}), *other;

	assert_int_equal(open_as(p, (struct how){0}, &other), LENT_E_IN_USE);
	assert_int_equal(open_as(p, (struct how){.wipe = true}, &other), LENT_E_IN_USE);
	lent_close(lent);
}

static void
open__after_a_kill_on_a_machine_that_goes_on__adopts_the_bytes(void **state)
{
	struct place *p = *state;
	struct lent *lent = opened(p, (struct how){0});
	uint64_t epoch = lent->epoch;

	lent_close(lent);
	left_open(p, false, host_id());
	lent = opened(p, (struct how){0});

	assert_true(lent->was_adopted);
	assert_false(lent->was_lost);
	assert_int_equal(lent->epoch, epoch);
	lent_close(lent);
}

static void
open__of_what_was_not_closed__rests_where_its_disk_may_still_write(void **state)
{
	struct place *p = *state;
	struct clock_fake clock;
	struct how how = {.rest_ms = 15000, .clock = &clock.base};
	struct lent *lent;

	clock_fake_init(&clock, 1000);
	lent_close(opened(p, how));
	lent_close(opened(p, how)); /* nobody had it before; it was closed */
	assert_int_equal(clock_ms(&clock.base), 1000);
	left_open(p, false, host_id());

	lent = opened(p, how);

	assert_int_equal(clock_ms(&clock.base), 16000);
	assert_true(lent->was_adopted);
	lent_close(lent);
}

static void
close__of_a_disk_that_failed__leaves_it_to_rest(void **state)
{
	struct place *p = *state;
	struct clock_fake clock;
	struct how how = {.rest_ms = 15000, .clock = &clock.base};
	struct lent *lent;

	clock_fake_init(&clock, 1000);
	lent = opened(p, how);
	atomic_store(&lent->disk->is_failing, true); /* a write of which nobody knows where it is */
	lent_close(lent);

	lent = opened(p, how);

	assert_int_equal(clock_ms(&clock.base), 16000);
	lent_close(lent);
}

static void
open__after_a_stop_of_the_machine__begins_a_new_life(void **state)
{
	struct place *p = *state;
	struct lent *lent = opened(p, (struct how){0});
	uint64_t id = lent->segment_id, epoch = lent->epoch;

	lent_close(lent);
	left_open(p, false, "another start");
	lent = opened(p, (struct how){0});

	assert_true(lent->was_lost);
	assert_false(lent->was_adopted);
	assert_true(lent->segment_id != id && lent->epoch != epoch);
	assert_true(lent_remember(lent, 9, 5000) != 0); /* others may know this room */
	lent_close(lent);
}

static void
open__after_a_stop_of_the_machine_when_each_write_was_synced__adopts_the_bytes(void **state)
{
	struct place *p = *state;
	struct lent *lent = opened(p, (struct how){.is_synced = true});
	uint64_t epoch = lent->epoch;

	put_byte(lent, 5);
	lent_close(lent);
	left_open(p, true, "another start");
	lent = opened(p, (struct how){0});

	assert_true(lent->was_adopted);
	assert_int_equal(lent->epoch, epoch);
	assert_int_equal(get_byte(lent), 5);
	lent_close(lent);
}

static void
open__after_a_stop_of_the_machine_at_rest__adopts_the_bytes(void **state)
{
	struct place *p = *state;
	struct lent *lent = opened(p, (struct how){0});
	uint64_t epoch = lent->epoch;
	struct lent_disk_page page;
	int fd;

	lent_close(lent);
	fd = open(p->path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, &page, sizeof(page), 0), sizeof(page));
	close(fd);
	assert_int_equal(page.is_open, 0);
	lent = opened(p, (struct how){0});

	assert_int_equal(lent->epoch, epoch);
	lent_close(lent);
}

static void
open__of_a_page_with_any_bit_wrong__is_refused_and_nothing_changes(void **state)
{
	struct place *p = *state;
	struct lent *lent = opened(p, (struct how){0});
	uint8_t page[sizeof(struct lent_disk_page)], now[sizeof(page)];
	int fd;

	lent_close(lent);
	fd = open(p->path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, page, sizeof(page), 0), sizeof(page));
	for (size_t i = 0; i < sizeof(page); i++) {
		page[i] ^= 1;
		assert_int_equal(pwrite(fd, page, sizeof(page), 0), sizeof(page));
		assert_int_equal(open_as(p, (struct how){0}, &lent), LENT_E_DAMAGED);
		assert_int_equal(pread(fd, now, sizeof(now), 0), sizeof(now));
		assert_memory_equal(now, page, sizeof(page));
		page[i] ^= 1;
	}
	close(fd);
}

static void
open__of_a_file_that_is_another_s__is_refused_and_nothing_changes(void **state)
{
	static const char words[] = "somebody's diary";
	struct place *p = *state;
	struct lent *lent;
	char now[sizeof(words)];
	struct stat st;
	int fd = open(p->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, words, sizeof(words)), sizeof(words));
	assert_int_equal(open_as(p, (struct how){0}, &lent), LENT_E_DAMAGED);
	assert_int_equal(pread(fd, now, sizeof(now), 0), sizeof(now));
	assert_memory_equal(now, words, sizeof(words));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, sizeof(words));
	close(fd);
}

static void
open__with_another_size__is_refused(void **state)
{
	struct place *p = *state;
	struct lent *lent = opened(p, (struct how){0});

	lent_close(lent);

	assert_int_equal(open_as(p, (struct how){.size_bytes = 2 * SIZE}, &lent), LENT_E_DAMAGED);
	assert_int_equal(open_as(p, (struct how){.size_bytes = SIZE / 2}, &lent), LENT_E_DAMAGED);
}

static void
open__with_wipe__begins_a_new_life_in_another_file(void **state)
{
	struct place *p = *state;
	struct lent *lent = opened(p, (struct how){0});
	uint64_t id = lent->segment_id;
	struct stat before, after;

	put_byte(lent, 3);
	assert_int_equal(fstat(lent->fd, &before), 0);
	lent_close(lent);
	lent = opened(p, (struct how){.wipe = true});

	assert_false(lent->was_adopted);
	assert_true(lent->segment_id != id);
	assert_int_equal(get_byte(lent), 0);
	assert_int_equal(fstat(lent->fd, &after), 0);
	lent_close(lent);
}

static void
open__with_more_room_than_there_is__says_so_and_leaves_no_file(void **state)
{
	struct place *p = *state;
	struct lent *lent;
	int r = open_as(p, (struct how){.size_bytes = LENT_SIZE_MAX - 4096}, &lent);

	assert_int_equal(r, LENT_E_NO_ROOM);
	assert_int_equal(access(p->path, F_OK), -1);
}

static void
remember__on_a_disk_that_fails__has_every_write_refused(void **state)
{
	struct place *p = *state;
	struct lent *lent = opened(p, (struct how){0});
	_Alignas(4096) uint8_t block[4096] = {0};

	atomic_store(&lent->disk->is_failing, true);
	(void)lent_remember(lent, 7, 5000);

	assert_int_equal(disk_write(lent->disk, LENT_HEADER_BYTES, block, sizeof(block)), -EIO);
	lent_close(lent);
}

static void
reopen__for_reading__gives_a_descriptor_past_the_page_cache_that_can_t_write(void **state)
{
	struct place *p = *state;
	struct lent *lent = opened(p, (struct how){0});
	int fd;

	assert_int_equal(lent_reopen(lent, false, &fd), 0);

	assert_int_equal(fcntl(fd, F_GETFL) & (O_ACCMODE | O_DIRECT | O_NONBLOCK),
			 O_RDONLY | O_DIRECT);
	close(fd);
	lent_close(lent);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(open__of_a_new_file__sets_its_room_aside),
		T(open__after_a_good_end__adopts_id_epoch_and_bytes),
		T(open__of_a_file_that_another_process_has__is_refused),
		T(open__after_a_kill_on_a_machine_that_goes_on__adopts_the_bytes),
		T(open__of_what_was_not_closed__rests_where_its_disk_may_still_write),
		T(close__of_a_disk_that_failed__leaves_it_to_rest),
		T(open__after_a_stop_of_the_machine__begins_a_new_life),
		T(open__after_a_stop_of_the_machine_when_each_write_was_synced__adopts_the_bytes),
		T(open__after_a_stop_of_the_machine_at_rest__adopts_the_bytes),
		T(open__of_a_page_with_any_bit_wrong__is_refused_and_nothing_changes),
		T(open__of_a_file_that_is_another_s__is_refused_and_nothing_changes),
		T(open__with_another_size__is_refused),
		T(open__with_wipe__begins_a_new_life_in_another_file),
		T(open__with_more_room_than_there_is__says_so_and_leaves_no_file),
		T(remember__on_a_disk_that_fails__has_every_write_refused),
		T(reopen__for_reading__gives_a_descriptor_past_the_page_cache_that_can_t_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
