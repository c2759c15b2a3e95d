/* SPDX-License-Identifier: Apache-2.0 */

/* wire_ends.h -- a listener and one connection to it, and a folder for Unix paths. */
#ifndef TESTS_UNIT_WIRE_ENDS_H
#define TESTS_UNIT_WIRE_ENDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "transfer/base/clock.h"
#include "transfer/base/sock.h"

#define WAIT_MS 10000 /* long enough never to be reached by a test that passes */

static inline uint64_t
soon(void)
{
	return clock_ns(clock_real()) + WAIT_MS * NS_PER_MS;
}

/* A listener and one connection to it; -1 what is not open. */
struct wire {
	int listen_fd, near_fd, far_fd;
	struct sock_addr addr;
};

static inline struct sock_addr
address(const char *text)
{
	struct sock_addr addr;

	assert_int_equal(sock_addr_parse(text, &addr), 0);
	return addr;
}

static inline void
wire_open(struct wire *wire, struct sock_addr addr)
{
	assert_int_equal(sock_listen(&addr, 0600, &wire->listen_fd, &wire->addr), 0);
	assert_int_equal(sock_connect(&wire->addr, WAIT_MS, &wire->near_fd), 0);
	assert_int_equal(sock_accept(wire->listen_fd, &wire->far_fd), 0);
}

static inline void
wire_close(struct wire *wire)
{
	fd_close_at(&wire->listen_fd);
	fd_close_at(&wire->near_fd);
	fd_close_at(&wire->far_fd);
}

struct folder {
	char path[64];
	char sock_path[80];
	struct sock_addr addr;
};

static inline int
folder_make(void **state)
{
	static struct folder folder;
	char text[100];

	snprintf(folder.path, sizeof(folder.path), "/tmp/tiffin-test-sock-XXXXXX");
	if (mkdtemp(folder.path) == NULL)
		return -1;
	snprintf(folder.sock_path, sizeof(folder.sock_path), "%s/s", folder.path);
	snprintf(text, sizeof(text), "unix:%s", folder.sock_path);
	*state = &folder;
	return sock_addr_parse(text, &folder.addr);
}

static inline int
folder_drop(void **state)
{
	struct folder *folder = *state;

	unlink(folder->sock_path);
	return rmdir(folder->path);
}

static inline void
exchange(struct wire *wire)
{
	char text[6] = "";

	assert_int_equal(sock_send_all(wire->near_fd, "hello", 5, soon()), 0);
	assert_int_equal(sock_recv_all(wire->far_fd, text, 5, soon()), 0);
	assert_string_equal(text, "hello");
	assert_int_equal(sock_send_all(wire->far_fd, "WORLD", 5, soon()), 0);
	assert_int_equal(sock_recv_all(wire->near_fd, text, 5, soon()), 0);
	assert_string_equal(text, "WORLD");
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_drop)

#endif
