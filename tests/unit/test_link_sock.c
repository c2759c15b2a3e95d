/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/link_peer.h"

#include <sys/resource.h>

static void
first_call__connects_and_joins(void **state)
{
	struct peer *peer = *state;

	peer_start(peer, greet_and_echo, NULL);

	assert_int_equal(call(peer, "hello", in_ms(FAR_MS)), 0);
	assert_int_equal(call(peer, "again", in_ms(FAR_MS)), 0);

	assert_int_equal(n_joins(peer), 1);
	assert_int_equal(peer->client_ids[0], 77);
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
		    &(struct buf){.at = (uint8_t *)frame.payload.at,
				  .end = cursor_left(&frame.payload)});
	peer_echo(peer);
}

static void
call__whose_connection_breaks__is_sent_again_under_the_same_id(void **state)
{
	struct peer *peer = *state;

	peer_start(peer, drop_the_first_request, NULL);

	assert_int_equal(call(peer, "precious", in_ms(FAR_MS)), 0);

	assert_int_equal(atomic_load(&peer->step), 1);
	assert_int_equal(n_joins(peer), 2);
	assert_int_equal(peer->client_ids[1], 77);
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
	struct peer *peer = *state;

	peer_start(peer, answer_with_garbage, NULL);

	assert_int_equal(call(peer, "hello", in_ms(FAR_MS)), 0);

	assert_int_equal(n_joins(peer), 2);
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
	struct peer *peer = *state;

	peer_start(peer, say_not_joined, NULL);

	assert_int_equal(call(peer, "hello", in_ms(FAR_MS)), 0);

	assert_int_equal(n_joins(peer), 2);
}

/* Takes the request in at once, and thinks about it. */
static void
answer_later(struct peer *peer)
{
	struct frame frame;

	peer_accept(peer);
	peer_greet(peer);
	while (peer_read(peer, &frame)) {
		clock_sleep_ms(clock_real(), 5);
		peer_answer(peer, &frame, STATUS_OK,
			    &(struct buf){.at = (uint8_t *)frame.payload.at,
					  .end = cursor_left(&frame.payload)});
	}
}

static long
n_sleeps(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw;
}

static void
call__while_the_master_takes_the_request_in__sleeps_on(void **state)
{
	struct peer *peer = *state;
	long before;

	peer_start(peer, answer_later, NULL);
	assert_int_equal(call(peer, "hello", in_ms(FAR_MS)), 0);

	before = n_sleeps();
	for (int i = 0; i < 20; i++)
		assert_int_equal(call(peer, "hello", in_ms(FAR_MS)), 0);
	assert_in_range(n_sleeps() - before, 1, 20 + 8); /* woken twice each it would be 40 */
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
	struct peer *peer = *state;

	peer_start(peer, never_answer, NULL);

	assert_int_equal(call(peer, "hello", in_ms(150)), LINK_E_TIMEOUT);
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
		    &(struct buf){.at = (uint8_t *)frame.payload.at,
				  .end = cursor_left(&frame.payload)});
	peer_echo(peer);
}

static void
late_answer__is_dropped(void **state)
{
	struct peer *peer = *state;

	peer_start(peer, answer_the_second_first, NULL);
	assert_int_equal(call(peer, "first", in_ms(150)), LINK_E_TIMEOUT);

	assert_int_equal(call(peer, "second", in_ms(FAR_MS)), 0);

	assert_int_equal(n_joins(peer), 1);
}

static void
missing_master__makes_the_call_end_as_lost(void **state)
{
	struct peer *peer = *state;
	char path[128];

	peer_start(peer, NULL, NULL);
	snprintf(path, sizeof(path), "%s/master.sock", peer->dir);
	unlink(path);

	assert_int_equal(call(peer, "hello", in_ms(120)), LINK_E_LOST);
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
	struct peer *peer = *state;

	peer_start(peer, refuse, NULL);

	assert_int_equal(call(peer, "hello", in_ms(FAR_MS)), LINK_E_DENIED);
}

static void
refuse_the_version(struct peer *peer)
{
	struct frame frame;
	struct buf none;

	buf_init(&none);
	peer_accept(peer);
	if (peer_read(peer, &frame))
		peer_answer(peer, &frame, STATUS_VERSION, &none);
}

static void
master_that_refuses_our_version__ends_the_call_at_once(void **state)
{
	struct peer *peer = *state;

	peer_start(peer, refuse_the_version, NULL);

	assert_int_equal(call(peer, "hello", in_ms(FAR_MS)), LINK_E_VERSION);
}

static void
tell_another_version(struct peer *peer)
{
	struct rep_hello hello = {.version = PROTO_VERSION + 1, .master_epoch = 3};
	struct frame frame;
	struct buf out;

	buf_init(&out);
	may_fail(rep_hello_encode(&out, &hello));
	peer_accept(peer);
	if (peer_read(peer, &frame))
		peer_answer(peer, &frame, STATUS_OK, &out);
	buf_fini(&out);
}

static void
master_of_another_version__ends_the_call_at_once(void **state)
{
	struct peer *peer = *state;

	peer_start(peer, tell_another_version, NULL);

	assert_int_equal(call(peer, "hello", in_ms(FAR_MS)), LINK_E_VERSION);
}

static void
master_with_the_same_key__is_believed(void **state)
{
	struct cluster_key key = {.present = true, .bytes = "a key"};
	struct peer *peer = *state;

	peer->key = key;
	peer_start(peer, greet_and_echo, &key);

	assert_int_equal(call(peer, "hello", in_ms(FAR_MS)), 0);
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
	struct peer *peer = *state;

	peer->key = (struct cluster_key){.present = true, .bytes = "another"};
	peer_start(peer, hello_only, &key);

	assert_int_equal(call(peer, "hello", in_ms(FAR_MS)), LINK_E_DENIED);

	assert_int_equal(peer->n_hello, 0); /* we never joined */
}

static void
master_without_a_key__is_not_believed_by_a_client_that_must(void **state)
{
	struct cluster_key key = {.present = true, .bytes = "a key"};
	struct peer *peer = *state;

	peer_start(peer, hello_only, &key);

	assert_int_equal(call(peer, "hello", in_ms(FAR_MS)), LINK_E_DENIED);
}

static void
large_request__goes_out_though_the_socket_is_full_at_times(void **state)
{
	struct peer *peer = *state;
	char *bytes = malloc(3u << 20);

	memset(bytes, 'x', (3u << 20) - 1);
	bytes[(3u << 20) - 1] = '\0';
	peer_start(peer, greet_and_echo, NULL);

	assert_int_equal(call(peer, bytes, in_ms(FAR_MS)), 0);

	free(bytes);
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
	struct peer *peer = *state;

	peer_start(peer, wait_for_a_request, NULL);

	assert_int_equal(call(peer, "hello", in_ms(FAR_MS)), LINK_E_CLOSED);
	assert_int_equal(call(peer, "later", in_ms(FAR_MS)), LINK_E_CLOSED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		peer_test(first_call__connects_and_joins),
		peer_test(call__whose_connection_breaks__is_sent_again_under_the_same_id),
		peer_test(garbage__makes_the_link_hang_up_and_join_anew),
		peer_test(not_joined__makes_the_link_join_anew_and_ask_again),
		peer_test(call__while_the_master_takes_the_request_in__sleeps_on),
		peer_test(silent_master__makes_the_call_time_out),
		peer_test(late_answer__is_dropped),
		peer_test(missing_master__makes_the_call_end_as_lost),
		peer_test(denied_join__ends_the_call_at_once),
		peer_test(master_that_refuses_our_version__ends_the_call_at_once),
		peer_test(master_of_another_version__ends_the_call_at_once),
		peer_test(master_with_the_same_key__is_believed),
		peer_test(master_with_another_key__is_not_believed),
		peer_test(master_without_a_key__is_not_believed_by_a_client_that_must),
		peer_test(large_request__goes_out_though_the_socket_is_full_at_times),
		peer_test(stop__ends_a_call_under_way_as_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
