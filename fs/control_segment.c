/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/control_segment.h"

#include <errno.h>
#include <inttypes.h>

#include "fs/errno.h"

#define CUT       "%~"
#define TAIL_LEN  18 /* CUT and 16 digits */
#define WHOLE_MAX (FS_PATH_NAME_MAX - TAIL_LEN)

/* ---- names ---- */

static const char *
escape_of(char c)
{
	return c == '%' ? "%25" : c == '/' ? "%2F" : NULL;
}

static bool
is_dots(const char *bytes)
{
	return strcmp(bytes, ".") == 0 || strcmp(bytes, "..") == 0;
}

/* write_some -- as many whole characters as fit into cap; gives how many bytes were taken. */
static size_t
write_some(const char *bytes, size_t cap, char *ret_name)
{
	size_t n = 0, at = 0;

	for (; bytes[at] != '\0'; at++) {
		const char *escape = escape_of(bytes[at]);
		size_t len = escape != NULL ? 3 : 1;

		if (n + len > cap)
			break;
		memcpy(ret_name + n, escape != NULL ? escape : bytes + at, len);
		n += len;
	}
	ret_name[n] = '\0';
	return at;
}

void
fs_segment_name(const char *bytes, uint64_t id, char ret_name[FS_PATH_NAME_MAX + 1])
{
	size_t n;

	if (is_dots(bytes)) {
		memcpy(ret_name, bytes[1] == '\0' ? "%2E" : "%2E%2E", bytes[1] == '\0' ? 4 : 7);
		return;
	}
	if (bytes[write_some(bytes, FS_PATH_NAME_MAX, ret_name)] == '\0')
		return;
	write_some(bytes, WHOLE_MAX, ret_name);
	n = strlen(ret_name);
	snprintf(ret_name + n, FS_PATH_NAME_MAX + 1 - n, "%s%016" PRIx64, CUT, id);
}

/* read_tail -- the id of a name that was cut; false: it was not. */
static bool
read_tail(const char *name, size_t *n, uint64_t *ret_id)
{
	uint64_t id = 0;

	if (*n < TAIL_LEN || memcmp(name + *n - TAIL_LEN, CUT, strlen(CUT)) != 0)
		return false;
	for (const char *c = name + *n - TAIL_LEN + strlen(CUT); *c != '\0'; c++) {
		if (strchr("0123456789abcdef", *c) == NULL)
			return false;
		id = id << 4 | (uint64_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
	}
	*n -= TAIL_LEN;
	*ret_id = id;
	return true;
}

int
fs_segment_read_name(const char *name, char ret_bytes[FS_KEY_ROOM], uint64_t *ret_id)
{
	char again[FS_PATH_NAME_MAX + 1];
	size_t n = strlen(name), len = 0;
	bool is_cut;

	if (n > FS_PATH_NAME_MAX)
		return -ENOENT;
	*ret_id = 0;
	is_cut = read_tail(name, &n, ret_id);
	for (size_t at = 0; at < n; at++) {
		if (name[at] != '%') {
			ret_bytes[len++] = name[at];
			continue;
		}
		if (n - at < 3 || name[at + 1] != '2' || strchr("5FE", name[at + 2]) == NULL)
			return -ENOENT;
		ret_bytes[len++] = name[at + 2] == '5' ? '%' : name[at + 2] == 'F' ? '/' : '.';
		at += 2;
	}
	ret_bytes[len] = '\0';
	if (is_cut)
		return *ret_id != 0 ? 0 : -ENOENT;

	/* One thing, one name. */
	fs_segment_name(ret_bytes, 0, again);
	return strcmp(again, name) == 0 ? 0 : -ENOENT;
}

/* ---- segments ---- */

struct wanted {
	const char *name;
	uint64_t segment_id;
	bool is_found;
};

static int
compare_name(void *arg, const struct tiffin_segment *segment)
{
	struct wanted *wanted = arg;
	char name[FS_PATH_NAME_MAX + 1];

	fs_segment_name(segment->name, segment->segment_id, name);
	if (strcmp(name, wanted->name) != 0)
		return 0;
	wanted->segment_id = segment->segment_id;
	wanted->is_found = true;
	return 1;
}

int
fs_segment_find(struct fs *fs, const char *name, uint64_t *ret_segment_id)
{
	struct wanted wanted = {.name = name};
	int r = tiffin_segments(fs->client, compare_name, &wanted);

	if (r < 0)
		return fs_errno(r);
	*ret_segment_id = wanted.segment_id;
	return wanted.is_found ? 0 : -ENOENT;
}

/* ---- what lies there ---- */

static int
compare_segment(void *arg, const struct tiffin_replica *replica)
{
	struct wanted *wanted = arg;

	wanted->is_found |= replica->segment_id == wanted->segment_id;
	return 0;
}

static int
is_there(struct fs *fs, uint64_t segment_id, const char *key)
{
	struct wanted wanted = {.segment_id = segment_id};
	int r = fs_errno(tiffin_where(fs->client, key, compare_segment, &wanted));

	return r < 0 ? r : wanted.is_found ? 0 : -ENOENT;
}

/* find_cut -- the key that begins so and has this object id. */
static int
find_cut(struct fs *fs, uint64_t segment_id, uint64_t object_id, char key[FS_KEY_ROOM])
{
	struct tiffin_list *list;
	struct tiffin_stat stat;
	const char *found;
	int r = tiffin_list_segment_open(fs->client, segment_id, key, &list);

	if (r < 0)
		return fs_errno(r);
	do {
		r = tiffin_list_next(list, &found, &stat);
	} while (r == 1 && stat.object_id != object_id);
	if (r == 1)
		memcpy(key, found, strlen(found) + 1);
	tiffin_list_close(list);
	return r == 1 ? 0 : r == 0 ? -ENOENT : fs_errno(r);
}

static char *
target_of(const struct fs *fs, const char *key, bool is_shadowed)
{
	char path[FS_PATH_MAX];
	char *target;

	fs_path_of_key(fs_in_mount(fs, key), is_shadowed, path);
	return asprintf(&target, "../../../%s", path) < 0 ? NULL : target;
}

int
fs_segment_link(struct fs *fs, uint64_t segment_id, const char *name, char **ret_target)
{
	char bytes[FS_KEY_ROOM], key[FS_KEY_ROOM];
	struct tiffin_stat stat = {0};
	uint64_t object_id;
	int r;

	r = fs_segment_read_name(name, bytes, &object_id);
	if (r == 0)
		r = fs_key_make(fs->root_key, bytes, "", key);
	if (r == 0 && object_id != 0)
		r = find_cut(fs, segment_id, object_id, key);
	else if (r == 0)
		r = key[strlen(fs->root_key)] == '\0' ? -ENOENT : is_there(fs, segment_id, key);
	if (r == 0)
		r = fs_errno(tiffin_stat(fs->client, key, &stat, /* attr_buf= */ NULL));
	if (r < 0)
		return r == -EINVAL || r == -ENAMETOOLONG ? -ENOENT : r;
	*ret_target = target_of(fs, key, stat.is_prefix);
	return *ret_target != NULL ? 0 : -ENOMEM;
}
