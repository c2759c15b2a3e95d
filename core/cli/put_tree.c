/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/put_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "core/cli/export_name.h"
#include "core/cli/interrupt.h"
#include "transfer/base/json.h"
#include "core/cli/keys.h"
#include "core/cli/put_batch.h"
#include "core/cli/stream.h"
#include "transfer/base/num.h"

struct tree {
	struct cli *cli;
	const struct tiffin_put_options *options;
	struct put_tree_keys keys;
	size_t dir_len; /* of the path above all files, its '/' included */
	struct progress progress;
	struct put_batch batch;                    /* of small files */
	uint64_t n_files, n_failed, n_passed_over; /* n_files: large ones */
	int status;                                /* of the first failure */
};

/* make_key -- CLI_OK, or it has been said. */
static int
make_key(const struct tree *tree, const char *below, char key[TIFFIN_KEY_MAX + 2])
{
	const char *prefix = tree->keys.prefix;
	size_t len = strlen(prefix);
	bool needs_slash = len > 0 && prefix[len - 1] != '/';
	char part[TIFFIN_KEY_MAX + 2];
	int n;

	if (tree->keys.is_exported) {
		if (export_name_key(part, sizeof(part), below) != 0)
			return cli_say(tree->cli, CLI_USAGE, "%s: 'get -r' writes no such name",
				       below);
		below = part;
	}
	n = snprintf(key, TIFFIN_KEY_MAX + 2, "%s%s%s", prefix, needs_slash ? "/" : "", below);
	if (n > TIFFIN_KEY_MAX)
		return cli_say(tree->cli, CLI_USAGE, "%s: its key would be over %d bytes", below,
			       TIFFIN_KEY_MAX);
	return keys_check(tree->cli, key);
}

/* without_beside -- "a/%@" is the file of key "a": its path without the last part. */
static void
without_beside(char *below)
{
	char *slash = strrchr(below, '/');

	if (slash != NULL && strcmp(slash + 1, EXPORT_NAME_BESIDE) == 0)
		*slash = '\0';
}

/* read_small -- a whole file; *ret_bytes NULL: it is not small any more. */
static int
read_small(const struct tree *tree, int fd, const FTSENT *file, void **ret_bytes, size_t *ret_n)
{
	size_t cap = (size_t)file->fts_statp->st_size + 1, n = 0;
	char *bytes = malloc(cap);

	if (bytes == NULL)
		return cli_fail_system(tree->cli, -ENOMEM, "a buffer");
	while (n < cap) {
		ssize_t r = read(fd, bytes + n, cap - n);

		if (r < 0 && errno == EINTR && !interrupted())
			continue;
		if (r < 0) {
			free(bytes);
			return cli_fail_system(tree->cli, -errno, file->fts_path);
		}
		if (r == 0)
			break;
		n += (size_t)r;
	}
	if (n == cap) {
		free(bytes);
		bytes = NULL;
	}
	*ret_bytes = bytes;
	*ret_n = n;
	return CLI_OK;
}

/* put_open -- the small ones wait in the batch, the others go at once. */
static int
put_open(struct tree *tree, int fd, const FTSENT *file, const char *key)
{
	struct stream_put what = {.key = key, .name = file->fts_path, .options = tree->options};
	uint64_t len = (uint64_t)file->fts_statp->st_size;
	void *bytes = NULL;
	size_t n = 0;
	int status;

	if (len <= PUT_BATCH_SMALL) {
		status = read_small(tree, fd, file, &bytes, &n);
		if (status != CLI_OK)
			return status;
		if (bytes != NULL)
			return put_batch_add(&tree->batch, key, &bytes, n);
		if (lseek(fd, 0, SEEK_SET) < 0)
			return cli_fail_system(tree->cli, -errno, file->fts_path);
	}
	what.len_bytes = len;
	status = stream_in(tree->cli, fd, &what, &tree->progress);
	tree->n_files += status == CLI_OK;
	return status;
}

static int
put_file(struct tree *tree, const FTSENT *file)
{
	char key[TIFFIN_KEY_MAX + 2], below[PATH_MAX];
	int fd, n, status;

	n = snprintf(below, sizeof(below), "%s", file->fts_path + tree->dir_len);
	if (n < 0 || (size_t)n >= sizeof(below))
		return cli_fail_system(tree->cli, -ENAMETOOLONG, file->fts_path);
	if (tree->keys.is_exported)
		without_beside(below);
	status = make_key(tree, below, key);
	if (status != CLI_OK)
		return status;

	fd = open(file->fts_accpath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return cli_fail_system(tree->cli, -errno, file->fts_path);
	status = put_open(tree, fd, file, key);
	close(fd);
	return status;
}

/* visit -- one step of the walk. */
static void
visit(struct tree *tree, const FTSENT *at)
{
	int status = CLI_OK;

	switch (at->fts_info) {
	case FTS_D:
	case FTS_DP:
	case FTS_DOT:
		return;
	case FTS_F:
		status = put_file(tree, at);
		break;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		status = cli_fail_system(tree->cli, at->fts_errno != 0 ? -at->fts_errno : -EIO,
					 at->fts_path);
		break;
	default:
		tree->n_passed_over++;
		return;
	}
	if (status != CLI_OK) {
		tree->n_failed++;
		cli_keep(&tree->status, status);
	}
}

/* stops -- is there no use in going on after this? */
static bool
stops(int status)
{
	return status == CLI_UNREACHABLE || status == CLI_DENIED || status == CLI_NO_SPACE ||
	       status == CLI_INTERRUPTED;
}

static void
print_outcome(const struct tree *tree)
{
	char bytes[32];
	struct json json;

	if (tree->cli->json) {
		json_init(&json, stdout);
		json_open_object(&json, NULL);
		json_u64(&json, "n_stored", tree->n_files);
		json_u64(&json, "n_failed", tree->n_failed);
		json_u64(&json, "n_passed_over", tree->n_passed_over);
		json_u64(&json, "len_bytes", tree->progress.done_bytes);
		json_close(&json);
		return;
	}
	if (tree->cli->quiet)
		return;
	printf("stored %llu files, %s", (unsigned long long)tree->n_files,
	       num_show_bytes(bytes, sizeof(bytes), tree->progress.done_bytes));
	if (tree->n_passed_over > 0)
		printf("; passed over %llu that are no regular files",
		       (unsigned long long)tree->n_passed_over);
	if (tree->n_failed > 0)
		printf("; %llu failed", (unsigned long long)tree->n_failed);
	putchar('\n');
}

static void
walk(struct tree *tree, FTS *fts)
{
	while (!interrupted() && !stops(tree->status) && !stops(tree->batch.status)) {
		const FTSENT *at;

		errno = 0;
		at = fts_read(fts);
		if (at == NULL) {
			if (errno != 0)
				cli_keep(&tree->status,
					 cli_fail_system(tree->cli, -errno, "walking the tree"));
			return;
		}
		if (at->fts_level == 0 && at->fts_info != FTS_D && at->fts_info != FTS_DP) {
			int r = at->fts_errno != 0 ? -at->fts_errno : -ENOTDIR;

			cli_keep(&tree->status, cli_fail_system(tree->cli, r, at->fts_path));
			return;
		}
		visit(tree, at);
	}
}

int
put_tree(struct cli *cli, const struct tiffin_put_options *options, const char *dir,
	 struct put_tree_keys keys)
{
	char root[PATH_MAX];
	char *roots[] = {root, NULL};
	struct tree tree = {.cli = cli, .options = options, .keys = keys};
	size_t len = strlen(dir);
	FTS *fts;

	while (len > 1 && dir[len - 1] == '/')
		len--;
	if (len == 0 || len >= sizeof(root))
		return cli_fail_system(cli, len == 0 ? -ENOENT : -ENAMETOOLONG, dir);
	memcpy(root, dir, len);
	root[len] = '\0';
	tree.dir_len = root[len - 1] == '/' ? len : len + 1;

	fts = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	if (fts == NULL)
		return cli_fail_system(cli, -errno, dir);
	cli_progress(cli, &tree.progress, keys.prefix, 0);
	put_batch_init(&tree.batch, cli, options, &tree.progress);
	walk(&tree, fts);
	if (!interrupted())
		put_batch_flush(&tree.batch);
	put_batch_fini(&tree.batch);
	progress_end(&tree.progress);
	fts_close(fts);

	if (interrupted())
		return CLI_INTERRUPTED;
	tree.n_files += tree.batch.n_stored;
	tree.n_failed += tree.batch.n_failed;
	cli_keep(&tree.status, tree.batch.status);
	print_outcome(&tree);
	return tree.status;
}
