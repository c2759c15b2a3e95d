/* SPDX-License-Identifier: Apache-2.0 */

/* sock.c -- opens sockets and moves bytes.  Errors of the network become outcomes here. */
#include "transfer/base/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "transfer/base/clock.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define BACKLOG           1024
#define DEAD_PEER_MS      10000
#define KEEPALIVE_IDLE_S  5
#define KEEPALIVE_EVERY_S 2
#define CONGESTION        "cubic"

/* outcome_of -- what an errno of a connection means to its user. */
static int
outcome_of(int e)
{
	switch (e) {
	case ECONNREFUSED:
	case ECONNRESET:
	case ECONNABORTED:
	case EPIPE:
	case ENOTCONN:
	case ENOENT: /* a Unix socket that is not there: nobody listens */
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENETUNREACH:
	case ENETDOWN:
	case ENETRESET:
	case ETIMEDOUT: /* the kernel gave the peer up, see DEAD_PEER_MS */
		return SOCK_E_LOST;
	default:
		return err_new(-e);
	}
}

void
fd_close_at(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
sock_abort_at(int *fd)
{
	static const struct linger at_once = {.l_onoff = 1};

	if (*fd >= 0)
		(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	fd_close_at(fd);
}

static int
take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Each makes a good connection better; a kernel without one of them still connects. */
static void
tune_tcp(int fd)
{
	static const struct {
		int level, name, value;
	} tunings[] = {
		{IPPROTO_TCP, TCP_NODELAY, 1},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, DEAD_PEER_MS},
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
		{IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_S},
	};

	for (size_t i = 0; i < array_len(tunings); i++)
		(void)setsockopt(fd, tunings[i].level, tunings[i].name, &tunings[i].value,
				 sizeof(tunings[i].value));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, CONGESTION, strlen(CONGESTION));
}

int
sock_set_blocking(int fd, bool blocking)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return err_new(-errno);
	flags = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
	if (fcntl(fd, F_SETFL, flags) < 0)
		return err_new(-errno);
	return 0;
}

/* ---- waiting ---- */

/*
 * wait_for -- events on fd until until_ns of clock_real().  0, SOCK_E_TIMEOUT, -errno.
 *
 * A closed or broken connection is "ready": the call that follows says what happened.
 */
static int
wait_for(int fd, short events, uint64_t until_ns)
{
	struct pollfd pollfd = {.fd = fd, .events = events};

	for (;;) {
		uint64_t now_ns = clock_ns(clock_real());
		uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
		struct timespec left = {
			.tv_sec = (time_t)(left_ns / NS_PER_S),
			.tv_nsec = (long)(left_ns % NS_PER_S),
		};
		int n = ppoll(&pollfd, 1, &left, NULL);

		if (n > 0)
			return 0;
		if (n == 0 && left_ns == 0)
			return SOCK_E_TIMEOUT;
		if (n < 0 && errno != EINTR)
			return err_new(-errno);
	}
}

static uint64_t
ns_from_now(uint64_t len_ms)
{
	uint64_t len_ns;

	if (!num_mul(len_ms, NS_PER_MS, &len_ns))
		return UINT64_MAX;
	return num_add_sat(clock_ns(clock_real()), len_ns);
}

/* ---- listening ---- */

/*
 * lock_directory -- among our own programs only one at a time judges and replaces a path.
 *
 * Without it two that start together both find the stale file, and the slower
 * one removes the live socket of the other.  It goes when the descriptor is
 * closed.  A directory that can't be locked is used without.
 */
static int
lock_directory(const char *path)
{
	char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	const char *slash = strrchr(path, '/');
	size_t len = slash != NULL ? (size_t)(slash - path) : 0;
	int fd;

	memcpy(folder, path, len);
	folder[len] = '\0';
	fd = open(slash == NULL ? "."
		  : len == 0    ? "/"
				: folder,
		  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void)flock(fd, LOCK_EX);
	return fd;
}

/* is_stale -- a socket file that nobody listens on any more. */
static bool
is_stale(const struct sock_addr *addr)
{
	cleanup_with(fd_close_at) int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (fd < 0 || lstat(addr->un.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	return connect(fd, &addr->any, addr->len_bytes) < 0 && errno == ECONNREFUSED;
}

/*
 * The file is born with the socket's own mode, less the umask: so setting the
 * mode before bind() keeps it from ever being wider, and chmod() gives back
 * what the umask took.
 */
static int
bind_unix_alone(int fd, const struct sock_addr *addr, mode_t mode)
{
	int r;

	if (fchmod(fd, mode) < 0)
		return err_new(-errno);

	r = bind(fd, &addr->any, addr->len_bytes);
	if (r < 0 && errno == EADDRINUSE) {
		if (!is_stale(addr))
			return SOCK_E_IN_USE;
		if (unlink(addr->un.sun_path) < 0 && errno != ENOENT)
			return err_new(-errno);
		r = bind(fd, &addr->any, addr->len_bytes);
	}
	if (r < 0)
		return errno == EADDRINUSE ? SOCK_E_IN_USE : err_new(-errno);

	if (listen(fd, BACKLOG) < 0 || chmod(addr->un.sun_path, mode) < 0) {
		r = err_new(-errno);
		unlink(addr->un.sun_path);
		return r;
	}
	return 0;
}

static int
bind_unix(int fd, const struct sock_addr *addr, mode_t mode)
{
	int folder_fd = lock_directory(addr->un.sun_path);
	int r = bind_unix_alone(fd, addr, mode);

	fd_close_at(&folder_fd);
	return err_up(r);
}

static int
bind_tcp(int fd, const struct sock_addr *addr)
{
	int one = 1;

	tune_tcp(fd);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
		return err_new(-errno);
	if (bind(fd, &addr->any, addr->len_bytes) < 0 || listen(fd, BACKLOG) < 0)
		return errno == EADDRINUSE ? SOCK_E_IN_USE : err_new(-errno);
	return 0;
}

int
sock_listen(const struct sock_addr *addr, mode_t mode, int *ret_fd, struct sock_addr *ret_bound)
{
	cleanup_with(fd_close_at) int fd =
		socket(addr->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sock_addr bound = {.len_bytes = sizeof(bound.storage)};
	int r;

	if (fd < 0)
		return err_new(-errno);

	r = sock_addr_is_unix(addr) ? bind_unix(fd, addr, mode) : bind_tcp(fd, addr);
	if (r != 0)
		return err_up(r);
	if (getsockname(fd, &bound.any, &bound.len_bytes) < 0)
		return err_new(-errno);

	if (ret_bound != NULL)
		*ret_bound = bound;
	*ret_fd = take_fd(&fd);
	return 0;
}

int
sock_accept(int listen_fd, int *ret_fd)
{
	struct sockaddr_storage peer;
	socklen_t len;
	int fd;

	do {
		len = sizeof(peer);
		fd = accept4(listen_fd, (struct sockaddr *)&peer, &len,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
	} while (fd < 0 && (errno == EINTR || errno == ECONNABORTED)); /* that one left again */
	if (fd < 0)
		return errno == EAGAIN ? SOCK_E_TIMEOUT : err_new(-errno);

	if (peer.ss_family != AF_UNIX)
		tune_tcp(fd);
	*ret_fd = fd;
	return 0;
}

/* ---- connecting ---- */

/* The kernel itself waits here for room in the listener's queue, if it is told how long. */
static int
connect_unix(int fd, const struct sock_addr *addr, uint64_t until_ns)
{
	static const struct timeval for_ever;
	int r;

	do {
		uint64_t now_ns = clock_ns(clock_real());
		uint64_t left_us = until_ns > now_ns ? (until_ns - now_ns) / 1000 : 0;
		struct timeval left = {
			.tv_sec = (time_t)(left_us / 1000000),
			.tv_usec = (suseconds_t)num_max(left_us % 1000000, 1), /* 0: for ever */
		};

		if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left)) < 0)
			return err_new(-errno);
		r = connect(fd, &addr->any, addr->len_bytes);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno == EAGAIN ? SOCK_E_TIMEOUT : outcome_of(errno);

	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &for_ever, sizeof(for_ever)) < 0)
		return err_new(-errno);
	return 0;
}

/* On loopback a client may by chance get the very port it calls, and reach itself. */
static bool
has_reached_itself(int fd)
{
	struct sock_addr here = {.len_bytes = sizeof(here.storage)};
	struct sock_addr there = {.len_bytes = sizeof(there.storage)};

	return getsockname(fd, &here.any, &here.len_bytes) == 0 &&
	       getpeername(fd, &there.any, &there.len_bytes) == 0 &&
	       here.len_bytes == there.len_bytes &&
	       memcmp(&here.storage, &there.storage, here.len_bytes) == 0;
}

int
sock_connect_begin(const struct sock_addr *addr, int *ret_fd)
{
	cleanup_with(fd_close_at) int fd =
		socket(addr->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_new(-errno);
	if (!sock_addr_is_unix(addr))
		tune_tcp(fd);
	if (connect(fd, &addr->any, addr->len_bytes) < 0 && errno != EINPROGRESS && errno != EINTR)
		return errno == EAGAIN && sock_addr_is_unix(addr) ? SOCK_E_TIMEOUT
								  : outcome_of(errno);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* connect_end -- waits until then.  Results as of sock_connect_end(). */
static int
connect_end(int fd, uint64_t until_ns)
{
	socklen_t len = sizeof(int);
	int e = 0;
	int r;

	r = wait_for(fd, POLLOUT, until_ns);
	if (r != 0)
		return err_up(r);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &len) < 0)
		return err_new(-errno);
	if (e != 0)
		return outcome_of(e);
	if (has_reached_itself(fd))
		return SOCK_E_LOST;
	r = sock_set_blocking(fd, true);
	return err_up(r);
}

int
sock_connect_end(int fd)
{
	return connect_end(fd, 0);
}

int
sock_connect(const struct sock_addr *addr, uint64_t wait_ms, int *ret_fd)
{
	cleanup_with(fd_close_at) int fd = -1;
	uint64_t until_ns = ns_from_now(wait_ms);
	int r;

	if (sock_addr_is_unix(addr)) {
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		r = fd < 0 ? err_new(-errno) : connect_unix(fd, addr, until_ns);
	} else {
		r = sock_connect_begin(addr, &fd);
		if (r == 0)
			r = connect_end(fd, until_ns);
	}
	if (r != 0)
		return err_up(r);
	*ret_fd = take_fd(&fd);
	return 0;
}

int
sock_peer(int fd, pid_t *ret_pid, uid_t *ret_uid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_new(-errno);
	*ret_pid = peer.pid;
	*ret_uid = peer.uid;
	return 0;
}

/* ---- moving bytes ---- */

static bool
must_wait(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

int
sock_send_all(int fd, const void *bytes, size_t len_bytes, uint64_t until_ns)
{
	const uint8_t *at = bytes;
	int r;

	while (len_bytes > 0) {
		ssize_t n = send(fd, at, len_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			at += n;
			len_bytes -= (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (!must_wait(n))
			return outcome_of(errno);
		r = wait_for(fd, POLLOUT, until_ns);
		if (r != 0)
			return err_up(r);
	}
	return 0;
}

int
sock_recv_all(int fd, void *bytes, size_t len_bytes, uint64_t until_ns)
{
	uint8_t *at = bytes;
	int r;

	while (len_bytes > 0) {
		ssize_t n = recv(fd, at, len_bytes, MSG_DONTWAIT);

		if (n == 0)
			return SOCK_E_LOST;
		if (n > 0) {
			at += n;
			len_bytes -= (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (!must_wait(n))
			return outcome_of(errno);
		r = wait_for(fd, POLLIN, until_ns);
		if (r != 0)
			return err_up(r);
	}
	return 0;
}

/* ---- one descriptor beside the bytes ---- */

/* A message is small; who does not take it within this time is as good as gone. */
#define SEND_FD_WAIT_MS 10000

union fd_note {
	struct cmsghdr header;
	uint8_t bytes[CMSG_SPACE(sizeof(int))];
};

int
sock_send_fd(int sock, const void *bytes, size_t len_bytes, int fd)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len_bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	uint64_t until_ns = ns_from_now(SEND_FD_WAIT_MS);
	union fd_note note = {0};
	ssize_t n;
	int r;

	assert(len_bytes > 0); /* a descriptor needs a byte to ride on */

	if (fd >= 0) {
		note.header.cmsg_level = SOL_SOCKET;
		note.header.cmsg_type = SCM_RIGHTS;
		note.header.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&note.header), &fd, sizeof(fd));
		msg.msg_control = &note;
		msg.msg_controllen = sizeof(note);
	}
	while ((n = sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0) {
		if (errno == EINTR)
			continue;
		if (!must_wait(n))
			return outcome_of(errno);
		r = wait_for(sock, POLLOUT, until_ns);
		if (r != 0)
			return err_up(r);
	}
	/* The descriptor went with the first byte; the rest, if any, is only bytes. */
	return sock_send_all(sock, (const uint8_t *)bytes + n, len_bytes - (size_t)n, until_ns);
}

/* first_fd -- of those that came; an ill-bred peer may send two, and the others are closed. */
static int
first_fd(struct msghdr *msg)
{
	int first = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (first < 0)
				first = fd;
			else
				close(fd);
		}
	}
	return first;
}

int
sock_recv_fd(int sock, void *bytes, size_t len_bytes, int *ret_fd, uint64_t until_ns)
{
	struct iovec iov = {.iov_base = bytes, .iov_len = len_bytes};
	cleanup_with(fd_close_at) int fd = -1;
	union fd_note note;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &note,
		.msg_controllen = sizeof(note),
	};
	ssize_t n;
	int r;

	assert(len_bytes > 0);

	while ((n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT)) < 0) {
		if (errno == EINTR)
			continue;
		if (!must_wait(n))
			return outcome_of(errno);
		r = wait_for(sock, POLLIN, until_ns);
		if (r != 0)
			return err_up(r);
	}
	if (n == 0)
		return SOCK_E_LOST;

	fd = first_fd(&msg);
	r = sock_recv_all(sock, (uint8_t *)bytes + n, len_bytes - (size_t)n, until_ns);
	if (r != 0)
		return err_up(r);
	*ret_fd = take_fd(&fd);
	return 0;
}
