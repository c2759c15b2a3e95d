/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/hot_ring.h"
#include "transfer/base/crc.h"

#define RING_BYTES (1u << 20)
#define OBJECT     (64u << 10)

struct fixture {
	void *bytes;
	struct hot_ring ring;
	uint8_t object[OBJECT], out[OBJECT];
};

static int
open_ring(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return -1;
	f->bytes =
		mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f->bytes == MAP_FAILED)
		return -1;
	hot_ring_make(f->bytes, RING_BYTES);
	*state = f;
	return hot_ring_join(&f->ring, f->bytes, RING_BYTES) ? 0 : -1;
}

static int
close_ring(void **state)
{
	struct fixture *f = *state;

	munmap(f->bytes, RING_BYTES);
	free(f);
	return 0;
}

static struct hot_id
id_of(uint64_t n)
{
	return (struct hot_id){.cluster_id = 1, .object_id = n};
}

/* add -- object n, filled with its number. */
static bool
add(struct fixture *f, uint64_t n, size_t len_bytes)
{
	struct iovec slices[2] = {{f->object, len_bytes / 3},
				  {f->object + len_bytes / 3, sizeof(f->object) - len_bytes / 3}};
	struct hot_object object = {.id = id_of(n), .len_bytes = len_bytes};

	memset(f->object, (int)n, len_bytes);
	object.crc = crc_of(0, f->object, len_bytes);
	return hot_ring_add(&f->ring, &object, slices, 2);
}

/* has -- is it there, with the right bytes? */
static bool
has(struct fixture *f, uint64_t n, size_t len_bytes)
{
	struct iovec slice = {f->out, sizeof(f->out)};
	struct hot_id id = id_of(n);
	struct hot_entry entry;
	uint32_t crc;

	if (!hot_ring_find(&f->ring, &id, &entry))
		return false;
	assert_int_equal(entry.len_bytes, len_bytes);
	assert_true(
		hot_ring_read(&f->ring, &entry, &(struct hot_part){0, len_bytes, &slice, 1}, &crc));
	assert_int_equal(crc, entry.crc);
	for (size_t i = 0; i < len_bytes; i++)
		assert_int_equal(f->out[i], (uint8_t)n);
	return true;
}

static void
ring__gives_back_what_was_added_whole_or_in_part(void **state)
{
	struct fixture *f = *state;
	struct iovec slices[2] = {{f->out, 10}, {f->out + 10, 90}};
	struct hot_id id = id_of(7);
	struct hot_entry entry;
	uint32_t crc;

	assert_false(has(f, 7, 1000));
	assert_true(add(f, 7, 1000));
	assert_true(has(f, 7, 1000));
	assert_false(has(f, 8, 1000));

	assert_true(hot_ring_find(&f->ring, &id, &entry));
	memset(f->out, 0, sizeof(f->out));
	assert_true(hot_ring_read(&f->ring, &entry, &(struct hot_part){900, 100, slices, 2}, &crc));
	assert_int_equal(crc, crc_of(0, f->object + 900, 100));
	assert_int_equal(f->out[99], 7);
	assert_int_equal(f->out[100], 0);
}

static void
ring__tells_clusters_apart(void **state)
{
	struct fixture *f = *state;
	struct hot_id other = {.cluster_id = 2, .object_id = 7};
	struct hot_entry entry;

	assert_true(add(f, 7, 1000));
	assert_false(hot_ring_find(&f->ring, &other, &entry));
}

static void
bytes__whose_sum_is_another__are_not_kept(void **state)
{
	struct fixture *f = *state;
	struct iovec slice = {f->object, 100};
	struct hot_object object = {.id = id_of(7), .len_bytes = 100, .crc = 12345};

	assert_false(hot_ring_add(&f->ring, &object, &slice, 1));
	assert_false(has(f, 7, 100));
}

static void
object__longer_than_a_quarter_of_the_log__is_not_kept(void **state)
{
	struct fixture *f = *state;
	size_t len = RING_BYTES / 4;
	uint8_t *bytes = calloc(1, len);
	struct iovec slice = {bytes, len};
	struct hot_object object = {.id = id_of(7), .len_bytes = len};

	assert_non_null(bytes);
	object.crc = crc_of(0, bytes, len);
	assert_false(hot_ring_add(&f->ring, &object, &slice, 1));
	free(bytes);
}

static void
ring__that_is_full__lets_the_oldest_go_and_keeps_the_newest(void **state)
{
	struct fixture *f = *state;

	for (uint64_t n = 1; n <= 200; n++) {
		assert_true(add(f, n, 50000 + n));
		assert_true(has(f, n, 50000 + n));
		if (n > 15)
			assert_true(has(f, n - 15, 50000 + n - 15));
		if (n > 25)
			assert_false(has(f, n - 25, 50000 + n - 25));
	}
}

static void
reader__whose_entry_was_overwritten_meanwhile__is_told(void **state)
{
	struct fixture *f = *state;
	struct iovec slice = {f->out, sizeof(f->out)};
	struct hot_id id = id_of(1);
	struct hot_entry entry;
	uint32_t crc;

	assert_true(add(f, 1, OBJECT));
	assert_true(hot_ring_find(&f->ring, &id, &entry));
	for (uint64_t n = 2; n < 20; n++)
		assert_true(add(f, n, OBJECT));
	assert_false(
		hot_ring_read(&f->ring, &entry, &(struct hot_part){0, OBJECT, &slice, 1}, &crc));
}

static void
entry__that_is_forgotten__is_not_found(void **state)
{
	struct fixture *f = *state;
	struct hot_id id = id_of(1);
	struct hot_entry entry;

	assert_true(add(f, 1, 100));
	assert_true(hot_ring_find(&f->ring, &id, &entry));
	hot_ring_forget(&f->ring, &entry);
	assert_false(has(f, 1, 100));
}

static int told_fd;

/* stick -- the copy has come upon a page that is none: here this process stays. */
static void
stick(int signo)
{
	(void)signo;
	if (write(told_fd, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* half_write -- another process is in the middle of an entry, and stays there. */
static pid_t
half_write(struct fixture *f)
{
	uint8_t *bytes =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec slice = {bytes, 8192};
	struct hot_object object = {.id = id_of(100), .len_bytes = 8192};
	struct hot_ring theirs;
	int fds[2];
	char told;
	pid_t pid;

	assert_true(bytes != MAP_FAILED);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		told_fd = fds[1];
		signal(SIGSEGV, stick);
		mprotect(bytes + 4096, 4096, PROT_NONE);
		if (hot_ring_join(&theirs, f->bytes, RING_BYTES))
			(void)hot_ring_add(&theirs, &object, &slice, 1);
		_exit(1);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &told, 1), 1);
	close(fds[0]);
	munmap(bytes, 8192);
	return pid;
}

static void
writer__that_stands_still__is_never_overwritten_until_it_is_dead(void **state)
{
	struct fixture *f = *state;
	unsigned n_kept = 0;
	pid_t pid;

	assert_true(add(f, 1, OBJECT));
	pid = half_write(f);
	for (uint64_t n = 2; n < 60; n++)
		n_kept += add(f, n, OBJECT);
	assert_in_range(n_kept, 12, 15); /* what was left of the log, once */
	assert_true(has(f, 5, OBJECT));
	assert_false(has(f, 100, 8192));

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (uint64_t n = 2; n < 60; n++)
		assert_true(add(f, n, OBJECT));
	assert_true(has(f, 59, OBJECT));
}

static void
join__of_other_bytes__is_refused(void **state)
{
	struct fixture *f = *state;
	struct hot_ring ring;

	assert_false(hot_ring_join(&ring, f->bytes, RING_BYTES + 4096));
	memset(f->bytes, 0, 8);
	assert_false(hot_ring_join(&ring, f->bytes, RING_BYTES));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_ring, close_ring)
	const struct CMUnitTest tests[] = {
		TEST(ring__gives_back_what_was_added_whole_or_in_part),
		TEST(ring__tells_clusters_apart),
		TEST(bytes__whose_sum_is_another__are_not_kept),
		TEST(object__longer_than_a_quarter_of_the_log__is_not_kept),
		TEST(ring__that_is_full__lets_the_oldest_go_and_keeps_the_newest),
		TEST(reader__whose_entry_was_overwritten_meanwhile__is_told),
		TEST(entry__that_is_forgotten__is_not_found),
		TEST(writer__that_stands_still__is_never_overwritten_until_it_is_dead),
		TEST(join__of_other_bytes__is_refused),
	};

	return cmocka_run_group_tests_name("hot_ring", tests, NULL, NULL);
}
