/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/hot_cache.h"
#include "tests/unit/allocs.h"
#include "tests/unit/core_world.h"
#include "transfer/base/crc.h"

static uint8_t sent[100000], seen[100000];

static int
hot_setup(void **state)
{
	const struct hot_cache_config config = {.len_bytes = 1 << 20, .min_seen = 2};
	struct world *w;

	world_setup(state);
	w = *state;
	w->session.cluster_id = 77;
	return hot_cache_open(&config, &w->client->hot);
}

#define hot_test(fn) cmocka_unit_test_setup_teardown(fn, hot_setup, world_teardown)

/* get_right -- the object, with the bytes that were put. */
static void
get_right(struct world *w, const char *key)
{
	memset(seen, 0, sizeof(seen));
	assert_int_equal(world_get(w, key, seen, sizeof(seen), NULL), 0);
	assert_memory_equal(seen, sent, sizeof(sent));
}

static struct tiffin_hot_cache
counts(struct world *w)
{
	struct tiffin_hot_cache counts;

	assert_int_equal(tiffin_hot_cache(w->client, &counts), 0);
	return counts;
}

static void
object__read_twice_from_afar__is_here_the_third_time(void **state)
{
	struct world *w = *state;

	world_put_pattern(w, "a", sent, sizeof(sent), 1);
	get_right(w, "a");
	assert_int_equal(counts(w).n_kept, 0);
	get_right(w, "a");
	assert_int_equal(counts(w).n_kept, 1);
	assert_int_equal(counts(w).n_hits, 0);

	w->lents[0]->bytes[17] ^= 1; /* from afar it would be wrong */
	get_right(w, "a");
	assert_int_equal(counts(w).n_hits, 1);
	assert_int_equal(counts(w).hit_bytes, sizeof(sent));
}

static void
hit__asks_the_master_all_the_same(void **state)
{
	struct world *w = *state;
	unsigned before;

	world_put_pattern(w, "a", sent, sizeof(sent), 1);
	get_right(w, "a");
	get_right(w, "a");
	before = w->n_heard[MSG_get_replica_list];
	get_right(w, "a");
	assert_int_equal(w->n_heard[MSG_get_replica_list], before + 1);

	assert_int_equal(tiffin_remove(w->client, "a", TIFFIN_FORCE), 0);
	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), TIFFIN_E_NOT_FOUND);
}

static void
range__of_what_is_here__comes_from_here(void **state)
{
	struct world *w = *state;
	struct iovec slice = {seen, 500};

	world_put_pattern(w, "a", sent, sizeof(sent), 1);
	get_right(w, "a");
	get_right(w, "a");
	memset(w->lents[0]->bytes, 0, WORLD_SIZE);
	assert_int_equal(tiffin_get_range(w->client, "a", 70000, &slice, 1, NULL), 0);
	assert_memory_equal(seen, sent + 70000, 500);
}

/* get_part -- so many bytes from there. */
static void
get_part(struct world *w, uint64_t offset_bytes, size_t len_bytes)
{
	struct iovec slice = {seen, len_bytes};
	uint64_t got = 0;

	assert_int_equal(tiffin_get_range(w->client, "a", offset_bytes, &slice, 1, &got), 0);
	assert_int_equal(got, len_bytes);
	assert_memory_equal(seen, sent + offset_bytes, len_bytes);
}

static void
object__read_often_in_parts__is_kept_whole(void **state)
{
	const size_t half = sizeof(sent) / 2;
	struct world *w = *state;
	unsigned n = 0;

	world_put_pattern(w, "a", sent, sizeof(sent), 1);
	for (; n < 100 && counts(w).n_kept == 0; n++)
		get_part(w, n % 2 * half, half);

	assert_true(n >= 2 && n < 30); /* four halves are two readings, more or less */
	w->lents[0]->bytes[17] ^= 1;
	get_part(w, 0, half);
	assert_int_equal(counts(w).n_hits, 1);
	get_right(w, "a");
}

static void
object__of_which_a_few_bytes_are_read__is_not_fetched_whole(void **state)
{
	struct world *w = *state;

	world_put_pattern(w, "a", sent, sizeof(sent), 1);
	for (unsigned n = 0; n < 50; n++)
		get_part(w, n, 4);

	assert_int_equal(counts(w).n_kept, 0);
}

static void
view__of_what_is_here__reads_from_here__and_leaves_what_it_reads_whole(void **state)
{
	struct iovec slice = {seen, sizeof(seen)}, part = {seen, 500};
	struct world *w = *state;
	struct tiffin_view *view;

	world_put_pattern(w, "a", sent, sizeof(sent), 1);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(tiffin_view_open(w->client, "a", &view), 0);
		assert_int_equal(tiffin_view_read(view, 0, &slice, 1, NULL), 0);
		tiffin_view_close(view);
	}
	assert_int_equal(counts(w).n_kept, 1);

	memset(w->lents[0]->bytes, 0, WORLD_SIZE);
	assert_int_equal(tiffin_view_open(w->client, "a", &view), 0);
	assert_int_equal(tiffin_view_read(view, 70000, &part, 1, NULL), 0);
	tiffin_view_close(view);
	assert_memory_equal(seen, sent + 70000, 500);
}

static void
bytes_that_rotted_here__are_fetched_from_afar(void **state)
{
	struct world *w = *state;

	world_put_pattern(w, "a", sent, sizeof(sent), 1);
	get_right(w, "a");
	get_right(w, "a");
	for (uint64_t i = 0; i + 8 < w->client->hot->ring.log_bytes; i += 4096)
		w->client->hot->ring.log[i + 200] ^= 1;
	get_right(w, "a");
	get_right(w, "a");
	assert_int_equal(counts(w).n_hits, 1); /* the first one put it here anew */
}

static void
ids_of_other_books__are_other_objects(void **state)
{
	struct world *w = *state;

	world_put_pattern(w, "a", sent, sizeof(sent), 1);
	get_right(w, "a");
	get_right(w, "a");
	w->session.cluster_id = 78; /* another master, whose object has the same id */
	w->lents[0]->bytes[17] ^= 1;
	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), TIFFIN_E_CHECKSUM);
	w->session.cluster_id = 0; /* one that does not tell */
	assert_int_equal(world_get(w, "a", seen, sizeof(seen), NULL), TIFFIN_E_CHECKSUM);
	w->session.cluster_id = 77;
	get_right(w, "a");
}

static void
open__when_the_nth_allocation_fails__leaves_nothing(void **state)
{
	const struct hot_cache_config config = {.len_bytes = 1 << 20, .min_seen = 2};
	struct hot_cache *cache = NULL;

	(void)state;
	for (unsigned n = 0; cache == NULL; n++) {
		int r;

		allocs_fail_after(n);
		r = hot_cache_open(&config, &cache);
		allocs_succeed();
		assert_int_equal(r, cache != NULL ? 0 : -ENOMEM);
	}
	hot_cache_close(cache);
}

/* ---- shared ---- */

static void
shared_cache__is_one_for_all_and_goes_with_the_last(void **state)
{
	const uint8_t bytes[1000] = "shared";
	const struct iovec in = {(void *)bytes, sizeof(bytes)};
	const struct hot_object object = {{1, 2}, sizeof(bytes), crc_of(0, bytes, sizeof(bytes))};
	char dir[] = "/tmp/tiffin-test.XXXXXX", path[96];
	struct hot_cache_config config = {.len_bytes = 1 << 20, .is_shared = true, .min_seen = 1};
	struct hot_cache *one, *two;
	struct iovec out = {seen, sizeof(bytes)};

	(void)state;
	config.dir = mkdtemp(dir);
	assert_non_null(config.dir);
	assert_int_equal(hot_cache_open(&config, &one), 0);
	config.len_bytes = 4 << 20;
	assert_int_equal(hot_cache_open(&config, &two), 0);
	assert_int_equal(two->len_bytes, 1 << 20); /* the first one decides */

	hot_cache_offer(one, &object, &in, 1);
	assert_true(hot_cache_get(two, &object, &(struct hot_part){0, sizeof(bytes), &out, 1}));
	assert_memory_equal(seen, bytes, sizeof(bytes));

	strcpy(path, one->path);
	hot_cache_close(one);
	assert_int_equal(access(path, F_OK), 0);
	hot_cache_close(two);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void
shared_cache__whose_file_others_may_write__is_refused(void **state)
{
	char dir[] = "/tmp/tiffin-test.XXXXXX", path[96];
	struct hot_cache_config config = {.len_bytes = 1 << 20, .is_shared = true, .min_seen = 1};
	struct hot_cache *cache;

	(void)state;
	config.dir = mkdtemp(dir);
	assert_int_equal(hot_cache_open(&config, &cache), 0);
	strcpy(path, cache->path);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(hot_cache_open(&config, &(struct hot_cache *){NULL}), HOT_CACHE_E_OTHERS);
	hot_cache_close(cache);
	assert_int_equal(rmdir(dir), 0);
}

static void
shared_cache__left_by_the_dead__is_not_used_again(void **state)
{
	char dir[] = "/tmp/tiffin-test.XXXXXX", path[96];
	struct hot_cache_config config = {.len_bytes = 1 << 20, .is_shared = true, .min_seen = 1};
	struct hot_cache *cache;
	struct stat before, after;
	FILE *file;

	(void)state;
	config.dir = mkdtemp(dir);
	assert_int_equal(hot_cache_open(&config, &cache), 0);
	strcpy(path, cache->path);
	hot_cache_close(cache);
	file = fopen(path, "w"); /* as kill -9 leaves it */
	assert_non_null(file);
	assert_true(fputs("garbage", file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(stat(path, &before), 0);

	assert_int_equal(hot_cache_open(&config, &cache), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_size, 1 << 20);
	hot_cache_close(cache);
	assert_int_equal(rmdir(dir), 0);
}

/* ---- processes that die ---- */

#define N_PROCESSES 4
#define N_OBJECTS   64
#define N_DEATHS    60
#define BYTES_MAX   20000

/* object_fill -- the same bytes in every process. */
static struct hot_object
object_fill(uint64_t n, uint8_t *bytes)
{
	struct hot_object object = {.id = {9, n + 1}, .len_bytes = 1 + n * 311 % BYTES_MAX};

	for (uint64_t i = 0; i < object.len_bytes; i++)
		bytes[i] = (uint8_t)(i * 131 + (i >> 8) * 17 + n * 7 + 1);
	object.crc = crc_of(0, bytes, object.len_bytes);
	return object;
}

/* use_for_ever -- offer and get; a byte down the pipe for each hit.  Never returns. */
static void
use_for_ever(const struct hot_cache_config *config, unsigned seed, int pipe_fd)
{
	static uint8_t right[BYTES_MAX], got[BYTES_MAX];
	struct hot_cache *cache;

	if (hot_cache_open(config, &cache) != 0)
		_exit(3);
	for (uint64_t k = seed;; k = k * 6364136223846793005u + 1442695040888963407u) {
		struct hot_object object = object_fill((k >> 33) % N_OBJECTS, right);
		struct iovec in = {right, object.len_bytes}, out = {got, object.len_bytes};

		if (!hot_cache_get(cache, &object,
				   &(struct hot_part){0, object.len_bytes, &out, 1})) {
			hot_cache_offer(cache, &object, &in, 1);
			continue;
		}
		if (memcmp(right, got, object.len_bytes) != 0)
			_exit(4);
		if (write(pipe_fd, "h", 1) != 1)
			_exit(5);
	}
}

static pid_t
spawn(const struct hot_cache_config *config, unsigned seed, const int *pipe_fds)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		close(pipe_fds[0]);
		use_for_ever(config, seed, pipe_fds[1]);
	}
	return pid;
}

static void
shared_cache__whose_users_are_killed_in_the_middle__serves_the_others_right_bytes(void **state)
{
	char dir[] = "/tmp/tiffin-test.XXXXXX", path[96], hits[64];
	struct hot_cache_config config = {.len_bytes = 1 << 20, .is_shared = true, .min_seen = 1};
	struct hot_cache *cache;
	pid_t pids[N_PROCESSES];
	int fds[2], status;

	(void)state;
	config.dir = mkdtemp(dir);
	assert_non_null(config.dir);
	assert_int_equal(hot_cache_open(&config, &cache), 0);
	strcpy(path, cache->path);
	assert_int_equal(pipe(fds), 0);
	for (unsigned i = 0; i < N_PROCESSES; i++)
		pids[i] = spawn(&config, i + 1, fds);

	for (unsigned n = 0; n < N_DEATHS; n++) {
		unsigned i = n % N_PROCESSES;

		/* Hits go on to be had; and then one dies, wherever it is. */
		for (int k = 0; k < 5; k++)
			assert_true(read(fds[0], hits, 1 + n * 13 % sizeof(hits)) > 0);
		assert_int_equal(kill(pids[i], SIGKILL), 0);
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFSIGNALED(status)); /* not by itself: no wrong bytes */
		pids[i] = spawn(&config, N_PROCESSES + n + 1, fds);
	}

	for (unsigned i = 0; i < N_PROCESSES; i++) {
		assert_int_equal(kill(pids[i], SIGKILL), 0);
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFSIGNALED(status));
	}
	close(fds[0]);
	close(fds[1]);
	hot_cache_close(cache);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		hot_test(object__read_twice_from_afar__is_here_the_third_time),
		hot_test(hit__asks_the_master_all_the_same),
		hot_test(range__of_what_is_here__comes_from_here),
		hot_test(view__of_what_is_here__reads_from_here__and_leaves_what_it_reads_whole),
		hot_test(object__read_often_in_parts__is_kept_whole),
		hot_test(object__of_which_a_few_bytes_are_read__is_not_fetched_whole),
		hot_test(bytes_that_rotted_here__are_fetched_from_afar),
		hot_test(ids_of_other_books__are_other_objects),
		cmocka_unit_test(open__when_the_nth_allocation_fails__leaves_nothing),
		cmocka_unit_test(shared_cache__is_one_for_all_and_goes_with_the_last),
		cmocka_unit_test(shared_cache__whose_file_others_may_write__is_refused),
		cmocka_unit_test(shared_cache__left_by_the_dead__is_not_used_again),
		cmocka_unit_test(
			shared_cache__whose_users_are_killed_in_the_middle__serves_the_others_right_bytes),
	};

	return cmocka_run_group_tests_name("get_hot", tests, NULL, NULL);
}
