/* SPDX-License-Identifier: Apache-2.0 */
#include "master/server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/loop.h"
#include "transfer/base/sock.h"

#define LISTENERS_MAX   8
#define READ_BYTES      (256u << 10) /* asked of the kernel at once */
#define OUT_BYTES_PAUSE (4u << 20)   /* so much waits for it: no more of it is heard */
#define OUT_BYTES_MAX   (96u << 20)
#define ADDRESSES_CAP   1024
#define FORESEE_EVERY   64 /* frames: as many as are foreseen at once */

struct listener {
	struct loop_watch watch; /* first: the loop gives it back */
	struct server *server;
	char unix_path[SOCK_ADDR_TEXT_MAX]; /* "" for TCP; else unlinked at the end */
};

struct conn {
	struct loop_watch watch; /* first */
	struct server *server;
	struct peer *peer;
	struct buf in;
	struct list_link at_server;
	bool is_over, is_paused;
};

struct server {
	struct loop *loop;
	struct master *master;
	struct listener listeners[LISTENERS_MAX];
	size_t n_listeners;
	struct list conns;
	unsigned n_conns, conns_max;
	uint64_t wait_ms;
	char addresses[ADDRESSES_CAP];
};

/* ---- connections ---- */

static void
conn_end(struct conn *conn)
{
	loop_remove(conn->server->loop, &conn->watch);
	close(conn->watch.fd);
	master_peer_free(conn->peer);
	list_remove(&conn->at_server);
	buf_fini(&conn->in);
	conn->server->n_conns--;
	free(conn);
}

/* Answers that it has not taken yet, and those held until they are committed. */
static bool
has_too_much(const struct conn *conn)
{
	const struct client *client = conn->peer->client;
	size_t held_bytes = client == NULL ? 0 : client->held_bytes;

	return buf_len(&conn->peer->out) + held_bytes > OUT_BYTES_PAUSE;
}

/* Frames one after the other; what is left over waits for its rest, or until its answers are taken.
 */
static void
take_frames(struct conn *conn)
{
	struct frame frame;
	size_t len;
	int r;

	for (size_t n = 0;; n++) {
		conn->is_paused = has_too_much(conn);
		if (conn->is_paused)
			return;
		if (n % FORESEE_EVERY == 0)
			master_foresee(conn->peer, buf_first(&conn->in), buf_len(&conn->in));
		r = frame_peek(buf_first(&conn->in), buf_len(&conn->in), &frame, &len);
		if (r != 0)
			break;
		master_receive(conn->peer, &frame);
		buf_consume(&conn->in, len);
	}
	if (r == FRAME_E_BAD) {
		counter_add(&conn->server->master->counters.frames_bad, 1);
		log_event(LOG_WARN, "connection_bad_frame", "fd=%d", conn->watch.fd);
		conn->is_over = true;
	}
}

static void
conn_read(struct conn *conn)
{
	ssize_t n;

	if (buf_reserve(&conn->in, READ_BYTES) < 0) {
		conn->is_over = true;
		return;
	}
	n = recv(conn->watch.fd, conn->in.at + conn->in.end, conn->in.cap - conn->in.end,
		 MSG_DONTWAIT);
	if (n > 0) {
		conn->in.end += (size_t)n;
		/* what was asked before now gets promises from now, though we were stopped just
		 * before */
		conn->server->master->work = 0;
		take_frames(conn);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		conn->is_over = true;
	}
}

static void
conn_write(struct conn *conn)
{
	struct buf *out = &conn->peer->out;
	uint32_t events = 0;

	if (buf_len(out) > 0) {
		ssize_t n = send(conn->watch.fd, buf_first(out), buf_len(out),
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0)
			buf_consume(out, (size_t)n);
		else if (n < 0 && errno != EAGAIN && errno != EINTR)
			conn->is_over = true;
	}
	if (conn->is_paused && !conn->is_over && !has_too_much(conn)) {
		take_frames(conn);
		conn->server->wait_ms = 0; /* they want a turn */
	}
	if (buf_len(out) > 0)
		events |= EPOLLOUT;
	if (!conn->is_paused && buf_len(out) <= OUT_BYTES_PAUSE)
		events |= EPOLLIN;
	if (buf_len(out) > OUT_BYTES_MAX || conn->peer->is_broken)
		conn->is_over = true;
	if (events != conn->watch.events &&
	    loop_change(conn->server->loop, &conn->watch, events) < 0)
		conn->is_over = true;
}

static void
on_conn(struct loop_watch *watch, uint32_t events)
{
	struct conn *conn = container_of(watch, struct conn, watch);

	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !conn->is_over)
		conn_read(conn);
	if ((events & EPOLLOUT) != 0 && !conn->is_over)
		conn_write(conn);
	if (conn->is_over)
		conn_end(conn);
}

static int
conn_new(struct server *server, int fd, bool is_trusted)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	pid_t pid;
	int r;

	if (conn == NULL)
		return err_new(-ENOMEM);
	r = master_peer_new(server->master, is_trusted, &conn->peer);
	if (r < 0) {
		free(conn);
		return err_up(r);
	}
	if (is_trusted) {
		r = sock_peer(fd, &pid, &conn->peer->uid);
		if (r < 0) {
			master_peer_free(conn->peer);
			free(conn);
			return err_up(r);
		}
	}
	conn->peer->owner = conn;
	conn->server = server;
	conn->watch = (struct loop_watch){.fd = fd, .events = EPOLLIN, .fn = on_conn};
	buf_init(&conn->in);
	list_link_init(&conn->at_server);
	r = loop_add(server->loop, &conn->watch);
	if (r < 0) {
		master_peer_free(conn->peer);
		free(conn);
		return err_up(r);
	}
	list_push_back(&server->conns, &conn->at_server);
	server->n_conns++;
	return 0;
}

static void
on_listener(struct loop_watch *watch, uint32_t events)
{
	struct listener *listener = container_of(watch, struct listener, watch);
	struct server *server = listener->server;
	int fd;

	(void)events;
	while (sock_accept(watch->fd, &fd) == 0) {
		if (server->n_conns >= server->conns_max) {
			log_event(LOG_WARN, "connection_refused",
				  "connections=%u cure=\"raise connections_max\"", server->n_conns);
			close(fd);
			continue;
		}
		if (conn_new(server, fd, listener->unix_path[0] != '\0') < 0)
			close(fd);
	}
}

/* ---- the server ---- */

static int
listen_one(struct server *server, const struct server_config *config, const char *text, char *why,
	   size_t why_cap)
{
	struct listener *listener = &server->listeners[server->n_listeners];
	struct sock_addr addr, bound;
	char shown[SOCK_ADDR_TEXT_MAX];
	size_t used = strlen(server->addresses);
	int fd = -1, r;

	snprintf(why, why_cap, "%s: not an address (unix:/path or host:port)", text);
	if (sock_addr_parse(text, &addr) != 0)
		return SERVER_E_BAD_ADDRESS;
	snprintf(why, why_cap,
		 "%s: beyond this machine only with a cluster key: give --key-file (tiffin-master "
		 "--new-key=FILE makes one), or --insecure",
		 text);
	if (!sock_addr_is_local(&addr) && !config->master->key.present && !config->is_insecure)
		return SERVER_E_NO_KEY;
	r = sock_listen(&addr, config->socket_mode, &fd, &bound);
	snprintf(why, why_cap, "%s: %s", text,
		 r == SOCK_E_IN_USE ? "somebody listens there already" : strerror(r < 0 ? -r : 0));
	if (r == SOCK_E_IN_USE)
		return SERVER_E_IN_USE;
	if (r < 0)
		return err_up(r);

	listener->server = server;
	listener->watch = (struct loop_watch){.fd = fd, .events = EPOLLIN, .fn = on_listener};
	if (sock_addr_is_unix(&bound))
		snprintf(listener->unix_path, sizeof(listener->unix_path), "%s", bound.un.sun_path);
	r = loop_add(server->loop, &listener->watch);
	if (r < 0) {
		close(fd);
		return err_up(r);
	}
	server->n_listeners++;
	snprintf(server->addresses + used, sizeof(server->addresses) - used, "%s%s",
		 used > 0 ? " " : "", sock_addr_show(&bound, shown, sizeof(shown)));
	return 0;
}

int
server_new(const struct server_config *config, struct server **ret_server, char *why,
	   size_t why_cap)
{
	cleanup_with(server_free_at) struct server *server = calloc(1, sizeof(*server));
	char words[ADDRESSES_CAP];
	char *rest = words, *word;

	snprintf(why, why_cap, "out of memory");
	if (server == NULL)
		return err_new(-ENOMEM);
	server->loop = config->loop;
	server->master = config->master;
	server->conns_max = config->connections_max;
	list_init(&server->conns);

	snprintf(words, sizeof(words), "%s", config->listen);
	while ((word = strsep(&rest, " ")) != NULL) {
		int r;

		if (*word == '\0')
			continue;
		if (server->n_listeners == LISTENERS_MAX) {
			snprintf(why, why_cap, "%s: more than %d addresses", word, LISTENERS_MAX);
			return SERVER_E_BAD_ADDRESS;
		}
		r = listen_one(server, config, word, why, why_cap);
		if (r != 0)
			return r;
	}
	if (server->n_listeners == 0) {
		snprintf(why, why_cap, "no address to listen on: give --listen");
		return SERVER_E_BAD_ADDRESS;
	}
	*ret_server = take(&server);
	return 0;
}

void
server_free(struct server *server)
{
	if (server == NULL)
		return;

	list_each_safe(&server->conns, link) {
		struct conn *conn = list_of(link, struct conn, at_server);

		conn_write(conn);
		conn_end(conn);
	}
	for (size_t i = 0; i < server->n_listeners; i++) {
		struct listener *listener = &server->listeners[i];

		loop_remove(server->loop, &listener->watch);
		close(listener->watch.fd);
		if (listener->unix_path[0] != '\0')
			unlink(listener->unix_path);
	}
	free(server);
}

int
server_turn(struct server *server)
{
	struct peer *peer;
	int r = loop_turn(server->loop, (int)server->wait_ms);

	if (r < 0)
		return err_up(r);
	server->wait_ms = master_turn(server->master);
	while ((peer = master_dirty(server->master)) != NULL) {
		struct conn *conn = peer->owner;

		conn_write(conn);
		if (conn->is_over)
			conn_end(conn);
	}
	return 0;
}

const char *
server_addresses(const struct server *server)
{
	return server->addresses;
}
