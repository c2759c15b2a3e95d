/* SPDX-License-Identifier: Apache-2.0 */

/*
 * churn -- many threads with a short patience, while clients are opened and closed beside them.
 *
 *      churn THREADS ROUNDS
 *
 * Each thread puts, gets and removes objects of 1 to 64 KiB of its own.  Whatever fails may fail
 * only with TIMEOUT, UNREACHABLE, LEASE, EXISTS (a put whose answer was lost) or NOT_FOUND.  After
 * a get that failed its buffer gets a pattern, which must be whole at the thread's next turn.
 * Prints ok=N failed=N fds=N (more than at the start) threads=N.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/script/tools/tool.h"

#define LEN_MAX     (64u << 10)
#define CANARY      0x5eed
#define THREADS_MAX 128

static struct tiffin_client *client;
static unsigned n_rounds;
static atomic_uint n_ok, n_failed, n_busy;

static unsigned
count_in(const char *dir)
{
	DIR *at = opendir(dir);
	unsigned n = 0;

	tool_demand(at != NULL);
	while (readdir(at) != NULL)
		n++;
	closedir(at);
	return n;
}

/* judge -- true when it went well. */
static int
judge(int r)
{
	if (r == 0) {
		atomic_fetch_add(&n_ok, 1);
		return 1;
	}
	if (r != TIFFIN_E_TIMEOUT && r != TIFFIN_E_UNREACHABLE && r != TIFFIN_E_LEASE &&
	    r != TIFFIN_E_EXISTS && r != TIFFIN_E_NOT_FOUND)
		tool_die("%s: %s", tiffin_errname(r), tiffin_why());
	atomic_fetch_add(&n_failed, 1);
	return 0;
}

static void
turn(unsigned thread, unsigned round, char *bytes, int *has_canary)
{
	size_t len_bytes = 1024 + tool_mix(thread * 1000003 + round) % (LEN_MAX - 1024);
	struct iovec slice = {bytes, len_bytes};
	uint64_t len = 0;
	char key[32];
	int r;

	if (*has_canary)
		tool_demand(tool_is(bytes, LEN_MAX, CANARY));
	*has_canary = 0;
	snprintf(key, sizeof(key), "churn/%u/%u", thread, round);
	tool_fill(bytes, len_bytes, tool_seed(key, 0));
	if (!judge(tiffin_put(client, key, &slice, 1, NULL, NULL)))
		return;
	memset(bytes, 0, len_bytes);
	r = tiffin_get(client, key, &slice, 1, &len);
	if (judge(r)) {
		tool_demand(len == len_bytes && tool_is(bytes, len_bytes, tool_seed(key, 0)));
	} else {
		tool_fill(bytes, LEN_MAX, CANARY);
		*has_canary = 1;
	}
	judge(tiffin_remove(client, key, TIFFIN_FORCE));
}

static void *
work(void *arg)
{
	unsigned thread = *(unsigned *)arg;
	char *bytes = tool_alloc(LEN_MAX);
	int has_canary = 0;

	for (unsigned round = 0; round < n_rounds; round++)
		turn(thread, round, bytes, &has_canary);
	free(bytes);
	atomic_fetch_sub(&n_busy, 1);
	return NULL;
}

/* open_and_close -- others come and go all the time, and each moves something. */
static unsigned
open_and_close(void)
{
	struct tiffin_options options = tool_options();
	struct tiffin_client *other;
	char bytes[64];
	struct iovec slice = {bytes, sizeof(bytes)};
	unsigned n = 0;

	for (; atomic_load(&n_busy) > 0; n++) {
		if (tiffin_open(&options, &other) != 0)
			continue;
		memset(bytes, 0, sizeof(bytes));
		judge(tiffin_put(other, "churn/other", &slice, 1, NULL, NULL));
		judge(tiffin_remove(other, "churn/other", TIFFIN_FORCE));
		tiffin_close(other);
	}
	return n;
}

int
main(int argc, char **argv)
{
	unsigned n_threads = argc == 3 ? (unsigned)atoi(argv[1]) : 0, numbers[THREADS_MAX];
	unsigned fds = count_in("/proc/self/fd"), tasks = count_in("/proc/self/task"), n_opened;
	pthread_t threads[THREADS_MAX];

	tool_demand(n_threads > 0 && n_threads <= THREADS_MAX);
	n_rounds = (unsigned)atoi(argv[2]);
	client = tool_open();
	n_busy = n_threads;
	for (unsigned i = 0; i < n_threads; i++) {
		numbers[i] = i;
		tool_demand(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
	}
	n_opened = open_and_close();
	for (unsigned i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	tiffin_close(client);
	printf("ok=%u failed=%u opened=%u fds=%u threads=%u\n", n_ok, n_failed, n_opened,
	       count_in("/proc/self/fd") - fds, count_in("/proc/self/task") - tasks);
	return 0;
}
