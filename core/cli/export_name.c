/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/export_name.h"

#include <string.h>

#include "core/tiffin.h"

#define PART_MAX 255
#define MORE     "%+" /* ends a piece that goes on in the next level */
#define EMPTY    "%_"
#define DOT      "%2E"
#define DOTS     "%2E%2E"
#define PERCENT  "%25"
#define CONTROL  ".tiffin" /* of a mount; as a first part that is a key's: */
#define RESERVED "%2Etiffin"

/* A growing text with a limit. */
struct text {
	char *at;
	size_t n, cap;
};

/* append -- false when it does not fit. */
static bool
append(struct text *text, const char *bytes, size_t n)
{
	if (text->n + n >= text->cap)
		return false;
	memcpy(text->at + text->n, bytes, n);
	text->n += n;
	text->at[text->n] = '\0';
	return true;
}

static bool
is_part(const char *part, size_t len, const char *what)
{
	return len == strlen(what) && memcmp(part, what, len) == 0;
}

/* escaped_len -- bytes of a part with its percent signs escaped. */
static size_t
escaped_len(const char *part, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += part[i] == '%' ? strlen(PERCENT) : 1;
	return n;
}

/* append_long -- a part of the key as one or more pieces, each but the last ending in MORE. */
static void
append_long(struct text *to, const char *part, size_t len)
{
	size_t left = escaped_len(part, len), n_piece = 0;

	for (size_t i = 0; i < len; i++) {
		const char *unit = part[i] == '%' ? PERCENT : part + i;
		size_t unit_len = part[i] == '%' ? strlen(PERCENT) : 1;

		if (n_piece + left > PART_MAX && n_piece + unit_len > PART_MAX - strlen(MORE)) {
			append(to, MORE "/", strlen(MORE) + 1);
			n_piece = 0;
		}
		append(to, unit, unit_len);
		n_piece += unit_len;
		left -= unit_len;
	}
}

const char *
export_name_of(char *buf, size_t cap, const char *key)
{
	struct text to = {buf, 0, cap};
	bool is_first = true;

	assert(cap >= EXPORT_NAME_CAP && key[0] != '\0' && strlen(key) <= TIFFIN_KEY_MAX);
	for (;;) {
		size_t len = strcspn(key, "/");

		if (len == 0)
			append(&to, EMPTY, strlen(EMPTY));
		else if (is_part(key, len, "."))
			append(&to, DOT, strlen(DOT));
		else if (is_part(key, len, ".."))
			append(&to, DOTS, strlen(DOTS));
		else if (is_first && is_part(key, len, CONTROL))
			append(&to, RESERVED, strlen(RESERVED));
		else
			append_long(&to, key, len);
		if (key[len] == '\0')
			return buf;
		append(&to, "/", 1);
		key += len + 1;
		is_first = false;
	}
}

/* unescape -- one part of the path; *ret_more: it goes on in the next one.  False: no such part. */
static bool
unescape(struct text *to, const char *part, size_t len, bool *ret_more)
{
	*ret_more = false;
	if (is_part(part, len, EMPTY))
		return true;
	if (is_part(part, len, DOT))
		return append(to, ".", 1);
	if (is_part(part, len, DOTS))
		return append(to, "..", 2);
	if (is_part(part, len, RESERVED))
		return append(to, CONTROL, strlen(CONTROL));

	for (size_t i = 0; i < len; i++) {
		if (part[i] != '%') {
			if (!append(to, part + i, 1))
				return false;
			continue;
		}
		if (i + 2 == len && part[i + 1] == '+') {
			*ret_more = true;
			return true;
		}
		if (len - i < strlen(PERCENT) || memcmp(part + i, PERCENT, strlen(PERCENT)) != 0)
			return false;
		if (!append(to, "%", 1))
			return false;
		i += strlen(PERCENT) - 1;
	}
	return len > 0;
}

int
export_name_key(char *buf, size_t cap, const char *path)
{
	char back[EXPORT_NAME_CAP];
	struct text to = {buf, 0, cap};
	const char *at = path;

	assert(cap > TIFFIN_KEY_MAX);
	buf[0] = '\0';
	for (;;) {
		size_t len = strcspn(at, "/");
		bool more;

		if (!unescape(&to, at, len, &more))
			return EXPORT_NAME_E_NOT_A_KEY;
		if (at[len] == '\0')
			break;
		if (!more && !append(&to, "/", 1))
			return EXPORT_NAME_E_NOT_A_KEY;
		at += len + 1;
	}
	if (to.n == 0 || to.n > TIFFIN_KEY_MAX)
		return EXPORT_NAME_E_NOT_A_KEY;

	/* One key, one path: what could be written otherwise is no path of ours. */
	if (strcmp(export_name_of(back, sizeof(back), buf), path) != 0)
		return EXPORT_NAME_E_NOT_A_KEY;
	return 0;
}
