/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Keys come in the order of their bytes, and "a" may be a key while "a/b" is one too.
 * A directory cannot be a file, so the file of "a" then moves to "a/%@".  When "a"
 * comes we do not know yet:
 *
 *      a       -> file a, pushed on `above`
 *      a-b     -> file a-b      (not below a: but it begins with "a", so a stays)
 *      a/b     -> a is in the way: a moves to a/%@, then file a/b
 *      c       -> does not begin with "a": a is popped, its name is final
 *
 * All keys on `above` are beginnings of the key at hand, so there are never more
 * than a key has bytes.
 */
#include "core/cli/get_tree.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/export_name.h"
#include "core/cli/interrupt.h"
#include "transfer/base/json.h"
#include "core/cli/landing.h"
#include "core/cli/stream.h"
#include "transfer/base/num.h"

struct tree {
	struct cli *cli;
	const char *dir;
	char above[TIFFIN_KEY_MAX + 1];    /* the key itself, and ... */
	bool is_above[TIFFIN_KEY_MAX + 1]; /* ... [n]: its first n bytes are a key with a file */
	struct progress progress;
	uint64_t n_files, n_failed;
	int status; /* of the first failure */
};

/* path_of -- where the file of a key goes.  CLI_OK, or it has been said. */
static int
path_of(const struct tree *tree, const char *key, char path[PATH_MAX])
{
	char name[EXPORT_NAME_CAP];
	int n;

	n = snprintf(path, PATH_MAX, "%s/%s", tree->dir, export_name_of(name, sizeof(name), key));
	if (n < 0 || n >= PATH_MAX)
		return cli_fail_system(tree->cli, -ENAMETOOLONG, key);
	return CLI_OK;
}

/* move_beside -- the file of a key makes room for the directory of that name. */
static int
move_beside(const struct tree *tree, const char *path)
{
	char aside[PATH_MAX], beside[PATH_MAX];
	int n;

	n = snprintf(beside, sizeof(beside), "%s/%s", path, EXPORT_NAME_BESIDE);
	if (n < 0 || n >= PATH_MAX)
		return cli_fail_system(tree->cli, -ENAMETOOLONG, path);
	n = snprintf(aside, sizeof(aside), "%s/.tiffin-%d", tree->dir, (int)getpid());
	if (n < 0 || n >= PATH_MAX)
		return cli_fail_system(tree->cli, -ENAMETOOLONG, path);

	if (rename(path, aside) < 0 || mkdir(path, 0777) < 0 || rename(aside, beside) < 0)
		return cli_fail_system(tree->cli, -errno, path);
	return CLI_OK;
}

/* make_dirs -- what leads to a path, dir itself being there. */
static int
make_dirs(const struct tree *tree, char *path)
{
	for (char *slash = strchr(path + strlen(tree->dir) + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			return cli_fail_system(tree->cli, -errno, path);
		*slash = '/';
	}
	return CLI_OK;
}

/* make_room -- keys that are directories of this one give way, and those that aren't are forgotten.
 */
static int
make_room(struct tree *tree, const char *key)
{
	size_t alike = 0;

	while (key[alike] != '\0' && key[alike] == tree->above[alike])
		alike++;
	for (size_t n = alike + 1; n <= TIFFIN_KEY_MAX; n++)
		tree->is_above[n] = false;

	for (size_t n = 1; n <= alike; n++) {
		char above[TIFFIN_KEY_MAX + 1], path[PATH_MAX];
		int status;

		if (!tree->is_above[n] || key[n] != '/')
			continue;
		memcpy(above, key, n);
		above[n] = '\0';
		status = path_of(tree, above, path);
		if (status == CLI_OK)
			status = move_beside(tree, path);
		if (status != CLI_OK)
			return status;
		tree->is_above[n] = false;
	}
	return CLI_OK;
}

/* is_marker -- an empty object "x/" is how the mount keeps an empty directory. */
static bool
is_marker(const char *key, uint64_t len_bytes)
{
	return len_bytes == 0 && key[strlen(key) - 1] == '/';
}

static int
make_marked_dir(const struct tree *tree, const char *key)
{
	char above[TIFFIN_KEY_MAX + 1], path[PATH_MAX];
	int status;

	snprintf(above, sizeof(above), "%.*s", (int)strlen(key) - 1, key);
	if (above[0] == '\0')
		return CLI_OK;
	status = path_of(tree, above, path);
	if (status == CLI_OK)
		status = make_dirs(tree, path);
	if (status == CLI_OK && mkdir(path, 0777) < 0 && errno != EEXIST)
		status = cli_fail_system(tree->cli, -errno, path);
	return status;
}

/* give_way -- where a directory stands already, of an earlier run perhaps, the file goes into it.
 */
static int
give_way(const struct tree *tree, char path[PATH_MAX])
{
	size_t len = strlen(path);
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return CLI_OK;
	if (len + 1 + strlen(EXPORT_NAME_BESIDE) >= PATH_MAX)
		return cli_fail_system(tree->cli, -ENAMETOOLONG, path);
	snprintf(path + len, PATH_MAX - len, "/%s", EXPORT_NAME_BESIDE);
	return CLI_OK;
}

/* land -- the object's bytes become the file. */
static int
land(struct tree *tree, const char *whole_key, const char *path)
{
	struct stream_fd_sink sink;
	struct stream_view view;
	struct landing landing;
	int r, status;

	status = stream_open(tree->cli, whole_key, &view);
	if (status != CLI_OK)
		return status;
	r = landing_open(&landing, path);
	if (r < 0) {
		stream_close(&view);
		return cli_fail_system(tree->cli, r, path);
	}
	stream_fd_sink_init(&sink, tree->cli, landing.fd, path);
	status = stream_out(tree->cli, &view, STREAM_WHOLE, &sink.base, &tree->progress);
	if (status == CLI_OK) {
		r = landing_done(&landing);
		if (r < 0)
			status = cli_fail_system(tree->cli, r, path);
	}
	landing_close(&landing);
	stream_close(&view);
	return status;
}

/* get_one -- key: what follows the prefix in whole_key, not empty. */
static int
get_one(struct tree *tree, const char *whole_key, const char *key)
{
	char path[PATH_MAX];
	size_t len;
	int status;

	status = path_of(tree, key, path);
	if (status == CLI_OK)
		status = make_dirs(tree, path);
	len = strlen(path);
	if (status == CLI_OK)
		status = give_way(tree, path);
	if (status == CLI_OK)
		status = land(tree, whole_key, path);
	if (status != CLI_OK)
		return status;

	snprintf(tree->above, sizeof(tree->above), "%s", key);
	tree->is_above[strlen(key)] = path[len] == '\0';
	return CLI_OK;
}

/* get_listed -- a key that the list has told. */
static int
get_listed(struct tree *tree, const char *whole_key, size_t cut, uint64_t len_bytes)
{
	const char *key = whole_key + cut;
	int status;

	/* The object "dir/" itself: the marker of a directory has no bytes, and needs no file. */
	if (key[0] == '\0' && len_bytes == 0)
		return CLI_OK;
	if (key[0] == '\0')
		return cli_say(tree->cli, CLI_USAGE,
			       "%s: no name is left for the file; get this one alone", whole_key);
	status = make_room(tree, key);
	if (status != CLI_OK)
		return status;
	if (is_marker(key, len_bytes))
		return make_marked_dir(tree, key);
	status = get_one(tree, whole_key, key);
	tree->n_files += status == CLI_OK;
	return status;
}

static bool
stops(int status)
{
	return status == CLI_UNREACHABLE || status == CLI_DENIED || status == CLI_INTERRUPTED;
}

/* walk -- every key of the prefix. */
static int
walk(struct tree *tree, struct tiffin_client *client, const char *prefix)
{
	size_t cut = strlen(prefix);
	struct tiffin_list *list;
	struct tiffin_stat stat;
	const char *key;
	int r;

	r = tiffin_list_open(client, prefix, '\0', NULL, &list);
	if (r < 0)
		return cli_fail(tree->cli, r, prefix);
	while (!interrupted() && !stops(tree->status) &&
	       (r = tiffin_list_next(list, &key, &stat)) == 1) {
		int status = get_listed(tree, key, cut, stat.len_bytes);

		if (status == CLI_NOT_FOUND)
			continue; /* removed since it was listed */
		tree->n_failed += status != CLI_OK;
		cli_keep(&tree->status, status);
	}
	tiffin_list_close(list);
	return r < 0 ? cli_fail(tree->cli, r, prefix) : CLI_OK;
}

static void
print_outcome(const struct tree *tree)
{
	char bytes[32];
	struct json json;

	if (tree->cli->json) {
		json_init(&json, stdout);
		json_open_object(&json, NULL);
		json_u64(&json, "n_files", tree->n_files);
		json_u64(&json, "n_failed", tree->n_failed);
		json_u64(&json, "len_bytes", tree->progress.done_bytes);
		json_close(&json);
		return;
	}
	if (tree->cli->quiet)
		return;
	printf("wrote %llu files, %s", (unsigned long long)tree->n_files,
	       num_show_bytes(bytes, sizeof(bytes), tree->progress.done_bytes));
	if (tree->n_failed > 0)
		printf("; %llu failed", (unsigned long long)tree->n_failed);
	putchar('\n');
}

int
get_tree(struct cli *cli, const char *key, const char *dir)
{
	size_t len = strlen(key);
	char prefix[TIFFIN_KEY_MAX + 2];
	struct tree tree = {.cli = cli, .dir = dir};
	struct tiffin_client *client;
	int status;

	if (len >= TIFFIN_KEY_MAX)
		return cli_say(cli, CLI_USAGE, "no key is below one of %zu bytes", len);
	snprintf(prefix, sizeof(prefix), "%s%s", key, len > 0 && key[len - 1] != '/' ? "/" : "");
	status = cli_client(cli, &client);
	if (status != CLI_OK)
		return status;
	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return cli_fail_system(cli, -errno, dir);

	cli_progress(cli, &tree.progress, "get", 0);
	status = walk(&tree, client, prefix);
	progress_end(&tree.progress);
	if (interrupted())
		return CLI_INTERRUPTED;
	cli_keep(&tree.status, status);
	if (tree.status == CLI_OK && tree.n_files == 0)
		return cli_say(cli, CLI_NOT_FOUND, "no keys below '%s'", key);
	print_outcome(&tree);
	return tree.status;
}
