/* SPDX-License-Identifier: Apache-2.0 */

/*
 * objects -- many objects at once: put, read and compare, look for, remove, hold.
 *
 *      objects VERB PREFIX COUNT SIZE [OPTION...]
 *
 *      put       each with the pattern of its key      get   each, and compare
 *      exist     each, in batches                      remove
 *      hold      open a view of each, say "held", wait for SIGTERM, read them and compare
 *      hits      until SIGTERM: exist, then get those that are there
 *      probe     until SIGTERM: one exist after the other; p99_us and max_us tell how long
 *
 * Prints one line: ok=N, NOT_FOUND=N and so on for every result that came, wrong=N for
 * wrong bytes, max_ms of one call, all_ms.  Ends with 0 when no bytes were wrong.
 */
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/script/tools/tool.h"

#define CODES_MAX   20
#define SAMPLES_MAX 100000

struct job {
	const char *verb, *prefix;
	size_t n, len_bytes, batch;
	uint64_t salt;
	unsigned n_threads;
	int acked; /* each key put is written there, once it is acknowledged */
	struct tiffin_put_options put;
	uint64_t preferred;
	uint32_t flags;
	char **keys;
	struct tiffin_client *client;
	_Atomic size_t n_ok, n_wrong, n_codes[CODES_MAX], next;
	_Atomic uint64_t max_us;
};

static volatile sig_atomic_t is_over;

static void
note_signal(int number)
{
	(void)number;
	is_over = 1;
}

static void
tally(struct job *job, int code)
{
	tool_demand(code <= 0 && -code < CODES_MAX);
	if (code == 0)
		atomic_fetch_add(&job->n_ok, 1);
	else
		atomic_fetch_add(&job->n_codes[-code], 1);
}

static void
note_time(struct job *job, uint64_t began_us)
{
	uint64_t took_us = tool_now_us() - began_us, max_us = atomic_load(&job->max_us);

	while (took_us > max_us && !atomic_compare_exchange_weak(&job->max_us, &max_us, took_us))
		;
}

static void
judge(struct job *job, const char *key, const void *bytes, uint64_t len_bytes)
{
	if (len_bytes != job->len_bytes ||
	    !tool_is(bytes, (size_t)len_bytes, tool_seed(key, job->salt)))
		atomic_fetch_add(&job->n_wrong, 1);
}

/* ---- verbs over a run of keys: [first, first + n) --------------------------------- */

static struct tiffin_item *
items_new(struct job *job, size_t first, size_t n)
{
	struct tiffin_item *items = tool_alloc(n * sizeof(*items));
	struct iovec *slices = tool_alloc(n * sizeof(*slices));

	memset(items, 0, n * sizeof(*items));
	for (size_t i = 0; i < n; i++) {
		slices[i] = (struct iovec){tool_alloc(job->len_bytes), job->len_bytes};
		items[i].key = job->keys[first + i];
		items[i].slices = &slices[i];
		items[i].n_slices = 1;
	}
	return items;
}

static void
items_free(struct tiffin_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(items[i].slices->iov_base);
	free((void *)items[0].slices);
	free(items);
}

static void
put_run(struct job *job, size_t first, size_t n)
{
	struct tiffin_item *items = items_new(job, first, n);
	uint64_t began_us;
	int r;

	for (size_t i = 0; i < n; i++)
		tool_fill(items[i].slices->iov_base, job->len_bytes,
			  tool_seed(items[i].key, job->salt));
	began_us = tool_now_us();
	r = n > 1 ? tiffin_put_batch(job->client, items, n, &job->put)
		  : tiffin_put(job->client, items->key, items->slices, 1, &job->put, NULL);
	note_time(job, began_us);
	for (size_t i = 0; i < n; i++) {
		int result = n == 1 || r != 0 ? r : items[i].result;

		tally(job, result);
		if (result == 0 && job->acked >= 0)
			dprintf(job->acked, "%s\n", items[i].key);
	}
	items_free(items, n);
}

static void
get_run(struct job *job, size_t first, size_t n)
{
	struct tiffin_item *items = items_new(job, first, n);
	uint64_t began_us = tool_now_us(), len = 0;
	int r;

	r = n > 1 ? tiffin_get_batch(job->client, items, n)
		  : tiffin_get(job->client, items->key, items->slices, 1, &len);
	note_time(job, began_us);
	for (size_t i = 0; i < n; i++) {
		int result = n == 1 || r != 0 ? r : items[i].result;

		tally(job, result);
		if (result == 0)
			judge(job, items[i].key, items[i].slices->iov_base,
			      n == 1 ? len : items[i].ret_len_bytes);
	}
	items_free(items, n);
}

static void
exist_run(struct job *job, size_t first, size_t n)
{
	int *results = tool_alloc(n * sizeof(*results));
	uint64_t began_us = tool_now_us();
	int r = tiffin_exist(job->client, (const char *const *)job->keys + first, n, results);

	note_time(job, began_us);
	for (size_t i = 0; i < n; i++)
		tally(job, r != 0 ? r : results[i]);
	free(results);
}

static void
remove_run(struct job *job, size_t first, size_t n)
{
	int *results = tool_alloc(n * sizeof(*results));
	uint64_t began_us = tool_now_us();
	int r = tiffin_remove_batch(job->client, (const char *const *)job->keys + first, n,
				    job->flags, results);

	note_time(job, began_us);
	for (size_t i = 0; i < n; i++)
		tally(job, r != 0 ? r : results[i]);
	free(results);
}

static const struct verb {
	const char *name;
	void (*run)(struct job *job, size_t first, size_t n);
} verbs[] = {{"put", put_run}, {"get", get_run}, {"exist", exist_run}, {"remove", remove_run}};

static void *
work(void *arg)
{
	struct job *job = arg;
	size_t first;

	while (!is_over && (first = atomic_fetch_add(&job->next, job->batch)) < job->n) {
		size_t n = job->n - first < job->batch ? job->n - first : job->batch;

		for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
			if (strcmp(job->verb, verbs[i].name) == 0)
				verbs[i].run(job, first, n);
		}
	}
	return NULL;
}

/* ---- verbs that last until SIGTERM ---------------------------------------------- */

static void
wait_for_signal(void)
{
	while (!is_over)
		pause();
}

static void
hold(struct job *job)
{
	struct tiffin_view **views = tool_alloc(job->n * sizeof(*views));
	struct iovec slice = {tool_alloc(job->len_bytes), job->len_bytes};
	uint64_t len;
	size_t n_held = 0;
	int r;

	for (size_t i = 0; i < job->n; i++) {
		r = tiffin_view_open(job->client, job->keys[i], &views[i]);
		if (r != 0)
			views[i] = NULL;
		else
			n_held++;
	}
	printf("held %zu\n", n_held);
	fflush(stdout);
	wait_for_signal();
	for (size_t i = 0; i < job->n; i++) {
		if (views[i] == NULL)
			continue;
		r = tiffin_view_read(views[i], 0, &slice, 1, &len);
		tally(job, r);
		if (r == 0)
			judge(job, job->keys[i], slice.iov_base, len);
		tiffin_view_close(views[i]);
	}
	free(slice.iov_base);
	free(views);
}

static void
hits(struct job *job)
{
	int *results = tool_alloc(job->n * sizeof(*results));
	size_t n_there = 0;

	while (!is_over) {
		int r = tiffin_exist(job->client, (const char *const *)job->keys, job->n, results);

		if (r != 0) {
			tally(job, r);
			continue;
		}
		for (size_t i = 0; i < job->n; i++) {
			if (results[i] != 0)
				continue;
			n_there++;
			get_run(job, i, 1);
		}
	}
	printf("there=%zu ", n_there);
	free(results);
}

static int
by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
probe(struct job *job)
{
	uint32_t *took_us = tool_alloc(SAMPLES_MAX * sizeof(*took_us));
	struct timespec gap = {0, 2000000};
	size_t n = 0;

	while (!is_over && n < SAMPLES_MAX) {
		const char *key = job->keys[n % job->n];
		uint64_t began_us = tool_now_us();
		int result = 0, r = tiffin_exist(job->client, &key, 1, &result);

		took_us[n++] = (uint32_t)(tool_now_us() - began_us);
		tally(job, r != 0 ? r : result);
		note_time(job, began_us);
		nanosleep(&gap, NULL); /* the rate of asking, not a wait for something */
	}
	tool_demand(n > 0);
	qsort(took_us, n, sizeof(*took_us), by_size);
	printf("n=%zu p50_us=%u p99_us=%u max_us=%u ", n, took_us[n / 2], took_us[n * 99 / 100],
	       took_us[n - 1]);
	free(took_us);
}

/* ---- the rest --------------------------------------------------------------------- */

static void
run_threads(struct job *job)
{
	pthread_t threads[256];

	for (unsigned i = 0; i < job->n_threads; i++)
		tool_demand(pthread_create(&threads[i], NULL, work, job) == 0);
	for (unsigned i = 0; i < job->n_threads; i++)
		pthread_join(threads[i], NULL);
}

static void
name_keys(struct job *job, const char *list)
{
	char line[TIFFIN_KEY_MAX + 2];
	FILE *file;

	if (list == NULL) {
		job->keys = tool_alloc(job->n * sizeof(*job->keys));
		for (size_t i = 0; i < job->n; i++)
			tool_demand(asprintf(&job->keys[i], "%s%06zu", job->prefix, i) > 0);
		return;
	}
	file = fopen(list, "r");
	tool_demand(file != NULL);
	job->n = 0;
	while (fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		job->keys = realloc(job->keys, (job->n + 1) * sizeof(*job->keys));
		tool_demand(job->keys != NULL);
		job->keys[job->n++] = strdup(line);
	}
	fclose(file);
}

static void
print_tally(const struct job *job, uint64_t began_ms)
{
	printf("ok=%zu ", job->n_ok);
	for (int i = 1; i < CODES_MAX; i++) {
		if (job->n_codes[i] > 0)
			printf("%s=%zu ", tiffin_errname(-i), job->n_codes[i]);
	}
	printf("wrong=%zu max_ms=%zu all_ms=%zu\n", job->n_wrong, (size_t)job->max_us / 1000,
	       (size_t)(tool_now_ms() - began_ms));
}

static const struct option words[] = {
	{"batch", required_argument, NULL, 'b'},
	{"threads", required_argument, NULL, 't'},
	{"salt", required_argument, NULL, 's'},
	{"acked", required_argument, NULL, 'a'},
	{"replicas", required_argument, NULL, 'r'},
	{"segment", required_argument, NULL, 'S'},
	{"list", required_argument, NULL, 'l'},
	{"replace", no_argument, NULL, 'R'},
	{"strict", no_argument, NULL, 'x'},
	{"force", no_argument, NULL, 'f'},
	{NULL, 0, NULL, 0},
};

static void
take_options(struct job *job, int argc, char **argv)
{
	const char *list = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "", words, NULL)) != -1) {
		switch (c) {
		case 'b':
			job->batch = (size_t)atol(optarg);
			break;
		case 't':
			job->n_threads = (unsigned)atoi(optarg);
			break;
		case 's':
			job->salt = (uint64_t)atoll(optarg);
			break;
		case 'a':
			job->acked = open(optarg, O_WRONLY | O_CREAT | O_APPEND, 0600);
			break;
		case 'r':
			job->put.replica_num = (uint32_t)atoi(optarg);
			break;
		case 'S':
			job->preferred = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			list = optarg;
			break;
		case 'R':
			job->put.flags |= TIFFIN_REPLACE;
			break;
		case 'x':
			job->put.flags |= TIFFIN_STRICT;
			break;
		case 'f':
			job->flags |= TIFFIN_FORCE;
			break;
		default:
			exit(2);
		}
	}
	tool_demand(argc - optind == 4);
	job->verb = argv[optind];
	job->prefix = argv[optind + 1];
	job->n = (size_t)atol(argv[optind + 2]);
	job->len_bytes = (size_t)atol(argv[optind + 3]);
	if (job->preferred != 0) {
		job->put.preferred = &job->preferred;
		job->put.n_preferred = 1;
	}
	name_keys(job, list);
	tool_demand(job->batch > 0 && job->n_threads > 0 && job->n_threads <= 256);
}

int
main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = note_signal};
	struct job job = {
		.batch = 1, .n_threads = 1, .acked = -1, .put = {.struct_bytes = sizeof(job.put)}};
	uint64_t began_ms;

	sigaction(SIGTERM, &action, NULL);
	take_options(&job, argc, argv);
	job.client = tool_open();
	began_ms = tool_now_ms();
	if (strcmp(job.verb, "hold") == 0)
		hold(&job);
	else if (strcmp(job.verb, "hits") == 0)
		hits(&job);
	else if (strcmp(job.verb, "probe") == 0)
		probe(&job);
	else
		run_threads(&job);
	print_tally(&job, began_ms);
	tiffin_close(job.client);
	for (size_t i = 0; i < job.n; i++)
		free(job.keys[i]);
	free(job.keys);
	return job.n_wrong > 0;
}
