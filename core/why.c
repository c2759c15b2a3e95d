/* SPDX-License-Identifier: Apache-2.0 */
#include "core/why.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/tiffin.h"
#include "transfer/base/err.h"

static _Thread_local char text[WHY_MAX];

static const struct {
	const char *name;
	const char *words;
} errors[] = {
	[0] = {"OK", "done"},
	[-TIFFIN_E_NOT_FOUND] = {"NOT_FOUND", "no such object"},
	[-TIFFIN_E_EXISTS] = {"EXISTS", "an object of that key is there, or is being put"},
	[-TIFFIN_E_NO_SPACE] = {"NO_SPACE", "no room left in the memory that is lent"},
	[-TIFFIN_E_TOO_SMALL] = {"TOO_SMALL", "the object is longer than the room given for it"},
	[-TIFFIN_E_UNREACHABLE] = {"UNREACHABLE", "the master, or every copy, can't be reached"},
	[-TIFFIN_E_INVALID] = {"INVALID", "an argument breaks the contract of the call"},
	[-TIFFIN_E_SYSTEM] = {"SYSTEM", "the operating system refused"},
	[-TIFFIN_E_TIMEOUT] = {"TIMEOUT", "not done within the time given"},
	[-TIFFIN_E_LEASE] = {"LEASE", "somebody reads it, or the promise on it ran out"},
	[-TIFFIN_E_CHECKSUM] = {"CHECKSUM", "the bytes of every copy differ from what was put"},
	[-TIFFIN_E_DENIED] = {"DENIED", "the cluster key, the tenant or the token is not accepted"},
	[-TIFFIN_E_BUSY] = {"BUSY", "the master can't do it just now, or a limit is reached"},
	[-TIFFIN_E_FORKED] = {"FORKED", "this client was opened in another process"},
	[-TIFFIN_E_CLOSED] = {"CLOSED", "the client, put or view is closed"},
	[-TIFFIN_E_VERSION] = {"VERSION", "library and master speak different versions"},
	[-TIFFIN_E_QUOTA] = {"QUOTA", "the tenant's quota is used up, even after evicting"},
	[-TIFFIN_E_NOT_EMPTY] = {"NOT_EMPTY", "the tenant still holds something, or has clients"},
};

static bool
is_known(int code)
{
	return code <= 0 && code > -(int)array_len(errors);
}

const char *
tiffin_strerror(int code)
{
	return is_known(code) ? errors[-code].words : "not a code of this library";
}

const char *
tiffin_errname(int code)
{
	return is_known(code) ? errors[-code].name : "UNKNOWN";
}

const char *
tiffin_why(void)
{
	return text;
}

int
why_set(int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return code;
}

int
why_system(int r, const char *doing)
{
	char trail[WHY_MAX / 2];

	assert(r < 0);
	return why_set(TIFFIN_E_SYSTEM, "%s: %s", doing, err_trail(trail, sizeof(trail)));
}

int
why_no_memory(void)
{
	return why_system(err_new(-ENOMEM), "out of memory");
}

const char *
why_key(char *buf, size_t cap_bytes, const void *key, size_t len_bytes)
{
	const uint8_t *from = key;
	size_t n = len_bytes < cap_bytes ? len_bytes : cap_bytes - 1;

	for (size_t i = 0; i < n; i++)
		buf[i] = (char)(from[i] < ' ' || from[i] == 0x7f ? '?' : from[i]);
	buf[n] = '\0';
	if (n < len_bytes && n >= 3)
		memcpy(buf + n - 3, "...", 3);
	return buf;
}
