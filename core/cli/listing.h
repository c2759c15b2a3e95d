/* SPDX-License-Identifier: Apache-2.0 */

/* listing.h -- keys as ls and find print them: lines, long lines, NUL-separated, JSON. */
#ifndef CORE_CLI_LISTING_H
#define CORE_CLI_LISTING_H

#include "core/cli/cli.h"
#include "transfer/base/json.h"

struct listing_what {
	const char *prefix;
	char delimiter;      /* '\0': every key */
	const char *pattern; /* NULL: every key; else without delimiter */
	const char *group;   /* NULL: any or none; else without delimiter */
	bool is_long;

	/* matches -- print this one?  NULL: all. */
	bool (*matches)(const void *arg, const char *key, const struct tiffin_stat *stat);
	const void *arg;
};

/* listing_run -- CLI_OK, also when there is none; else it has been said. */
int listing_run(struct cli *cli, const struct listing_what *what) MUST_CHECK;

/* listing_json_stat -- what a list tells of an object, into the object that is open. */
void listing_json_stat(struct json *json, const struct tiffin_stat *stat);

/* listing_time -- "2026-11-29 19:27:11", local time; "-" for 0.  Gives buf. */
const char *listing_time(char *buf, size_t cap, uint64_t wall_ms);

#endif
