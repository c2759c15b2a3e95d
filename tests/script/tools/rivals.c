/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rivals -- processes that put the same key at the same moment, and readers that look on.
 *
 *      rivals ROUNDS
 *
 * Every value of a key is the pattern of one writer and round, so its first word
 * tells what the rest must be.  First nobody replaces: one winner a round.  Then
 * everybody replaces.  At last a batch of ten keys of which five are there.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/script/tools/tool.h"

#define N_WRITERS  8
#define N_READERS  2
#define LEN_BYTES  (1u << 20)
#define ROUNDS_MAX 1000

/* Shared by all processes. */
struct arena {
	pthread_barrier_t start;
	_Atomic unsigned n_won[ROUNDS_MAX], n_exists[ROUNDS_MAX], n_reads, n_writers_left;
};

static void
put_own(struct arena *arena, struct tiffin_client *client, unsigned writer, unsigned round)
{
	static char bytes[LEN_BYTES];
	struct iovec slice = {bytes, sizeof(bytes)};
	struct tiffin_put_options options = {.struct_bytes = sizeof(options)};
	bool replaces = round % 2 == 1;
	char key[32];
	int r;

	if (replaces)
		options.flags = TIFFIN_REPLACE;
	tool_fill(bytes, sizeof(bytes), tool_mix(round * N_WRITERS + writer));
	snprintf(key, sizeof(key), "rival%u", replaces ? 0 : round);
	pthread_barrier_wait(&arena->start);
	r = tiffin_put(client, key, &slice, 1, &options, NULL);
	if (r == 0)
		atomic_fetch_add(&arena->n_won[round], 1);
	else if (r == TIFFIN_E_EXISTS)
		atomic_fetch_add(&arena->n_exists[round], 1);
	else
		tool_die("round %u: %s: %s", round, tiffin_errname(r), tiffin_why());
}

static void
writer_main(struct arena *arena, unsigned writer, unsigned n_rounds)
{
	struct tiffin_client *client = tool_open();

	for (unsigned round = 0; round < n_rounds; round++)
		put_own(arena, client, writer, round);
	atomic_fetch_sub(&arena->n_writers_left, 1);
	tiffin_close(client);
}

/* look -- what is read is one writer's whole value, or nothing. */
static void
look(struct arena *arena, struct tiffin_client *client, const char *key)
{
	static char bytes[LEN_BYTES + 1];
	struct iovec slice = {bytes, sizeof(bytes)};
	uint64_t len, seed;
	int r = tiffin_get(client, key, &slice, 1, &len);

	if (r == TIFFIN_E_NOT_FOUND)
		return;
	if (r != 0)
		tool_die("reader: %s: %s: %s", key, tiffin_errname(r), tiffin_why());
	memcpy(&seed, bytes, sizeof(seed));
	if (len != LEN_BYTES || !tool_is(bytes, LEN_BYTES, seed))
		tool_die("reader: %s: %llu bytes, not one writer's", key, (unsigned long long)len);
	atomic_fetch_add(&arena->n_reads, 1);
}

static void
reader_main(struct arena *arena, unsigned n_rounds)
{
	struct tiffin_client *client = tool_open();
	char key[32];

	for (unsigned i = 0; atomic_load(&arena->n_writers_left) > 0; i++) {
		snprintf(key, sizeof(key), "rival%u", i % 2 == 0 ? 0 : i / 2 * 2 % n_rounds);
		look(arena, client, key);
	}
	tiffin_close(client);
}

static void
race(struct arena *arena, unsigned n_rounds)
{
	pthread_barrierattr_t attr;
	int status;

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	tool_demand(pthread_barrier_init(&arena->start, &attr, N_WRITERS) == 0);
	arena->n_writers_left = N_WRITERS;
	for (unsigned i = 0; i < N_WRITERS + N_READERS; i++) {
		pid_t pid = fork();

		tool_demand(pid >= 0);
		if (pid > 0)
			continue;
		alarm(60); /* a rival that died leaves the others at the barrier */
		if (i < N_WRITERS)
			writer_main(arena, i, n_rounds);
		else
			reader_main(arena, n_rounds);
		exit(0);
	}
	for (unsigned i = 0; i < N_WRITERS + N_READERS; i++) {
		tool_demand(wait(&status) > 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			tool_die("a rival ended with status %#x", (unsigned)status);
	}
}

static void
judge(const struct arena *arena, unsigned n_rounds)
{
	for (unsigned round = 0; round < n_rounds; round++) {
		unsigned n_won = arena->n_won[round];

		if (n_won + arena->n_exists[round] != N_WRITERS || n_won == 0 ||
		    (round % 2 == 0 && n_won != 1))
			tool_die("round %u: %u won", round, n_won);
	}
	printf("rounds=%u reads=%u\n", n_rounds, arena->n_reads);
}

static void
batch_over_five(void)
{
	struct tiffin_client *client = tool_open();
	struct tiffin_item items[10] = {0};
	struct iovec slices[10];
	char keys[10][16], bytes[10][64], back[64];
	struct iovec into = {back, sizeof(back)};
	uint64_t len;

	for (int i = 0; i < 10; i++) {
		snprintf(keys[i], sizeof(keys[i]), "batch%d", i);
		tool_fill(bytes[i], sizeof(bytes[i]), (uint64_t)i);
		slices[i] = (struct iovec){bytes[i], sizeof(bytes[i])};
		items[i] =
			(struct tiffin_item){.key = keys[i], .slices = &slices[i], .n_slices = 1};
		if (i % 2 == 0)
			tool_demand(tiffin_put(client, keys[i], &slices[i], 1, NULL, NULL) == 0);
		if (i % 2 == 0)
			tool_fill(bytes[i], sizeof(bytes[i]), 100);
	}
	tool_demand(tiffin_put_batch(client, items, 10, NULL) == 0);
	for (int i = 0; i < 10; i++) {
		tool_demand(items[i].result == (i % 2 == 0 ? TIFFIN_E_EXISTS : 0));
		tool_demand(tiffin_get(client, keys[i], &into, 1, &len) == 0);
		tool_demand(len == 64 && tool_is(back, 64, (uint64_t)i));
	}
	tiffin_close(client);
}

int
main(int argc, char **argv)
{
	unsigned n_rounds = argc == 2 ? (unsigned)atoi(argv[1]) : 0;
	struct arena *arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	tool_demand(arena != MAP_FAILED && n_rounds > 0 && n_rounds <= ROUNDS_MAX);
	race(arena, n_rounds);
	judge(arena, n_rounds);
	batch_over_five();
	return 0;
}
