/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/segment_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transfer/base/num.h"

struct search {
	const char *name; /* or NULL */
	uint64_t id;      /* or 0 */
	uint64_t found;
	char *buf; /* for the name; or NULL */
	size_t cap;
};

static int
look(void *arg, const struct tiffin_segment *segment)
{
	struct search *search = arg;

	if ((search->name == NULL || strcmp(segment->name, search->name) != 0) &&
	    segment->segment_id != search->id)
		return 0;
	search->found = segment->segment_id;
	if (search->buf != NULL)
		snprintf(search->buf, search->cap, "%s", segment->name);
	return 1;
}

int
segment_named(struct cli *cli, const char *word, uint64_t *ret_segment_id)
{
	struct search search = {.name = word};
	struct tiffin_client *client;
	int r, status = cli_client(cli, &client);

	if (status != CLI_OK)
		return status;
	if (num_parse(word, &search.id) != 0)
		search.id = 0; /* then it is a name */
	r = tiffin_segments(client, look, &search);
	if (r < 0)
		return cli_fail(cli, r, NULL);
	if (search.found == 0)
		return cli_say(cli, CLI_NOT_FOUND, "%s: no segment has that name or id", word);
	*ret_segment_id = search.found;
	return CLI_OK;
}

int
segments_named(struct cli *cli, const char *words, uint64_t *ids, size_t cap, size_t *n)
{
	char *copy = strdup(words), *rest = copy;
	int status = copy == NULL ? cli_fail_system(cli, -ENOMEM, "reading segments") : CLI_OK;

	for (char *one = copy == NULL ? NULL : strtok_r(copy, ",", &rest);
	     one != NULL && status == CLI_OK; one = strtok_r(NULL, ",", &rest)) {
		if (*n == cap)
			status = cli_say(cli, CLI_USAGE, "at most %zu segments", cap);
		else
			status = segment_named(cli, one, &ids[(*n)++]);
	}
	free(copy);
	return status;
}

const char *
segment_show(struct cli *cli, uint64_t segment_id, char *buf, size_t cap)
{
	struct search search = {.id = segment_id, .buf = buf, .cap = cap};
	struct tiffin_client *client;

	snprintf(buf, cap, "%" PRIu64, segment_id);
	if (segment_id == 0)
		snprintf(buf, cap, "any");
	else if (cli_client(cli, &client) == CLI_OK)
		(void)tiffin_segments(client, look, &search);
	return buf;
}
