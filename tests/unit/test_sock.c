/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/wire_ends.h"
#include "transfer/base/clock.h"
#include "transfer/base/sock.h"

static void
tcp__carries_bytes_both_ways(void **state)
{
	struct wire wire;

	(void)state;
	wire_open(&wire, address("127.0.0.1:0"));
	exchange(&wire);
	wire_close(&wire);
}

static void
unix__carries_bytes_both_ways(void **state)
{
	struct folder *folder = *state;
	struct wire wire;

	wire_open(&wire, folder->addr);
	exchange(&wire);
	wire_close(&wire);
}

static void
listener__tells_its_real_port(void **state)
{
	struct sock_addr addr = address("127.0.0.1:0"), bound;
	char text[SOCK_ADDR_TEXT_MAX];
	int fd;

	(void)state;
	assert_int_equal(sock_listen(&addr, 0, &fd, &bound), 0);

	sock_addr_show(&bound, text, sizeof(text));
	assert_ptr_equal(strstr(text, "127.0.0.1:"), text);
	assert_string_not_equal(text, "127.0.0.1:0");
	close(fd);
}

static void
sockets__are_closed_on_exec_and_block_as_promised(void **state)
{
	struct wire wire;

	(void)state;
	wire_open(&wire, address("127.0.0.1:0"));

	assert_true(fcntl(wire.listen_fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(wire.near_fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(wire.far_fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(wire.listen_fd, F_GETFL) & O_NONBLOCK);
	assert_false(fcntl(wire.near_fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(wire.far_fd, F_GETFL) & O_NONBLOCK);

	assert_int_equal(sock_set_blocking(wire.far_fd, true), 0);
	assert_false(fcntl(wire.far_fd, F_GETFL) & O_NONBLOCK);
	wire_close(&wire);
}

static void
tcp__at_both_ends__does_not_delay_and_notices_a_dead_peer(void **state)
{
	struct wire wire;

	(void)state;
	wire_open(&wire, address("127.0.0.1:0"));
	for (int i = 0; i < 2; i++) {
		int fd = i == 0 ? wire.near_fd : wire.far_fd;
		int no_delay = 0, user_timeout = 0;
		socklen_t len = sizeof(int);

		assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &len), 0);
		assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout, &len),
				 0);
		assert_int_equal(no_delay, 1);
		assert_int_equal(user_timeout, 10000);
	}
	wire_close(&wire);
}

static void
accept__with_nobody_waiting__says_so(void **state)
{
	struct sock_addr addr = address("127.0.0.1:0");
	int fd, none = 77;

	(void)state;
	assert_int_equal(sock_listen(&addr, 0, &fd, NULL), 0);

	assert_int_equal(sock_accept(fd, &none), SOCK_E_TIMEOUT);
	assert_int_equal(none, 77);
	close(fd);
}

static void
listen__on_a_port_in_use__says_so(void **state)
{
	struct sock_addr addr = address("127.0.0.1:0"), bound;
	int fd, second = 77;

	(void)state;
	assert_int_equal(sock_listen(&addr, 0, &fd, &bound), 0);

	assert_int_equal(sock_listen(&bound, 0, &second, NULL), SOCK_E_IN_USE);
	assert_int_equal(second, 77);
	close(fd);
}

static void
connect__where_nobody_listens__is_lost(void **state)
{
	struct sock_addr addr = address("127.0.0.1:0"), bound;
	struct folder *folder = *state;
	int fd, none = 77;

	assert_int_equal(sock_listen(&addr, 0, &fd, &bound), 0);
	close(fd);

	assert_int_equal(sock_connect(&bound, WAIT_MS, &none), SOCK_E_LOST);
	assert_int_equal(sock_connect(&folder->addr, WAIT_MS, &none), SOCK_E_LOST);
	assert_int_equal(none, 77);
}

/* ---- Unix paths ---- */

static mode_t
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	return st.st_mode & 07777;
}

static void
unix_path__gets_exactly_its_mode_whatever_the_umask(void **state)
{
	struct folder *folder = *state;
	mode_t before = umask(0);
	int fd;

	assert_int_equal(sock_listen(&folder->addr, 0600, &fd, NULL), 0);
	assert_int_equal(mode_of(folder->sock_path), 0600);
	close(fd);

	umask(0077);
	assert_int_equal(sock_listen(&folder->addr, 0666, &fd, NULL), 0);
	assert_int_equal(mode_of(folder->sock_path), 0666);
	close(fd);
	umask(before);
}

static void
unix_path__left_by_a_dead_listener__is_replaced(void **state)
{
	struct folder *folder = *state;
	struct wire wire;
	int fd;

	assert_int_equal(sock_listen(&folder->addr, 0600, &fd, NULL), 0);
	close(fd);

	wire_open(&wire, folder->addr);
	exchange(&wire);
	wire_close(&wire);
}

static void
unix_path__of_a_live_listener__is_left_alone(void **state)
{
	struct folder *folder = *state;
	int second = 77;
	struct wire wire;

	wire_open(&wire, folder->addr);

	assert_int_equal(sock_listen(&folder->addr, 0600, &second, NULL), SOCK_E_IN_USE);
	assert_int_equal(second, 77);
	exchange(&wire);
	wire_close(&wire);
}

static void
unix_path__that_is_an_ordinary_file__is_left_alone(void **state)
{
	struct folder *folder = *state;
	int fd = open(folder->sock_path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	struct stat st;

	close(fd);

	assert_int_equal(sock_listen(&folder->addr, 0600, &fd, NULL), SOCK_E_IN_USE);

	assert_int_equal(lstat(folder->sock_path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

static void
unix_path__in_a_folder_that_is_not_there__is_a_failure(void **state)
{
	struct sock_addr addr = address("unix:/nonexistent/folder/s");
	int fd;

	(void)state;
	assert_int_equal(sock_listen(&addr, 0600, &fd, NULL), -ENOENT);
}

/* Eight start at once over a stale file: one wins, and nobody removes the winner's socket. */
static void *
try_to_listen(void *arg)
{
	struct folder *folder = arg;
	int fd = -1;

	if (sock_listen(&folder->addr, 0600, &fd, NULL) != 0)
		return NULL;
	return (void *)(intptr_t)fd;
}

static void
unix_path__wanted_by_many_at_once__goes_to_one(void **state)
{
	struct folder *folder = *state;
	unsigned n_winners = 0;
	pthread_t threads[8];
	int stale_fd, winner_fd = -1, near_fd;

	assert_int_equal(sock_listen(&folder->addr, 0600, &stale_fd, NULL), 0);
	close(stale_fd);

	for (size_t i = 0; i < array_len(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, try_to_listen, folder), 0);
	for (size_t i = 0; i < array_len(threads); i++) {
		void *fd;

		pthread_join(threads[i], &fd);
		n_winners += fd != NULL;
		if (fd != NULL)
			winner_fd = (int)(intptr_t)fd;
	}

	assert_int_equal(n_winners, 1);
	assert_int_equal(sock_connect(&folder->addr, WAIT_MS, &near_fd), 0);
	close(near_fd);
	close(winner_fd);
}

static void
unix_peer__is_known(void **state)
{
	struct folder *folder = *state;
	struct wire wire;
	pid_t pid = 0;
	uid_t uid = 77;

	wire_open(&wire, folder->addr);

	assert_int_equal(sock_peer(wire.far_fd, &pid, &uid), 0);
	assert_int_equal(pid, getpid());
	assert_int_equal(uid, getuid());
	wire_close(&wire);
}

/* ---- moving bytes ---- */

static void
recv__when_the_time_is_up__says_so(void **state)
{
	struct wire wire;
	char text[4];

	(void)state;
	wire_open(&wire, address("127.0.0.1:0"));

	assert_int_equal(sock_recv_all(wire.near_fd, text, 4, 0), SOCK_E_TIMEOUT);
	assert_int_equal(sock_recv_all(wire.near_fd, text, 4, clock_ns(clock_real()) + 1000),
			 SOCK_E_TIMEOUT);
	wire_close(&wire);
}

static void
recv__of_a_part_only__times_out(void **state)
{
	struct wire wire;
	char text[4];

	(void)state;
	wire_open(&wire, address("127.0.0.1:0"));
	assert_int_equal(sock_send_all(wire.far_fd, "ab", 2, soon()), 0);

	assert_int_equal(sock_recv_all(wire.near_fd, text, 4, clock_ns(clock_real()) + NS_PER_MS),
			 SOCK_E_TIMEOUT);
	wire_close(&wire);
}

static void
recv__when_the_peer_has_closed__is_lost(void **state)
{
	struct wire wire;
	char text[4];

	(void)state;
	wire_open(&wire, address("127.0.0.1:0"));
	assert_int_equal(sock_send_all(wire.far_fd, "ab", 2, soon()), 0);
	fd_close_at(&wire.far_fd);

	assert_int_equal(sock_recv_all(wire.near_fd, text, 4, soon()), SOCK_E_LOST);
	wire_close(&wire);
}

static void
send__when_the_peer_has_closed__is_lost_and_raises_no_signal(void **state)
{
	struct folder *folder = *state;
	struct wire wire;

	wire_open(&wire, folder->addr);
	fd_close_at(&wire.far_fd);

	assert_int_equal(sock_send_all(wire.near_fd, "hello", 5, soon()), SOCK_E_LOST);
	wire_close(&wire);
}

static void
send__to_one_who_does_not_read__times_out(void **state)
{
	static uint8_t bytes[32 << 20];
	struct folder *folder = *state;
	struct wire wire;

	wire_open(&wire, folder->addr);

	assert_int_equal(sock_send_all(wire.near_fd, bytes, sizeof(bytes), 0), SOCK_E_TIMEOUT);
	wire_close(&wire);
}

#define LONG_BYTES (8u << 20)

static void *
send_long(void *fd)
{
	uint8_t *bytes = malloc(LONG_BYTES);
	int r;

	assert(bytes != NULL);
	for (size_t i = 0; i < LONG_BYTES; i++)
		bytes[i] = (uint8_t)(i * 7 >> 8);
	r = sock_send_all((int)(intptr_t)fd, bytes, LONG_BYTES, soon());
	free(bytes);
	return (void *)(intptr_t)r;
}

static void
more__than_any_buffer_holds__comes_over_whole(void **state)
{
	uint8_t *bytes = malloc(LONG_BYTES);
	struct wire wire;
	pthread_t thread;
	bool same = true;
	void *r;

	(void)state;
	assert_non_null(bytes);
	wire_open(&wire, address("127.0.0.1:0"));
	assert_int_equal(pthread_create(&thread, NULL, send_long, (void *)(intptr_t)wire.far_fd),
			 0);

	assert_int_equal(sock_recv_all(wire.near_fd, bytes, LONG_BYTES, soon()), 0);
	pthread_join(thread, &r);

	assert_null(r);
	for (size_t i = 0; i < LONG_BYTES; i++)
		same &= bytes[i] == (uint8_t)(i * 7 >> 8);
	assert_true(same);
	wire_close(&wire);
	free(bytes);
}

static void
nothing__is_sent_and_received_at_once(void **state)
{
	struct wire wire;

	(void)state;
	wire_open(&wire, address("127.0.0.1:0"));
	assert_int_equal(sock_send_all(wire.near_fd, NULL, 0, 0), 0);
	assert_int_equal(sock_recv_all(wire.near_fd, NULL, 0, 0), 0);
	wire_close(&wire);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp__carries_bytes_both_ways),
		in_folder(unix__carries_bytes_both_ways),
		cmocka_unit_test(listener__tells_its_real_port),
		cmocka_unit_test(sockets__are_closed_on_exec_and_block_as_promised),
		cmocka_unit_test(tcp__at_both_ends__does_not_delay_and_notices_a_dead_peer),
		cmocka_unit_test(accept__with_nobody_waiting__says_so),
		cmocka_unit_test(listen__on_a_port_in_use__says_so),
		in_folder(connect__where_nobody_listens__is_lost),
		in_folder(unix_path__gets_exactly_its_mode_whatever_the_umask),
		in_folder(unix_path__left_by_a_dead_listener__is_replaced),
		in_folder(unix_path__of_a_live_listener__is_left_alone),
		in_folder(unix_path__that_is_an_ordinary_file__is_left_alone),
		cmocka_unit_test(unix_path__in_a_folder_that_is_not_there__is_a_failure),
		in_folder(unix_path__wanted_by_many_at_once__goes_to_one),
		in_folder(unix_peer__is_known),
		cmocka_unit_test(recv__when_the_time_is_up__says_so),
		cmocka_unit_test(recv__of_a_part_only__times_out),
		cmocka_unit_test(recv__when_the_peer_has_closed__is_lost),
		in_folder(send__when_the_peer_has_closed__is_lost_and_raises_no_signal),
		in_folder(send__to_one_who_does_not_read__times_out),
		cmocka_unit_test(more__than_any_buffer_holds__comes_over_whole),
		cmocka_unit_test(nothing__is_sent_and_received_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
