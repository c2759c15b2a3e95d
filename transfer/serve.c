/* SPDX-License-Identifier: Apache-2.0 */

/*
 * serve.c -- listens, accepts, fences, stops.
 *
 *      acceptor thread --accept--> one thread for each connection (serve_conn.c)
 *            ^                          |
 *            +-------- joins <----------+ finished
 */
#include "transfer/serve.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/rdma_serve.h"
#include "transfer/serve_conn.h"
#include "transfer/target.h"

#define THREAD_STACK_BYTES (256u << 10)
#define MODE_DEFAULT       0600

/* Out of descriptors: so long nobody is accepted, for poll() would only say the same again. */
#define ACCEPT_REST_MS 100

static_assert(sizeof(((struct serve *)NULL)->endpoint) == TARGET_ENDPOINT_MAX + 1, "endpoint");

/* ---- fences ---- */

bool
serve_is_fenced(struct serve *serve, const struct token *token)
{
	uintptr_t until_ms;

	assert(lock_held(&serve->lock));

	until_ms = (uintptr_t)map_get(&serve->fenced_until, token->client_id);
	return until_ms != 0 && token->until_ms <= until_ms;
}

/* forget_fences -- those that no token of before can outlive. */
static void
forget_fences(struct serve *serve, uint64_t now_ms)
{
	uint64_t client_id, gone;
	size_t at;
	void *until;

	do {
		gone = 0;
		at = 0;
		while (gone == 0 && map_next(&serve->fenced_until, &at, &client_id, &until))
			if ((uintptr_t)until < now_ms)
				gone = client_id;
		if (gone != 0)
			map_take(&serve->fenced_until, gone);
	} while (gone != 0);
}

static struct serve_conn *
find_conn_of(struct serve *serve, uint64_t client_id)
{
	list_each(&serve->conns, link) {
		struct serve_conn *conn = list_of(link, struct serve_conn, at);

		if (conn->client_id == client_id)
			return conn;
	}
	return NULL;
}

static int
fence_locked(struct serve *serve, uint64_t client_id)
{
	uint64_t now_ms = clock_ms(serve->clock);
	uint64_t until_ms = num_add_sat(now_ms, serve->write_token_ms);
	struct serve_conn *conn;
	int r;

	/* First the word, so that nobody gets in behind our back. */
	forget_fences(serve, now_ms);
	r = map_put(&serve->fenced_until, client_id, (void *)(uintptr_t)until_ms);
	if (r < 0)
		return err_up(r);
	while ((conn = find_conn_of(serve, client_id)) != NULL) {
		shutdown(conn->fd, SHUT_RDWR);
		lock_wait(&serve->lock, &serve->changed);
	}
	serve_cut_rdma(serve, client_id, NULL, /* only_writers= */ true);
	return serve_grants_fence(serve, client_id) ? 0 : SERVE_E_ALIVE;
}

int
serve_fence(struct serve *serve, uint64_t client_id)
{
	int r;

	if (client_id == 0)
		return 0; /* nobody's */

	lock_take(&serve->lock);
	r = fence_locked(serve, client_id);
	lock_drop(&serve->lock);
	return err_up(r);
}

/* cut_all_locked -- every connection; nobody new meanwhile. */
static void
cut_all_locked(struct serve *serve)
{
	serve->is_renewing = true;
	while (!list_is_empty(&serve->conns)) {
		list_each(&serve->conns, link)
			shutdown(list_of(link, struct serve_conn, at)->fd, SHUT_RDWR);
		lock_wait(&serve->lock, &serve->changed);
	}
	serve_cut_rdma(serve, 0, NULL, false);
	serve->is_renewing = false;
}

int
serve_renew(struct serve *serve, struct lent *lent, uint64_t *ret_clients, size_t cap,
	    size_t *ret_n)
{
	int r;

	lock_take(&serve->lock);
	cut_all_locked(serve);
	r = token_secret_new(lent->secret);
	lent_fence(lent);
	if (r == 0)
		r = serve_grants_writers(serve, lent, ret_clients, cap, ret_n);
	lock_drop(&serve->lock);
	return err_up(r);
}

/* ---- segments ---- */

static int
add_locked(struct serve *serve, struct lent *lent)
{
	int r = serve_grants_adopt(serve, lent);

	if (r == 0)
		r = lends_add(&serve->lends, lent);
	if (r != 0)
		serve_grants_forget(serve, lent);
	return r;
}

int
serve_add(struct serve *serve, struct lent *lent)
{
	int r = serve_register_rdma(serve, lent);

	if (r != 0)
		return r;
	lock_take(&serve->lock);
	r = add_locked(serve, lent);
	lock_drop(&serve->lock);
	if (r != 0 && serve->rdma != NULL)
		rdma_serve_forget(serve->rdma, lent);
	return r == LENDS_E_EXISTS ? err_new(-EEXIST) : err_up(r);
}

void
serve_remove(struct serve *serve, struct lent *lent)
{
	lends_leave(&serve->lends, lent);

	lock_take(&serve->lock);
	list_each(&serve->conns, link) {
		struct serve_conn *conn = list_of(link, struct serve_conn, at);

		if (conn->touching != NULL && conn->touching->lent == lent)
			shutdown(conn->fd, SHUT_RDWR);
	}
	serve_grants_forget(serve, lent);
	if (serve->rdma != NULL)
		rdma_serve_leave(serve->rdma, lent);
	serve_cut_rdma(serve, 0, lent, false);
	lock_drop(&serve->lock);

	lends_wait(&serve->lends, lent);
	if (serve->rdma != NULL)
		rdma_serve_forget(serve->rdma, lent);
}

/* ---- connections ---- */

/* refuse -- too many: say so, if the peer's buffer takes it. */
static void
refuse(struct serve *serve, int fd)
{
	struct wire_reply reply = {.kind = WIRE_NONE, .status = WIRE_BUSY};
	uint8_t bytes[WIRE_REPLY_BYTES];

	atomic_fetch_add_explicit(&serve->n_refused, 1, memory_order_relaxed);
	wire_reply_encode(&reply, bytes);
	(void)!send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static int
start_thread(struct serve_conn *conn)
{
	pthread_attr_t attr;
	int e;

	e = pthread_attr_init(&attr);
	assert(e == 0);
	(void)pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
	e = pthread_create(&conn->thread, &attr, serve_conn_main, conn);
	pthread_attr_destroy(&attr);
	return e == 0 ? 0 : err_new(-e);
}

static int
conn_start_locked(struct serve *serve, int fd, bool is_unix)
{
	struct serve_conn *conn;
	int r;

	if (serve->is_stopping || serve->is_renewing || serve->n_conns >= serve->connections_max)
		return err_new(-EAGAIN);
	conn = calloc(1, sizeof(*conn));
	if (conn == NULL)
		return err_new(-ENOMEM);

	*conn = (struct serve_conn){.serve = serve, .fd = fd, .is_unix = is_unix};
	list_link_init(&conn->at);
	r = is_unix ? sock_peer(fd, &conn->pid, &conn->uid) : 0;
	if (r == 0)
		r = sock_set_blocking(fd, true);
	if (r == 0)
		r = start_thread(conn);
	if (r < 0) {
		free(conn);
		return err_up(r);
	}
	list_push_back(&serve->conns, &conn->at);
	serve->n_conns++;
	return 0;
}

static void
conn_start(struct serve *serve, int fd, bool is_unix)
{
	int r;

	lock_take(&serve->lock);
	r = conn_start_locked(serve, fd, is_unix);
	lock_drop(&serve->lock);
	if (r < 0)
		refuse(serve, fd);
}

static void
conn_join(struct serve_conn *conn)
{
	pthread_join(conn->thread, NULL);
	close(conn->fd);
	free(conn);
}

static void
join_finished(struct serve *serve)
{
	for (;;) {
		struct list_link *link;

		lock_take(&serve->lock);
		link = list_first(&serve->finished);
		if (link != NULL)
			list_remove(link);
		lock_drop(&serve->lock);
		if (link == NULL)
			return;
		conn_join(list_of(link, struct serve_conn, at));
	}
}

static bool
is_stopping(struct serve *serve)
{
	bool yes;

	lock_take(&serve->lock);
	yes = serve->is_stopping;
	lock_drop(&serve->lock);
	return yes;
}

/* accept_all -- false: there was no descriptor left for one of them. */
static bool
accept_all(struct serve *serve, unsigned i)
{
	for (;;) {
		int fd;
		int r = sock_accept(serve->listen_fds[i], &fd);

		if (r == SOCK_E_TIMEOUT)
			return true;
		if (r < 0)
			return false;
		conn_start(serve, fd, serve->is_unix[i]);
	}
}

static void *
acceptor_main(void *arg)
{
	struct serve *serve = arg;
	struct pollfd pollfds[SERVE_LISTEN_MAX + 1];
	bool is_resting = false;

	pollfds[0] = (struct pollfd){.fd = serve->wake_fd, .events = POLLIN};
	for (unsigned i = 0; i < serve->n_listen; i++)
		pollfds[i + 1] = (struct pollfd){.fd = serve->listen_fds[i], .events = POLLIN};

	while (!is_stopping(serve)) {
		nfds_t n = is_resting ? 1 : serve->n_listen + 1;
		eventfd_t rung;

		if (poll(pollfds, n, is_resting ? ACCEPT_REST_MS : -1) < 0 && errno != EINTR)
			log_event(LOG_ERROR, "serve_poll", "errno=%d", errno);
		is_resting = false;
		(void)eventfd_read(serve->wake_fd, &rung);
		join_finished(serve);
		for (nfds_t i = 1; i < n; i++)
			if (pollfds[i].revents != 0 && !accept_all(serve, (unsigned)i - 1))
				is_resting = true;
	}
	return NULL;
}

/* ---- listening ---- */

/* tell -- add an address to the endpoint.  Who listens everywhere is known by the machine's name.
 */
static int
tell(struct serve *serve, const struct sock_addr *addr)
{
	const struct sockaddr_in *in4 = (const struct sockaddr_in *)&addr->storage;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&addr->storage;
	char text[SOCK_ADDR_TEXT_MAX], name[128] = "";
	size_t len = strlen(serve->endpoint);
	int n;

	sock_addr_show(addr, text, sizeof(text));
	if (addr->any.sa_family == AF_INET && in4->sin_addr.s_addr == htonl(INADDR_ANY) &&
	    gethostname(name, sizeof(name) - 1) == 0)
		snprintf(text, sizeof(text), "%s:%u", name, ntohs(in4->sin_port));
	if (addr->any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) &&
	    gethostname(name, sizeof(name) - 1) == 0)
		snprintf(text, sizeof(text), "%s:%u", name, ntohs(in6->sin6_port));

	n = snprintf(serve->endpoint + len, sizeof(serve->endpoint) - len, "%s%s",
		     len > 0 ? " " : "", text);
	return n > 0 && (size_t)n < sizeof(serve->endpoint) - len ? 0 : SERVE_E_BAD_ADDRESS;
}

static int
listen_at(struct serve *serve, const char *text)
{
	struct sock_addr addr, bound;
	unsigned i = serve->n_listen;
	int fd, r;

	if (i == SERVE_LISTEN_MAX || sock_addr_parse(text, &addr) != 0)
		return SERVE_E_BAD_ADDRESS;
	r = sock_listen(&addr, serve->unix_mode, &fd, &bound);
	if (r == SOCK_E_IN_USE)
		return SERVE_E_IN_USE;
	if (r == -EADDRNOTAVAIL)
		return SERVE_E_BAD_ADDRESS;
	if (r != 0)
		return err_fold(r);

	serve->listen_fds[i] = fd;
	serve->is_unix[i] = sock_addr_is_unix(&addr);
	serve->n_listen++;
	if (serve->is_unix[i]) {
		serve->unlink_paths[i] = strdup(addr.un.sun_path);
		if (serve->unlink_paths[i] == NULL)
			return err_new(-ENOMEM);
	}
	return tell(serve, serve->is_unix[i] ? &addr : &bound);
}

static int
listen_all(struct serve *serve, const char *addresses)
{
	char *words = strdup(addresses), *rest = words;
	int r = 0;

	if (words == NULL)
		return err_new(-ENOMEM);
	for (char *word; r == 0 && (word = strsep(&rest, " ")) != NULL;)
		if (*word != '\0')
			r = listen_at(serve, word);
	free(words);
	if (r == 0 && serve->n_listen == 0)
		return SERVE_E_BAD_ADDRESS;
	return err_up(r);
}

/* ---- life ---- */

static int
serve_start(struct serve *serve, const struct serve_config *config)
{
	int e, r;

	serve->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (serve->wake_fd < 0)
		return err_new(-errno);
	r = listen_all(serve, config->listen);
	if (r == 0)
		r = serve_listen_rdma(serve, config->rdma);
	if (r != 0)
		return err_up(r);
	e = pthread_create(&serve->acceptor, NULL, acceptor_main, serve);
	if (e != 0)
		return err_new(-e);
	serve->is_accepting = true;
	return 0;
}

int
serve_new(const struct serve_config *config, struct serve **ret_serve)
{
	struct serve *serve = calloc(1, sizeof(*serve));
	int r;

	if (serve == NULL)
		return err_new(-ENOMEM);
	serve->clock = config->clock;
	serve->idle_ms = config->idle_ms;
	serve->write_token_ms =
		config->write_token_ms != 0 ? config->write_token_ms : SERVE_WRITE_TOKEN_MS_MAX;
	serve->connections_max = config->connections_max;
	serve->unix_mode = config->unix_mode != 0 ? config->unix_mode : MODE_DEFAULT;
	serve->wake_fd = -1;
	lends_init(&serve->lends);
	disk_lanes_init(&serve->disks);
	lock_init(&serve->lock, LOCK_xfer_serve);
	lock_cond_init(&serve->changed);
	list_init(&serve->conns);
	list_init(&serve->finished);
	list_init(&serve->rdma_conns);
	list_init(&serve->grants);
	map_init(&serve->fenced_until);

	r = serve_start(serve, config);
	if (r != 0) {
		serve_free(serve);
		return err_up(r);
	}
	*ret_serve = serve;
	return 0;
}

/* stop -- hang up on everybody and wait until their threads have finished. */
static void
stop(struct serve *serve)
{
	lock_take(&serve->lock);
	serve->is_stopping = true;
	list_each(&serve->conns, link)
		shutdown(list_of(link, struct serve_conn, at)->fd, SHUT_RDWR);
	while (!list_is_empty(&serve->conns))
		lock_wait(&serve->lock, &serve->changed);
	serve_cut_rdma(serve, 0, NULL, false);
	serve_grants_forget(serve, /* lent: all */ NULL);
	lock_drop(&serve->lock);

	if (serve->is_accepting) {
		(void)eventfd_write(serve->wake_fd, 1);
		pthread_join(serve->acceptor, NULL);
	}
	join_finished(serve);
	rdma_serve_free(serve->rdma);
}

void
serve_free(struct serve *serve)
{
	if (serve == NULL)
		return;

	stop(serve);
	for (unsigned i = 0; i < serve->n_listen; i++) {
		if (serve->unlink_paths[i] != NULL)
			unlink(serve->unlink_paths[i]);
		free(serve->unlink_paths[i]);
		close(serve->listen_fds[i]);
	}
	fd_close_at(&serve->wake_fd);
	map_fini(&serve->fenced_until);
	pthread_cond_destroy(&serve->changed);
	lock_fini(&serve->lock);
	disk_lanes_fini(&serve->disks);
	lends_fini(&serve->lends);
	free(serve);
}

const char *
serve_endpoint(const struct serve *serve)
{
	return serve->endpoint;
}

const char *
serve_why(const struct serve *serve)
{
	return serve->why;
}

void
serve_counts(struct serve *serve, struct serve_counts *ret_counts)
{
	lock_take(&serve->lock);
	ret_counts->n_connections = serve->n_conns;
	lock_drop(&serve->lock);
	ret_counts->n_refused = atomic_load_explicit(&serve->n_refused, memory_order_relaxed);
	ret_counts->bytes_read = atomic_load_explicit(&serve->bytes_read, memory_order_relaxed);
	ret_counts->bytes_written =
		atomic_load_explicit(&serve->bytes_written, memory_order_relaxed);
	ret_counts->ops_read = atomic_load_explicit(&serve->ops_read, memory_order_relaxed);
	ret_counts->ops_write = atomic_load_explicit(&serve->ops_write, memory_order_relaxed);
}
