/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/wire_ends.h"
#include "transfer/base/sock.h"

static void
descriptor__arrives_beside_its_bytes(void **state)
{
	struct folder *folder = *state;
	char text[6] = "", through[2] = "";
	int pipe_fds[2], fd = -1;
	struct wire wire;

	wire_open(&wire, folder->addr);
	assert_int_equal(pipe(pipe_fds), 0);

	assert_int_equal(sock_send_fd(wire.far_fd, "hello", 5, pipe_fds[1]), 0);
	assert_int_equal(sock_recv_fd(wire.near_fd, text, 5, &fd, soon()), 0);

	assert_string_equal(text, "hello");
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(read(pipe_fds[0], through, 1), 1);
	assert_string_equal(through, "x");
	close(fd);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	wire_close(&wire);
}

static void
message__without_a_descriptor__says_so(void **state)
{
	struct folder *folder = *state;
	struct wire wire;
	char text[6] = "";
	int fd = 77;

	wire_open(&wire, folder->addr);

	assert_int_equal(sock_send_fd(wire.far_fd, "hello", 5, -1), 0);
	assert_int_equal(sock_recv_fd(wire.near_fd, text, 5, &fd, soon()), 0);

	assert_int_equal(fd, -1);
	assert_string_equal(text, "hello");
	wire_close(&wire);
}

static int
count_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void
descriptor__whose_message_breaks_off__is_not_leaked(void **state)
{
	struct folder *folder = *state;
	struct wire wire;
	int fd = 77, n_open;
	char text[8];

	wire_open(&wire, folder->addr);
	assert_int_equal(sock_send_fd(wire.far_fd, "hello", 5, STDIN_FILENO), 0);
	fd_close_at(&wire.far_fd);
	n_open = count_open();

	assert_int_equal(sock_recv_fd(wire.near_fd, text, 8, &fd, soon()), SOCK_E_LOST);

	assert_int_equal(fd, 77);
	assert_int_equal(count_open(), n_open);
	wire_close(&wire);
}

static void
second_descriptor__of_an_ill_bred_peer__is_closed(void **state)
{
	struct folder *folder = *state;
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(2 * sizeof(int))];
	} note = {0};
	struct iovec iov = {.iov_base = "x", .iov_len = 1};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &note,
		.msg_controllen = sizeof(note),
	};
	const int fds[2] = {STDIN_FILENO, STDIN_FILENO};
	struct wire wire;
	int fd = -1, n_open;
	char text;

	wire_open(&wire, folder->addr);
	note.header.cmsg_level = SOL_SOCKET;
	note.header.cmsg_type = SCM_RIGHTS;
	note.header.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&note.header), fds, sizeof(fds));
	assert_int_equal(sendmsg(wire.far_fd, &msg, 0), 1);
	n_open = count_open();

	assert_int_equal(sock_recv_fd(wire.near_fd, &text, 1, &fd, soon()), 0);

	assert_int_equal(count_open(), n_open + 1);
	close(fd);
	wire_close(&wire);
}

static void
recv_fd__when_the_time_is_up__says_so(void **state)
{
	struct folder *folder = *state;
	struct wire wire;
	char text;
	int fd = 77;

	wire_open(&wire, folder->addr);

	assert_int_equal(sock_recv_fd(wire.near_fd, &text, 1, &fd, 0), SOCK_E_TIMEOUT);
	fd_close_at(&wire.far_fd);
	assert_int_equal(sock_recv_fd(wire.near_fd, &text, 1, &fd, soon()), SOCK_E_LOST);
	assert_int_equal(fd, 77);
	wire_close(&wire);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(descriptor__arrives_beside_its_bytes),
		in_folder(message__without_a_descriptor__says_so),
		in_folder(descriptor__whose_message_breaks_off__is_not_leaked),
		in_folder(second_descriptor__of_an_ill_bred_peer__is_closed),
		in_folder(recv_fd__when_the_time_is_up__says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
