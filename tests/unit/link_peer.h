/* SPDX-License-Identifier: Apache-2.0 */

/*
 * link_peer.h -- a link, and at its other end a peer that plays the master by a script, in a thread
 * of its own.
 */
#ifndef TESTS_LINK_PEER_H
#define TESTS_LINK_PEER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/link_sock.h"
#include "transfer/base/sock.h"

#define FAR_MS 20000

struct peer {
	char dir[64], address[128];
	int listen_fd, fd;
	pthread_t thread;
	void (*script)(struct peer *peer);
	struct cluster_key key;
	uint32_t n_hello, join_status;
	uint64_t heard_id, client_ids[4];
	atomic_int step; /* a script tells a test how far it is */
	struct buf in;
	size_t taken; /* at its start, by the frame read last */
	struct link *link;
};

static inline uint64_t
in_ms(uint64_t len_ms)
{
	return clock_ns(clock_real()) + len_ms * NS_PER_MS;
}

/* ---- the peer's side --------------------------------------------------------------- */

/* may_fail -- the other side may hang up at any time: then the script just goes on to its end. */
static inline void
may_fail(int r)
{
	(void)r;
}

static inline void
peer_accept(struct peer *peer)
{
	struct pollfd p = {.fd = peer->listen_fd, .events = POLLIN};

	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
	buf_clear(&peer->in);
	peer->taken = 0;
	if (poll(&p, 1, FAR_MS) == 1 && sock_accept(peer->listen_fd, &peer->fd) == 0)
		may_fail(sock_set_blocking(peer->fd, true));
}

/* peer_read -- the next request; false: the other side hung up. */
static inline bool
peer_read(struct peer *peer, struct frame *ret_frame)
{
	size_t len = 0;

	buf_consume(&peer->in, peer->taken);
	peer->taken = 0;
	for (;;) {
		ssize_t n;

		if (buf_len(&peer->in) > 0 &&
		    frame_peek(buf_first(&peer->in), buf_len(&peer->in), ret_frame, &len) == 0) {
			peer->taken = len;
			peer->heard_id = ret_frame->request_id;
			return true;
		}
		if (buf_reserve(&peer->in, 65536) < 0)
			return false;
		n = read(peer->fd, peer->in.at + peer->in.end, peer->in.cap - peer->in.end);
		if (n <= 0)
			return false;
		peer->in.end += (size_t)n;
	}
}

static inline void
peer_answer(struct peer *peer, const struct frame *asked, uint32_t status,
	    const struct buf *payload)
{
	const struct frame header = {.type = asked->type,
				     .flags = FRAME_REPLY,
				     .status = status,
				     .request_id = asked->request_id};
	struct buf out;
	size_t at;

	buf_init(&out);
	if (frame_begin(&out, &at) == 0 &&
	    (payload == NULL || buf_append(&out, buf_first(payload), buf_len(payload)) == 0)) {
		frame_end(&out, at, &header);
		may_fail(sock_send_all(peer->fd, buf_first(&out), buf_len(&out), in_ms(FAR_MS)));
	}
	buf_fini(&out);
}

/* peer_greet -- hello and join as a master does them. */
static inline void
peer_greet(struct peer *peer)
{
	struct rep_hello hello = {
		.version = PROTO_VERSION, .master_epoch = 3, .needs_proof = peer->key.present};
	struct rep_join join = {.master_epoch = 3, .lease_ms = 5000, .ping_ms = 1000};
	struct msg_hello asked;
	struct msg_join joined;
	struct arena arena;
	struct frame frame;
	struct buf out;

	arena_init(&arena);
	buf_init(&out);
	if (peer_read(peer, &frame) && msg_hello_decode(frame.payload, &arena, &asked) == 0) {
		if (peer->key.present)
			key_answer(&peer->key, asked.challenge.bytes, KEY_ROLE_SERVER,
				   hello.answer.bytes);
		may_fail(rep_hello_encode(&out, &hello));
		peer_answer(peer, &frame, STATUS_OK, &out);
	}
	buf_clear(&out);
	if (peer_read(peer, &frame) && msg_join_decode(frame.payload, &arena, &joined) == 0) {
		peer->client_ids[peer->n_hello++ % 4] = joined.client_id;
		may_fail(rep_join_encode(&out, &join));
		peer_answer(peer, &frame, peer->join_status,
			    peer->join_status == STATUS_OK ? &out : NULL);
	}
	buf_fini(&out);
	arena_fini(&arena);
}

/* peer_echo -- answer everything with its own payload, until the other side hangs up. */
static inline void
peer_echo(struct peer *peer)
{
	struct frame frame;
	struct buf out;

	buf_init(&out);
	while (peer_read(peer, &frame)) {
		buf_clear(&out);
		if (buf_append(&out, frame.payload.at, cursor_left(&frame.payload)) == 0)
			peer_answer(peer, &frame, STATUS_OK, &out);
	}
	buf_fini(&out);
}

static inline void *
peer_run(void *arg)
{
	struct peer *peer = arg;

	peer->script(peer);
	return NULL;
}

static inline void
peer_start(struct peer *peer, void (*script)(struct peer *peer), const struct cluster_key *ours)
{
	struct greet_config config = {.client_id = 77, .name = "test", .tenant = "default"};
	struct sock_addr addr;

	peer->script = script;
	peer->fd = -1;
	strcpy(peer->dir, "/tmp/tiffin-link-XXXXXX");
	assert_non_null(mkdtemp(peer->dir));
	snprintf(peer->address, sizeof(peer->address), "unix:%s/master.sock", peer->dir);
	assert_int_equal(sock_addr_parse(peer->address, &addr), 0);
	assert_int_equal(sock_listen(&addr, 0600, &peer->listen_fd, NULL), 0);
	buf_init(&peer->in);
	if (ours != NULL) {
		config.key = *ours;
		config.must_prove = true;
	}
	assert_int_equal(link_sock_new(peer->address, &config, &peer->link), 0);
	if (script != NULL)
		assert_int_equal(pthread_create(&peer->thread, NULL, peer_run, peer), 0);
}

static inline void
peer_stop(struct peer *peer)
{
	char path[128];

	if (peer->link == NULL)
		return; /* it was never started */
	peer->link->ops->stop(peer->link);
	peer->link->ops->free(peer->link); /* hangs up, so that the script ends */
	if (peer->script != NULL)
		pthread_join(peer->thread, NULL);
	if (peer->fd >= 0)
		close(peer->fd);
	close(peer->listen_fd);
	buf_fini(&peer->in);
	snprintf(path, sizeof(path), "%s/master.sock", peer->dir);
	unlink(path);
	rmdir(peer->dir);
}

/* ---- a peer for each test: its *state ---- */

static inline int
peer_setup(void **state)
{
	*state = calloc(1, sizeof(struct peer));
	return *state == NULL;
}

static inline int
peer_teardown(void **state)
{
	peer_stop(*state);
	free(*state);
	return 0;
}

/* peer_test -- fn begins with peer_start(*state, ...). */
#define peer_test(fn) cmocka_unit_test_setup_teardown(fn, peer_setup, peer_teardown)

/* ---- our side ------------------------------------------------------------------------- */

/* call -- a request of these bytes; 0 when the answer has the same. */
static inline int
call(struct peer *peer, const char *bytes, uint64_t until_ns)
{
	struct link_reply reply;
	struct buf payload;
	int r;

	buf_init(&payload);
	assert_int_equal(buf_append(&payload, bytes, strlen(bytes)), 0);
	r = peer->link->ops->call(peer->link, MSG_stat, &payload, until_ns, &reply);
	buf_fini(&payload);
	if (r != 0)
		return r;
	assert_int_equal(reply.status, STATUS_OK);
	assert_int_equal(cursor_left(&reply.payload), strlen(bytes));
	assert_memory_equal(reply.payload.at, bytes, strlen(bytes));
	link_reply_fini(&reply);
	return 0;
}

static inline uint32_t
n_joins(struct peer *peer)
{
	struct link_session session;

	peer->link->ops->session(peer->link, &session);
	return session.n_joins;
}

/* greet_and_echo -- the script of a master without fault. */
static inline void
greet_and_echo(struct peer *peer)
{
	peer_accept(peer);
	peer_greet(peer);
	peer_echo(peer);
}

#endif
