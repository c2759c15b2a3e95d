/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/cmd_bench_transfer.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "core/cli/bench_transfer.h"
#include "core/cli/interrupt.h"
#include "core/cli/rows.h"
#include "transfer/base/num.h"
#include "transfer/base/rand.h"
#include "transfer/base/vec.h"

#define DEPTH_MAX    256
#define ROOM_BYTES   (64ull << 20) /* a longer one when one object is */
#define MEMORY_MAX   (4ull << 30)
#define HUGE_BYTES   (2ull << 20)
#define PATTERN_SEED 20240301

/* One run of the command. */
struct session {
	struct cli *cli;
	const struct bench_transfer_wish *wish;
	struct rows rows;
	uint64_t depths[BENCH_LIST_MAX];
	size_t n_depths;
	uint8_t *pattern, *sink; /* owned */
	uint64_t pattern_bytes, sink_bytes;
	uint64_t *len_ns; /* owned; a batch each */
	size_t n_rows;
	struct bench_transfer bench;
	const char *segment, *way; /* of the row at hand */
};

/* ---- what is wished -------------------------------------------------------------- */

/* parse_depths -- "1,8". */
static int
parse_depths(struct session *s)
{
	const char *text = s->wish->depths;

	for (;;) {
		char one[32];
		size_t len = strcspn(text, ",");
		uint64_t *depth = &s->depths[s->n_depths];

		snprintf(one, sizeof(one), "%.*s", (int)num_min(len, sizeof(one) - 1), text);
		if (s->n_depths == BENCH_LIST_MAX || num_parse(one, depth) != 0 || *depth < 1 ||
		    *depth > DEPTH_MAX)
			return cli_say(s->cli, CLI_USAGE, "--depth: '%s' is not 1 to %d", one,
				       DEPTH_MAX);
		s->n_depths++;
		if (text[len] == '\0')
			return CLI_OK;
		text += len + 1;
	}
}

static int
check_words(const struct session *s)
{
	const char *op = s->wish->op, *transport = s->wish->transport;
	bool is_known = transport == NULL;

	for (size_t i = 0; bench_way(i) != NULL; i++)
		is_known = is_known || strcmp(bench_way(i), transport) == 0;
	if (!is_known)
		return cli_say(s->cli, CLI_USAGE,
			       "--transport: '%s' is not local, shm, file, rdma or tcp", transport);
	if (op != NULL && strcmp(op, "read") != 0 && strcmp(op, "write") != 0)
		return cli_say(s->cli, CLI_USAGE, "--op: '%s' is not read or write", op);
	return CLI_OK;
}

static bool
is_wished(const char *wish, const char *word)
{
	return wish == NULL || strcmp(wish, word) == 0;
}

/* ---- memory ---------------------------------------------------------------------- */

/* make_bytes -- touched, and in whole large pages where there are such. */
static uint8_t *
make_bytes(uint64_t len_bytes)
{
	uint8_t *bytes = aligned_alloc(HUGE_BYTES, num_align_up(len_bytes, HUGE_BYTES));
	struct rand rand;

	if (bytes == NULL)
		return NULL;
	rand_init(&rand, PATTERN_SEED);
	for (uint64_t i = 0; i < num_align_up(len_bytes, HUGE_BYTES); i += 8) {
		uint64_t v = rand_u64(&rand);

		memcpy(bytes + i, &v, 8);
	}
	return bytes;
}

static int
make_memory(struct session *s)
{
	uint64_t size_max = 0, depth_max = 0, n_batches = 1;

	for (size_t i = 0; i < s->wish->n_sizes; i++) {
		uint64_t n = bench_count(s->wish->n_ops, s->wish->sizes[i]);

		size_max = num_max(size_max, s->wish->sizes[i]);
		n_batches = num_max(n_batches, n);
	}
	for (size_t i = 0; i < s->n_depths; i++)
		depth_max = num_max(depth_max, s->depths[i]);
	if (size_max > MEMORY_MAX / depth_max)
		return cli_say(s->cli, CLI_USAGE,
			       "--size and --depth: %" PRIu64
			       " times the largest size is more than 4 GiB",
			       depth_max);
	s->sink_bytes = size_max * depth_max;
	s->pattern_bytes = num_max(num_min(s->sink_bytes, ROOM_BYTES), size_max);
	s->pattern = make_bytes(s->pattern_bytes);
	s->sink = make_bytes(s->sink_bytes);
	s->len_ns = calloc(n_batches, sizeof(*s->len_ns));
	if (s->pattern == NULL || s->sink == NULL || s->len_ns == NULL)
		return cli_say(s->cli, CLI_SYSTEM, "out of memory");
	s->bench = (struct bench_transfer){.clock = s->cli->clock,
					   .pattern = s->pattern,
					   .pattern_bytes = s->pattern_bytes,
					   .sink = s->sink,
					   .sink_bytes = s->sink_bytes,
					   .verify = s->wish->verify};
	return CLI_OK;
}

static void
session_fini(struct session *s)
{
	free(s->pattern);
	free(s->sink);
	free(s->len_ns);
}

/* ---- rows ------------------------------------------------------------------------ */

static void
print_json(struct session *s, const struct bench_load *load, const struct bench_speed *speed)
{
	struct json *json = &s->rows.json;
	double s_all = (double)speed->elapsed_ns / 1e9;

	json_open_object(json, NULL);
	json_text(json, "segment", s->segment);
	json_text(json, "transport", s->way);
	json_text(json, "op", load->kind == OP_READ ? "read" : "write");
	json_u64(json, "size_bytes", load->size_bytes);
	json_u64(json, "depth", load->depth);
	json_u64(json, "n_ops", load->n_ops);
	json_number(json, "mb_per_s", (double)load->size_bytes * (double)load->n_ops / 1e6 / s_all);
	json_number(json, "ops_per_s", (double)load->n_ops / s_all);
	json_number(json, "p50_us", (double)speed->p50_ns / 1e3);
	json_number(json, "p99_us", (double)speed->p99_ns / 1e3);
	json_number(json, "max_us", (double)speed->max_ns / 1e3);
	json_bool(json, "verified", s->wish->verify && load->kind == OP_READ);
	json_close(json);
}

static void
print_row(struct session *s, const struct bench_load *load, const struct bench_speed *speed)
{
	struct table *table = s->rows.table;
	double s_all = (double)speed->elapsed_ns / 1e9;

	s->n_rows++;
	if (table == NULL) {
		print_json(s, load, speed);
		return;
	}
	rows_cell_key(&s->rows, s->segment);
	table_cell(table, "%s", s->way);
	table_cell(table, "%s", load->kind == OP_READ ? "read" : "write");
	rows_cell_bytes(&s->rows, load->size_bytes);
	table_cell(table, "%" PRIu64, load->depth);
	table_cell(table, "%" PRIu64, load->n_ops);
	table_cell(table, "%.1f", (double)load->size_bytes * (double)load->n_ops / 1e6 / s_all);
	table_cell(table, "%.0f", (double)load->n_ops / s_all);
	table_cell(table, "%.1f us", (double)speed->p50_ns / 1e3);
	table_cell(table, "%.1f us", (double)speed->p99_ns / 1e3);
	table_cell(table, "%.1f us", (double)speed->max_ns / 1e3);
}

/* ---- measuring ------------------------------------------------------------------- */

/* say_failed -- r: an outcome of bench_transfer_run(), or TIFFIN_E_*. */
static int
say_failed(const struct session *s, const char *op, int r)
{
	if (r < 0)
		return cli_fail_item(s->cli, r, s->segment);
	return cli_say(s->cli, CLI_UNREACHABLE, "%s: a %s by %s failed", s->segment, op, s->way);
}

static int
measure_one(struct session *s, struct bench_load *load)
{
	const char *op = load->kind == OP_READ ? "read" : "write";
	struct bench_speed speed;
	int r;

	load->n_ops = bench_count(s->wish->n_ops, load->size_bytes);
	load->len_ns = s->len_ns;
	r = bench_transfer_run(&s->bench, load, &speed);
	if (interrupted())
		return CLI_INTERRUPTED;
	if (r != 0)
		return say_failed(s, op, r);
	print_row(s, load, &speed);
	if (speed.n_wrong > 0)
		return cli_say(s->cli, CLI_CHECKSUM,
			       "%s: %" PRIu64 " of %" PRIu64 " reads by %s came back wrong",
			       s->segment, speed.n_wrong, load->n_ops, s->way);
	return CLI_OK;
}

static int
measure_op(struct session *s, enum op_kind kind)
{
	int r = bench_transfer_reaches(&s->bench, kind), status = CLI_OK;

	if (r == BENCH_TRANSFER_E_CANT) {
		if (s->wish->transport != NULL)
			cli_note(s->cli, "%s: not reached by %s to %s", s->segment, s->way,
				 kind == OP_READ ? "read" : "write");
		return CLI_OK;
	}
	if (r < 0)
		return say_failed(s, kind == OP_READ ? "read" : "write", r);
	for (size_t i = 0; i < s->wish->n_sizes; i++)
		for (size_t k = 0; k < s->n_depths && status == CLI_OK; k++) {
			struct bench_load load = {.kind = kind,
						  .size_bytes = s->wish->sizes[i],
						  .depth = s->depths[k]};

			status = measure_one(s, &load);
		}
	return status;
}

/* measure_way -- one transport to one segment; a write only where a read comes through. */
static int
measure_way(struct session *s)
{
	int r = bench_transfer_open(&s->bench, s->way), status = CLI_OK;

	if (r == BENCH_TRANSFER_E_CANT)
		return CLI_OK;
	if (r < 0)
		return cli_fail_item(s->cli, r, s->segment);
	if (is_wished(s->wish->op, "read"))
		status = measure_op(s, OP_READ);
	if (status == CLI_OK && is_wished(s->wish->op, "write") &&
	    bench_transfer_reaches(&s->bench, OP_READ) == 0)
		status = measure_op(s, OP_WRITE);
	bench_transfer_close(&s->bench);
	return status;
}

/* measure_own -- memory of this process: what the others are measured against. */
static int
measure_own(struct session *s)
{
	if (!is_wished(s->wish->transport, "local") || s->wish->segment != NULL)
		return CLI_OK;
	s->segment = "(this process)";
	s->way = "local";
	s->bench.room = NULL;
	return measure_way(s);
}

static int
measure_segment(struct session *s, const struct tiffin_segment *segment)
{
	const struct iovec pattern = {s->pattern, s->pattern_bytes};
	struct bench_room room;
	int r, status = CLI_OK;
	char key[64];

	snprintf(key, sizeof(key), "tiffin-bench-%d/%" PRIu64, (int)getpid(), segment->segment_id);
	s->segment = segment->name;
	r = bench_room_open(&room, s->cli->client, key, segment->segment_id, &pattern);
	if (r == BENCH_ROOM_E_ELSEWHERE) {
		char size[32];

		cli_note(s->cli, "%s: no %s free in one run", segment->name,
			 num_show_bytes(size, sizeof(size), s->pattern_bytes));
		return CLI_OK;
	}
	if (r < 0)
		return cli_fail(s->cli, r, segment->name);
	s->bench.room = &room;
	for (size_t i = 0; bench_way(i) != NULL && status == CLI_OK; i++) {
		s->way = bench_way(i);
		if (strcmp(s->way, "local") != 0 && is_wished(s->wish->transport, s->way))
			status = measure_way(s);
	}
	bench_room_close(&room);
	return status;
}

/* ---- segments -------------------------------------------------------------------- */

struct segments {
	const char *wished;
	VEC(struct tiffin_segment) found; /* their texts are owned, in one block each */
	bool is_short;
};

/* keep -- a copy, for nothing may be asked of the master while it tells of them. */
static int
keep(void *arg, const struct tiffin_segment *segment)
{
	struct segments *segments = arg;
	struct tiffin_segment copy = *segment;

	if (!is_wished(segments->wished, segment->name))
		return 0;
	copy.name = strdup(segment->name);
	if (copy.name == NULL || vec_push(&segments->found, copy) < 0) {
		free((char *)(uintptr_t)copy.name);
		segments->is_short = true;
	}
	return 0;
}

static int
measure_all(struct session *s)
{
	struct segments segments = {.wished = s->wish->segment};
	int r = tiffin_segments(s->cli->client, keep, &segments), status = CLI_OK;

	if (r < 0)
		status = cli_fail(s->cli, r, NULL);
	else if (segments.is_short)
		status = cli_say(s->cli, CLI_SYSTEM, "out of memory");
	else if (segments.found.n == 0 && s->wish->segment != NULL)
		status = cli_say(s->cli, CLI_NOT_FOUND, "there is no segment '%s'",
				 s->wish->segment);
	for (size_t i = 0; i < segments.found.n && status == CLI_OK; i++)
		status = measure_segment(s, &segments.found.at[i]);
	for (size_t i = 0; i < segments.found.n; i++)
		free((char *)(uintptr_t)segments.found.at[i].name);
	vec_fini(&segments.found);
	return status;
}

/* needs_store -- local alone does not. */
static bool
needs_store(const struct bench_transfer_wish *wish)
{
	return wish->transport == NULL || strcmp(wish->transport, "local") != 0;
}

static int
run_all(struct session *s)
{
	static const char *const titles[] = {
		"SEGMENT", "TRANSPORT", "OP",   ">SIZE", ">DEPTH", ">COUNT",
		">MB/s",   ">OPS/s",    ">p50", ">p99",  ">MAX",   NULL,
	};
	struct tiffin_client *client;
	int status = needs_store(s->wish) ? rows_open(&s->rows, s->cli, titles, &client)
					  : rows_begin(&s->rows, s->cli, titles);

	if (status != CLI_OK)
		return status;
	status = measure_own(s);
	if (status == CLI_OK && needs_store(s->wish))
		status = measure_all(s);
	cli_keep(&status, rows_end(&s->rows, 0));
	if (status == CLI_OK && s->n_rows == 0)
		status = cli_say(s->cli, CLI_UNREACHABLE, "no segment is reached in this way");
	return status;
}

int
cmd_bench_transfer(struct cli *cli, const struct bench_transfer_wish *wish)
{
	struct session s = {.cli = cli, .wish = wish};
	int status = check_words(&s);

	if (status == CLI_OK)
		status = parse_depths(&s);
	if (status == CLI_OK)
		status = make_memory(&s);
	if (status == CLI_OK)
		status = run_all(&s);
	session_fini(&s);
	return status;
}
