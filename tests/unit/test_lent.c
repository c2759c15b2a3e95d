/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/lent.h"
#include "transfer/lent_header.h"

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

static int
open_named(struct place *p, uint64_t size_bytes, bool wipe, struct lent **ret_lent)
{
	struct lent_config config = {.path = p->path, .size_bytes = size_bytes, .wipe = wipe};

	return lent_open(&config, &p->rand, ret_lent);
}

/* scribble -- change bytes of the file behind everybody's back. */
static void
scribble(struct place *p, off_t at, const void *bytes, size_t len)
{
	int fd = open(p->path, O_RDWR | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, at), (ssize_t)len);
	close(fd);
}

/* ---- anonymous ---- */

static void
anonymous__is_sealed_so_that_nobody_can_shrink_it(void **state)
{
	struct place *p = *state;
	struct lent_config config = {.size_bytes = SIZE};
	struct lent *lent;

	assert_int_equal(lent_open(&config, &p->rand, &lent), 0);

	assert_int_equal(fcntl(lent->fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	assert_int_equal(ftruncate(lent->fd, 4096), -1);
	assert_false(lent->is_named);
	lent_close(lent);
}

static void
anonymous__has_mode_0600_and_zeros(void **state)
{
	struct place *p = *state;
	struct lent_config config = {.size_bytes = SIZE, .want_huge_pages = true};
	struct lent *lent;
	struct stat st;

	assert_int_equal(lent_open(&config, &p->rand, &lent), 0);
	assert_int_equal(fstat(lent->fd, &st), 0);

	assert_int_equal(st.st_mode & 0777, 0600);
	for (size_t i = 0; i < SIZE; i += 511)
		assert_int_equal(lent->bytes[i], 0);
	lent_close(lent);
}

static void
two_segments__have_ids_epochs_and_secrets_of_their_own(void **state)
{
	struct place *p = *state;
	struct lent_config config = {.size_bytes = SIZE};
	struct lent *a, *b;

	assert_int_equal(lent_open(&config, &p->rand, &a), 0);
	assert_int_equal(lent_open(&config, &p->rand, &b), 0);

	assert_int_not_equal(a->segment_id, b->segment_id);
	assert_int_not_equal(a->epoch, b->epoch);
	assert_memory_not_equal(a->secret, b->secret, TOKEN_SECRET_BYTES);
	lent_close(a);
	lent_close(b);
}

static void
count_progress(void *arg, uint64_t done_bytes, uint64_t all_bytes)
{
	uint64_t *last = arg;

	assert_true(done_bytes > *last && done_bytes <= all_bytes);
	*last = done_bytes;
}

static void
progress__is_told_up_to_the_end(void **state)
{
	struct place *p = *state;
	uint64_t last = 0;
	struct lent_config config = {
		.size_bytes = 64 << 20, .progress = count_progress, .progress_arg = &last};
	struct lent *lent;

	assert_int_equal(lent_open(&config, &p->rand, &lent), 0);

	assert_int_equal(last, LENT_HEADER_BYTES + (64 << 20));
	lent_close(lent);
}

static void
size__that_cannot_be__is_an_error(void **state)
{
	static const uint64_t sizes[] = {
		0, 4096, LENT_SIZE_MIN - 4096, LENT_SIZE_MIN + 1, LENT_SIZE_MAX + 4096, UINT64_MAX};
	struct place *p = *state;
	struct lent *lent;

	for (size_t i = 0; i < array_len(sizes); i++) {
		struct lent_config config = {.size_bytes = sizes[i]};

		assert_int_equal(lent_open(&config, &p->rand, &lent), -EINVAL);
	}
}

static void
more_than_the_machine_has__is_told_before_it_is_taken(void **state)
{
	struct place *p = *state;
	struct lent_config config = {.size_bytes = LENT_SIZE_MAX};
	struct lent *lent;

	assert_int_equal(lent_open(&config, &p->rand, &lent), LENT_E_NO_ROOM);
}

static void
fence__raises_the_word(void **state)
{
	struct place *p = *state;
	struct lent_config config = {.size_bytes = SIZE};
	struct lent *lent;
	uint64_t before;

	assert_int_equal(lent_open(&config, &p->rand, &lent), 0);
	before = atomic_load(&lent->header->fence);

	lent_fence(lent);

	assert_true(atomic_load(&lent->header->fence) > before);
	lent_close(lent);
}

/* ---- named ---- */

static void
named__opened_again__has_the_same_id_epoch_and_bytes_and_a_new_secret(void **state)
{
	struct place *p = *state;
	struct lent *lent;
	uint64_t id, epoch, fence;
	uint8_t secret[TOKEN_SECRET_BYTES];

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	assert_false(lent->was_adopted);
	id = lent->segment_id;
	epoch = lent->epoch;
	fence = atomic_load(&lent->header->fence);
	memcpy(secret, lent->secret, sizeof(secret));
	memset(lent->bytes, 7, SIZE);
	lent_close(lent);

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);

	assert_true(lent->was_adopted && lent->is_named);
	assert_int_equal(lent->segment_id, id);
	assert_int_equal(lent->epoch, epoch);
	assert_true(atomic_load(&lent->header->fence) > fence); /* old local writers ask again */
	assert_memory_not_equal(lent->secret, secret, sizeof(secret));
	assert_int_equal(lent->bytes[0], 7);
	assert_int_equal(lent->bytes[SIZE - 1], 7);
	lent_close(lent);
}

static void
named__opened_again__remembers_the_last_master_that_lent_it(void **state)
{
	struct place *p = *state;
	struct lent *lent;

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	assert_int_equal(lent_remember(lent, 7, 5000), 0);
	lent_has_master(lent);
	assert_int_equal(lent_remember(lent, 0, 5000), 7); /* not known: it stays */
	lent_close(lent);
	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	assert_int_equal(lent_remember(lent, 9, 5000), 7);
	lent_close(lent);
	assert_int_equal(open_named(p, SIZE, /* wipe= */ true, &lent), 0);
	assert_int_equal(lent_remember(lent, 9, 5000), 0);
	lent_close(lent);
}

/* What is told is written before: also of a master that never answered. */
static void
named__remembers_the_longest_lease_that_may_have_been_granted(void **state)
{
	struct place *p = *state;
	struct lent *lent;

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	assert_int_equal(lent_longest_lease_ms(lent), 0);
	lent_remember(lent, 7, 60000);
	assert_int_equal(lent_longest_lease_ms(lent), 60000);
	lent_remember(lent, 8, 1000);
	lent_has_master(lent);
	lent_close(lent);
	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	assert_int_equal(lent_longest_lease_ms(lent), 60000);
	lent_close(lent);
	assert_int_equal(open_named(p, SIZE, /* wipe= */ true, &lent), 0);
	assert_int_equal(lent_longest_lease_ms(lent), 0);
	lent_close(lent);
}

static void
named__told_to_a_master_that_never_answered__remembers_the_one_before_it_too(void **state)
{
	struct place *p = *state;
	struct lent *lent;

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	assert_int_equal(lent_remember(lent, 7, 5000), 0);
	lent_has_master(lent);

	assert_int_equal(lent_remember(lent, 4, 5000), 7);
	lent_close(lent);
	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	assert_int_equal(lent_remember(lent, 4, 5000),
			 7); /* said again: nothing has happened since */
	assert_int_equal(lent_remember(lent, 5, 5000), 7);
	lent_has_master(lent);
	assert_int_equal(lent_remember(lent, 6, 5000), 5);
	assert_int_equal(lent_remember(lent, 7, 5000), 6); /* that one may have given out room */
	assert_int_equal(lent_remember(lent, 0, 5000), 7);
	lent_close(lent);
}

static void
named__wiped__is_another_segment(void **state)
{
	struct place *p = *state;
	struct lent *lent;
	uint64_t id, epoch;

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	id = lent->segment_id;
	epoch = lent->epoch;
	lent->bytes[5] = 1;
	lent_close(lent);

	assert_int_equal(open_named(p, 2 * SIZE, true, &lent), 0);

	assert_false(lent->was_adopted);
	assert_int_not_equal(lent->segment_id, id);
	assert_int_not_equal(lent->epoch, epoch);
	assert_int_equal(lent->bytes[5], 0);
	lent_close(lent);
}

static void
named__wiped__is_not_reached_by_those_who_still_have_the_old_one_mapped(void **state)
{
	struct place *p = *state;
	struct lent *lent;
	uint8_t *old;
	int fd;

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	assert_int_equal(lent_reopen(lent, true, &fd), 0);
	old = mmap(NULL, LENT_HEADER_BYTES + SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	assert_true(old != MAP_FAILED);
	lent_close(lent);
	assert_int_equal(open_named(p, SIZE, true, &lent), 0);

	old[LENT_HEADER_BYTES + 9] = 0xff;

	assert_int_equal(lent->bytes[9], 0);
	munmap(old, LENT_HEADER_BYTES + SIZE);
	lent_close(lent);
}

static void
second_owner__is_refused(void **state)
{
	struct place *p = *state;
	struct lent *lent, *second;

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);

	assert_int_equal(open_named(p, SIZE, false, &second), LENT_E_IN_USE);
	assert_int_equal(open_named(p, SIZE, true, &second), LENT_E_IN_USE);

	lent_close(lent);
}

static void
named__of_another_size__is_damaged_and_stays_as_it_is(void **state)
{
	struct place *p = *state;
	struct lent *lent;

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	lent->bytes[1] = 9;
	lent_close(lent);

	assert_int_equal(open_named(p, SIZE + 4096, false, &lent), LENT_E_DAMAGED);
	assert_int_equal(open_named(p, SIZE - 4096, false, &lent), LENT_E_DAMAGED);

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	assert_int_equal(lent->bytes[1], 9);
	lent_close(lent);
}

static void
named__with_any_bit_of_its_name_turned__is_damaged(void **state)
{
	struct place *p = *state;
	struct lent *lent;
	uint8_t header[36];
	int fd;

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	lent_close(lent);
	fd = open(p->path, O_RDWR);
	assert_int_equal(pread(fd, header, sizeof(header), 0), sizeof(header));

	for (size_t i = 0; i < sizeof(header); i++) {
		header[i] ^= 0x10;
		assert_int_equal(pwrite(fd, header, sizeof(header), 0), sizeof(header));
		assert_int_equal(open_named(p, SIZE, false, &lent), LENT_E_DAMAGED);
		header[i] ^= 0x10;
	}

	close(fd);
}

static void
file__of_somebody_else__is_damaged_and_stays_as_it_is(void **state)
{
	struct place *p = *state;
	struct lent *lent;
	struct stat st;

	scribble(p, 0, "not a segment", 13);

	assert_int_equal(open_named(p, SIZE, false, &lent), LENT_E_DAMAGED);

	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_size, 13);
}

static void
named__left_unfinished__is_made_anew(void **state)
{
	struct place *p = *state;
	struct lent *lent;

	scribble(p, (off_t)(LENT_HEADER_BYTES + SIZE - 1), "x", 1); /* sized, no header yet */

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);

	assert_false(lent->was_adopted);
	assert_int_equal(lent->bytes[SIZE - 1], 0);
	lent_close(lent);
}

static void
named__has_mode_0600_whatever_the_umask(void **state)
{
	struct place *p = *state;
	struct lent *lent;
	struct stat st;
	mode_t old = umask(0);

	assert_int_equal(open_named(p, SIZE, false, &lent), 0);
	umask(old);

	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	lent_close(lent);
}

static void
path__that_is_a_link_a_folder_or_nowhere__is_an_error(void **state)
{
	struct place *p = *state;
	struct lent_config folder = {.path = p->dir, .size_bytes = SIZE};
	struct lent_config nowhere = {.path = "/nowhere/at/all", .size_bytes = SIZE};
	struct lent *lent;

	assert_int_equal(symlink("/etc/hostname", p->path), 0);

	assert_int_equal(open_named(p, SIZE, false, &lent), -ELOOP);
	assert_int_equal(lent_open(&folder, &p->rand, &lent), -EISDIR);
	assert_int_equal(lent_open(&nowhere, &p->rand, &lent), -ENOENT);
}

static void
named__more_than_there_is_room__leaves_nothing_behind(void **state)
{
	struct place *p = *state;
	struct lent *lent;

	assert_int_equal(open_named(p, LENT_SIZE_MAX, false, &lent), LENT_E_NO_ROOM);

	assert_int_equal(access(p->path, F_OK), -1);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(anonymous__is_sealed_so_that_nobody_can_shrink_it),
		T(anonymous__has_mode_0600_and_zeros),
		T(two_segments__have_ids_epochs_and_secrets_of_their_own),
		T(progress__is_told_up_to_the_end),
		T(size__that_cannot_be__is_an_error),
		T(more_than_the_machine_has__is_told_before_it_is_taken),
		T(fence__raises_the_word),
		T(named__opened_again__has_the_same_id_epoch_and_bytes_and_a_new_secret),
		T(named__opened_again__remembers_the_last_master_that_lent_it),
		T(named__remembers_the_longest_lease_that_may_have_been_granted),
		T(named__told_to_a_master_that_never_answered__remembers_the_one_before_it_too),
		T(named__wiped__is_another_segment),
		T(named__wiped__is_not_reached_by_those_who_still_have_the_old_one_mapped),
		T(second_owner__is_refused),
		T(named__of_another_size__is_damaged_and_stays_as_it_is),
		T(named__with_any_bit_of_its_name_turned__is_damaged),
		T(file__of_somebody_else__is_damaged_and_stays_as_it_is),
		T(named__left_unfinished__is_made_anew),
		T(named__has_mode_0600_whatever_the_umask),
		T(path__that_is_a_link_a_folder_or_nowhere__is_an_error),
		T(named__more_than_there_is_room__leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
