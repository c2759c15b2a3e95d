/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/segment_name.h"

#include <inttypes.h>
#include <stdio.h>
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
