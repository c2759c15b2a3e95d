/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "transfer/base/sock.h"

static void
addresses__come_back_as_they_were_written(void **state)
{
	static const char *const texts[] = {
		"unix:/run/tiffin/master.sock",
		"unix:relative.sock",
		"127.0.0.1:7400",
		"[::1]:7400",
		"0.0.0.0:0",
		"10.1.2.3:65535",
	};
	char text[SOCK_ADDR_TEXT_MAX];
	struct sock_addr addr;

	(void)state;
	for (size_t i = 0; i < array_len(texts); i++) {
		assert_int_equal(sock_addr_parse(texts[i], &addr), 0);
		assert_string_equal(sock_addr_show(&addr, text, sizeof(text)), texts[i]);
	}
}

static void
address__that_is_none__is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		":",
		"unix:",
		"127.0.0.1",
		"127.0.0.1:",
		"127.0.0.1:x",
		"127.0.0.1:65536",
		"127.0.0.1:-1",
		"127.0.0.1:80 ",
		":7400",
		"::1:7400",
		"[::1]",
		"[::1]7400",
		"[::1:7400",
		"[]:7400",
		"[127.0.0.1]:7400",
		"/run/x.sock",
	};
	struct sock_addr addr = {.len_bytes = 77};

	(void)state;
	for (size_t i = 0; i < array_len(texts); i++)
		assert_int_equal(sock_addr_parse(texts[i], &addr), SOCK_E_BAD_ADDRESS);
	assert_int_equal(addr.len_bytes, 77);
}

static void
unix_path__that_does_not_fit__is_refused_and_not_cut(void **state)
{
	char text[5 + 200 + 1] = "unix:";
	struct sock_addr addr;

	(void)state;
	memset(text + 5, 'x', sizeof(addr.un.sun_path));
	assert_int_equal(sock_addr_parse(text, &addr), SOCK_E_BAD_ADDRESS);

	text[5 + sizeof(addr.un.sun_path) - 1] = '\0';
	assert_int_equal(sock_addr_parse(text, &addr), 0);
}

static void
host__too_long_for_a_name__is_refused(void **state)
{
	char text[SOCK_ADDR_TEXT_MAX + 20];
	struct sock_addr addr;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text + sizeof(text) - 6, ":7400", 6);

	assert_int_equal(sock_addr_parse(text, &addr), SOCK_E_BAD_ADDRESS);
}

static void
local__is_unix_and_loopback_only(void **state)
{
	static const struct {
		const char *text;
		bool is_local;
	} cases[] = {
		{"unix:/x", true},
		{"127.0.0.1:1", true},
		{"127.9.9.9:1", true},
		{"[::1]:1", true},
		{"[::ffff:127.0.0.1]:1", true},
		{"0.0.0.0:1", false},
		{"10.0.0.1:1", false},
		{"128.0.0.1:1", false},
		{"[::]:1", false},
		{"[::ffff:10.0.0.1]:1", false},
		{"[fe80::1]:1", false},
	};
	struct sock_addr addr;

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		assert_int_equal(sock_addr_parse(cases[i].text, &addr), 0);
		assert_int_equal(sock_addr_is_local(&addr), cases[i].is_local);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses__come_back_as_they_were_written),
		cmocka_unit_test(address__that_is_none__is_refused),
		cmocka_unit_test(unix_path__that_does_not_fit__is_refused_and_not_cut),
		cmocka_unit_test(host__too_long_for_a_name__is_refused),
		cmocka_unit_test(local__is_unix_and_loopback_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
