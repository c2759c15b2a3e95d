/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/progress.h"

#include <string.h>

#include "core/cli/key_text.h"
#include "transfer/base/num.h"

#define FIRST_NS  (500 * NS_PER_MS)
#define EVERY_NS  (100 * NS_PER_MS)
#define BAR_WIDTH 20

void
progress_init(struct progress *progress, FILE *to, const struct clock *clock, const char *label,
	      uint64_t all_bytes)
{
	uint64_t now_ns = clock_ns(clock);

	*progress = (struct progress){
		.to = to,
		.clock = clock,
		.label = label,
		.all_bytes = all_bytes,
		.start_ns = now_ns,
		.next_ns = now_ns + FIRST_NS,
	};
}

static uint64_t
bytes_per_s(const struct progress *progress)
{
	uint64_t ns = clock_ns(progress->clock) - progress->start_ns;

	if (ns == 0)
		return 0;
	return (uint64_t)((unsigned __int128)progress->done_bytes * NS_PER_S / ns);
}

static void
show_bar(char bar[BAR_WIDTH + 1], uint64_t pct)
{
	size_t n_full = (size_t)pct * BAR_WIDTH / 100;

	memset(bar, '-', BAR_WIDTH);
	memset(bar, '#', n_full);
	bar[BAR_WIDTH] = '\0';
}

const char *
progress_line(const struct progress *progress, char *buf, size_t cap)
{
	uint64_t rate = bytes_per_s(progress), all = progress->all_bytes;
	uint64_t done = progress->done_bytes, left_s, pct;
	char done_text[32], all_text[32], rate_text[32], bar[BAR_WIDTH + 1];

	num_show_bytes(done_text, sizeof(done_text), done);
	num_show_bytes(rate_text, sizeof(rate_text), rate);
	if (all == 0) {
		snprintf(buf, cap, "%s  %s  %s/s", progress->label, done_text, rate_text);
		text_scrub(buf);
		return buf;
	}

	done = num_min(done, all); /* the file may have grown meanwhile */
	pct = (uint64_t)((unsigned __int128)done * 100 / all);
	left_s = rate > 0 ? (all - done) / rate : 0;
	num_show_bytes(all_text, sizeof(all_text), all);
	show_bar(bar, pct);
	snprintf(buf, cap, "%s  [%s] %3u%%  %s of %s  %s/s  %llu:%02u:%02u left", progress->label,
		 bar, (unsigned)pct, done_text, all_text, rate_text,
		 (unsigned long long)(left_s / 3600), (unsigned)(left_s / 60 % 60),
		 (unsigned)(left_s % 60));
	text_scrub(buf);
	return buf;
}

void
progress_add(struct progress *progress, uint64_t n_bytes)
{
	uint64_t now_ns;
	char line[512];

	progress->done_bytes += n_bytes;
	if (progress->to == NULL)
		return;
	now_ns = clock_ns(progress->clock);
	if (now_ns < progress->next_ns)
		return;

	progress->next_ns = now_ns + EVERY_NS;
	progress->is_shown = true;
	fprintf(progress->to, "\r%s\033[K", progress_line(progress, line, sizeof(line)));
	fflush(progress->to);
}

void
progress_end(struct progress *progress)
{
	if (!progress->is_shown)
		return;
	progress->is_shown = false;
	fputs("\r\033[K", progress->to);
	fflush(progress->to);
}
