/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/stream.h"

#include <errno.h>
#include <unistd.h>

#include "core/cli/interrupt.h"
#include "core/cli/key_text.h"
#include "transfer/base/crc.h"
#include "transfer/base/num.h"

int
stream_open(struct cli *cli, const char *key, struct stream_view *ret_view)
{
	struct stream_view view = {.key = key};
	struct tiffin_client *client;
	int r, status;

	status = cli_client(cli, &client);
	if (status != CLI_OK)
		return status;
	r = tiffin_view_open(client, key, &view.view);
	if (r < 0)
		return cli_fail(cli, r, key);
	tiffin_view_stat(view.view, &view.stat);
	*ret_view = view;
	return CLI_OK;
}

void
stream_close(struct stream_view *view)
{
	tiffin_view_close(view->view);
	view->view = NULL;
}

static void
buf_free_at(void **at)
{
	free(*at);
}

/* check_sum -- of a whole object; the writer's may be missing. */
static int
check_sum(const struct cli *cli, const struct stream_view *view, uint32_t crc)
{
	char shown[KEY_TEXT_CAP];

	if (!view->stat.has_crc || view->stat.crc == crc)
		return CLI_OK;
	return cli_say(cli, CLI_CHECKSUM, "%s: its bytes sum to %08x, but %08x was put",
		       key_show(shown, sizeof(shown), view->key), crc, view->stat.crc);
}

int
stream_out(struct cli *cli, struct stream_view *view, struct stream_range range,
	   struct stream_sink *sink, struct progress *progress)
{
	cleanup_with(buf_free_at) void *piece = NULL;
	uint64_t len = view->stat.len_bytes, at = num_min(range.offset_bytes, len);
	uint64_t end = at + num_min(range.len_bytes, len - at);
	bool is_whole = at == 0 && end == len;
	uint32_t crc = 0;

	if (at < end)
		piece = malloc(num_min(end - at, STREAM_PIECE));
	if (at < end && piece == NULL)
		return cli_fail_system(cli, -ENOMEM, "a buffer");

	while (at < end) {
		struct iovec slice = {piece, num_min(end - at, STREAM_PIECE)};
		uint64_t n = 0;
		int r, status;

		if (interrupted())
			return CLI_INTERRUPTED;
		r = tiffin_view_read(view->view, at, &slice, 1, &n);
		if (r < 0)
			return cli_fail(cli, r, view->key);
		assert(n > 0 && n <= slice.iov_len);

		if (is_whole)
			crc = crc_of(crc, piece, n);
		status = sink->pour(sink, piece, n);
		if (status != CLI_OK)
			return status;
		at += n;
		progress_add(progress, n);
	}
	return is_whole ? check_sum(cli, view, crc) : CLI_OK;
}

/* ---- into the store ---------------------------------------------------------- */

/* read_full -- until the buffer is full or the end.  Bytes read, or -errno. */
static ssize_t
read_full(int fd, char *buf, size_t cap)
{
	size_t n = 0;

	while (n < cap) {
		ssize_t r = read(fd, buf + n, cap - n);

		if (r < 0 && errno == EINTR && !interrupted())
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	return (ssize_t)n;
}

/* Where the bytes of one object come from. */
struct source {
	struct cli *cli;
	int fd;
	const struct stream_put *what;
	struct progress *progress;
};

/* fill -- the next piece, full unless the end has come.  CLI_OK, or it has been said. */
static int
fill(const struct source *from, struct iovec *piece)
{
	ssize_t n = read_full(from->fd, piece->iov_base, STREAM_PIECE);

	if (interrupted())
		return CLI_INTERRUPTED;
	if (n < 0)
		return cli_fail_system(from->cli, (int)n, from->what->name);
	piece->iov_len = (size_t)n;
	return CLI_OK;
}

/* copy_in -- the first piece, which is full, and all that follow. */
static int
copy_in(struct source *from, struct iovec *piece, struct tiffin_put *put)
{
	struct cli *cli = from->cli;
	const char *key = from->what->key;
	uint64_t at = 0;

	while (piece->iov_len > 0) {
		int r = tiffin_put_write(put, at, piece, 1), status;

		if (r < 0)
			return cli_fail(cli, r, key);
		at += piece->iov_len;
		progress_add(from->progress, piece->iov_len);
		status = fill(from, piece);
		if (status != CLI_OK)
			return status;
	}

	/* A file may have become shorter since its length was looked at. */
	if (tiffin_put_len(put) > at) {
		int r = tiffin_put_truncate(put, at);

		if (r < 0)
			return cli_fail(cli, r, key);
	}
	return CLI_OK;
}

/* in_pieces -- what is too long for one call. */
static int
in_pieces(struct source *from, struct iovec *piece)
{
	const struct stream_put *what = from->what;
	struct cli *cli = from->cli;
	struct tiffin_put *put;
	int r, status;

	r = tiffin_put_begin(cli->client, what->key, what->len_bytes, what->options, &put);
	if (r < 0)
		return cli_fail(cli, r, what->key);
	status = copy_in(from, piece, put);
	if (status != CLI_OK) {
		tiffin_put_abort(put);
		return status;
	}
	r = tiffin_put_commit(put, what->options->attr, what->options->attr_bytes, NULL);
	return r < 0 ? cli_fail(cli, r, what->key) : CLI_OK;
}

int
stream_in(struct cli *cli, int fd, const struct stream_put *what, struct progress *progress)
{
	cleanup_with(buf_free_at) void *buf = malloc(STREAM_PIECE);
	struct source from = {cli, fd, what, progress};
	struct iovec piece = {buf, 0};
	struct tiffin_client *client;
	int r, status;

	if (buf == NULL)
		return cli_fail_system(cli, -ENOMEM, "a buffer");
	status = cli_client(cli, &client);
	if (status != CLI_OK)
		return status;
	status = fill(&from, &piece);
	if (status != CLI_OK)
		return status;
	if (piece.iov_len == STREAM_PIECE)
		return in_pieces(&from, &piece);

	r = tiffin_put(client, what->key, &piece, 1, what->options, NULL);
	if (r < 0)
		return cli_fail(cli, r, what->key);
	progress_add(progress, piece.iov_len);
	return CLI_OK;
}

/* ---- a sink that is a descriptor ------------------------------------------------ */

static int
fd_take(struct stream_sink *base, const void *bytes, size_t n_bytes)
{
	struct stream_fd_sink *sink = container_of(base, struct stream_fd_sink, base);
	const char *at = bytes;

	while (n_bytes > 0) {
		ssize_t n = write(sink->fd, at, n_bytes);

		if (interrupted())
			return CLI_INTERRUPTED;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EPIPE)
			return CLI_PIPE;
		if (n < 0)
			return cli_fail_system(base->cli, -errno, sink->name);
		at += n;
		n_bytes -= (size_t)n;
	}
	return CLI_OK;
}

void
stream_fd_sink_init(struct stream_fd_sink *sink, const struct cli *cli, int fd, const char *name)
{
	*sink = (struct stream_fd_sink){.base = {fd_take, cli}, .fd = fd, .name = name};
}
