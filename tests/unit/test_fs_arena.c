/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "fs/arena.h"
#include "fs/arena_limits.h"
#include "fs/fill.h"
#include "fs_fake.h"
#include "transfer/base/rand.h"

#define PAGE  FS_ARENA_PAGE
#define N_IDS 12

/* The file system in which the files would be: numbers alone. */
static struct {
	int last_fd, n_files, fail_code;
	uint64_t dropped[64];
	size_t n_dropped;
} disk;

static struct fs_arena arena;

static int
file_make(void *owner)
{
	assert_ptr_equal(owner, &disk);
	if (disk.fail_code != 0)
		return disk.fail_code;
	disk.n_files++;
	return ++disk.last_fd;
}

static void
file_drop(void *owner, const struct fs_slot *slot)
{
	assert_ptr_equal(owner, &disk);
	assert_false(lock_held(&arena.lock));
	disk.n_files -= slot->fd >= 0;
	disk.dropped[disk.n_dropped++ % array_len(disk.dropped)] = slot->object_id;
}

static const struct fs_arena_files files = {file_make, file_drop};

static int
setup(void **state)
{
	(void)state;
	memset(&disk, 0, sizeof(disk));
	fs_arena_init(&arena, (struct fs_arena_limits){16 * PAGE + 5, 100}, &files, &disk);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	fs_arena_fini(&arena);
	assert_int_equal(disk.n_files, 0);
	return 0;
}

static struct fs_slot *
make(uint64_t id, uint64_t len_bytes)
{
	struct fs_slot *slot;

	assert_int_equal(fs_arena_make(&arena, id, len_bytes, &slot), 0);
	return slot;
}

/* keep -- a filled slot that nobody uses. */
static void
keep(uint64_t id, uint64_t len_bytes)
{
	struct fs_slot *slot = make(id, len_bytes);

	fs_arena_filled(slot);
	fs_arena_let_go(slot);
}

static bool
is_kept(uint64_t id)
{
	struct fs_slot *slot = fs_arena_find(&arena, id);

	fs_arena_let_go(slot);
	return slot != NULL;
}

static void
fits__of_a_quarter_and_no_byte_more(void **state)
{
	(void)state;
	assert_true(fs_arena_fits(&arena, 1));
	assert_true(fs_arena_fits(&arena, 4 * PAGE));
	assert_false(fs_arena_fits(&arena, 4 * PAGE + 1));
	assert_false(fs_arena_fits(&arena, 0));
	assert_false(fs_arena_fits(&arena, UINT64_MAX));
}

static void
find__of_a_filled_one__gives_the_same_file_to_all(void **state)
{
	struct fs_slot *slot = make(7, PAGE);
	struct fs_arena_counts counts;

	(void)state;
	fs_arena_filled(slot);
	assert_ptr_equal(fs_arena_find(&arena, 7), slot);
	fs_arena_let_go(slot);
	fs_arena_let_go(slot);

	assert_ptr_equal(fs_arena_find(&arena, 7), slot);
	fs_arena_let_go(slot);
	fs_arena_count(&arena, &counts);
	assert_int_equal(counts.n_fills, 1);
	assert_int_equal(counts.n_hits, 2);
	assert_int_equal(disk.n_files, 1);
}

static void *
find_seven(void *arg)
{
	(void)arg;
	return fs_arena_find(&arena, 7);
}

static void
find_while_filling(bool becomes_filled)
{
	struct fs_slot *slot = make(7, PAGE), *other = NULL;
	pthread_t thread;
	void *found;

	assert_int_equal(fs_arena_make(&arena, 7, PAGE, &other), FS_ARENA_E_BUSY);
	assert_null(other);
	assert_int_equal(pthread_create(&thread, NULL, find_seven, NULL), 0);
	if (becomes_filled)
		fs_arena_filled(slot);
	else
		fs_arena_let_go(slot);
	assert_int_equal(pthread_join(thread, &found), 0);
	assert_ptr_equal(found, becomes_filled ? slot : NULL);
	if (becomes_filled) {
		fs_arena_let_go(slot);
		fs_arena_let_go(found);
	}
}

static void
find__of_one_that_is_being_filled__waits_for_how_it_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++)
		find_while_filling(/* becomes_filled= */ false);
	find_while_filling(/* becomes_filled= */ true);
}

static void
let_go__of_one_that_was_not_filled__leaves_nothing(void **state)
{
	struct fs_arena_counts counts;

	(void)state;
	fs_arena_let_go(make(7, PAGE));

	fs_arena_count(&arena, &counts);
	assert_int_equal(counts.used_bytes, 0);
	assert_int_equal(disk.n_files, 0);
	keep(7, PAGE);
	assert_true(is_kept(7));
}

static void
make__without_room__drops_who_was_used_longest_ago(void **state)
{
	(void)state;
	for (uint64_t id = 1; id <= 4; id++)
		keep(id, 4 * PAGE);
	assert_true(is_kept(1)); /* used again: 2 is the coldest now */
	keep(5, PAGE + 1);

	assert_int_equal(disk.n_dropped, 1);
	assert_int_equal(disk.dropped[0], 2);
	assert_true(is_kept(1));
	assert_false(is_kept(2));
}

static void
make__when_all_room_is_in_use__is_refused_and_drops_nothing(void **state)
{
	struct fs_slot *used[4], *slot = NULL;
	struct fs_arena_counts counts;

	(void)state;
	keep(9, PAGE);
	for (uint64_t id = 1; id <= 3; id++)
		used[id] = make(id, 4 * PAGE);
	used[0] = make(4, 3 * PAGE);
	assert_int_equal(fs_arena_make(&arena, 5, 2 * PAGE, &slot), FS_ARENA_E_FULL);

	assert_null(slot);
	assert_true(is_kept(9));
	fs_arena_count(&arena, &counts);
	assert_int_equal(counts.n_refused, 1);
	for (size_t i = 0; i < 4; i++)
		fs_arena_let_go(used[i]);
}

static void
make__of_more_files_than_there_may_be__drops_one_for_one(void **state)
{
	(void)state;
	fs_arena_fini(&arena);
	fs_arena_init(&arena, (struct fs_arena_limits){16 * PAGE, 3}, &files, &disk);
	for (uint64_t id = 1; id <= 5; id++)
		keep(id, 1);

	assert_int_equal(disk.n_files, 3);
	assert_false(is_kept(2));
	assert_true(is_kept(3));
}

static void
make__of_a_file_that_can_not_be__leaves_nothing(void **state)
{
	struct fs_arena_counts counts;
	struct fs_slot *slot = NULL;

	(void)state;
	disk.fail_code = -EMFILE;
	assert_int_equal(fs_arena_make(&arena, 1, PAGE, &slot), -EMFILE);

	assert_null(slot);
	fs_arena_count(&arena, &counts);
	assert_int_equal(counts.used_bytes, 0);
	assert_int_equal(counts.n_slots, 0);
}

/* Whatever is opened and closed: who has a slot keeps it, and the sum of rooms stays below the
 * size. */
static void
any_order_of_opens_and_closes__never_takes_a_used_file_away(void **state)
{
	struct fs_slot *used[N_IDS] = {0};
	struct fs_arena_counts counts;
	struct rand rand;

	(void)state;
	rand_init(&rand, 11);
	for (int step = 0; step < 20000; step++) {
		size_t i = rand_below(&rand, N_IDS);
		uint64_t id = i + 1, room = 0;

		if (used[i] != NULL) {
			assert_int_equal(used[i]->object_id, id);
			fs_arena_let_go(take(&used[i]));
		} else {
			used[i] = fs_arena_find(&arena, id);
			if (used[i] == NULL &&
			    fs_arena_make(&arena, id, 1 + rand_below(&rand, 4 * PAGE), &used[i]) ==
				    0 &&
			    rand_below(&rand, 5) > 0)
				fs_arena_filled(used[i]);
		}
		for (size_t k = 0; k < N_IDS; k++)
			room += used[k] != NULL ? used[k]->room_bytes : 0;
		fs_arena_count(&arena, &counts);
		assert_true(room <= counts.used_bytes && counts.used_bytes <= 16 * PAGE);
		assert_int_equal(counts.n_slots, disk.n_files);
	}
	for (size_t i = 0; i < N_IDS; i++)
		fs_arena_let_go(used[i]);
}

/* ---- filling ---- */

#define LEN ((5u << 20) + 77)

static uint8_t *bytes;

static struct fs_pin *
pin_open(void)
{
	struct fs_pin *pin;

	bytes = malloc(LEN);
	for (size_t i = 0; i < LEN; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 4096);
	fake_store("k", bytes, LEN, NULL, 0);
	assert_int_equal(fs_pin_open(&fake_client, "k", /* is_verified= */ true, &pin), 0);
	return pin;
}

static void
pin_close(struct fs_pin *pin, int fd)
{
	fs_pin_unref(pin);
	fake_clear();
	free(bytes);
	close(fd);
}

static void
assert_file(int fd)
{
	uint8_t *got = malloc(LEN);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, LEN);
	assert_int_equal(pread(fd, got, LEN, 0), LEN);
	assert_memory_equal(got, bytes, LEN);
	free(got);
}

static void
fill__of_what_lies_here_or_elsewhere__gives_every_byte(void **state)
{
	struct fs_pin *pin = pin_open();
	int fd = memfd_create("slot", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(fs_fill(pin, fd, clock_real(), UINT64_MAX), 0);
	assert_file(fd);
	assert_true(atomic_load(&pin->is_summed));
	assert_int_equal(ftruncate(fd, 0), 0);
	fake.has_no_borrow = true;
	assert_int_equal(fs_fill(pin, fd, clock_real(), UINT64_MAX), 0);
	assert_file(fd);
	pin_close(pin, fd);
}

static void
fill__that_takes_too_long__is_given_up_and_reads_go_on(void **state)
{
	struct fs_pin *pin = pin_open();
	int fd = memfd_create("slot", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(fs_fill(pin, fd, clock_real(), 0), -ETIMEDOUT);
	assert_int_equal(fs_pin_check(pin), 0);
	pin_close(pin, fd);
}

static void
fill__of_bytes_that_were_changed__fails_and_so_do_all_reads(void **state)
{
	struct fs_pin *pin = pin_open();
	int fd = memfd_create("slot", MFD_CLOEXEC);

	(void)state;
	fake_find("k")->value->bytes[LEN - 1] ^= 1;
	assert_int_equal(fs_fill(pin, fd, clock_real(), UINT64_MAX), -EIO);
	assert_int_equal(fs_pin_check(pin), -EIO);
	pin_close(pin, fd);
}

static void
fill__under_a_lease_that_was_lost__fails(void **state)
{
	struct fs_pin *pin = pin_open();
	int fd = memfd_create("slot", MFD_CLOEXEC);

	(void)state;
	fake.has_lost_leases = true;
	assert_int_equal(fs_fill(pin, fd, clock_real(), UINT64_MAX), -EIO);
	pin_close(pin, fd);
}

static void
fill__of_a_file_that_takes_no_more__gives_its_errno_and_reads_go_on(void **state)
{
	struct fs_pin *pin = pin_open();
	int fd = open("/dev/full", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_int_equal(fs_fill(pin, fd, clock_real(), UINT64_MAX), -ENOSPC);
	assert_int_equal(fs_pin_check(pin), 0);
	pin_close(pin, fd);
}

static void
pin__that_was_settled__reads_its_copy_whatever_the_store_does(void **state)
{
	struct fs_pin *pin = pin_open();
	int fd = memfd_create("slot", MFD_CLOEXEC);
	struct fs_slot *slot = make(pin->stat.object_id, LEN);
	uint8_t got[100];
	struct iovec slice = {got, sizeof(got)}, runs[4];
	uint64_t len;
	size_t n = 9;

	(void)state;
	assert_int_equal(fs_fill(pin, fd, clock_real(), UINT64_MAX), 0);
	slot->fd = fd;
	fs_arena_filled(slot);
	fs_pin_settle(pin, slot);
	fake.has_lost_leases = true;
	fake_put("k", "other bytes");

	assert_int_equal(fs_pin_check(pin), 0);
	assert_int_equal(fs_pin_borrow(pin, 0, 10, runs, 4, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(fs_pin_read(pin, LEN - 10, &slice, &len), 0);
	assert_int_equal(len, 10);
	assert_memory_equal(got, bytes + LEN - 10, 10);
	assert_int_equal(fs_pin_read(pin, LEN, &slice, &len), 0);
	assert_int_equal(len, 0);
	pin_close(pin, fd);
	assert_true(is_kept(slot->object_id));
}

/* ---- limits ---- */

static void
write_text(const char *dir, const char *name, const char *text)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void
group__within_a_narrower_one__has_that_ones_limit(void **state)
{
	char dir[] = "/tmp/test_fs_arena.XXXXXX", path[200];

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (const char *sub = "a\0a/b\0"; *sub != '\0'; sub += strlen(sub) + 1) {
		snprintf(path, sizeof(path), "%s/%s", dir, sub);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	assert_int_equal(fs_arena_group_max(dir, "/a/b"), UINT64_MAX);
	write_text(dir, "a/b/memory.max", "max\n");
	assert_int_equal(fs_arena_group_max(dir, "/a/b"), UINT64_MAX);
	write_text(dir, "a/memory.max", "268435456\n");
	assert_int_equal(fs_arena_group_max(dir, "/a/b"), 268435456);
	assert_int_equal(fs_arena_group_max(dir, "/a"), 268435456);
	assert_int_equal(fs_arena_group_max(dir, "/"), UINT64_MAX);

	for (const char *name = "a/b/memory.max\0a/memory.max\0a/b\0a\0"; *name != '\0';
	     name += strlen(name) + 1) {
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		assert_int_equal(remove(path), 0);
	}
	assert_int_equal(remove(dir), 0);
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(fits__of_a_quarter_and_no_byte_more),
		TEST(find__of_a_filled_one__gives_the_same_file_to_all),
		TEST(find__of_one_that_is_being_filled__waits_for_how_it_ends),
		TEST(let_go__of_one_that_was_not_filled__leaves_nothing),
		TEST(make__without_room__drops_who_was_used_longest_ago),
		TEST(make__when_all_room_is_in_use__is_refused_and_drops_nothing),
		TEST(make__of_more_files_than_there_may_be__drops_one_for_one),
		TEST(make__of_a_file_that_can_not_be__leaves_nothing),
		TEST(any_order_of_opens_and_closes__never_takes_a_used_file_away),
		TEST(fill__of_what_lies_here_or_elsewhere__gives_every_byte),
		TEST(fill__that_takes_too_long__is_given_up_and_reads_go_on),
		TEST(fill__of_bytes_that_were_changed__fails_and_so_do_all_reads),
		TEST(fill__under_a_lease_that_was_lost__fails),
		TEST(fill__of_a_file_that_takes_no_more__gives_its_errno_and_reads_go_on),
		TEST(pin__that_was_settled__reads_its_copy_whatever_the_store_does),
		TEST(group__within_a_narrower_one__has_that_ones_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
