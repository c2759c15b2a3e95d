/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/link_peer.h"

#include <semaphore.h>

#include "core/client.h"

/* A master that is told goodbye over the watch's connection, with news unread in it. */
static void
note_leave(struct peer *peer)
{
	struct rep_watch news = {0};
	struct rep_ping pong = {0};
	struct frame frame, watch = {0};
	struct buf out;

	buf_init(&out);
	while (atomic_load(&peer->step) != MSG_leave && peer_read(peer, &frame)) {
		buf_clear(&out);
		if (frame.type == MSG_watch) {
			watch = frame;
			may_fail(rep_watch_encode(&out, &news));
		} else if (frame.type == MSG_ping) {
			may_fail(rep_ping_encode(&out, &pong));
		} else if (frame.type == MSG_leave) {
			struct buf more;

			buf_init(&more);
			may_fail(rep_watch_encode(&more, &news));
			peer_answer(peer, &watch, STATUS_OK, &more);
			buf_fini(&more);
			atomic_store(&peer->step, MSG_leave);
		}
		peer_answer(peer, &frame, STATUS_OK, &out);
	}
	buf_fini(&out);
}

static void
watch_and_note_leave(struct peer *peer)
{
	peer_accept(peer);
	peer_greet(peer);
	note_leave(peer);
}

/* What the library told, and where it was then. */
struct heard {
	sem_t news;
	struct tiffin_watch *watch;
	char keys[8][16];
	struct tiffin_position at[8];
	unsigned n;
};

static void
hear(void *arg, int change, const char *key, uint64_t object_id)
{
	struct heard *heard = arg;

	(void)change;
	(void)object_id;
	assert(heard->n < array_len(heard->keys));
	tiffin_watch_position(heard->watch, &heard->at[heard->n]);
	snprintf(heard->keys[heard->n++], sizeof(heard->keys[0]), "%s", key != NULL ? key : "-");
	sem_post(&heard->news);
}

struct stage {
	struct peer peer;
	struct tiffin_client *client;
	struct heard heard;
};

static void
stage_open(struct stage *stage, void (*script)(struct peer *peer))
{
	static const struct greet_config door = {
		.client_id = 5, .name = "test", .tenant = "default"};
	struct client_world world = {
		.clock = clock_real(), .client_id = 5, .seed = 1, .name = "test", .door = &door};
	struct engine *engine;
	struct link *link;

	*stage = (struct stage){0};
	sem_init(&stage->heard.news, 0, 0);
	peer_start(&stage->peer, script, NULL);
	assert_int_equal(engine_new(clock_real(), &engine), 0);
	assert_int_equal(link_sock_new(stage->peer.address, &door, &link), 0);
	world.master = stage->peer.address;
	world.link_taken = &link;
	world.engine_taken = &engine;
	assert_int_equal(tiffin_client_new(&world, &stage->client), 0);
}

static void
stage_close(struct stage *stage)
{
	tiffin_watch_close(stage->heard.watch);
	tiffin_client_free(stage->client);
	peer_stop(&stage->peer);
	sem_destroy(&stage->heard.news);
}

static void
watch__that_is_closed__says_goodbye_to_the_master(void **state)
{
	struct stage stage;

	(void)state;
	stage_open(&stage, watch_and_note_leave);
	assert_int_equal(
		tiffin_watch_open(stage.client, "a/", hear, &stage.heard, &stage.heard.watch), 0);

	tiffin_watch_close(take(&stage.heard.watch));

	assert_int_equal(atomic_load(&stage.peer.step), MSG_leave);
	stage_close(&stage);
}

/* ---- a connection that is lost ---- */

static atomic_int n_right; /* positions that were asked for as they should be */

static void
answer_watch(struct peer *peer, const struct frame *watch, const char *key, uint64_t number,
	     bool is_overflow)
{
	struct rec_change change = {1, span_of(key, strlen(key)), 7, number};
	const struct rep_watch rep = {
		.is_overflow = is_overflow,
		.n_changes = key[0] != '\0',
		.changes = &change,
		.number = number,
	};
	struct buf out;

	buf_init(&out);
	may_fail(rep_watch_encode(&out, &rep));
	peer_answer(peer, watch, STATUS_OK, &out);
	buf_fini(&out);
}

/* What a watch is to ask for, and what it is told at once. */
struct act {
	struct tiffin_position wanted;
	uint64_t number;
	const char *missed; /* a key; "": nothing */
	bool is_overflow;
};

/* serve_watch -- until it has pinged: then the watch is in force. */
static struct frame
serve_watch(struct peer *peer, const struct act *act)
{
	struct rep_ping pong = {0};
	struct frame frame, watch = {0};
	struct msg_watch msg;
	struct arena arena;
	struct buf out;

	arena_init(&arena);
	buf_init(&out);
	peer_accept(peer);
	peer_greet(peer);
	while (peer_read(peer, &frame) && frame.type != MSG_ping) {
		if (frame.type != MSG_watch || msg_watch_decode(frame.payload, &arena, &msg) != 0)
			continue;
		if (msg.after_epoch == act->wanted.epoch && msg.after_number == act->wanted.number)
			atomic_fetch_add(&n_right, 1);
		watch = frame;
		answer_watch(peer, &frame, act->missed, act->number, act->is_overflow);
	}
	may_fail(rep_ping_encode(&out, &pong));
	peer_answer(peer, &frame, STATUS_OK, &out);
	buf_fini(&out);
	arena_fini(&arena);
	return watch;
}

static void
hang_up_after_a_change(struct peer *peer)
{
	static const struct act acts[] = {
		{{0, 0}, 10, "", false},
		{{3, 11}, 12, "a/2", false},
		{{3, 12}, 30, "", true},
	};
	struct frame watch = serve_watch(peer, &acts[0]);

	answer_watch(peer, &watch, "a/1", 11, false);
	(void)serve_watch(peer, &acts[1]); /* hangs up first */
	(void)serve_watch(peer, &acts[2]);
	note_leave(peer);
}

static void
watch__whose_connection_is_lost__goes_on_where_it_was(void **state)
{
	struct stage stage;
	struct heard *heard = &stage.heard;

	(void)state;
	atomic_store(&n_right, 0);
	stage_open(&stage, hang_up_after_a_change);
	assert_int_equal(tiffin_watch_open(stage.client, "a/", hear, heard, &heard->watch), 0);
	for (int i = 0; i < 3; i++)
		sem_wait(&heard->news);

	assert_string_equal(heard->keys[0], "a/1");
	assert_int_equal(heard->at[0].epoch, 3);
	assert_int_equal(heard->at[0].number, 11);
	assert_string_equal(heard->keys[1], "a/2");
	assert_int_equal(heard->at[1].number, 12);
	assert_string_equal(heard->keys[2], "-"); /* the master did not know any more */
	assert_int_equal(heard->at[2].number, 30);
	assert_int_equal(heard->n, 3);
	assert_int_equal(atomic_load(&n_right), 3);
	stage_close(&stage);
}

static void
tell_what_was_missed(struct peer *peer)
{
	static const struct act act = {{3, 5}, 12, "a/2", false};

	(void)serve_watch(peer, &act);
	note_leave(peer);
}

static void
watch__behind_a_position__hears_what_came_since(void **state)
{
	const struct tiffin_watch_options options = {"a/", {3, 5}};
	struct stage stage;

	(void)state;
	atomic_store(&n_right, 0);
	stage_open(&stage, tell_what_was_missed);
	assert_int_equal(
		tiffin_watch_resume(stage.client, &options, hear, &stage.heard, &stage.heard.watch),
		0);
	sem_wait(&stage.heard.news);
	assert_string_equal(stage.heard.keys[0], "a/2");
	assert_int_equal(stage.heard.at[0].number, 12);
	assert_int_equal(atomic_load(&n_right), 1);
	stage_close(&stage);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(watch__that_is_closed__says_goodbye_to_the_master),
		cmocka_unit_test(watch__whose_connection_is_lost__goes_on_where_it_was),
		cmocka_unit_test(watch__behind_a_position__hears_what_came_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
