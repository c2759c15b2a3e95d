/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/link_peer.h"

#include "core/client.h"

/* A master that is told goodbye over the watch's connection, with news unread in it. */
static void
watch_and_note_leave(struct peer *peer)
{
	struct rep_watch news = {0};
	struct rep_ping pong = {0};
	struct frame frame, watch = {0};
	struct buf out;

	buf_init(&out);
	peer_accept(peer);
	peer_greet(peer);
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
hear(void *arg, int change, const char *key, uint64_t object_id)
{
	(void)arg;
	(void)change;
	(void)key;
	(void)object_id;
}

static void
watch__that_is_closed__says_goodbye_to_the_master(void **state)
{
	const struct greet_config door = {.client_id = 5, .name = "test", .tenant = "default"};
	struct client_world world = {
		.clock = clock_real(), .client_id = 5, .seed = 1, .name = "test", .door = &door};
	struct tiffin_client *client;
	struct tiffin_watch *watch;
	struct engine *engine;
	struct peer peer = {0};
	struct link *link;

	(void)state;
	peer_start(&peer, watch_and_note_leave, NULL);
	assert_int_equal(engine_new(clock_real(), &engine), 0);
	assert_int_equal(link_sock_new(peer.address, &door, &link), 0);
	world.master = peer.address;
	world.link_taken = &link;
	world.engine_taken = &engine;
	assert_int_equal(client_new(&world, &client), 0);
	assert_int_equal(tiffin_watch_open(client, "a/", hear, NULL, &watch), 0);

	tiffin_watch_close(watch);

	assert_int_equal(atomic_load(&peer.step), MSG_leave);
	client_free(client);
	peer_stop(&peer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(watch__that_is_closed__says_goodbye_to_the_master),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
