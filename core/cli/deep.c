/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/deep.h"

#include <errno.h>

#include "core/cli/interrupt.h"
#include "core/cli/key_text.h"
#include "core/cli/stream.h"
#include "transfer/base/crc.h"
#include "transfer/base/num.h"

struct deep {
	struct cli *cli;
	struct tiffin_client *client;
	void *piece; /* STREAM_PIECE bytes */
	struct progress progress;
	void (*line)(void *arg, const char *text);
	void *arg;
	uint64_t n_found;
};

static void
tell(struct deep *deep, const char *key, const char *what)
{
	char shown[KEY_TEXT_CAP], text[KEY_TEXT_CAP + 600];

	progress_end(&deep->progress);
	snprintf(text, sizeof(text), "object %s: %s", key_show(shown, sizeof(shown), key), what);
	deep->line(deep->arg, text);
	deep->n_found++;
}

/* sum -- of all bytes.  0 or TIFFIN_E_*. */
static int
sum(struct deep *deep, struct tiffin_view *view, uint64_t len_bytes, uint32_t *ret_crc)
{
	uint32_t crc = 0;

	for (uint64_t at = 0; at < len_bytes && !interrupted();) {
		struct iovec slice = {deep->piece, num_min(len_bytes - at, STREAM_PIECE)};
		uint64_t n = 0;
		int r = tiffin_view_read(view, at, &slice, 1, &n);

		if (r < 0)
			return r;
		assert(n > 0);
		crc = crc_of(crc, deep->piece, n);
		at += n;
		progress_add(&deep->progress, n);
	}
	*ret_crc = crc;
	return 0;
}

static void
check_one(struct deep *deep, const char *key)
{
	struct tiffin_view *view;
	struct tiffin_stat stat;
	char what[600];
	uint32_t crc = 0;
	int r;

	r = tiffin_view_open(deep->client, key, &view);
	if (r == TIFFIN_E_NOT_FOUND)
		return;
	if (r < 0) {
		snprintf(what, sizeof(what), "%s: %s", tiffin_strerror(r), tiffin_why());
		tell(deep, key, what);
		return;
	}
	tiffin_view_stat(view, &stat);
	r = sum(deep, view, stat.len_bytes, &crc);
	if (r < 0) {
		snprintf(what, sizeof(what), "%s: %s", tiffin_strerror(r), tiffin_why());
		tell(deep, key, what);
	} else if (!interrupted() && stat.has_crc && stat.crc != crc) {
		snprintf(what, sizeof(what), "its bytes sum to %08x, but %08x was put", crc,
			 stat.crc);
		tell(deep, key, what);
	}
	tiffin_view_close(view);
}

/* walk -- 0 or TIFFIN_E_*. */
static int
walk(struct deep *deep)
{
	struct tiffin_list *list;
	struct tiffin_stat stat;
	const char *key;
	int r;

	r = tiffin_list_open(deep->client, "", '\0', NULL, &list);
	if (r < 0)
		return r;
	while (!interrupted() && (r = tiffin_list_next(list, &key, &stat)) == 1)
		check_one(deep, key);
	tiffin_list_close(list);
	return r < 0 ? r : 0;
}

int
deep_check(struct cli *cli, void (*line)(void *arg, const char *text), void *arg)
{
	struct deep deep = {.cli = cli, .line = line, .arg = arg};
	struct tiffin_space space;
	int r, status;

	status = cli_client(cli, &deep.client);
	if (status != CLI_OK)
		return status;
	r = tiffin_space(deep.client, &space);
	if (r < 0)
		return cli_fail(cli, r, NULL);
	deep.piece = malloc(STREAM_PIECE);
	if (deep.piece == NULL)
		return cli_fail_system(cli, -ENOMEM, "a buffer");

	cli_progress(cli, &deep.progress, "check", space.tenant_bytes);
	r = walk(&deep);
	progress_end(&deep.progress);
	free(deep.piece);
	if (r < 0)
		return cli_fail(cli, r, NULL);
	if (interrupted())
		return CLI_INTERRUPTED;
	return deep.n_found > 0 ? CLI_NOT_FOUND : CLI_OK;
}
