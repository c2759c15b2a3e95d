/* SPDX-License-Identifier: Apache-2.0 */
#include "master/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/books.h"
#include "master/handle.h"
#include "transfer/base/err.h"

#define SEGMENTS_A_PIECE 1024
#define TENANTS_A_PIECE  1024
#define LINE_MAX_BYTES   1024

void
metrics_init(struct metrics *metrics)
{
	memset(metrics, 0, sizeof(*metrics));
}

void
metrics_fini(struct metrics *metrics)
{
	vec_fini(&metrics->segments);
	vec_fini(&metrics->tenants);
}

/* ---- on the loop's thread: numbers ---- */

static void
gather_counts(struct metrics *metrics, struct master *master)
{
	assert(n_master_counter_defs <= sizeof(metrics->counts) / sizeof(metrics->counts[0]));
	handle_fetch_counters(master);
	for (size_t i = 0; i < n_master_counter_defs; i++)
		metrics->counts[i] = master_counter(&master->counters, i);
	memcpy(metrics->requests, master->requests, sizeof(metrics->requests));
	metrics->turns = master->turns;
	metrics->epoch = master->epoch;
	metrics->size_bytes = master->size_bytes;
	metrics->gated_bytes = master->quarantine.gated_bytes;
	metrics->is_stalled = master->progress.is_stalled;
	metrics->is_full = master->progress.is_full;
	memcpy(metrics->shortages, master->shortages, sizeof(metrics->shortages));
	list_each(&master->parked, link)
		metrics->n_parked++;
}

static int
gather_segments(struct metrics *metrics, const struct master *master)
{
	list_each(&master->all_segments, link) {
		const struct segment *segment = list_of(link, struct segment, at_master);
		struct metrics_segment row = {
			.size_bytes = segment->size_bytes,
			.used_bytes = segment_used_bytes(segment),
			.resting_bytes = segment->resting_bytes,
			.hole_bytes = alloc_hole_bytes(segment->alloc),
			.n_replicas = segment->n_replicas,
			.state = (uint8_t)segment->state,
			.is_failing = segment->is_failing,
		};

		if (metrics->segments.n == SEGMENTS_A_PIECE)
			break; /* the rest is in the totals */
		snprintf(row.name, sizeof(row.name), "%s", segment->name);
		if (vec_push(&metrics->segments, row) < 0)
			return err_new(-ENOMEM);
	}
	return 0;
}

static int
gather_tenants(struct metrics *metrics, const struct master *master)
{
	const char *last =
		metrics->tenants.n == 0 ? "" : metrics->tenants.at[metrics->tenants.n - 1].name;
	size_t at = tenants_after(&master->tenants, (const uint8_t *)last, strlen(last));

	for (size_t n = 0; n < TENANTS_A_PIECE && at < master->tenants.by_name.n; n++, at++) {
		const struct tenant *tenant = master->tenants.by_name.at[at];
		struct metrics_tenant row = {
			.n_objects = tenant->n_objects,
			.object_bytes = tenant->bytes,
			.charged_bytes = tenant->charged_bytes,
			.resting_bytes = tenant->resting_bytes,
			.quota = tenant->quota,
		};

		snprintf(row.name, sizeof(row.name), "%s", tenant->name);
		if (vec_push(&metrics->tenants, row) < 0)
			return err_new(-ENOMEM);
	}
	metrics->is_whole = at == master->tenants.by_name.n;
	return 0;
}

int
metrics_gather(struct metrics *metrics, struct master *master)
{
	int r = 0;

	if (!metrics->has_begun) {
		metrics->has_begun = true;
		gather_counts(metrics, master);
		r = gather_segments(metrics, master);
	}
	if (r == 0)
		r = gather_tenants(metrics, master);
	return r;
}

/* ---- on any thread: words ---- */

struct page {
	struct buf *out;
	int result;
};

__attribute__((format(printf, 2, 3))) static void
say(struct page *page, const char *fmt, ...)
{
	va_list args;
	int len;

	if (page->result == 0)
		page->result = buf_reserve(page->out, LINE_MAX_BYTES);
	if (page->result < 0)
		return;
	va_start(args, fmt);
	len = vsnprintf((char *)buf_behind(page->out), LINE_MAX_BYTES, fmt, args);
	va_end(args);
	assert(len >= 0 && len < LINE_MAX_BYTES);
	page->out->end += (size_t)len;
}

static void
say_head(struct page *page, const char *name, const char *type, const char *help)
{
	say(page, "# HELP tiffin_master_%s %s\n# TYPE tiffin_master_%s %s\n", name, help, name,
	    type);
}

static void
say_one(struct page *page, const char *name, const char *help, uint64_t value)
{
	say_head(page, name, "gauge", help);
	say(page, "tiffin_master_%s %" PRIu64 "\n", name, value);
}

static void
say_counts(struct page *page, const struct metrics *metrics)
{
	for (size_t i = 0; i < n_master_counter_defs; i++) {
		const struct counter_def *def = &master_counter_defs[i];
		bool is_total = def->kind == COUNTER_TOTAL;
		char name[128];

		snprintf(name, sizeof(name), "%s%s", def->name, is_total ? "_total" : "");
		say_head(page, name, is_total ? "counter" : "gauge", def->help);
		say(page, "tiffin_master_%s %" PRIu64 "\n", name, metrics->counts[i]);
	}
}

/* labels: "" or ones that end in a comma. */
static void
say_hist(struct page *page, const char *name, const char *labels, const struct hist *hist)
{
	size_t len = strlen(labels);
	uint64_t n = 0;

	for (unsigned i = 0; i < HIST_BUCKETS - 1; i++) {
		n += hist->n[i];
		say(page, "tiffin_master_%s_bucket{%sle=\"%.9f\"} %" PRIu64 "\n", name, labels,
		    (double)hist_top_ns(i) / 1e9, n);
	}
	say(page, "tiffin_master_%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels,
	    hist->n_all);
	if (len > 0)
		len--; /* the comma */
	say(page, "tiffin_master_%s_sum{%.*s} %.9f\n", name, (int)len, labels,
	    (double)hist->sum_ns / 1e9);
	say(page, "tiffin_master_%s_count{%.*s} %" PRIu64 "\n", name, (int)len, labels,
	    hist->n_all);
}

static void
say_hists(struct page *page, const struct metrics *metrics)
{
	say_head(page, "request_seconds", "histogram",
		 "from a request's arrival to its answer, waiting for room and disk included");
	for (uint16_t type = 0; type < MESSAGE_NUMBERS; type++) {
		char label[64];

		if (metrics->requests[type].n_all == 0)
			continue;
		snprintf(label, sizeof(label), "request=\"%s\",", msg_name(type));
		say_hist(page, "request_seconds", label, &metrics->requests[type]);
	}
	say_head(page, "turn_seconds", "histogram", "turns of the loop that had something to do");
	say_hist(page, "turn_seconds", "", &metrics->turns);
}

/* Names of segments and tenants are printable (proto.def), but may hold what ends a label. */
static const char *
label_text(const char *name, char *text, size_t cap)
{
	size_t n = 0;

	for (; *name != '\0' && n + 3 < cap; name++) {
		if (*name == '"' || *name == '\\')
			text[n++] = '\\';
		text[n++] = *name;
	}
	text[n] = '\0';
	return text;
}

#define SEGMENT_GAUGES(X)                                                                          \
	X(size_bytes, "of a segment")                                                              \
	X(used_bytes, "of a segment: in live replicas and puts under way")                         \
	X(resting_bytes, "of a segment: in quarantine")                                            \
	X(hole_bytes, "of a segment: its longest free run")                                        \
	X(n_replicas, "on a segment")                                                              \
	X(state, "of a segment: 1 OK, 2 SUSPECT, 3 AWAY, 4 LEAVING, ...")                          \
	X(is_failing, "of a segment: 1: peers get no answer from it")

static void
say_segments(struct page *page, const struct metrics *metrics)
{
	char text[600];

#define X(field, help)                                                                             \
	say_head(page, "segment_" #field, "gauge", help);                                          \
	for (size_t i = 0; i < metrics->segments.n; i++) {                                         \
		const struct metrics_segment *row = &metrics->segments.at[i];                      \
                                                                                                   \
		say(page, "tiffin_master_segment_" #field "{segment=\"%s\"} %" PRIu64 "\n",        \
		    label_text(row->name, text, sizeof(text)), (uint64_t)row->field);              \
	}
	SEGMENT_GAUGES(X)
#undef X
}

/* Of the last put of each kind that was refused, as it was then. */
static void
say_shortages(struct page *page, const struct metrics *metrics)
{
	static const char *const kinds[] = {"memory", "disk", "nof"};

	say_head(page, "refused_bytes", "gauge",
		 "when a put was last refused for want of room there: what held the bytes");
	for (int i = 0; i < POOLS; i++) {
		const struct shortage *of = &metrics->shortages[i];

		if (of->at_ms == 0)
			continue;
#define X(reason_)                                                                                 \
	say(page,                                                                                  \
	    "tiffin_master_refused_bytes{kind=\"%s\",reason=\"" #reason_ "\"} %" PRIu64 "\n",      \
	    kinds[i], of->reason_##_bytes);
		SHORTAGE_REASONS(X)
#undef X
	}
}

#define TENANT_GAUGES(X)                                                                           \
	X(n_objects, n_objects, "of a tenant")                                                     \
	X(object_bytes, object_bytes, "of a tenant, each copy counted once")                       \
	X(charged_bytes, charged_bytes, "of a tenant: all room that is not free because of it")    \
	X(resting_bytes, resting_bytes, "of a tenant: of those, in quarantine")                    \
	X(quota_bytes, quota.bytes, "of a tenant; 0: no limit")                                    \
	X(quota_objects, quota.objects, "of a tenant; 0: no limit")

static void
say_tenants(struct page *page, const struct metrics *metrics)
{
	char text[600];

#define X(name_, field, help)                                                                      \
	say_head(page, "tenant_" #name_, "gauge", help);                                           \
	for (size_t i = 0; i < metrics->tenants.n; i++) {                                          \
		const struct metrics_tenant *row = &metrics->tenants.at[i];                        \
                                                                                                   \
		say(page, "tiffin_master_tenant_" #name_ "{tenant=\"%s\"} %" PRIu64 "\n",          \
		    label_text(row->name, text, sizeof(text)), row->field);                        \
	}
	TENANT_GAUGES(X)
#undef X
}

int
metrics_text(const struct metrics *metrics, struct buf *out)
{
	struct page page = {.out = out};

	say_counts(&page, metrics);
	say_one(&page, "epoch", "of this start of the master", metrics->epoch);
	say_one(&page, "size_bytes", "of all segments that are here", metrics->size_bytes);
	say_one(&page, "gated_bytes", "of those resting: until their writer is fenced",
		metrics->gated_bytes);
	say_one(&page, "requests_parked", "put_start requests that wait for room",
		metrics->n_parked);
	say_one(&page, "store_stalled", "1: the last commit failed and is being tried again",
		metrics->is_stalled);
	say_one(&page, "store_full", "1: the disk is full, only removals are taken",
		metrics->is_full);
	say_hists(&page, metrics);
	say_shortages(&page, metrics);
	say_segments(&page, metrics);
	say_tenants(&page, metrics);
	return page.result < 0 ? err_up(page.result) : 0;
}
