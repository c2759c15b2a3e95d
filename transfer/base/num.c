/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/num.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name; /* any mixture of large and small letters */
	uint64_t factor;
};

static const struct unit byte_units[] = {
	{"", 1},
	{"b", 1},
	{"k", 1ull << 10},
	{"ki", 1ull << 10},
	{"kib", 1ull << 10},
	{"kb", 1000},
	{"m", 1ull << 20},
	{"mi", 1ull << 20},
	{"mib", 1ull << 20},
	{"mb", 1000000},
	{"g", 1ull << 30},
	{"gi", 1ull << 30},
	{"gib", 1ull << 30},
	{"gb", 1000000000},
	{"t", 1ull << 40},
	{"ti", 1ull << 40},
	{"tib", 1ull << 40},
	{"tb", 1000000000000},
	{"p", 1ull << 50},
	{"pi", 1ull << 50},
	{"pib", 1ull << 50},
	{"pb", 1000000000000000},
};

static const struct unit ms_units[] = {
	{"", 1},        {"ms", 1},      {"s", 1000},     {"m", 60000},
	{"min", 60000}, {"h", 3600000}, {"d", 86400000},
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* take_digits -- move *text behind its leading digits.  0, NUM_E_NOT_A_NUMBER, NUM_E_RANGE. */
static int
take_digits(const char **text, uint64_t *ret)
{
	uint64_t v = 0;

	if (!is_digit(**text))
		return NUM_E_NOT_A_NUMBER;
	for (; is_digit(**text); (*text)++)
		if (!num_mul(v, 10, &v) || !num_add(v, (uint64_t)(**text - '0'), &v))
			return NUM_E_RANGE;
	*ret = v;
	return 0;
}

int
num_parse(const char *text, uint64_t *ret)
{
	uint64_t v;
	int r = take_digits(&text, &v);

	if (r != 0)
		return r;
	if (*text != '\0')
		return NUM_E_NOT_A_NUMBER;
	*ret = v;
	return 0;
}

/* take_fraction -- the digits behind a point, below 10^9; those behind the ninth are dropped. */
static int
take_fraction(const char **text, uint64_t *ret_billionths)
{
	uint64_t v = 0;

	if (!is_digit(**text))
		return NUM_E_NOT_A_NUMBER;
	for (uint64_t worth = 100000000; is_digit(**text); (*text)++, worth /= 10)
		v += (uint64_t)(**text - '0') * worth;
	*ret_billionths = v;
	return 0;
}

/* parse_with_unit -- "1.5GiB": digits, perhaps a fraction, perhaps one blank, perhaps a unit. */
static int
parse_with_unit(const char *text, const struct unit *units, size_t n_units, uint64_t *ret)
{
	uint64_t whole, billionths = 0;
	bool has_point = false;
	unsigned __int128 v;
	size_t i = 0;
	int r;

	r = take_digits(&text, &whole);
	if (r != 0)
		return r;
	if (*text == '.') {
		has_point = true;
		text++;
		r = take_fraction(&text, &billionths);
		if (r != 0)
			return r;
	}
	if (text[0] == ' ' && text[1] != '\0')
		text++;

	while (i < n_units && strcasecmp(units[i].name, text) != 0)
		i++;
	if (i == n_units)
		return NUM_E_UNIT;
	if (has_point && units[i].factor == 1)
		return NUM_E_NOT_A_NUMBER; /* there is no half byte, and no half millisecond */

	v = (unsigned __int128)whole * units[i].factor +
	    (unsigned __int128)billionths * units[i].factor / 1000000000;
	if (v > UINT64_MAX)
		return NUM_E_RANGE;
	*ret = (uint64_t)v;
	return 0;
}

int
num_parse_bytes(const char *text, uint64_t *ret)
{
	return parse_with_unit(text, byte_units, array_len(byte_units), ret);
}

int
num_parse_ms(const char *text, uint64_t *ret)
{
	return parse_with_unit(text, ms_units, array_len(ms_units), ret);
}

/* show -- one digit behind the point, rounded down: a limit is never shown as reached too early. */
static const char *
show(char *buf, size_t cap, uint64_t v, struct unit unit)
{
	uint64_t tenths = (uint64_t)((unsigned __int128)(v % unit.factor) * 10 / unit.factor);

	snprintf(buf, cap, "%llu.%llu %s", (unsigned long long)(v / unit.factor),
		 (unsigned long long)tenths, unit.name);
	return buf;
}

const char *
num_show_bytes(char *buf, size_t cap, uint64_t bytes)
{
	static const struct unit units[] = {
		{"EiB", 1ull << 60}, {"PiB", 1ull << 50}, {"TiB", 1ull << 40},
		{"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1ull << 10},
	};

	for (size_t i = 0; i < array_len(units); i++)
		if (bytes >= units[i].factor)
			return show(buf, cap, bytes, units[i]);
	snprintf(buf, cap, "%llu B", (unsigned long long)bytes);
	return buf;
}

const char *
num_show_ms(char *buf, size_t cap, uint64_t ms)
{
	static const struct unit units[] = {
		{"d", 86400000},
		{"h", 3600000},
		{"min", 60000},
		{"s", 1000},
	};

	for (size_t i = 0; i < array_len(units); i++)
		if (ms >= units[i].factor)
			return show(buf, cap, ms, units[i]);
	snprintf(buf, cap, "%llu ms", (unsigned long long)ms);
	return buf;
}

/* ---- words that have numbers ---- */

/* Behind this word and its blank. */
static const char *
next_word(const char *word)
{
	size_t len = strcspn(word, " ");

	return word + len + (word[len] == ' ');
}

int
num_parse_word(const char *words, const char *text, uint64_t *ret)
{
	uint64_t number = 0;

	for (; *words != '\0'; words = next_word(words), number++) {
		size_t len = strcspn(words, " ");

		if (strlen(text) == len && memcmp(words, text, len) == 0) {
			*ret = number;
			return 0;
		}
	}
	return NUM_E_NOT_A_NUMBER;
}

const char *
num_show_word(char *buf, size_t cap, uint64_t number, const char *words)
{
	for (; number > 0 && *words != '\0'; number--)
		words = next_word(words);
	snprintf(buf, cap, "%.*s", *words == '\0' ? 1 : (int)strcspn(words, " "),
		 *words == '\0' ? "?" : words);
	return buf;
}
