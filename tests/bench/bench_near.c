/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_near -- objects on this host, against the barest copy of the same bytes; and what sums
 * cost.
 *
 *      get_local    get from a segment of this process    : memcpy between the same buffers
 *      put_shm      put into a segment of another process : memcpy to fresh places of a large area
 *      get_shm_4k   4 KiB of a view, location known       : spinning round trip in shared memory,
 *                                                           and a copy
 *      crc          get by shared memory and over TCP     : the same, sums not looked at
 *
 * As bench_move otherwise: ratio is the median of (their time / our time), but of get_shm_4k it is
 * ours / theirs, both medians of many.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/ring.h"

#define N_ROUNDS    10000
#define N_SPINS     2000
#define SMALL_BYTES 4096

static int n_pairs = N_PAIRS;

/* ---- get_local ---- */

static void
bench_local(size_t len)
{
	struct tiffin_mount_options mount = {.struct_bytes = sizeof(mount),
					     .size_bytes = 2 * RING_BYTES};
	struct house house;
	struct tiffin_client *client;
	struct clerk clerk = clerk_open();
	struct ring ring;
	char *buf = rival_warm(len);
	struct legs legs = {0};
	uint64_t segment_id;

	house_open_master(&house);
	client = house_client(&house);
	house_must(tiffin_mount(client, &mount, &segment_id), "tiffin_mount");
	ring_fill(&ring, client, len, buf);
	ring_get(&ring, client, buf);
	for (int i = 0; i < n_pairs; i++) {
		double ours = ring_get(&ring, client, buf);
		double theirs = ring_copy(&ring, buf, NULL, 1);

		legs_note(&legs, i, ours, theirs, ring_copy(&ring, buf, &clerk, 1));
	}
	legs_tell("get_local", len, "memcpy", &legs, ring.n);
	ring_drop(&ring);
	tiffin_close(client);
	house_close(&house);
	clerk_close(&clerk);
	munmap(buf, len);
}

/* ---- put_shm ---- */

static double
area_copy(char *area, const char *buf, size_t len, const struct clerk *clerk)
{
	double began = house_now_s();

	for (size_t at = 0; at < RING_BYTES; at += len) {
		if (clerk != NULL)
			clerk_ask(clerk, /* is_kept= */ false);
		memcpy(area + at, buf, len);
		__asm__ volatile("" : : "r"(area) : "memory");
		if (clerk != NULL)
			clerk_ask(clerk, /* is_kept= */ true);
	}
	return house_now_s() - began;
}

static double
area_put(struct tiffin_client *client, char *buf, size_t len)
{
	double began = house_now_s();
	char key[32];

	for (size_t at = 0; at < RING_BYTES; at += len) {
		snprintf(key, sizeof(key), "object-%zu", at / len % 64);
		ring_put_one(client, key, buf, len);
	}
	return house_now_s() - began;
}

static void
bench_put_shm(size_t len)
{
	struct house house;
	struct tiffin_client *client;
	struct clerk clerk = clerk_open();
	char *buf = rival_warm(len), *area = rival_warm(RING_BYTES);
	struct legs legs = {0};

	house_open(&house, "768MiB", "unix");
	client = house_client(&house);
	area_put(client, buf, len);
	area_put(client, buf, len);
	for (int i = 0; i < n_pairs; i++) {
		double ours = area_put(client, buf, len);
		double theirs = area_copy(area, buf, len, NULL);

		legs_note(&legs, i, ours, theirs, area_copy(area, buf, len, &clerk));
	}
	legs_tell("put_shm", len, "memcpy", &legs, RING_BYTES / len);
	tiffin_close(client);
	house_close(&house);
	clerk_close(&clerk);
	munmap(buf, len);
	munmap(area, RING_BYTES);
}

/* ---- get_shm_4k ---- */

/* Two words in shared memory: a question and its answer, each a number that grows. */
struct spin {
	_Atomic unsigned asked __attribute__((aligned(64)));
	_Atomic unsigned answered __attribute__((aligned(64)));
	char bytes[SMALL_BYTES] __attribute__((aligned(64)));
};

/* Who has no processor of its own lets the other one go on. */
static void
spin_until(_Atomic unsigned *word, unsigned value)
{
	for (unsigned n = 1; atomic_load_explicit(word, memory_order_acquire) != value; n++)
		if (n % 500 == 0)
			sched_yield();
}

static struct spin *
spin_open(pid_t *ret_pid)
{
	struct spin *spin = mmap(NULL, sizeof(*spin), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	house_must(spin == MAP_FAILED, "mmap");
	*ret_pid = fork();
	house_must(*ret_pid < 0, "fork");
	for (unsigned n = 1; *ret_pid == 0; n++) {
		spin_until(&spin->asked, n);
		atomic_store_explicit(&spin->answered, n, memory_order_release);
	}
	return spin;
}

static void
spin_close(struct spin *spin, pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(spin, sizeof(*spin));
}

static void
bench_4k(void)
{
	static double ours[N_ROUNDS], theirs[N_SPINS];
	struct house house;
	struct tiffin_client *client;
	struct tiffin_view *view;
	char buf[SMALL_BYTES];
	struct iovec slice = {buf, sizeof(buf)};
	struct spin *spin;
	pid_t pid;
	double a, b, first_s;

	house_open(&house, "64MiB", "unix");
	client = house_client(&house);
	memset(buf, 1, sizeof(buf));
	ring_put_one(client, "small", buf, sizeof(buf));
	house_must(tiffin_view_open(client, "small", &view), "view");
	for (unsigned i = 0; i < N_ROUNDS; i++) {
		double began = house_now_s();
		uint64_t got;

		house_must(tiffin_view_read(view, 0, &slice, 1, &got), "read");
		ours[i] = house_now_s() - began;
	}
	spin = spin_open(&pid);
	for (unsigned i = 0; i < N_SPINS; i++) {
		first_s = house_now_s();
		atomic_store_explicit(&spin->asked, i + 1, memory_order_release);
		spin_until(&spin->answered, i + 1);
		memcpy(buf, spin->bytes, sizeof(buf));
		__asm__ volatile("" : : "r"(buf) : "memory");
		theirs[i] = house_now_s() - first_s;
	}
	spin_close(spin, pid);
	a = house_median(ours, N_ROUNDS) * 1e6;
	b = house_median(theirs, N_SPINS) * 1e6;
	printf("name=get_shm_4k p50_us=%.2f p99_us=%.2f spin_p50_us=%.2f ratio_spin=%.2f\n", a,
	       ours[N_ROUNDS / 100 * 99] * 1e6, b, a / b);
	tiffin_view_close(view);
	tiffin_close(client);
	house_close(&house);
}

/* ---- crc ---- */

static void
bench_crc(const char *listen, size_t len)
{
	struct house house;
	struct tiffin_client *with, *without;
	struct ring ring = {0};
	char(*keys)[32];
	char *buf = rival_warm(len);
	struct legs legs = {0};

	house_open(&house, "768MiB", listen);
	with = house_client(&house);
	without = house_client_with(&house, (struct tiffin_options){.no_verify = true});
	ring.n = RING_BYTES / len;
	ring.len = len;
	keys = calloc(ring.n, sizeof(*keys));
	house_must(keys == NULL, "calloc");
	for (size_t i = 0; i < ring.n; i++) {
		snprintf(keys[i], sizeof(keys[i]), "object-%zu", i);
		ring_put_one(with, keys[i], buf, len);
	}
	ring.keys = keys;
	ring_get(&ring, with, buf);
	ring_get(&ring, without, buf);
	for (int i = 0; i < n_pairs; i++) {
		double s[2];

		for (int k = i; k < i + 2; k++)
			s[k % 2] = ring_get(&ring, k % 2 == 0 ? with : without, buf);
		legs_note(&legs, i, s[0], s[1], s[1]);
	}
	printf("name=crc_%s mib=%zu ratio_without=%.3f\n",
	       strcmp(listen, "unix") == 0 ? "shm" : "tcp", len / MIB,
	       house_median(legs.ratio, (size_t)n_pairs));
	free(keys);
	tiffin_close(with);
	tiffin_close(without);
	house_close(&house);
	munmap(buf, len);
}

int
main(int argc, char **argv)
{
	static const size_t sizes[] = {1 * MIB, 16 * MIB, 64 * MIB};
	const char *what = argc > 1 ? argv[1] : "";
	size_t n_sizes = 3;

	signal(SIGPIPE, SIG_IGN);
	if (argc > 2) { /* short */
		n_pairs = 3;
		n_sizes = 1;
	}
	for (size_t i = 0; i < n_sizes; i++) {
		if (strcmp(what, "get_local") == 0)
			bench_local(sizes[i]);
		else if (strcmp(what, "put_shm") == 0)
			bench_put_shm(sizes[i]);
	}
	if (strcmp(what, "get_shm_4k") == 0)
		bench_4k();
	if (strcmp(what, "crc") == 0) {
		bench_crc("unix", 1 * MIB);
		bench_crc("tcp", 1 * MIB);
	}
	return 0;
}
