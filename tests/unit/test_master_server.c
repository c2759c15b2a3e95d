/* SPDX-License-Identifier: Apache-2.0 */

/* A peer that asks much and reads nothing: what waits for it stays bounded, and nothing is lost. */
#include "tests/unit/master_world.h"

#include <errno.h>
#include <sys/socket.h>

#include "master/server.h"
#include "transfer/base/loop.h"
#include "transfer/base/sock.h"

#define N_LISTS     400
#define N_OBJECTS   300
#define BACKLOG_MAX (8u << 20) /* the pause, and the answer that went beyond it */
#define TURNS_A_LOT 2000

struct served {
	struct world *w;
	struct loop *loop;
	struct server *server;
	int fd; /* the client's */
};

static void
serve(struct served *s, struct world *w)
{
	char listen[160], why[256];
	struct sock_addr addr;
	struct server_config config = {.listen = listen, .socket_mode = 0600, .connections_max = 8};

	*s = (struct served){.w = w};
	snprintf(listen, sizeof(listen), "unix:%s/s", w->dir);
	assert_int_equal(loop_new(&s->loop), 0);
	config.loop = s->loop;
	config.master = w->master;
	assert_int_equal(server_new(&config, &s->server, why, sizeof(why)), 0);
	assert_int_equal(sock_addr_parse(listen, &addr), 0);
	assert_int_equal(sock_connect(&addr, 1000, &s->fd), 0);
}

static void
turn(struct served *s)
{
	assert_int_equal(server_turn(s->server), 0);
	store_step(s->w->store);
}

static void
append_frame(struct buf *to, uint16_t type, uint64_t request_id, struct buf *payload)
{
	struct frame frame = {.type = type, .request_id = request_id};
	size_t at;

	assert_int_equal(frame_begin(to, &at), 0);
	assert_int_equal(buf_append(to, buf_first(payload), buf_len(payload)), 0);
	frame_end(to, at, &frame);
	buf_fini(payload);
}

#define APPEND(to, name, id, ...)                                                                  \
	do {                                                                                       \
		struct msg_##name msg_ = {__VA_ARGS__};                                            \
		struct buf payload_;                                                               \
                                                                                                   \
		buf_init(&payload_);                                                               \
		assert_int_equal(msg_##name##_encode(&payload_, &msg_), 0);                        \
		append_frame((to), MSG_##name, (id), &payload_);                                   \
	} while (0)

/* Objects with long attributes, so that an answer to list is a megabyte. */
static void
fill(struct world *w)
{
	static const char attr[4000];
	struct end *end = world_join(w, 11);

	for (int i = 0; i < N_OBJECTS; i++) {
		struct rec_put_done done = {.attr = span_of(attr, sizeof(attr))};
		struct rep_put_end rep;
		char key[16];
		uint32_t status;

		snprintf(key, sizeof(key), "k%d", i);
		done.object_id = end_start(end, key, 0, 0, &status);
		assert_int_equal(status, STATUS_OK);
		assert_int_equal(ASK(end, put_end, &rep, .n_puts = 1, .puts = &done), STATUS_OK);
	}
}

/* What waits for all peers but our own ends. */
static size_t
backlog(const struct master *master)
{
	size_t bytes = 0;

	list_each(&master->peers, link) {
		const struct peer *peer = list_of(link, struct peer, at_master);

		if (peer->owner == NULL)
			continue;
		bytes += buf_len(&peer->out);
		if (peer->client != NULL)
			bytes += peer->client->held_bytes;
	}
	return bytes;
}

static void
ask_much(struct buf *out)
{
	buf_init(out);
	APPEND(out, hello, 1, .version = PROTO_VERSION);
	APPEND(out, join, 2, .client_id = 12, .name = span_of("much", 4),
	       .host = span_of("here", 4), .tenant = span_of("default", 7));
	for (uint64_t i = 0; i < N_LISTS; i++)
		APPEND(out, list, 3 + i, .prefix = span_of("k", 1), .after = span_of("", 0),
		       .most = N_OBJECTS);
}

/* Gives how many whole answers have come. */
static size_t
read_answers(struct served *s, struct buf *in)
{
	struct frame frame;
	size_t len, n = 0;
	ssize_t got;

	assert_int_equal(buf_reserve(in, 1 << 20), 0);
	got = recv(s->fd, in->at + in->end, in->cap - in->end, MSG_DONTWAIT);
	assert_true(got > 0 || (got < 0 && errno == EAGAIN));
	in->end += got > 0 ? (size_t)got : 0;
	while (frame_peek(buf_first(in), buf_len(in), &frame, &len) == 0) {
		assert_int_equal(frame.status, STATUS_OK);
		buf_consume(in, len);
		n++;
	}
	return n;
}

static void
peer__that_asks_much_and_reads_nothing__is_heard_no_further(void **state)
{
	struct served s;
	struct buf out, in;
	size_t n = 0;

	fill(*state);
	serve(&s, *state);
	ask_much(&out);
	buf_init(&in);
	assert_int_equal(send(s.fd, buf_first(&out), buf_len(&out), MSG_DONTWAIT), buf_len(&out));

	for (int i = 0; i < 20; i++) {
		turn(&s);
		assert_true(backlog(s.w->master) < BACKLOG_MAX);
	}

	for (int i = 0; i < TURNS_A_LOT && n < N_LISTS + 2; i++) {
		n += read_answers(&s, &in);
		turn(&s);
		assert_true(backlog(s.w->master) < BACKLOG_MAX);
	}
	assert_int_equal(n, N_LISTS + 2);
	buf_fini(&in);
	buf_fini(&out);
	close(s.fd);
	server_free(s.server);
	loop_free(s.loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(peer__that_asks_much_and_reads_nothing__is_heard_no_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
