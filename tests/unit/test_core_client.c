/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core_world.h"
#include "transfer/disk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static void
forked_child__gets_an_error_from_its_parents_client_and_lives(void **state)
{
	struct world *w = *state;
	uint8_t byte;
	int status;
	pid_t pid;

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);

	pid = fork();
	if (pid == 0) {
		int r = world_get(w, "a", &byte, 1, NULL);

		tiffin_close(w->client);
		_exit(r == TIFFIN_E_FORKED ? 0 : 1);
	}

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(world_get(w, "a", &byte, 1, NULL), TIFFIN_E_TOO_SMALL);
}

static void
client_that_closes__refuses_calls(void **state)
{
	struct world *w = *state;

	atomic_store(&w->client->is_closing, true);

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), TIFFIN_E_CLOSED);
	assert_int_equal(tiffin_ping(w->client), TIFFIN_E_CLOSED);

	assert_int_equal(w->n_heard[MSG_put_start], 0);
}

static void
close_meanwhile(struct world *w, uint16_t type)
{
	if (type == MSG_get_replica_list)
		atomic_store(&w->client->is_closing, true);
}

static void
call_under_way__when_the_client_closes__ends_as_closed(void **state)
{
	struct world *w = *state;
	uint8_t bytes[5];

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	w->on_call = close_meanwhile;

	assert_int_equal(world_get(w, "a", bytes, 5, NULL), TIFFIN_E_CLOSED);
}

static void
fence__of_ourselves__waits_for_the_writes_of_before_and_no_others(void **state)
{
	struct world *w = *state;
	struct writing_span before, after;
	struct writing_era era;

	era = writing_era(w->client);
	assert_true(writing_begin(w->client, &before, &era));
	w->fence_id = 31;
	w->fence_client = w->client->client_id;

	client_tick(w->client);
	assert_true(writing_begin(w->client, &after, &era));
	client_tick(w->client);
	assert_int_equal(w->last_fenced, 0);

	writing_finish(w->client, &before);
	client_tick(w->client);
	assert_int_equal(w->last_fenced, 31);

	writing_finish(w->client, &after);
}

static void
fence__ordered_by_a_ping__is_carried_out_and_told_at_once(void **state)
{
	struct world *w = *state;

	w->fence_id = 31;
	w->fence_client = 4;

	client_tick(w->client);

	assert_int_equal(w->last_fenced, 31);
	assert_int_equal(w->n_heard[MSG_ping], 2);
	assert_int_equal(w->fence_id, 0);
	client_tick(w->client);
	assert_int_equal(w->n_heard[MSG_ping], 3);
}

static void
mount__after_a_new_master__is_said_again_with_a_new_secret(void **state)
{
	struct world *w = *state;
	const struct lent_config config = {.size_bytes = 1 << 20};
	uint8_t secret[TOKEN_SECRET_BYTES];
	struct serve *none = NULL;
	struct lent *lent, *same;

	assert_int_equal(lent_open(&config, &w->rand, &lent), 0);
	same = lent;
	assert_int_equal(mount_add(w->client, "mine", &lent, &none, UINT64_MAX), 0);
	assert_true(mount_is_ours(w->client, same->segment_id));
	memcpy(secret, same->secret, sizeof(secret));
	client_tick(w->client);
	assert_int_equal(w->n_heard[MSG_mount_segment], 1);

	w->session.n_joins++;
	w->session.master_epoch++;
	client_tick(w->client);

	assert_int_equal(w->n_heard[MSG_mount_segment], 2);
	assert_memory_not_equal(secret, same->secret, sizeof(secret));
	mount_close_all(w->client, UINT64_MAX);
}

static void
mount__of_a_disk_that_refuses_a_write__is_drained_by_one_request(void **state)
{
	struct world *w = *state;
	char path[] = "/tmp/tiffin-test-XXXXXX";
	const struct lent_config config = {.path = path, .size_bytes = 1 << 20, .is_on_disk = true};
	struct serve *none = NULL;
	struct lent *lent, *same;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(lent_open(&config, &w->rand, &lent), 0);
	same = lent;
	assert_int_equal(mount_add(w->client, "mine", &lent, &none, UINT64_MAX), 0);
	client_tick(w->client);
	assert_int_equal(w->n_heard[MSG_drain], 0);

	atomic_store(&same->disk->is_failing, true);
	client_tick(w->client);
	client_tick(w->client);

	assert_int_equal(w->n_heard[MSG_drain], 1);
	mount_close_all(w->client, UINT64_MAX);
	unlink(path);
}

static void
mount__said_again__names_ourselves_if_we_ever_write(void **state)
{
	struct world *w = *state;
	const struct lent_config config = {.size_bytes = 1 << 20};
	struct serve *none = NULL;
	struct lent *lent;

	assert_int_equal(lent_open(&config, &w->rand, &lent), 0);
	assert_int_equal(mount_add(w->client, "mine", &lent, &none, UINT64_MAX), 0);
	world_rejoin(w);
	client_tick(w->client);
	assert_int_equal(w->n_heard[MSG_mount_segment], 2);
	assert_int_equal(w->n_writers, 0);

	assert_int_equal(world_put(w, "a", "bytes", 5, 1), 0);
	world_rejoin(w);
	client_tick(w->client);

	assert_int_equal(w->n_heard[MSG_mount_segment], 3);
	assert_int_equal(w->n_writers, 1);
	mount_close_all(w->client, UINT64_MAX);
}

static void
mount__of_memory_lent_before__voids_grants_of_before(void **state)
{
	struct world *w = *state;
	const struct lent_config config = {.size_bytes = 1 << 20};
	struct serve *none = NULL;
	struct writing_span span;
	struct writing_era era;
	struct lent *lent;

	assert_int_equal(lent_open(&config, &w->rand, &lent), 0);
	lent->was_adopted = true;
	era = writing_era(w->client);

	assert_int_equal(mount_add(w->client, "mine", &lent, &none, UINT64_MAX), 0);

	assert_int_equal(w->n_writers, 1);
	assert_false(writing_begin(w->client, &span, &era));
	mount_close_all(w->client, UINT64_MAX);
}

/* What the memory knows of an earlier master stands until one has answered that it has it. */
static void
mount__refused__tells_of_the_same_former_master_when_it_is_said_again(void **state)
{
	struct world *w = *state;
	const struct lent_config config = {.size_bytes = 1 << 20};
	struct serve *none = NULL;
	struct lent *lent;

	assert_int_equal(lent_open(&config, &w->rand, &lent), 0);
	w->session.master_epoch = 3;
	assert_int_equal(mount_add(w->client, "mine", &lent, &none, UINT64_MAX), 0);
	assert_int_equal(w->former_epoch, 0);

	w->session.master_epoch = 9;
	world_rejoin(w);
	w->refuse_type = MSG_mount_segment;
	w->refuse_status = STATUS_UNAVAILABLE;
	client_tick(w->client);
	w->session.master_epoch = 10;
	world_rejoin(w);
	client_tick(w->client);
	assert_int_equal(w->former_epoch, 9); /* it may have had it, for all we know */

	w->session.master_epoch = 2;
	world_rejoin(w);
	w->refuse_type = MSG_mount_segment;
	client_tick(w->client);
	client_tick(w->client);
	assert_int_equal(w->former_epoch, 10);

	world_rejoin(w);
	client_tick(w->client);
	assert_int_equal(w->former_epoch, 2);
	mount_close_all(w->client, UINT64_MAX);
}

static void
mount__after_a_broken_line_to_the_same_master__is_not_said_again(void **state)
{
	struct world *w = *state;
	const struct lent_config config = {.size_bytes = 1 << 20};
	struct serve *none = NULL;
	struct lent *lent;

	assert_int_equal(lent_open(&config, &w->rand, &lent), 0);
	assert_int_equal(mount_add(w->client, "mine", &lent, &none, UINT64_MAX), 0);

	w->session.n_joins++;
	w->session.was_known = true;
	client_tick(w->client);

	assert_int_equal(w->n_heard[MSG_mount_segment], 1);
	mount_close_all(w->client, UINT64_MAX);
}

static void
mount__after_a_join_that_nobody_looked_at_and_another__is_said_again(void **state)
{
	struct world *w = *state;
	const struct lent_config config = {.size_bytes = 1 << 20};
	struct serve *none = NULL;
	struct lent *lent;

	assert_int_equal(lent_open(&config, &w->rand, &lent), 0);
	assert_int_equal(mount_add(w->client, "mine", &lent, &none, UINT64_MAX), 0);

	world_rejoin(w);
	w->session.n_joins++;
	w->session.was_known = true; /* by the join just before */
	client_tick(w->client);

	assert_int_equal(w->n_heard[MSG_mount_segment], 2);
	mount_close_all(w->client, UINT64_MAX);
}

static void
mount__with_bad_options__answers_invalid(void **state)
{
	struct world *w = *state;
	struct tiffin_mount_options options = {.struct_bytes = sizeof(options),
					       .size_bytes = 1 << 20};

	assert_int_equal(tiffin_mount(w->client, NULL, NULL), TIFFIN_E_INVALID);
	options.size_bytes = 4096;
	assert_int_equal(tiffin_mount(w->client, &options, NULL), TIFFIN_E_INVALID);
	options.size_bytes = (1 << 20) + 1;
	assert_int_equal(tiffin_mount(w->client, &options, NULL), TIFFIN_E_INVALID);
	options.size_bytes = 1 << 20;
	options.name = "two words";
	assert_int_equal(tiffin_mount(w->client, &options, NULL), TIFFIN_E_INVALID);
	options.name = "fine";
	options.listen = "nonsense";
	assert_int_equal(tiffin_mount(w->client, &options, NULL), TIFFIN_E_INVALID);
	options.listen = "0.0.0.0:0"; /* open to the network, and there is no cluster key */
	assert_int_equal(tiffin_mount(w->client, &options, NULL), TIFFIN_E_DENIED);
	assert_int_equal(tiffin_unmount(w->client, 4), TIFFIN_E_NOT_FOUND);
	assert_int_equal(w->n_heard[MSG_mount_segment], 0);
}

static void
registered_memory__may_not_overlap(void **state)
{
	struct world *w = *state;
	static char room[100];

	assert_int_equal(tiffin_register(w->client, room, 50), 0);
	assert_int_equal(tiffin_register(w->client, room + 49, 10), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_register(w->client, room + 50, 50), 0);
	assert_int_equal(tiffin_register(w->client, NULL, 1), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_register(w->client, room, SIZE_MAX), TIFFIN_E_INVALID);
	assert_int_equal(tiffin_unregister(w->client, room), 0);
	assert_int_equal(tiffin_unregister(w->client, room), TIFFIN_E_INVALID);
}

static void
open__with_bad_options__answers_invalid_and_says_which(void **state)
{
	struct tiffin_options options = {.struct_bytes = sizeof(options)};
	struct tiffin_client *client = NULL;

	(void)state;
	assert_int_equal(tiffin_open(NULL, NULL), TIFFIN_E_INVALID);
	options.master = "no address";
	assert_int_equal(tiffin_open(&options, &client), TIFFIN_E_INVALID);
	assert_non_null(strstr(tiffin_why(), "no address"));
	options.master = "unix:/nowhere/at/all";
	options.name = "two words";
	assert_int_equal(tiffin_open(&options, &client), TIFFIN_E_INVALID);
	options.name = NULL;
	options.struct_bytes = 4;
	assert_int_equal(tiffin_open(&options, &client), TIFFIN_E_INVALID);
	assert_null(client);
}

static void
open__where_no_master_is__is_unreachable(void **state)
{
	struct tiffin_options options = {.struct_bytes = sizeof(options),
					 .master = "unix:/tmp/tiffin-nobody-here.sock",
					 .open_ms = 50};
	struct tiffin_client *client = NULL;

	(void)state;
	assert_int_equal(tiffin_open(&options, &client), TIFFIN_E_UNREACHABLE);

	assert_non_null(strstr(tiffin_why(), "tiffin-nobody-here"));
	assert_null(client);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(forked_child__gets_an_error_from_its_parents_client_and_lives),
		world_test(client_that_closes__refuses_calls),
		world_test(call_under_way__when_the_client_closes__ends_as_closed),
		world_test(fence__ordered_by_a_ping__is_carried_out_and_told_at_once),
		world_test(fence__of_ourselves__waits_for_the_writes_of_before_and_no_others),
		world_test(mount__after_a_new_master__is_said_again_with_a_new_secret),
		world_test(mount__of_a_disk_that_refuses_a_write__is_drained_by_one_request),
		world_test(mount__said_again__names_ourselves_if_we_ever_write),
		world_test(mount__of_memory_lent_before__voids_grants_of_before),
		world_test(mount__refused__tells_of_the_same_former_master_when_it_is_said_again),
		world_test(mount__after_a_broken_line_to_the_same_master__is_not_said_again),
		world_test(mount__after_a_join_that_nobody_looked_at_and_another__is_said_again),
		world_test(mount__with_bad_options__answers_invalid),
		world_test(registered_memory__may_not_overlap),
		cmocka_unit_test(open__with_bad_options__answers_invalid_and_says_which),
		cmocka_unit_test(open__where_no_master_is__is_unreachable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
