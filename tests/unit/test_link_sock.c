/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The link against a peer that plays the master by a script, in a thread of its own.
 */
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

static uint64_t
in_ms(uint64_t len_ms)
{
	return clock_ns(clock_real()) + len_ms * NS_PER_MS;
}

/* ---- the peer's side --------------------------------------------------------------- */

/* may_fail -- the other side may hang up at any time: then the script just goes on to its end. */
static void
may_fail(int r)
{
	(void)r;
}

static void
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
static bool
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

static void
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
static void
peer_greet(struct peer *peer)
{
	struct rep_hello hello = {.version = PROTO_VERSION,
				  .master_epoch = 3,
				  .needs_proof = peer->key.present};
	struct rep_join join = {.master_epoch = 3, .lease_ms = 5000, .ping_ms = 1000};
	struct msg_hello asked;
	struct msg_join joined;
	struct arena arena;
	struct frame frame;
	struct buf out;

	arena_init(&arena);
	buf_init(&out);
	if (peer_read(peer, &frame) &&
	    msg_hello_decode(frame.payload, &arena, &asked) == 0) {
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
static void
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

static void *
peer_run(void *arg)
{
	struct peer *peer = arg;

	peer->script(peer);
	return NULL;
}

static void
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

static void
peer_stop(struct peer *peer)
{
	char path[128];

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

/* ---- our side ------------------------------------------------------------------------- */

/* call -- a request of these bytes; 0 when the answer has the same. */
static int
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

static uint32_t
n_joins(struct peer *peer)
{
	struct link_session session;

	peer->link->ops->session(peer->link, &session);
	return session.n_joins;
}

/* ---- stories ----------------------------------------------------------------------------- */

static void
greet_and_echo(struct peer *peer)
{
	peer_accept(peer);
	peer_greet(peer);
	peer_echo(peer);
}

static void
first_call__connects_and_joins(void **state)
{
	struct peer peer = {0};

	(void)state;
	peer_start(&peer, greet_and_echo, NULL);

	assert_int_equal(call(&peer, "hello", in_ms(FAR_MS)), 0);
	assert_int_equal(call(&peer, "again", in_ms(FAR_MS)), 0);

	assert_int_equal(n_joins(&peer), 1);
	assert_int_equal(peer.client_ids[0], 77);
	peer_stop(&peer);
}

static void
drop_the_first_request(struct peer *peer)
{
	struct frame frame;
	uint64_t id;

	peer_accept(peer);
	peer_greet(peer);
	if (!peer_read(peer, &frame))
		return;
	id = frame.request_id;

	peer_accept(peer); /* hangs up before */
	peer_greet(peer);
	if (!peer_read(peer, &frame))
		return;
	atomic_store(&peer->step, frame.request_id == id ? 1 : 2);
	peer_answer(peer, &frame, STATUS_OK,
		    &(struct buf){.at = (uint8_t *)frame.payload.at, .end = cursor_left(&frame.payload)});
	peer_echo(peer);
}

static void
call__whose_connection_breaks__is_sent_again_under_the_same_id(void **state)
{
	struct peer peer = {0};

	(void)state;
	peer_start(&peer, drop_the_first_request, NULL);

	assert_int_equal(call(&peer, "precious", in_ms(FAR_MS)), 0);

	assert_int_equal(atomic_load(&peer.step), 1);
	assert_int_equal(n_joins(&peer), 2);
	assert_int_equal(peer.client_ids[1], 77);
	peer_stop(&peer);
}

static void
answer_with_garbage(struct peer *peer)
{
	struct frame frame;

	peer_accept(peer);
	peer_greet(peer);
	if (peer_read(peer, &frame))
		may_fail(sock_send_all(peer->fd, "this is no frame, but long enough for one", 41,
				       in_ms(FAR_MS)));
	greet_and_echo(peer);
}

static void
garbage__makes_the_link_hang_up_and_join_anew(void **state)
{
	struct peer peer = {0};

	(void)state;
	peer_start(&peer, answer_with_garbage, NULL);

	assert_int_equal(call(&peer, "hello", in_ms(FAR_MS)), 0);

	assert_int_equal(n_joins(&peer), 2);
	peer_stop(&peer);
}

static void
say_not_joined(struct peer *peer)
{
	struct frame frame;

	peer_accept(peer);
	peer_greet(peer);
	if (peer_read(peer, &frame))
		peer_answer(peer, &frame, STATUS_NOT_JOINED, NULL);
	greet_and_echo(peer);
}

static void
not_joined__makes_the_link_join_anew_and_ask_again(void **state)
{
	struct peer peer = {0};

	(void)state;
	peer_start(&peer, say_not_joined, NULL);

	assert_int_equal(call(&peer, "hello", in_ms(FAR_MS)), 0);

	assert_int_equal(n_joins(&peer), 2);
	peer_stop(&peer);
}

static void
never_answer(struct peer *peer)
{
	struct frame frame;

	peer_accept(peer);
	peer_greet(peer);
	while (peer_read(peer, &frame))
		continue;
}

static void
silent_master__makes_the_call_time_out(void **state)
{
	struct peer peer = {0};

	(void)state;
	peer_start(&peer, never_answer, NULL);

	assert_int_equal(call(&peer, "hello", in_ms(150)), LINK_E_TIMEOUT);

	peer_stop(&peer);
}

static void
answer_the_second_first(struct peer *peer)
{
	struct frame frame;
	struct frame late = {.type = MSG_stat};

	peer_accept(peer);
	peer_greet(peer);
	if (!peer_read(peer, &frame))
		return;
	late.request_id = frame.request_id;
	if (!peer_read(peer, &frame))
		return;
	peer_answer(peer, &late, STATUS_OK, NULL); /* nobody waits for it any more */
	peer_answer(peer, &frame, STATUS_OK,
		    &(struct buf){.at = (uint8_t *)frame.payload.at, .end = cursor_left(&frame.payload)});
	peer_echo(peer);
}

static void
late_answer__is_dropped(void **state)
{
	struct peer peer = {0};

	(void)state;
	peer_start(&peer, answer_the_second_first, NULL);
	assert_int_equal(call(&peer, "first", in_ms(150)), LINK_E_TIMEOUT);

	assert_int_equal(call(&peer, "second", in_ms(FAR_MS)), 0);

	assert_int_equal(n_joins(&peer), 1);
	peer_stop(&peer);
}

static void
missing_master__makes_the_call_end_as_lost(void **state)
{
	struct peer peer = {0};
	char path[128];

	(void)state;
	peer_start(&peer, NULL, NULL);
	snprintf(path, sizeof(path), "%s/master.sock", peer.dir);
	unlink(path);

	assert_int_equal(call(&peer, "hello", in_ms(120)), LINK_E_LOST);

	peer_stop(&peer);
}

static void
refuse(struct peer *peer)
{
	peer->join_status = STATUS_DENIED;
	peer_accept(peer);
	peer_greet(peer);
}

static void
denied_join__ends_the_call_at_once(void **state)
{
	struct peer peer = {0};

	(void)state;
	peer_start(&peer, refuse, NULL);

	assert_int_equal(call(&peer, "hello", in_ms(FAR_MS)), LINK_E_DENIED);

	peer_stop(&peer);
}

static void
master_with_the_same_key__is_believed(void **state)
{
	struct cluster_key key = {.present = true, .bytes = "a key"};
	struct peer peer = {.key = key};

	(void)state;
	peer_start(&peer, greet_and_echo, &key);

	assert_int_equal(call(&peer, "hello", in_ms(FAR_MS)), 0);

	peer_stop(&peer);
}

static void
hello_only(struct peer *peer)
{
	struct frame frame;

	peer_accept(peer);
	peer_greet(peer);
	while (peer_read(peer, &frame))
		continue;
}

static void
master_with_another_key__is_not_believed(void **state)
{
	struct cluster_key key = {.present = true, .bytes = "a key"};
	struct peer peer = {.key = {.present = true, .bytes = "another"}};

	(void)state;
	peer_start(&peer, hello_only, &key);

	assert_int_equal(call(&peer, "hello", in_ms(FAR_MS)), LINK_E_DENIED);

	assert_int_equal(peer.n_hello, 0); /* we never joined */
	peer_stop(&peer);
}

static void
master_without_a_key__is_not_believed_by_a_client_that_must(void **state)
{
	struct cluster_key key = {.present = true, .bytes = "a key"};
	struct peer peer = {0};

	(void)state;
	peer_start(&peer, hello_only, &key);

	assert_int_equal(call(&peer, "hello", in_ms(FAR_MS)), LINK_E_DENIED);

	peer_stop(&peer);
}

struct caller {
	struct peer *peer;
	unsigned number;
	atomic_uint n_good;
};

static void *
call_often(void *arg)
{
	struct caller *caller = arg;
	char bytes[32];

	for (unsigned i = 0; i < 200; i++) {
		snprintf(bytes, sizeof(bytes), "%u-%u", caller->number, i);
		caller->n_good += call(caller->peer, bytes, in_ms(FAR_MS)) == 0;
	}
	return NULL;
}

static void
many_threads__each_get_their_own_answers(void **state)
{
	struct caller callers[8];
	pthread_t threads[8];
	struct peer peer = {0};

	(void)state;
	peer_start(&peer, greet_and_echo, NULL);
	for (unsigned i = 0; i < 8; i++) {
		callers[i] = (struct caller){.peer = &peer, .number = i};
		assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
	}
	for (unsigned i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);

	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(callers[i].n_good, 200);
	assert_int_equal(n_joins(&peer), 1);
	peer_stop(&peer);
}

static void
hang_up_now_and_then(struct peer *peer)
{
	struct frame frame;

	for (unsigned round = 0; round < 20; round++) {
		peer_accept(peer);
		peer_greet(peer);
		for (unsigned i = 0; i < 37 && peer_read(peer, &frame); i++)
			peer_answer(peer, &frame, STATUS_OK,
				    &(struct buf){.at = (uint8_t *)frame.payload.at,
						  .end = cursor_left(&frame.payload)});
	}
	greet_and_echo(peer);
}

static void
many_threads__over_broken_connections__lose_no_answer(void **state)
{
	struct caller callers[4];
	pthread_t threads[4];
	struct peer peer = {0};

	(void)state;
	peer_start(&peer, hang_up_now_and_then, NULL);
	for (unsigned i = 0; i < 4; i++) {
		callers[i] = (struct caller){.peer = &peer, .number = i};
		assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(callers[i].n_good, 200);
	peer_stop(&peer);
}

static void
large_request__goes_out_though_the_socket_is_full_at_times(void **state)
{
	struct peer peer = {0};
	char *bytes = malloc(3u << 20);

	(void)state;
	memset(bytes, 'x', (3u << 20) - 1);
	bytes[(3u << 20) - 1] = '\0';
	peer_start(&peer, greet_and_echo, NULL);

	assert_int_equal(call(&peer, bytes, in_ms(FAR_MS)), 0);

	free(bytes);
	peer_stop(&peer);
}

static void
wait_for_a_request(struct peer *peer)
{
	struct frame frame;

	peer_accept(peer);
	peer_greet(peer);
	(void)peer_read(peer, &frame);
	peer->link->ops->stop(peer->link);
}

static void
stop__ends_a_call_under_way_as_closed(void **state)
{
	struct peer peer = {0};

	(void)state;
	peer_start(&peer, wait_for_a_request, NULL);

	assert_int_equal(call(&peer, "hello", in_ms(FAR_MS)), LINK_E_CLOSED);
	assert_int_equal(call(&peer, "later", in_ms(FAR_MS)), LINK_E_CLOSED);

	peer_stop(&peer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_call__connects_and_joins),
		cmocka_unit_test(call__whose_connection_breaks__is_sent_again_under_the_same_id),
		cmocka_unit_test(garbage__makes_the_link_hang_up_and_join_anew),
		cmocka_unit_test(not_joined__makes_the_link_join_anew_and_ask_again),
		cmocka_unit_test(silent_master__makes_the_call_time_out),
		cmocka_unit_test(late_answer__is_dropped),
		cmocka_unit_test(missing_master__makes_the_call_end_as_lost),
		cmocka_unit_test(denied_join__ends_the_call_at_once),
		cmocka_unit_test(master_with_the_same_key__is_believed),
		cmocka_unit_test(master_with_another_key__is_not_believed),
		cmocka_unit_test(master_without_a_key__is_not_believed_by_a_client_that_must),
		cmocka_unit_test(many_threads__each_get_their_own_answers),
		cmocka_unit_test(many_threads__over_broken_connections__lose_no_answer),
		cmocka_unit_test(large_request__goes_out_though_the_socket_is_full_at_times),
		cmocka_unit_test(stop__ends_a_call_under_way_as_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
