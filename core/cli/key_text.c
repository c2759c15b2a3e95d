/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/key_text.h"

void
text_scrub(char *text)
{
	for (; *text != '\0'; text++)
		if ((uint8_t)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

const char *
base64(char *buf, size_t cap, const void *bytes, size_t n_bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *at = bytes;
	size_t n = 0;

	assert(cap >= 4 * ((n_bytes + 2) / 3) + 1);
	for (size_t i = 0; i < n_bytes; i += 3) {
		size_t left = n_bytes - i;
		uint32_t v = (uint32_t)at[i] << 16;

		if (left > 1)
			v |= (uint32_t)at[i + 1] << 8;
		if (left > 2)
			v |= at[i + 2];
		buf[n++] = digits[v >> 18];
		buf[n++] = digits[v >> 12 & 63];
		buf[n++] = left > 1 ? digits[v >> 6 & 63] : '=';
		buf[n++] = left > 2 ? digits[v & 63] : '=';
	}
	buf[n] = '\0';
	return buf;
}
