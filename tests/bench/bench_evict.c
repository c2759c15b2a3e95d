/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench_evict -- request traces against pools of several sizes: which rule of eviction finds most?
 *
 *      bench_evict [--scan] TRACE...
 *
 * A trace has one JSON object a line, of which "hash_ids" counts: the blocks of one prompt, in
 * order.  Each block is one object.  A request asks for all its blocks, reads those that are there
 * and puts the others.
 *
 *      found   blocks that were there, of all that were asked for
 *      useful  those of them that all blocks before them in the prompt were there for, too: an
 *              engine can use no others
 *
 * Blocks of one request are used from the last to the first, so that the beginning of a prompt,
 * which all that follows depends on, is never older than its end.
 *
 * --scan: every SCAN_EVERY requests SCAN_BLOCKS blocks come that nobody asks for again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/evict/pool.h"
#include "transfer/base/vec.h"

#define SCAN_EVERY  400
#define SCAN_BLOCKS 4000

struct trace {
	VEC(uint32_t) ids;   /* of all requests, one behind the other */
	VEC(size_t) ends;    /* of each request in ids */
	uint32_t n_ids;      /* they are below it */
	uint64_t *next_uses; /* in the order in which they are used */
};

static const size_t sizes[] = {1000, 3000, 10000, 20000, 30000, 40000, 50000, 100000};

static void
must(bool is_good, const char *what)
{
	if (is_good)
		return;
	fprintf(stderr, "bench_evict: %s\n", what);
	exit(1);
}

static void
add_id(struct trace *trace, uint32_t id)
{
	must(vec_push(&trace->ids, id) == 0, "no memory");
	if (id >= trace->n_ids)
		trace->n_ids = id + 1;
}

static void
end_request(struct trace *trace)
{
	must(vec_push(&trace->ends, trace->ids.n) == 0, "no memory");
}

static void
read_line(struct trace *trace, const char *line)
{
	const char *at = strstr(line, "\"hash_ids\"");

	must(at != NULL && (at = strchr(at, '[')) != NULL, "a line without hash_ids");
	while (*at != '\0' && *at != ']') {
		char *end;
		unsigned long id = strtoul(at + 1, &end, 10);

		if (end == at + 1)
			break; /* an empty list */
		must(id < 1ul << 28, "an id over 2^28");
		add_id(trace, (uint32_t)id);
		at = end;
	}
	end_request(trace);
}

/* next_uses -- for each use of the replay when the same object is used next. */
static void
look_ahead(struct trace *trace)
{
	uint64_t *latest = malloc(trace->n_ids * sizeof(*latest));
	size_t use = trace->ids.n;

	trace->next_uses = malloc(trace->ids.n * sizeof(*trace->next_uses));
	must(latest != NULL && trace->next_uses != NULL, "no memory");
	memset(latest, 0xff, trace->n_ids * sizeof(*latest)); /* NEVER_AGAIN */
	for (size_t i = trace->ends.n; i-- > 0;) {
		size_t begin = i == 0 ? 0 : trace->ends.at[i - 1];

		for (size_t k = begin; k < trace->ends.at[i]; k++) {
			trace->next_uses[--use] = latest[trace->ids.at[k]];
			latest[trace->ids.at[k]] = use;
		}
	}
	free(latest);
}

static void
scans(struct trace *trace, const struct trace *plain)
{
	uint32_t scan_id = plain->n_ids;

	for (size_t i = 0, k = 0; i < plain->ends.n; i++) {
		while (k < plain->ends.at[i])
			add_id(trace, plain->ids.at[k++]);
		end_request(trace);
		if (i % SCAN_EVERY != SCAN_EVERY - 1)
			continue;
		for (int n = 0; n < SCAN_BLOCKS; n++)
			add_id(trace, scan_id++);
		end_request(trace);
	}
}

static struct trace
trace_load(const char *path, bool with_scans)
{
	struct trace trace = {0}, scanned = {0};
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0;

	must(file != NULL, path);
	while (getline(&line, &cap, file) > 0)
		read_line(&trace, line);
	free(line);
	fclose(file);
	must(trace.ids.n > 0, "an empty trace");
	if (with_scans) {
		scans(&scanned, &trace);
		vec_fini(&trace.ids);
		vec_fini(&trace.ends);
		trace = scanned;
	}
	look_ahead(&trace);
	return trace;
}

static void
replay(const struct trace *trace, const struct rule *rule, size_t n_slots)
{
	struct pool *pool = pool_open(rule, trace->n_ids, n_slots, trace->next_uses);
	size_t n_found = 0, n_useful = 0, begin = 0;

	for (size_t i = 0; i < trace->ends.n; i++) {
		size_t end = trace->ends.at[i];
		bool is_useful = true;

		for (size_t k = begin; k < end; k++) {
			bool is_here = pool_has(pool, trace->ids.at[k]);

			is_useful = is_useful && is_here;
			n_found += is_here;
			n_useful += is_useful;
		}
		for (size_t k = end; k-- > begin;)
			pool_use(pool, trace->ids.at[k]);
		begin = end;
	}
	printf(" %s=%.4f %s_useful=%.4f", rule->name, (double)n_found / (double)trace->ids.n,
	       rule->name, (double)n_useful / (double)trace->ids.n);
	fflush(stdout);
	pool_close(pool);
}

int
main(int argc, char **argv)
{
	bool with_scans = argc > 1 && strcmp(argv[1], "--scan") == 0;

	if (argc < (with_scans ? 3 : 2)) {
		fprintf(stderr, "usage: bench_evict [--scan] TRACE...\n");
		return 2;
	}
	for (int i = with_scans ? 2 : 1; i < argc; i++) {
		struct trace trace = trace_load(argv[i], with_scans);
		const char *slash = strrchr(argv[i], '/');

		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
			printf("name=evict_replay trace=%s%s objects=%zu",
			       slash != NULL ? slash + 1 : argv[i], with_scans ? "+scan" : "",
			       sizes[k]);
			for (const struct rule *rule = rules; rule->name != NULL; rule++)
				replay(&trace, rule, sizes[k]);
			printf("\n");
		}
		vec_fini(&trace.ids);
		vec_fini(&trace.ends);
		free(trace.next_uses);
	}
	return 0;
}
