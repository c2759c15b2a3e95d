/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_index -- how fast a million keys are put, found, walked and rolled up.
 *
 *      bench_index [n_keys]
 *
 * Two shapes of keys: `list` has 1000 directories and keys of 64 bytes, `hash` is what
 * an inference engine makes: the model, the rank and the hash of a prefix.  Keys lie
 * inside objects of 160 bytes and come in random order.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "master/index.h"
#include "transfer/base/rand.h"

#define N_DIRECTORIES 1000
#define OBJECT_BYTES  160 /* before the key: so keys are not side by side */
#define KEY_CAP       128
#define N_AHEAD       8
#define N_BATCH       128

struct shape {
	const char *name;
	int (*show)(char *buf, uint64_t n, struct rand *rand);
};

/* What a request brings: in the order of the requests, apart from the keys held. */
struct probe {
	size_t len;
	uint8_t bytes[KEY_CAP];
};

struct field {
	struct slab slab;
	struct index *index;
	size_t n_keys;
	char **objects; /* each OBJECT_BYTES, then a struct key */
	struct probe *probes;
};

/* now_s -- of the processor, not of the wall: others may be at work. */
static double
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int
show_list(char *buf, uint64_t n, struct rand *rand)
{
	return snprintf(buf, KEY_CAP, "tenant/models/dir-%06" PRIu64 "/object-%032" PRIx64 "-0001",
			n % N_DIRECTORIES, rand_u64(rand));
}

static int
show_hash(char *buf, uint64_t n, struct rand *rand)
{
	return snprintf(buf, KEY_CAP,
			"meta-llama/Llama-3.1-70B@tp%" PRIu64 "@%016" PRIx64 "%016" PRIx64, n % 8,
			rand_u64(rand), rand_u64(rand));
}

static struct key *
key_of(char *object)
{
	return (struct key *)(void *)(object + OBJECT_BYTES);
}

static void
shuffle(struct field *field, struct rand *rand)
{
	for (size_t i = field->n_keys; i > 1; i--) {
		size_t other = rand_below(rand, i);
		char *object = field->objects[other];

		field->objects[other] = field->objects[i - 1];
		field->objects[i - 1] = object;
	}
}

static int
make_objects(struct field *field, const struct shape *shape, struct rand *rand)
{
	char buf[KEY_CAP];

	field->objects = calloc(field->n_keys, sizeof(*field->objects));
	for (size_t i = 0; field->objects != NULL && i < field->n_keys; i++) {
		int len = shape->show(buf, i, rand);
		char *object = malloc(OBJECT_BYTES + sizeof(struct key) + (size_t)len);

		if (object == NULL)
			return -ENOMEM;
		key_of(object)->len_bytes = (uint16_t)len;
		memcpy(key_of(object)->bytes, buf, (size_t)len);
		field->objects[i] = object;
	}
	shuffle(field, rand);
	return field->objects != NULL ? 0 : -ENOMEM;
}

static void
fetch(const struct key *key)
{
	__builtin_prefetch(key);
	__builtin_prefetch((const char *)key + 64);
}

static double
put_all_s(struct field *field)
{
	double start_s = now_s();
	struct key *old;

	for (size_t i = 0; i < field->n_keys; i++) {
		/* A key that is put has just been written. */
		if (i + N_AHEAD < field->n_keys)
			fetch(key_of(field->objects[i + N_AHEAD]));
		if (index_put(field->index, key_of(field->objects[i]), &old) < 0)
			abort();
	}
	return now_s() - start_s;
}

static void
make_probes(struct field *field)
{
	for (size_t i = 0; i < field->n_keys; i++) {
		const struct key *key = key_of(field->objects[i]);

		field->probes[i].len = key->len_bytes;
		memcpy(field->probes[i].bytes, key->bytes, key->len_bytes);
	}
}

static double
get_all_s(struct field *field)
{
	double start_s = now_s();

	for (size_t i = 0; i < field->n_keys; i++)
		if (index_get(field->index, field->probes[i].bytes, field->probes[i].len) == NULL)
			abort();
	return now_s() - start_s;
}

static double
get_batches_s(struct field *field)
{
	double start_s = now_s();

	for (size_t i = 0; i < field->n_keys; i += N_BATCH) {
		size_t n = field->n_keys - i < N_BATCH ? field->n_keys - i : N_BATCH;
		struct index_probe batch[N_BATCH];
		struct key *keys[N_BATCH];

		for (size_t j = 0; j < n; j++)
			batch[j] = (struct index_probe){field->probes[i + j].bytes,
							field->probes[i + j].len};
		index_get_all(field->index, batch, n, keys);
		for (size_t j = 0; j < n; j++)
			if (keys[j] == NULL)
				abort();
	}
	return now_s() - start_s;
}

/* walk_all_s -- as a list request does: each key is looked at. */
static double
walk_all_s(struct field *field)
{
	double start_s = now_s();
	struct index_walk walk;
	const struct key *key;
	size_t n = 0, n_bytes = 0;

	index_walk_start(&walk, field->index, NULL, 0, NULL, 0);
	for (; (key = index_walk_next(&walk)) != NULL; n++)
		n_bytes += key->len_bytes + key->bytes[key->len_bytes - 1];
	if (n != field->n_keys || n_bytes == 0)
		abort();
	return now_s() - start_s;
}

/* roll_up_s -- the names directly below "tenant/models/". */
static double
roll_up_s(struct field *field)
{
	static const char prefix[] = "tenant/models/";
	double start_s = now_s();
	struct index_walk walk;
	const struct key *key;
	size_t n = 0;

	index_walk_start(&walk, field->index, (const uint8_t *)prefix, strlen(prefix), NULL, 0);
	for (; (key = index_walk_next(&walk)) != NULL; n++) {
		const uint8_t *slash =
			memchr(key->bytes + strlen(prefix), '/', key->len_bytes - strlen(prefix));

		if (slash != NULL)
			index_walk_skip(&walk, key->bytes, (size_t)(slash - key->bytes) + 1);
	}
	if (n > N_DIRECTORIES)
		abort();
	return now_s() - start_s;
}

static double
take_all_s(struct field *field)
{
	double start_s = now_s();

	for (size_t i = 0; i < field->n_keys; i++)
		if (index_take(field->index, field->probes[i].bytes, field->probes[i].len) == NULL)
			abort();
	return now_s() - start_s;
}

/* best -- of five: what others do on the machine only adds. */
static double
best(double (*run_s)(struct field *field), struct field *field)
{
	double least_s = run_s(field);

	for (unsigned i = 0; i < 4; i++) {
		double s = run_s(field);

		least_s = s < least_s ? s : least_s;
	}
	return least_s;
}

static void
print_figures(struct field *field, const struct shape *shape)
{
	double n = (double)field->n_keys;

	printf("name=%s n_keys=%zu", shape->name, field->n_keys);
	printf(" put_ns=%.0f", put_all_s(field) * 1e9 / n);
	printf(" get_ns=%.0f", best(get_all_s, field) * 1e9 / n);
	printf(" get_batch_ns=%.0f", best(get_batches_s, field) * 1e9 / n);
	printf(" mkeys_per_s=%.2f", n / best(walk_all_s, field) / 1e6);
	printf(" top_level_ms=%.3f", best(roll_up_s, field) * 1e3);
	printf(" ram_bytes_per_key=%.1f", (double)index_ram_bytes(field->index) / n);
	printf(" take_ns=%.0f\n", take_all_s(field) * 1e9 / n);
}

static int
measure(const struct shape *shape, size_t n_keys)
{
	struct field field = {.n_keys = n_keys};
	struct rand rand;
	int r;

	rand_init(&rand, 1);
	slab_init(&field.slab);
	r = index_new(&field.slab, &field.index);
	if (r == 0)
		r = make_objects(&field, shape, &rand);
	field.probes = malloc(n_keys * sizeof(*field.probes));
	if (r < 0 || field.probes == NULL)
		return -ENOMEM;
	make_probes(&field);
	shuffle(&field, &rand);
	print_figures(&field, shape);

	index_free(field.index);
	slab_fini(&field.slab);
	for (size_t i = 0; i < n_keys; i++)
		free(field.objects[i]);
	free(field.objects);
	free(field.probes);
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct shape shapes[] = {{"list", show_list}, {"hash", show_hash}};
	size_t n_keys = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;

	for (size_t i = 0; i < array_len(shapes); i++)
		if (n_keys == 0 || measure(&shapes[i], n_keys) < 0) {
			fprintf(stderr, "usage: bench_index [n_keys], as many as memory holds\n");
			return 1;
		}
	return 0;
}
