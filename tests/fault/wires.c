/* SPDX-License-Identifier: Apache-2.0 */

/*
 * wires -- puts and gets of a real store while the network to its provider is bad (proxy.h).
 *
 *      fault_wires MASTER PORT SEEDS
 *
 *      client ---------------------------------> master           asked as ever
 *             --- connect() to PORT, led astray --> proxy --> tiffin-provider, at PORT of loopback
 *
 * Every call ends in its time and a second more.  What a get gives is what was put.  With the bad
 * network gone, what was acknowledged is there and right; it may be told to be wrong only where a
 * bit was turned on its way.  Prints ok=N failed=N noticed=N.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/tiffin.h"
#include "tests/fault/proxy.h"
#include "transfer/base/clock.h"
#include "transfer/base/rand.h"

#define THREADS     4
#define OBJECTS     4
#define LEN_MAX     (1u << 20)
#define TIMEOUT_MS  1500
#define TRANSFER_MS 250
#define GRACE_MS    1000
#define UNTOUCHED   0x5c

static const char *master;
static uint16_t provider_port;
static uint64_t n_seeds;
static atomic_uint n_ok, n_failed, n_noticed, n_struck[PROXY_N_KINDS];

/* Where this thread's connections to the provider go; 0: to the provider. */
static _Thread_local uint16_t astray_port;

int __real_connect(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);

int
__wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
	struct sockaddr_in in;

	if (astray_port == 0 || address->sa_family != AF_INET)
		return __real_connect(fd, address, len);
	memcpy(&in, address, sizeof(in));
	if (in.sin_port == htons(provider_port))
		in.sin_port = htons(astray_port);
	return __real_connect(fd, (const struct sockaddr *)&in, sizeof(in));
}

static void __attribute__((format(printf, 2, 3), noreturn))
broken(uint64_t seed, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "seed %llu: ", (unsigned long long)seed);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* One object of a seed. */
struct object {
	char key[32];
	size_t len_bytes;
	uint8_t *bytes, *room; /* what is put, and where gets go */
	bool is_put;           /* acknowledged */
};

struct story {
	uint64_t seed;
	struct rand rand;
	struct proxy *proxy;
	struct object objects[OBJECTS];
};

static struct tiffin_client *
open_client(uint64_t seed)
{
	const struct tiffin_options options = {.struct_bytes = sizeof(options),
					       .master = master,
					       .timeout_ms = TIMEOUT_MS,
					       .transfer_ms = TRANSFER_MS};
	struct tiffin_client *client;
	int r = tiffin_open(&options, &client);

	if (r != 0)
		broken(seed, "open: %s: %s", tiffin_errname(r), tiffin_why());
	return client;
}

static void
make_object(struct story *s, unsigned i)
{
	struct object *object = &s->objects[i];

	snprintf(object->key, sizeof(object->key), "wires/%llu/%u", (unsigned long long)s->seed, i);
	object->len_bytes = 1 + rand_below(&s->rand, 1ull << rand_below(&s->rand, 21));
	object->bytes = malloc(object->len_bytes);
	object->room = malloc(object->len_bytes);
	if (object->bytes == NULL || object->room == NULL)
		broken(s->seed, "no memory");
	for (size_t k = 0; k < object->len_bytes; k++)
		object->bytes[k] = (uint8_t)(rand_u64(&s->rand) >> 17);
}

/* in_time -- r, when the call that gave it did not take too long. */
static int
in_time(const struct story *s, const char *what, uint64_t began_ms, int r)
{
	uint64_t took_ms = clock_ms(clock_real()) - began_ms;

	if (took_ms > TIMEOUT_MS + GRACE_MS)
		broken(s->seed, "%s took %llu ms: %s", what, (unsigned long long)took_ms,
		       r == 0 ? "done" : tiffin_errname(r));
	atomic_fetch_add(r == 0 ? &n_ok : &n_failed, 1);
	return r;
}

static void
put(struct story *s, struct tiffin_client *client, struct object *object)
{
	const struct iovec slice = {object->bytes, object->len_bytes};
	uint64_t began_ms = clock_ms(clock_real());
	int r = in_time(s, "put", began_ms, tiffin_put(client, object->key, &slice, 1, NULL, NULL));

	object->is_put = r == 0;
	if (r != 0 && r != TIFFIN_E_TIMEOUT && r != TIFFIN_E_UNREACHABLE && r != TIFFIN_E_LEASE)
		broken(s->seed, "put: %s: %s", tiffin_errname(r), tiffin_why());
}

/* get -- also of an object whose put failed: it may be there after all. */
static int
get(struct story *s, struct tiffin_client *client, struct object *object)
{
	const struct iovec slice = {object->room, object->len_bytes};
	uint64_t len, began_ms = clock_ms(clock_real());
	int r = in_time(s, "get", began_ms, tiffin_get(client, object->key, &slice, 1, &len));

	if (r == 0 && (len != object->len_bytes ||
		       memcmp(object->room, object->bytes, object->len_bytes) != 0))
		broken(s->seed, "%s came back with other bytes", object->key);
	if (r == TIFFIN_E_CHECKSUM) {
		atomic_fetch_add(&n_noticed, 1);
		if (proxy_n_struck(s->proxy, PROXY_FLIP) == 0)
			broken(s->seed, "%s is wrong, and nobody had turned a bit", object->key);
	}
	return r;
}

static void
bad_times(struct story *s)
{
	struct tiffin_client *client;

	astray_port = proxy_port(s->proxy);
	client = open_client(s->seed);
	for (unsigned i = 0; i < OBJECTS; i++) {
		struct object *object = &s->objects[i];

		put(s, client, object);
		(void)get(s, client, object);
		/* The call has returned: the room is the caller's again. */
		memset(object->room, UNTOUCHED, object->len_bytes);
	}
	tiffin_close(client);
	astray_port = 0;
	for (unsigned i = 0; i < OBJECTS; i++)
		for (size_t k = 0; k < s->objects[i].len_bytes; k++)
			if (s->objects[i].room[k] != UNTOUCHED)
				broken(s->seed, "a buffer is written after its get had returned");
}

/* good_times -- the same objects, straight from the provider. */
static void
good_times(struct story *s, struct tiffin_client *client)
{
	for (unsigned i = 0; i < OBJECTS; i++) {
		struct object *object = &s->objects[i];
		int r = get(s, client, object);

		if (r != 0 && r != TIFFIN_E_CHECKSUM && (object->is_put || r != TIFFIN_E_NOT_FOUND))
			broken(s->seed, "%s, %s: %s: %s", object->key,
			       object->is_put ? "acknowledged" : "not acknowledged",
			       tiffin_errname(r), tiffin_why());
		(void)tiffin_remove(client, object->key, TIFFIN_FORCE);
		free(object->bytes);
		free(object->room);
	}
}

static void
run_story(uint64_t seed, struct tiffin_client *calm)
{
	struct story s = {.seed = seed};

	rand_init(&s.rand, seed);
	if (proxy_open(provider_port, seed, (enum proxy_kind)(seed % PROXY_N_KINDS), &s.proxy) < 0)
		broken(seed, "no proxy");
	for (unsigned i = 0; i < OBJECTS; i++)
		make_object(&s, i);
	bad_times(&s);
	good_times(&s, calm);
	for (unsigned k = 0; k < PROXY_N_KINDS; k++)
		atomic_fetch_add(&n_struck[k], proxy_n_struck(s.proxy, (enum proxy_kind)k));
	proxy_close(s.proxy);
}

static void *
work(void *arg)
{
	uint64_t first = 1 + (uint64_t)(uintptr_t)arg;
	struct tiffin_client *calm = open_client(first);

	for (uint64_t seed = first; seed <= n_seeds; seed += THREADS)
		run_story(seed, calm);
	tiffin_close(calm);
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc != 4) {
		fputs("usage: fault_wires MASTER PORT SEEDS\n", stderr);
		return 2;
	}
	master = argv[1];
	provider_port = (uint16_t)strtoul(argv[2], NULL, 10);
	n_seeds = strtoull(argv[3], NULL, 10);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
			broken(i, "no thread");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("ok=%u failed=%u noticed=%u", n_ok, n_failed, n_noticed);
	for (unsigned k = PROXY_CALM + 1; k < PROXY_N_KINDS; k++)
		printf(" %s=%u", proxy_kind_name((enum proxy_kind)k), n_struck[k]);
	putchar('\n');
	return 0;
}
