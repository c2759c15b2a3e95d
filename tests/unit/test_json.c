/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "transfer/base/json.h"

/* A place to write to. */
struct page {
	char *text;
	size_t len;
	FILE *to;
	struct json json;
};

static void
page_open(struct page *page)
{
	*page = (struct page){.text = NULL};
	page->to = open_memstream(&page->text, &page->len);
	assert_non_null(page->to);
	json_init(&page->json, page->to);
}

static void
assert_page(struct page *page, const char *wanted)
{
	assert_int_equal(fclose(page->to), 0);
	assert_string_equal(page->text, wanted);
	free(page->text);
}

static void
object__with_fields_of_every_kind__is_one_line(void **state)
{
	struct page page;

	(void)state;
	page_open(&page);
	json_open_object(&page.json, NULL);
	json_text(&page.json, "name", "a");
	json_u64(&page.json, "len_bytes", UINT64_MAX);
	json_number(&page.json, "rate", 1.5);
	json_bool(&page.json, "is_prefix", false);
	json_open_list(&page.json, "none");
	json_close(&page.json);
	json_close(&page.json);

	assert_page(&page, "{\"name\":\"a\",\"len_bytes\":18446744073709551615,\"rate\":1.500,"
			   "\"is_prefix\":false,\"none\":[]}\n");
}

static void
outermost_list__has_a_line_for_each(void **state)
{
	struct page page;

	(void)state;
	page_open(&page);
	json_open_list(&page.json, NULL);
	for (uint64_t i = 0; i < 2; i++) {
		json_open_object(&page.json, NULL);
		json_u64(&page.json, "n", i);
		json_close(&page.json);
	}
	json_close(&page.json);

	assert_page(&page, "[\n{\"n\":0},\n{\"n\":1}\n]\n");
}

static void
empty_list__is_two_brackets(void **state)
{
	struct page page;

	(void)state;
	page_open(&page);
	json_open_list(&page.json, NULL);
	json_close(&page.json);

	assert_page(&page, "[]\n");
}

static void
id__is_text__because_readers_keep_53_bits(void **state)
{
	struct page page;

	(void)state;
	page_open(&page);
	json_open_object(&page.json, NULL);
	json_id(&page.json, "object_id", 9007199254740993ull);
	json_close(&page.json);

	assert_page(&page, "{\"object_id\":\"9007199254740993\"}\n");
}

static void
text__with_control_bytes_quotes_and_backslashes__is_escaped(void **state)
{
	struct page page;

	(void)state;
	page_open(&page);
	json_text(&page.json, NULL, "a\"b\\c\nd\te\rf\x01g\x7fh");

	assert_page(&page, "\"a\\\"b\\\\c\\nd\\te\\rf\\u0001g\\u007fh\"");
}

static void
key__that_is_utf8__stands_for_itself_alone(void **state)
{
	struct page page;

	(void)state;
	page_open(&page);
	json_open_object(&page.json, NULL);
	json_key(&page.json, "key", "na\xc3\xafve/\xf0\x9f\x8d\xb1");
	json_close(&page.json);

	assert_page(&page, "{\"key\":\"na\xc3\xafve/\xf0\x9f\x8d\xb1\"}\n");
}

static void
key__that_is_no_utf8__has_its_bytes_beside_it(void **state)
{
	struct page page;

	(void)state;
	page_open(&page);
	json_open_object(&page.json, NULL);
	json_key(&page.json, "key", "a\xff\xc3");
	json_close(&page.json);

	assert_page(&page, "{\"key\":\"a\\u00ff\\u00c3\",\"key_base64\":\"Yf/D\"}\n");
}

static void
base64__of_many_bytes__is_whole(void **state)
{
	uint8_t bytes[1000] = {0};
	struct page page;

	(void)state;
	page_open(&page);
	json_base64(&page.json, NULL, bytes, sizeof(bytes));

	assert_int_equal(fclose(page.to), 0);
	assert_int_equal(page.len, 2 + 4 * ((1000 + 2) / 3));
	assert_int_equal(strspn(page.text + 1, "A"), 1334);
	assert_string_equal(page.text + page.len - 3, "==\"");
	free(page.text);
}

static void
base64__agrees_with_the_rfc(void **state)
{
	static const char *const pairs[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
	};
	char buf[16];

	(void)state;
	for (size_t i = 0; i < array_len(pairs); i++)
		assert_string_equal(base64(buf, sizeof(buf), pairs[i][0], strlen(pairs[i][0])),
				    pairs[i][1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(object__with_fields_of_every_kind__is_one_line),
		cmocka_unit_test(outermost_list__has_a_line_for_each),
		cmocka_unit_test(empty_list__is_two_brackets),
		cmocka_unit_test(id__is_text__because_readers_keep_53_bits),
		cmocka_unit_test(text__with_control_bytes_quotes_and_backslashes__is_escaped),
		cmocka_unit_test(key__that_is_utf8__stands_for_itself_alone),
		cmocka_unit_test(key__that_is_no_utf8__has_its_bytes_beside_it),
		cmocka_unit_test(base64__of_many_bytes__is_whole),
		cmocka_unit_test(base64__agrees_with_the_rfc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
