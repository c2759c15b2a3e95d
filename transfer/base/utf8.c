/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/utf8.h"

#include <stdio.h>
#include <string.h>

/* continues -- are the n bytes behind the first one of the form 10xxxxxx?  Stops at a NUL. */
static bool
continues(const uint8_t *at, size_t n)
{
	for (size_t i = 1; i <= n; i++)
		if ((at[i] & 0xc0) != 0x80)
			return false;
	return true;
}

size_t
utf8_len(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	if (at[0] == 0)
		return 0;
	if (at[0] < 0x80)
		return 1;
	if (at[0] >= 0xc2 && at[0] <= 0xdf)
		return continues(at, 1) ? 2 : 0;
	if (at[0] >= 0xe0 && at[0] <= 0xef) {
		if (!continues(at, 2))
			return 0;
		if (at[0] == 0xe0 && at[1] < 0xa0)
			return 0; /* could be written shorter */
		if (at[0] == 0xed && at[1] > 0x9f)
			return 0; /* half a surrogate pair */
		return 3;
	}
	if (at[0] >= 0xf0 && at[0] <= 0xf4) {
		if (!continues(at, 3))
			return 0;
		if (at[0] == 0xf0 && at[1] < 0x90)
			return 0;
		if (at[0] == 0xf4 && at[1] > 0x8f)
			return 0; /* beyond U+10FFFF */
		return 4;
	}
	return 0;
}

bool
utf8_is_valid(const char *text)
{
	while (*text != '\0') {
		size_t len = utf8_len(text);

		if (len == 0)
			return false;
		text += len;
	}
	return true;
}

size_t
utf8_width(const char *text)
{
	size_t width = 0;

	while (*text != '\0') {
		size_t len = utf8_len(text);

		text += len > 0 ? len : 1;
		width++;
	}
	return width;
}

/* show_one -- the escape of one byte, or NULL when the character stands for itself. */
static const char *
show_one(const char *at, char escape[8])
{
	switch (*at) {
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\t':
		return "\\t";
	case '\r':
		return "\\r";
	}
	if ((uint8_t)*at >= 0x20 && *at != 0x7f && utf8_len(at) > 0)
		return NULL;
	snprintf(escape, 8, "\\x%02x", (uint8_t)*at);
	return escape;
}

const char *
utf8_show(char *buf, size_t cap, const char *text)
{
	size_t n = 0;

	assert(cap > 0);
	while (*text != '\0') {
		char escape[8];
		const char *shown = show_one(text, escape);
		size_t taken = shown != NULL ? 1 : utf8_len(text);
		size_t len = shown != NULL ? strlen(shown) : taken;

		if (n + len >= cap)
			break;
		memcpy(buf + n, shown != NULL ? shown : text, len);
		n += len;
		text += taken;
	}
	buf[n] = '\0';
	return buf;
}
