/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transfer/base/clock.h"
#include "transfer/base/num.h"
#include "transfer/base/rand.h"

#define CONNS_MAX   64
#define ROOM_BYTES  (64u << 10)
#define AT_BITS_MAX 21 /* it strikes within the first 2 MiB */

struct plan {
	enum proxy_kind kind;
	int way; /* 0: to the provider, 1: from it */
	uint64_t at_bytes;
	uint64_t pause_ns; /* DELAY, DRIP */
	size_t drip_bytes;
	unsigned bit;
	bool is_hard; /* CUT: reset; HOLE: what comes is swallowed, else it is not even taken */
};

/* What goes one way. */
struct way {
	uint8_t room[ROOM_BYTES];
	size_t start, end;
	uint64_t n_passed;
	uint64_t not_before_ns;
	bool is_over; /* the sender has closed */
};

struct conn {
	int fds[2]; /* the client, the provider; way w leads from fds[w] to fds[!w] */
	struct plan plan;
	struct way ways[2];
	bool has_struck;
};

struct proxy {
	struct rand rand;
	enum proxy_kind first;
	uint16_t port, to_port;
	int listen_fd, wake_fd;
	pthread_t thread;
	struct conn *conns[CONNS_MAX];
	size_t n_conns;
	unsigned n_accepted;
	atomic_uint n_struck[PROXY_N_KINDS];
};

static const char *const kind_names[PROXY_N_KINDS] = {"calm", "delay", "drip",
						      "cut",  "flip",  "hole"};

const char *
proxy_kind_name(enum proxy_kind kind)
{
	return kind_names[kind];
}

static struct sockaddr_in
loopback(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

/* ---- plans ----------------------------------------------------------------------- */

static struct plan
make_plan(struct proxy *proxy)
{
	struct rand *rand = &proxy->rand;
	uint64_t most = 1ull << rand_below(rand, AT_BITS_MAX + 1);
	struct plan plan = {
		.kind = (enum proxy_kind)rand_below(rand, PROXY_N_KINDS),
		.way = (int)rand_below(rand, 2),
		.at_bytes = rand_below(rand, most),
		.pause_ns = (1 + rand_below(rand, 20)) * NS_PER_MS,
		.drip_bytes = 1 + rand_below(rand, 64),
		.bit = (unsigned)rand_below(rand, 8),
		.is_hard = rand_below(rand, 2) == 1,
	};

	if (proxy->n_accepted++ == 0 && proxy->first != PROXY_N_KINDS)
		plan.kind = proxy->first;
	return plan;
}

static void
strike(struct proxy *proxy, struct conn *conn)
{
	if (conn->has_struck)
		return;
	conn->has_struck = true;
	atomic_fetch_add(&proxy->n_struck[conn->plan.kind], 1);
}

/* is_struck -- does the plan say what happens to the next byte on this way? */
static bool
is_struck(const struct conn *conn, int w)
{
	return conn->plan.kind != PROXY_CALM && conn->plan.way == w &&
	       conn->ways[w].n_passed >= conn->plan.at_bytes;
}

/* ---- connections ----------------------------------------------------------------- */

static void
conn_close(struct conn *conn, bool do_reset)
{
	const struct linger now = {.l_onoff = 1};

	for (int i = 0; i < 2; i++) {
		if (do_reset)
			setsockopt(conn->fds[i], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(conn->fds[i]);
	}
	free(conn);
}

static void
conn_remove(struct proxy *proxy, size_t i, bool do_reset)
{
	conn_close(proxy->conns[i], do_reset);
	proxy->conns[i] = proxy->conns[--proxy->n_conns];
}

static void
take_one(struct proxy *proxy)
{
	const struct sockaddr_in to = loopback(proxy->to_port);
	struct conn *conn = calloc(1, sizeof(*conn));
	const int yes = 1;

	assert(conn != NULL);
	conn->fds[0] = accept4(proxy->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	conn->fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	conn->plan = make_plan(proxy);
	/* On loopback a connection is there, or refused, at once. */
	if (conn->fds[0] < 0 || conn->fds[1] < 0 || proxy->n_conns == CONNS_MAX ||
	    connect(conn->fds[1], (const struct sockaddr *)&to, sizeof(to)) < 0) {
		conn_close(conn, false);
		return;
	}
	for (int i = 0; i < 2; i++)
		setsockopt(conn->fds[i], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	proxy->conns[proxy->n_conns++] = conn;
}

/* ---- bytes ----------------------------------------------------------------------- */

/* takes_bytes -- is more to be read from that side? */
static bool
takes_bytes(const struct conn *conn, int w)
{
	const struct way *way = &conn->ways[w];

	if (conn->plan.kind == PROXY_HOLE && is_struck(conn, w) && !conn->plan.is_hard)
		return false;
	return !way->is_over && way->end < ROOM_BYTES;
}

/* passes -- how many of the waiting bytes may go on now. */
static size_t
passes(const struct conn *conn, int w)
{
	const struct way *way = &conn->ways[w];
	size_t waiting = way->end - way->start;
	uint64_t before;

	if (conn->plan.kind == PROXY_CALM || conn->plan.kind == PROXY_DELAY || conn->plan.way != w)
		return waiting;
	if (is_struck(conn, w))
		return conn->plan.kind == PROXY_DRIP   ? num_min(waiting, conn->plan.drip_bytes)
		       : conn->plan.kind == PROXY_FLIP ? waiting
						       : 0;
	before = conn->plan.at_bytes - way->n_passed;
	return (size_t)num_min((uint64_t)waiting, before);
}

/* read_some -- false: the connection is broken. */
static bool
read_some(struct proxy *proxy, struct conn *conn, int w, uint64_t now_ns)
{
	struct way *way = &conn->ways[w];
	ssize_t n;

	if (way->start == way->end)
		way->start = way->end = 0;
	n = recv(conn->fds[w], way->room + way->end, ROOM_BYTES - way->end, 0);
	if (n < 0)
		return errno == EAGAIN;
	if (n == 0) {
		way->is_over = true;
		if (way->start == way->end)
			shutdown(conn->fds[!w], SHUT_WR);
		return !conn->ways[!w].is_over;
	}
	way->end += (size_t)n;
	if (conn->plan.kind == PROXY_DELAY && is_struck(conn, w)) {
		strike(proxy, conn);
		way->not_before_ns = now_ns + conn->plan.pause_ns;
	}
	if (conn->plan.kind == PROXY_HOLE && is_struck(conn, w))
		way->start = way->end = 0; /* swallowed */
	return true;
}

/* write_some -- false: the connection is broken, or its plan says so. */
static bool
write_some(struct proxy *proxy, struct conn *conn, int w, uint64_t now_ns)
{
	struct way *way = &conn->ways[w];
	size_t len = passes(conn, w);
	ssize_t n;

	if (is_struck(conn, w) && conn->plan.kind == PROXY_FLIP && !conn->has_struck) {
		strike(proxy, conn);
		way->room[way->start] ^= (uint8_t)(1u << conn->plan.bit);
	}
	n = send(conn->fds[!w], way->room + way->start, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN;
	way->start += (size_t)n;
	way->n_passed += (uint64_t)n;
	if (way->start == way->end && way->is_over)
		shutdown(conn->fds[!w], SHUT_WR);
	if (!is_struck(conn, w))
		return true;
	switch (conn->plan.kind) {
	case PROXY_DRIP:
		strike(proxy, conn);
		way->not_before_ns = now_ns + conn->plan.pause_ns / 4;
		return true;
	case PROXY_CUT:
		strike(proxy, conn);
		return false;
	case PROXY_HOLE:
		strike(proxy, conn);
		way->start = way->end = 0;
		return true;
	default:
		return true;
	}
}

/* ---- the loop -------------------------------------------------------------------- */

/* events_of -- what of this side is waited for; *next_ns: when a pause of it is over. */
static short
events_of(const struct conn *conn, int side, uint64_t now_ns, uint64_t *next_ns)
{
	const struct way *in = &conn->ways[!side];
	short events = takes_bytes(conn, side) ? POLLIN : 0;

	if (in->end == in->start || passes(conn, !side) == 0)
		return events;
	if (in->not_before_ns <= now_ns)
		return (short)(events | POLLOUT);
	*next_ns = num_min(*next_ns, in->not_before_ns);
	return events;
}

/* move_all -- of one connection what can be moved.  false: it is to be closed. */
static bool
move_all(struct proxy *proxy, struct conn *conn, const struct pollfd sides[2], uint64_t now_ns)
{
	for (int w = 0; w < 2; w++) {
		if ((sides[w].revents & (POLLIN | POLLERR | POLLHUP)) != 0 &&
		    takes_bytes(conn, w) && !read_some(proxy, conn, w, now_ns))
			return false;
		if ((sides[!w].revents & POLLOUT) != 0 && !write_some(proxy, conn, w, now_ns))
			return false;
	}
	/* A cut, or a hole, before the first byte. */
	if (conn->plan.at_bytes == 0 && conn->plan.kind == PROXY_CUT) {
		strike(proxy, conn);
		return false;
	}
	if (conn->plan.at_bytes == 0 && conn->plan.kind == PROXY_HOLE)
		strike(proxy, conn);
	return true;
}

static int
nap_ms(uint64_t now_ns, uint64_t next_ns)
{
	if (next_ns == UINT64_MAX)
		return -1;
	return (int)((next_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

static void *
thread_main(void *arg)
{
	struct pollfd fds[2 + 2 * CONNS_MAX];
	struct proxy *proxy = arg;

	for (;;) {
		uint64_t now_ns = clock_ns(clock_real()), next_ns = UINT64_MAX;
		size_t n = proxy->n_conns;

		fds[0] = (struct pollfd){.fd = proxy->wake_fd, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = proxy->listen_fd, .events = POLLIN};
		for (size_t i = 0; i < 2 * n; i++) {
			const struct conn *conn = proxy->conns[i / 2];
			short events = events_of(conn, (int)(i % 2), now_ns, &next_ns);

			/* One that nothing is wanted of would tell of its end again and again. */
			fds[2 + i] = (struct pollfd){.fd = events != 0 ? conn->fds[i % 2] : -1,
						     .events = events};
		}
		if (poll(fds, 2 + 2 * n, nap_ms(now_ns, next_ns)) < 0)
			continue;
		if (fds[0].revents != 0)
			return NULL;
		now_ns = clock_ns(clock_real());
		for (size_t i = n; i-- > 0;)
			if (!move_all(proxy, proxy->conns[i], &fds[2 + 2 * i], now_ns))
				conn_remove(proxy, i,
					    proxy->conns[i]->plan.kind == PROXY_CUT &&
						    proxy->conns[i]->plan.is_hard);
		if (fds[1].revents != 0)
			take_one(proxy);
	}
}

int
proxy_open(uint16_t to_port, uint64_t seed, enum proxy_kind first, struct proxy **ret_proxy)
{
	struct sockaddr_in address = loopback(0);
	socklen_t len = sizeof(address);
	struct proxy *proxy = calloc(1, sizeof(*proxy));

	if (proxy == NULL)
		return -ENOMEM;
	rand_init(&proxy->rand, seed);
	proxy->first = first;
	proxy->to_port = to_port;
	proxy->wake_fd = eventfd(0, EFD_CLOEXEC);
	proxy->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (proxy->wake_fd < 0 || proxy->listen_fd < 0 ||
	    bind(proxy->listen_fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(proxy->listen_fd, 64) < 0 ||
	    getsockname(proxy->listen_fd, (struct sockaddr *)&address, &len) < 0 ||
	    pthread_create(&proxy->thread, NULL, thread_main, proxy) != 0) {
		int e = errno;

		close(proxy->listen_fd);
		close(proxy->wake_fd);
		free(proxy);
		return -e;
	}
	proxy->port = ntohs(address.sin_port);
	*ret_proxy = proxy;
	return 0;
}

void
proxy_close(struct proxy *proxy)
{
	if (proxy == NULL)
		return;
	(void)eventfd_write(proxy->wake_fd, 1);
	pthread_join(proxy->thread, NULL);
	while (proxy->n_conns > 0)
		conn_remove(proxy, proxy->n_conns - 1, false);
	close(proxy->listen_fd);
	close(proxy->wake_fd);
	free(proxy);
}

uint16_t
proxy_port(const struct proxy *proxy)
{
	return proxy->port;
}

unsigned
proxy_n_struck(const struct proxy *proxy, enum proxy_kind kind)
{
	return atomic_load(&proxy->n_struck[kind]);
}
