/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/top.h"

#include <inttypes.h>
#include <string.h>

#include "core/cli/key_text.h"
#include "core/cli/space_bar.h"
#include "transfer/base/num.h"

/* ---- a look ---- */

static int
add_count(void *arg, const struct tiffin_count *told)
{
	struct top_look *look = arg;

	if (look->n_counts < TOP_COUNTS_MAX) {
		struct top_count *count = &look->counts[look->n_counts++];

		snprintf(count->name, sizeof(count->name), "%s", told->name);
		count->value = told->value;
		count->is_gauge = told->is_gauge;
	}
	return 0;
}

static int
add_segment(void *arg, const struct tiffin_segment *segment)
{
	struct top_look *look = arg;
	char name[KEY_TEXT_CAP];

	if (look->n_segments < TOP_SEGMENTS_MAX) {
		struct top_segment *row = &look->segments[look->n_segments++];

		snprintf(row->name, sizeof(row->name), "%.60s",
			 key_show(name, sizeof(name), segment->name));
		snprintf(row->state, sizeof(row->state), "%.15s", segment->state);
		row->size_bytes = segment->size_bytes;
		row->used_bytes = segment->used_bytes;
		row->resting_bytes = segment->resting_bytes;
		row->hole_bytes = segment->hole_bytes;
	}
	return 0;
}

int
top_look(struct tiffin_client *client, const struct clock *clock, struct top_look *ret_look)
{
	int r;

	memset(ret_look, 0, sizeof(*ret_look));
	r = tiffin_stats(client, add_count, ret_look);
	ret_look->at_ns = clock_ns(clock);
	if (r == 0)
		r = tiffin_space(client, &ret_look->space);
	if (r == 0)
		r = tiffin_segments(client, add_segment, ret_look);
	return r;
}

double
top_rate(const struct top_look *before, const struct top_look *now, size_t i)
{
	double s = (double)(now->at_ns - before->at_ns) / 1e9;
	uint64_t was = i < before->n_counts ? before->counts[i].value : 0;

	if (s <= 0 || now->counts[i].value < was)
		return 0;
	return (double)(now->counts[i].value - was) / s;
}

/* ---- showing ---- */

struct screen {
	FILE *to;
	unsigned n_left; /* lines */
};

/* line -- may one more be printed? */
static bool
line(struct screen *screen)
{
	if (screen->n_left == 0)
		return false;
	screen->n_left--;
	return true;
}

static void
show_space(struct screen *screen, const struct tiffin_space *space)
{
	double size = space->size_bytes > 0 ? (double)space->size_bytes : 1;
	char bar[SPACE_BAR_WIDTH + 1], used[32], all[32], resting[32];

	space_bar(bar, space);
	if (line(screen))
		fprintf(screen->to, "space   [%s] %5.1f%%  %s of %s used, %s resting\n", bar,
			100.0 * (double)space->used_bytes / size,
			num_show_bytes(used, sizeof(used), space->used_bytes),
			num_show_bytes(all, sizeof(all), space->size_bytes),
			num_show_bytes(resting, sizeof(resting), space->resting_bytes));
	if (line(screen))
		fprintf(screen->to, "has     %" PRIu64 " objects, %u segments, %u clients\n",
			space->n_objects, space->n_segments, space->n_clients);
}

static bool
is_bytes(const char *name)
{
	size_t len = strlen(name);

	return len > 6 && strcmp(name + len - 6, "_bytes") == 0;
}

/* Gauges move too, but a rate of them says nothing. */
static bool
is_moving(const struct top_look *before, const struct top_look *now, size_t i)
{
	return !now->counts[i].is_gauge && top_rate(before, now, i) > 0;
}

static void
show_counts(struct screen *screen, const struct top_look *before, const struct top_look *now)
{
	if (!line(screen) || !line(screen))
		return;
	fprintf(screen->to, "\n%-24s %14s %14s\n", "", "A SECOND", "SINCE START");
	for (size_t i = 0; i < now->n_counts; i++) {
		const struct top_count *count = &now->counts[i];
		double rate = top_rate(before, now, i);
		char a[40], b[40];

		if (!is_moving(before, now, i) || !line(screen))
			continue;
		if (is_bytes(count->name)) {
			num_show_bytes(a, sizeof(a), (uint64_t)rate);
			num_show_bytes(b, sizeof(b), count->value);
		} else {
			snprintf(a, sizeof(a), "%.1f", rate);
			snprintf(b, sizeof(b), "%" PRIu64, count->value);
		}
		fprintf(screen->to, "%-24s %14s %14s\n", count->name, a, b);
	}
}

static void
show_segments(struct screen *screen, const struct top_look *now)
{
	if (!line(screen) || !line(screen))
		return;
	fprintf(screen->to, "\n%-24s %-9s %10s %10s %6s %10s %10s\n", "SEGMENT", "STATE", "SIZE",
		"USED", "%", "RESTING", "HOLE");
	for (size_t i = 0; i < now->n_segments && line(screen); i++) {
		const struct top_segment *row = &now->segments[i];
		double size = row->size_bytes > 0 ? (double)row->size_bytes : 1;
		char all[32], used[32], resting[32], hole[32];

		fprintf(screen->to, "%-24s %-9s %10s %10s %6.1f %10s %10s\n", row->name, row->state,
			num_show_bytes(all, sizeof(all), row->size_bytes),
			num_show_bytes(used, sizeof(used), row->used_bytes),
			100.0 * (double)row->used_bytes / size,
			num_show_bytes(resting, sizeof(resting), row->resting_bytes),
			num_show_bytes(hole, sizeof(hole), row->hole_bytes));
	}
}

void
top_show(const struct top_look *before, const struct top_look *now, unsigned n_lines, FILE *to)
{
	struct screen screen = {to, n_lines};

	show_space(&screen, &now->space);
	show_counts(&screen, before, now);
	show_segments(&screen, now);
}
