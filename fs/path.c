/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/path.h"

#include <string.h>

/* A piece: as many whole characters as fit beside its "%+". */
#define PIECE_MAX (FS_PATH_NAME_MAX - 2)

static size_t
written_bytes(char c)
{
	return c == '%' ? 3 : 1;
}

/* part_bytes_written -- how long n raw bytes of an ordinary part are in a path. */
static size_t
part_bytes_written(const char *raw, size_t n)
{
	size_t len = n;

	for (size_t i = 0; i < n; i++)
		if (raw[i] == '%')
			len += 2;
	return len;
}

/* piece_bytes -- how many raw bytes the longest piece takes from the front. */
static size_t
piece_bytes(const char *raw, size_t n)
{
	size_t len = 0;
	size_t i = 0;

	while (i < n && len + written_bytes(raw[i]) <= PIECE_MAX)
		len += written_bytes(raw[i++]);
	return i;
}

static bool
is_dots(const char *raw, size_t n)
{
	return (n == 1 && raw[0] == '.') || (n == 2 && raw[0] == '.' && raw[1] == '.');
}

/* is_reserved -- the first part of a path that is not a key's: the control directory. */
static bool
is_reserved(const char *raw, size_t n)
{
	return n == strlen(FS_PATH_CONTROL) && memcmp(raw, FS_PATH_CONTROL, n) == 0;
}

static size_t
put_text(char *to, const char *text)
{
	size_t n = strlen(text);

	memcpy(to, text, n + 1);
	return n;
}

/* write_plain -- n raw bytes as a path has them; gives how many that are. */
static size_t
write_plain(const char *raw, size_t n, char *ret_name)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (raw[i] == '%')
			len += put_text(ret_name + len, "%25");
		else
			ret_name[len++] = raw[i];
	}
	ret_name[len] = '\0';
	return len;
}

/* unfinished -- the bytes of a directory that belong to a part cut in pieces; "" for others. */
static const char *
unfinished(const char *dir)
{
	const char *slash = strrchr(dir, '/');

	return slash == NULL ? dir : slash + 1;
}

bool
fs_path_is_piece(const char *dir)
{
	return *unfinished(dir) != '\0';
}

/* ---- from a name ---- */

/* read_plain -- undo write_plain(): the only escape within an ordinary part is %25. */
static int
read_plain(const char *name, size_t n, struct fs_path_step *ret_step)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (name[i] == '%') {
			if (n - i < 3 || name[i + 1] != '2' || name[i + 2] != '5')
				return FS_PATH_E_ILLEGAL;
			i += 2;
			ret_step->bytes[len++] = '%';
			continue;
		}
		ret_step->bytes[len++] = name[i];
	}
	ret_step->bytes[len] = '\0';
	ret_step->len_bytes = len;
	return 0;
}

/* read_word -- the names that stand for something that can't be written plainly. */
static bool
read_word(const char *dir, const char *name, struct fs_path_step *ret_step)
{
	static const struct {
		const char *name, *bytes;
		enum fs_path_kind kind;
		bool is_at_root; /* only there */
	} words[] = {
		{"%_", "", FS_PATH_PLAIN, false},
		{"%2E", ".", FS_PATH_PLAIN, false},
		{"%2E%2E", "..", FS_PATH_PLAIN, false},
		{"%@", "", FS_PATH_SELF, false},
		{"%2E" FS_PATH_CONTROL_REST, FS_PATH_CONTROL, FS_PATH_PLAIN, true},
	};

	for (size_t i = 0; i < array_len(words); i++) {
		if (strcmp(name, words[i].name) != 0 || (words[i].is_at_root && *dir != '\0'))
			continue;
		ret_step->kind = words[i].kind;
		ret_step->len_bytes = put_text(ret_step->bytes, words[i].bytes);
		return true;
	}
	return false;
}

/*
 * is_cut_right -- would fs_path_encode() cut this part just before the step, and not within it?
 *
 * If not, the same bytes have another name, and this one means nothing.
 */
static bool
is_cut_right(const char *begun, const struct fs_path_step *step)
{
	char whole[FS_PATH_KEY_MAX + FS_PATH_NAME_MAX + 1];
	size_t n_begun = strlen(begun);
	size_t n = n_begun + step->len_bytes;
	size_t at = 0;
	size_t last = 0;

	if (n_begun > FS_PATH_KEY_MAX)
		return false;
	memcpy(whole, begun, n_begun);
	memcpy(whole + n_begun, step->bytes, step->len_bytes);

	while (at < n_begun) {
		last = at;
		at += piece_bytes(whole + at, n - at);
	}
	if (at != n_begun)
		return false;

	/* A piece ended because the next character did not fit: with room for two, it was a '%'. */
	if (step->kind == FS_PATH_PIECE)
		return part_bytes_written(step->bytes, step->len_bytes) + written_bytes('%') >
		       PIECE_MAX;

	/* The rest was not put beside the last piece because both were too long for one name. */
	return n_begun == 0 || part_bytes_written(whole + last, n - last) > FS_PATH_NAME_MAX;
}

int
fs_path_decode(const char *dir, const char *name, struct fs_path_step *ret_step)
{
	const char *begun = unfinished(dir);
	size_t n = strlen(name);
	struct fs_path_step step;
	int r;

	if (n > FS_PATH_NAME_MAX)
		return FS_PATH_E_TOO_LONG;
	if (n == 0 || is_dots(name, n) || strchr(name, '/') != NULL)
		return FS_PATH_E_ILLEGAL;

	if (*dir == '\0' && is_reserved(name, n))
		return FS_PATH_E_ILLEGAL;
	if (read_word(dir, name, &step)) {
		if (*begun != '\0' || (step.kind == FS_PATH_SELF && *dir == '\0'))
			return FS_PATH_E_ILLEGAL;
		*ret_step = step;
		return 0;
	}

	step.kind = FS_PATH_PLAIN;
	if (n > 2 && strcmp(name + n - 2, "%+") == 0) {
		step.kind = FS_PATH_PIECE;
		n -= 2;
	}
	r = read_plain(name, n, &step);
	if (r != 0)
		return r;
	if (!is_cut_right(begun, &step))
		return FS_PATH_E_ILLEGAL;
	*ret_step = step;
	return 0;
}

/* ---- to a name ---- */

/* write_part -- the name of a part, or of its first piece; is_first: it stands in the root. */
static void
write_part(const char *raw, size_t n, bool is_first, char *ret_name, enum fs_path_kind *ret_kind)
{
	size_t len;

	*ret_kind = FS_PATH_PLAIN;
	if (n == 0) {
		put_text(ret_name, "%_");
	} else if (is_first && is_reserved(raw, n)) {
		put_text(ret_name, "%2E" FS_PATH_CONTROL_REST);
	} else if (is_dots(raw, n)) {
		put_text(ret_name, n == 1 ? "%2E" : "%2E%2E");
	} else if (part_bytes_written(raw, n) <= FS_PATH_NAME_MAX) {
		write_plain(raw, n, ret_name);
	} else {
		len = write_plain(raw, piece_bytes(raw, n), ret_name);
		put_text(ret_name + len, "%+");
		*ret_kind = FS_PATH_PIECE;
	}
}

int
fs_path_encode(const char *dir, const char *part, size_t part_bytes, char *ret_name,
	       enum fs_path_kind *ret_kind)
{
	const char *begun = unfinished(dir);
	char whole[2 * FS_PATH_KEY_MAX + 1];
	size_t n_begun = strlen(begun);
	size_t n = n_begun + part_bytes;
	size_t at = 0;

	assert(n_begun <= FS_PATH_KEY_MAX && part_bytes <= FS_PATH_KEY_MAX);
	assert(memchr(part, '/', part_bytes) == NULL);

	if (n_begun == 0) {
		write_part(part, part_bytes, /* is_first= */ *dir == '\0', ret_name, ret_kind);
		return 0;
	}

	memcpy(whole, begun, n_begun);
	memcpy(whole + n_begun, part, part_bytes);
	while (at < n_begun) {
		if (part_bytes_written(whole + at, n - at) <= FS_PATH_NAME_MAX)
			return FS_PATH_E_ELSEWHERE;
		at += piece_bytes(whole + at, n - at);
	}
	if (at != n_begun)
		return FS_PATH_E_ELSEWHERE;

	write_part(part, part_bytes, /* is_first= */ false, ret_name, ret_kind);
	return 0;
}

/* ---- whole paths ---- */

void
fs_path_of_key(const char *key, bool is_shadowed, char *ret_path)
{
	const char *end;
	size_t len = 0;

	assert(*key != '\0' && strlen(key) <= FS_PATH_KEY_MAX);

	for (const char *at = key;; at = end + 1) {
		enum fs_path_kind kind;
		const char *raw = at;

		end = strchrnul(at, '/');
		for (;;) {
			write_part(raw, (size_t)(end - raw), /* is_first= */ raw == key,
				   ret_path + len, &kind);
			len += strlen(ret_path + len);
			if (kind == FS_PATH_PLAIN)
				break;
			raw += piece_bytes(raw, (size_t)(end - raw));
			ret_path[len++] = '/';
		}
		if (*end == '\0')
			break;
		ret_path[len++] = '/';
	}
	if (is_shadowed)
		len += put_text(ret_path + len, "/%@");
	ret_path[len] = '\0';
	assert(len < FS_PATH_MAX);
}

/* append -- one step behind the bytes of a directory. */
static int
append(char *dir, size_t *n, const char *bytes, size_t n_bytes)
{
	if (n_bytes > FS_PATH_KEY_MAX - *n)
		return FS_PATH_E_TOO_LONG;
	memcpy(dir + *n, bytes, n_bytes);
	*n += n_bytes;
	dir[*n] = '\0';
	return 0;
}

int
fs_path_to_key(const char *path, char *ret_key)
{
	char key[FS_PATH_KEY_MAX + 1] = "";
	struct fs_path_step step;
	size_t n = 0;
	int r;

	for (const char *at = path;;) {
		const char *end = strchrnul(at, '/');
		char name[FS_PATH_NAME_MAX + 1];
		size_t n_name = (size_t)(end - at);

		if (n_name > FS_PATH_NAME_MAX)
			return FS_PATH_E_TOO_LONG;
		memcpy(name, at, n_name);
		name[n_name] = '\0';

		r = fs_path_decode(key, name, &step);
		if (r == 0)
			r = append(key, &n, step.bytes, step.len_bytes);
		if (r != 0)
			return r;

		if (*end == '\0')
			break;
		if (step.kind == FS_PATH_SELF)
			return FS_PATH_E_ILLEGAL;
		if (step.kind == FS_PATH_PLAIN)
			r = append(key, &n, "/", 1);
		if (r != 0)
			return r;
		at = end + 1;
	}

	if (step.kind == FS_PATH_PIECE)
		return FS_PATH_E_ILLEGAL;
	if (step.kind == FS_PATH_SELF)
		key[--n] = '\0';
	if (n == 0)
		return FS_PATH_E_ILLEGAL;
	memcpy(ret_key, key, n + 1);
	return 0;
}

void
fs_path_split(const char *key, bool is_dir, size_t *ret_dir_bytes, char *ret_name)
{
	size_t n = strlen(key);
	size_t dir = 0;
	enum fs_path_kind kind;

	if (is_dir && n > 0 && key[n - 1] == '/')
		n--;
	for (size_t i = n; i > 0; i--) {
		if (key[i - 1] == '/') {
			dir = i;
			break;
		}
	}
	assert(!is_dir || n > dir || key[n] == '/');

	if (is_dir && key[n] == '\0') { /* a piece: it ends in the last whole one */
		size_t at = dir;

		while (at < n) {
			dir = at;
			at += piece_bytes(key + at, n - at);
		}
		put_text(ret_name + write_plain(key + dir, n - dir, ret_name), "%+");
		*ret_dir_bytes = dir;
		return;
	}

	for (;;) {
		write_part(key + dir, n - dir, /* is_first= */ dir == 0, ret_name, &kind);
		if (kind == FS_PATH_PLAIN)
			break;
		dir += piece_bytes(key + dir, n - dir);
	}
	*ret_dir_bytes = dir;
}
