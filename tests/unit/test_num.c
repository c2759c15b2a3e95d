/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "transfer/base/num.h"

struct parse_case {
	const char *text;
	uint64_t want;
};

static void
sums__that_do_not_fit__are_refused_and_change_nothing(void **state)
{
	uint64_t v = 7;

	(void)state;
	assert_false(num_add(UINT64_MAX, 1, &v));
	assert_false(num_mul(1ull << 32, 1ull << 32, &v));
	assert_int_equal(v, 7);

	assert_true(num_add(UINT64_MAX - 1, 1, &v));
	assert_true(v == UINT64_MAX);
	assert_true(num_add_sat(UINT64_MAX, 5) == UINT64_MAX);
	assert_int_equal(num_add_sat(2, 5), 7);
}

static void
range__is_judged_rightly_for_any_numbers(void **state)
{
	(void)state;
	assert_true(num_range_fits(0, 0, 0));
	assert_true(num_range_fits(10, 0, 10));
	assert_true(num_range_fits(4, 6, 10));
	assert_false(num_range_fits(5, 6, 10));
	assert_false(num_range_fits(11, 0, 10));
	assert_false(num_range_fits(UINT64_MAX, 2, 10));
	assert_false(num_range_fits(1, UINT64_MAX, UINT64_MAX));
	assert_true(num_range_fits(0, UINT64_MAX, UINT64_MAX));
}

static void
align_up__goes_to_the_next_multiple(void **state)
{
	(void)state;
	assert_int_equal(num_align_up(0, 16), 0);
	assert_int_equal(num_align_up(1, 16), 16);
	assert_int_equal(num_align_up(16, 16), 16);
	assert_int_equal(num_align_up(17, 16), 32);
}

static void
plain_numbers__are_read(void **state)
{
	static const struct parse_case cases[] = {
		{"0", 0},
		{"007", 7},
		{"18446744073709551615", UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		uint64_t v = 1;

		assert_int_equal(num_parse(cases[i].text, &v), 0);
		assert_true(v == cases[i].want);
	}
}

static void
plain_numbers__that_are_none__are_refused_and_change_nothing(void **state)
{
	static const char *const cases[] = {"",     " 1",  "1 ",  "-1", "+1",
					    "0x10", "1e3", "1.0", "k",  "1k"};
	uint64_t v = 7;

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++)
		assert_int_equal(num_parse(cases[i], &v), NUM_E_NOT_A_NUMBER);
	assert_int_equal(num_parse("18446744073709551616", &v), NUM_E_RANGE);
	assert_int_equal(num_parse("99999999999999999999999999", &v), NUM_E_RANGE);
	assert_int_equal(v, 7);
}

static void
sizes__are_read_with_any_unit(void **state)
{
	static const struct parse_case cases[] = {
		{"4096", 4096},          {"4096B", 4096},
		{"64KiB", 65536},        {"64k", 65536},
		{"64kb", 64000},         {"1.5GiB", 3ull << 29},
		{"1.5 GiB", 3ull << 29}, {"2MB", 2000000},
		{"1g", 1ull << 30},      {"1T", 1ull << 40},
		{"3Pi", 3ull << 50},     {"0.5k", 512},
		{"0.0009765625k", 0}, /* digits behind the ninth are dropped, and bytes are whole */
		{"0.001kb", 1},          {"16383.999999999PiB", 18446744073708425716ull},
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		uint64_t v = 1;

		assert_int_equal(num_parse_bytes(cases[i].text, &v), 0);
		assert_true(v == cases[i].want);
	}
}

static void
sizes__that_are_none__are_refused_and_change_nothing(void **state)
{
	uint64_t v = 7;

	(void)state;
	assert_int_equal(num_parse_bytes("", &v), NUM_E_NOT_A_NUMBER);
	assert_int_equal(num_parse_bytes("KiB", &v), NUM_E_NOT_A_NUMBER);
	assert_int_equal(num_parse_bytes("-1k", &v), NUM_E_NOT_A_NUMBER);
	assert_int_equal(num_parse_bytes(".5k", &v), NUM_E_NOT_A_NUMBER);
	assert_int_equal(num_parse_bytes("1.k", &v), NUM_E_NOT_A_NUMBER);
	assert_int_equal(num_parse_bytes("1.5", &v), NUM_E_NOT_A_NUMBER);
	assert_int_equal(num_parse_bytes("1.5B", &v), NUM_E_NOT_A_NUMBER);
	assert_int_equal(num_parse_bytes("5s", &v), NUM_E_UNIT);
	assert_int_equal(num_parse_bytes("5kk", &v), NUM_E_UNIT);
	assert_int_equal(num_parse_bytes("5 ", &v), NUM_E_UNIT);
	assert_int_equal(num_parse_bytes("5  k", &v), NUM_E_UNIT);
	assert_int_equal(num_parse_bytes("16384PiB", &v), NUM_E_RANGE);
	assert_int_equal(num_parse_bytes("99999999999999999999k", &v), NUM_E_RANGE);
	assert_int_equal(v, 7);
}

static void
times__are_read_with_any_unit(void **state)
{
	static const struct parse_case cases[] = {
		{"5000", 5000},    {"250ms", 250},     {"5s", 5000},    {"1.5s", 1500},
		{"30m", 1800000},  {"30min", 1800000}, {"1h", 3600000}, {"2d", 172800000},
		{"0.25h", 900000}, {"2.0 s", 2000},
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		uint64_t v = 1;

		assert_int_equal(num_parse_ms(cases[i].text, &v), 0);
		assert_int_equal(v, cases[i].want);
	}
}

static void
times__that_are_none__are_refused_and_change_nothing(void **state)
{
	uint64_t v = 7;

	(void)state;
	assert_int_equal(num_parse_ms("s", &v), NUM_E_NOT_A_NUMBER);
	assert_int_equal(num_parse_ms("1.5ms", &v), NUM_E_NOT_A_NUMBER);
	assert_int_equal(num_parse_ms("5KiB", &v), NUM_E_UNIT);
	assert_int_equal(num_parse_ms("5w", &v), NUM_E_UNIT);
	assert_int_equal(num_parse_ms("18446744073709551615s", &v), NUM_E_RANGE);
	assert_int_equal(v, 7);
}

static void
sizes__are_shown_with_one_digit_behind_the_point_and_never_too_large(void **state)
{
	char text[32];

	(void)state;
	assert_string_equal(num_show_bytes(text, sizeof(text), 0), "0 B");
	assert_string_equal(num_show_bytes(text, sizeof(text), 1023), "1023 B");
	assert_string_equal(num_show_bytes(text, sizeof(text), 1024), "1.0 KiB");
	assert_string_equal(num_show_bytes(text, sizeof(text), 3ull << 29), "1.5 GiB");
	assert_string_equal(num_show_bytes(text, sizeof(text), (1ull << 20) - 1), "1023.9 KiB");
	assert_string_equal(num_show_bytes(text, sizeof(text), UINT64_MAX), "15.9 EiB");
}

static void
times__are_shown_with_one_digit_behind_the_point(void **state)
{
	char text[32];

	(void)state;
	assert_string_equal(num_show_ms(text, sizeof(text), 999), "999 ms");
	assert_string_equal(num_show_ms(text, sizeof(text), 2000), "2.0 s");
	assert_string_equal(num_show_ms(text, sizeof(text), 90000), "1.5 min");
	assert_string_equal(num_show_ms(text, sizeof(text), 3600000), "1.0 h");
	assert_string_equal(num_show_ms(text, sizeof(text), UINT64_MAX), "213503982334.6 d");
}

static void
shown_text__can_be_read_again(void **state)
{
	static const uint64_t values[] = {0, 17, 1024, 3ull << 29, 5ull << 40, 7ull << 50};
	char text[32];

	(void)state;
	for (size_t i = 0; i < array_len(values); i++) {
		uint64_t v = 1;

		num_show_bytes(text, sizeof(text), values[i]);
		assert_int_equal(num_parse_bytes(text, &v), 0);
		assert_true(v == values[i]);
	}
}

static void
words__have_numbers_and_numbers_words(void **state)
{
	char text[8];
	uint64_t v = 9;

	(void)state;
	assert_int_equal(num_parse_word("a bc d", "bc", &v), 0);
	assert_true(v == 1);
	assert_int_equal(num_parse_word("a bc d", "b", &v), NUM_E_NOT_A_NUMBER);
	assert_int_equal(num_parse_word("a bc d", "", &v), NUM_E_NOT_A_NUMBER);
	assert_true(v == 1);
	assert_string_equal(num_show_word(text, sizeof(text), 1, "a bc d"), "bc");
	assert_string_equal(num_show_word(text, sizeof(text), 2, "a bc d"), "d");
	assert_string_equal(num_show_word(text, sizeof(text), 3, "a bc d"), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums__that_do_not_fit__are_refused_and_change_nothing),
		cmocka_unit_test(range__is_judged_rightly_for_any_numbers),
		cmocka_unit_test(align_up__goes_to_the_next_multiple),
		cmocka_unit_test(plain_numbers__are_read),
		cmocka_unit_test(plain_numbers__that_are_none__are_refused_and_change_nothing),
		cmocka_unit_test(sizes__are_read_with_any_unit),
		cmocka_unit_test(sizes__that_are_none__are_refused_and_change_nothing),
		cmocka_unit_test(times__are_read_with_any_unit),
		cmocka_unit_test(times__that_are_none__are_refused_and_change_nothing),
		cmocka_unit_test(
			sizes__are_shown_with_one_digit_behind_the_point_and_never_too_large),
		cmocka_unit_test(times__are_shown_with_one_digit_behind_the_point),
		cmocka_unit_test(shown_text__can_be_read_again),
		cmocka_unit_test(words__have_numbers_and_numbers_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
