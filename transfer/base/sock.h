/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sock.h -- addresses and sockets.
 *
 * An address is written "unix:/run/tiffin/master.sock", "127.0.0.1:7400",
 * "[::1]:7400" or "host.name:7400".  Every socket is close-on-exec.  A TCP
 * socket gets TCP_NODELAY, cubic congestion control (BBR is three times slower
 * on loopback) and TCP_USER_TIMEOUT, so that a dead peer shows itself.
 */
#ifndef TRANSFER_BASE_SOCK_H
#define TRANSFER_BASE_SOCK_H

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "transfer/base/base.h"

#define SOCK_ADDR_TEXT_MAX 256

struct sock_addr {
	socklen_t len_bytes;
	union {
		struct sockaddr any;
		struct sockaddr_un un;
		struct sockaddr_storage storage;
	};
};

enum sock_outcome {
	SOCK_E_BAD_ADDRESS = 1, /* not written as above, or the name is not known */
	SOCK_E_TIMEOUT,
	SOCK_E_LOST, /* refused, reset, closed by the peer */
	SOCK_E_IN_USE,
};

/* sock_addr_parse -- 0 or SOCK_E_BAD_ADDRESS.  Names are looked up (may block). */
int sock_addr_parse(const char *text, struct sock_addr *ret_addr) MUST_CHECK;
const char *sock_addr_show(const struct sock_addr *addr, char *buf, size_t cap);
bool sock_addr_is_unix(const struct sock_addr *addr);

/* sock_addr_is_local -- Unix, or within 127.0.0.0/8 or ::1. */
bool sock_addr_is_local(const struct sock_addr *addr);

/*
 * sock_listen -- non-blocking listener.  A Unix path gets exactly `mode` whatever the umask; a
 * stale socket file (nobody answers) is replaced, a live one gives SOCK_E_IN_USE.
 *
 * gives:   *ret_fd; *ret_bound (may be NULL) the address with the real port.
 * result:  0, SOCK_E_IN_USE, -errno.
 */
int sock_listen(const struct sock_addr *addr, mode_t mode, int *ret_fd,
		struct sock_addr *ret_bound) MUST_CHECK;

/* sock_accept -- a non-blocking socket.  0; SOCK_E_TIMEOUT when none is waiting; -errno. */
int sock_accept(int listen_fd, int *ret_fd) MUST_CHECK;

/* sock_connect -- a blocking socket within wait_ms.  0, SOCK_E_TIMEOUT, SOCK_E_LOST, -errno. */
int sock_connect(const struct sock_addr *addr, uint64_t wait_ms, int *ret_fd) MUST_CHECK;

/*
 * sock_connect_begin, sock_connect_end -- the same without waiting: begun, and what came of it.
 *
 * gives:   begin: *ret_fd, on its way; ready to be written to when there is something to say.
 *          end: the socket is blocking from now on.
 * result:  begin: 0; SOCK_E_TIMEOUT: a Unix socket's queue is full; SOCK_E_LOST; -errno.
 *          end: 0; SOCK_E_TIMEOUT: not yet; SOCK_E_LOST; -errno.
 */
int sock_connect_begin(const struct sock_addr *addr, int *ret_fd) MUST_CHECK;
int sock_connect_end(int fd) MUST_CHECK;

/* sock_route -- the network device by which a packet would leave for there.  0; SOCK_E_LOST: none;
 * -errno. */
int sock_route(const struct sock_addr *addr, char *ret_netdev, size_t cap) MUST_CHECK;

int sock_set_blocking(int fd, bool blocking) MUST_CHECK;

/* sock_peer -- who is at the other end of a Unix socket.  0 or -errno. */
int sock_peer(int fd, pid_t *ret_pid, uid_t *ret_uid) MUST_CHECK;

/*
 * sock_send_all, sock_recv_all -- exactly len_bytes, waiting at most until until_ns of
 * clock_real(); on a blocking or a non-blocking socket.  0, SOCK_E_TIMEOUT, SOCK_E_LOST, -errno.
 */
int sock_send_all(int fd, const void *bytes, size_t len_bytes, uint64_t until_ns) MUST_CHECK;
int sock_recv_all(int fd, void *bytes, size_t len_bytes, uint64_t until_ns) MUST_CHECK;

/*
 * sock_send_fd, sock_recv_fd -- a message of exactly len_bytes > 0 with one descriptor beside it.
 *
 * gives:   *ret_fd, close-on-exec; -1 when none came.
 * result:  as above; sending waits at most 10 s.
 */
int sock_send_fd(int sock, const void *bytes, size_t len_bytes, int fd) MUST_CHECK;
int sock_recv_fd(int sock, void *bytes, size_t len_bytes, int *ret_fd,
		 uint64_t until_ns) MUST_CHECK;

/* fd_close_at -- for cleanup_with() on an int; -1 is fine. */
void fd_close_at(int *fd);

/* sock_abort_at -- the same for a connection of which nothing is wanted any more: it is reset, and
 * no port of ours rests after it (TIME_WAIT). */
void sock_abort_at(int *fd);

#endif
