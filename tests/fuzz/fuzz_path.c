/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Keys as paths, and back: the codec of the mount and of exports.
 *
 * Laws: a key's path leads back to it, whether keys lie below it or not, and none of its names is
 * too long or "." or ".."; a path that is some key's is that key's own path; a name that a
 * directory tells is decoded to the part that it told.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fs/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void
check_names(const char *path)
{
	for (;;) {
		size_t n = strcspn(path, "/");

		assert(n > 0 && n <= FS_PATH_NAME_MAX);
		assert(!(n == 1 && path[0] == '.') &&
		       !(n == 2 && path[0] == '.' && path[1] == '.'));
		if (path[n] == '\0')
			return;
		path += n + 1;
	}
}

static void
check_key(const char *key)
{
	char path[FS_PATH_MAX], back[FS_PATH_KEY_MAX + 1];
	int r;

	for (int is_shadowed = 0; is_shadowed <= 1; is_shadowed++) {
		fs_path_of_key(key, is_shadowed != 0, path);
		assert(strlen(path) < FS_PATH_MAX);
		check_names(path);
		r = fs_path_to_key(path, back);
		assert(r == 0 && strcmp(back, key) == 0);
	}
}

static void
check_path(const char *path)
{
	char key[FS_PATH_KEY_MAX + 1], plain[FS_PATH_MAX], shadowed[FS_PATH_MAX];

	if (fs_path_to_key(path, key) != 0)
		return;
	assert(key[0] != '\0' && strlen(key) <= FS_PATH_KEY_MAX);
	fs_path_of_key(key, /* is_shadowed= */ false, plain);
	fs_path_of_key(key, /* is_shadowed= */ true, shadowed);
	assert(strcmp(path, plain) == 0 || strcmp(path, shadowed) == 0);
}

/* check_part -- in the root, in a directory, and inside a long part. */
static void
check_part(const char *text)
{
	static const char *const dirs[] = {"", "d/", "d/piece"};
	size_t n = strcspn(text, "/");
	char name[FS_PATH_NAME_MAX + 1];
	struct fs_path_step step;
	enum fs_path_kind kind;
	int r;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (fs_path_encode(dirs[i], text, n, name, &kind) != 0)
			continue;
		assert(strlen(name) > 0 && strlen(name) <= FS_PATH_NAME_MAX);
		r = fs_path_decode(dirs[i], name, &step);
		assert(r == 0 && step.kind == kind);
		assert(step.len_bytes <= n && memcmp(step.bytes, text, step.len_bytes) == 0);
		assert(kind == FS_PATH_PIECE || step.len_bytes == n);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	char *text = malloc(n_bytes + 1); /* on its own, so that a byte too far is seen */

	if (text == NULL)
		return 0;
	memcpy(text, bytes, n_bytes);
	text[n_bytes] = '\0';
	if (text[0] != '\0' && strlen(text) <= FS_PATH_KEY_MAX)
		check_key(text);
	if (strlen(text) < FS_PATH_MAX)
		check_path(text);
	check_part(text);
	free(text);
	return 0;
}
