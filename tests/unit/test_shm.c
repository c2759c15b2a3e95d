/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/xfer_world.h"

#include <fcntl.h>
#include <sys/socket.h>

static int
setup(void **state)
{
	*state = world_open(transport_shm_new, "unix");
	return 0;
}

static int
teardown(void **state)
{
	world_close(*state);
	return 0;
}

static void
ops__of_every_size_and_both_ways__move_the_right_bytes(void **state)
{
	world_moves_every_size(*state);
}

static void
write__of_more_than_one_piece__is_whole(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_WRITE);
	struct scatter s = scatter_new(&w->rand, 5 << 20);
	struct op op = op_for(w, OP_WRITE, &token, &s, 12345);

	scatter_fill(&s, 9);

	assert_int_equal(run(w, &op), OP_DONE);

	assert_false(scatter_differs(&s, w->lent->bytes + 12345));
	free(s.area);
}

static void
read__whose_deadline_is_over__times_out_and_moves_nothing(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ | TOKEN_MAP);
	struct scatter s = scatter_new(&w->rand, 100);
	struct op op = op_for(w, OP_READ, &token, &s, 0);

	op.deadline_ns = clock_ns(clock_real());

	assert_int_equal(run(w, &op), OP_E_TIMEOUT);

	assert_int_equal(((uint8_t *)s.slices[0].iov_base)[0], GAP);
	free(s.area);
}

static void
read__with_a_token_that_may_not_map__is_not_for_this_transport(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ);
	struct scatter s = scatter_new(&w->rand, 100);
	struct op op = op_for(w, OP_READ, &token, &s, 0);

	assert_int_equal(run(w, &op), OP_E_LOST); /* no other transport was there to ask */

	free(s.area);
}

static void
write__with_a_token_for_another_extent__is_not_done_even_when_mapped(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_WRITE);
	struct scatter s = scatter_new(&w->rand, 100);
	struct op op = op_for(w, OP_WRITE, &token, &s, 4096);
	uint8_t before;

	assert_int_equal(run(w, &op), OP_DONE);
	token.offset_bytes = 8192;
	token.len_bytes = 100;
	token_sign(&token, w->lent->secret);
	op = op_for(w, OP_WRITE, &token, &s, 8200); /* eight bytes too far */
	before = w->lent->bytes[8200];

	assert_int_equal(run(w, &op), OP_E_LOST);

	assert_int_equal(w->lent->bytes[8200], before);
	free(s.area);
}

static void
write__with_a_forged_token__is_not_done(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_WRITE);
	struct scatter s = scatter_new(&w->rand, 100);
	struct op op = op_for(w, OP_WRITE, &token, &s, 0);

	token.mac[3] ^= 1;

	assert_int_equal(run(w, &op), OP_E_LOST);

	assert_int_equal(w->lent->bytes[0], pattern(0));
	free(s.area);
}

static void
write__after_the_fence_of_its_client__is_not_done(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_WRITE);
	struct scatter s = scatter_new(&w->rand, 100);
	struct op op = op_for(w, OP_WRITE, &token, &s, 0);

	assert_int_equal(run(w, &op), OP_DONE);
	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), SERVE_E_ALIVE);
	w->lent->bytes[0] = 200;
	scatter_fill(&s, 5);
	op = op_for(w, OP_WRITE, &token, &s, 0);

	assert_int_equal(run(w, &op), OP_E_LOST);

	assert_int_equal(w->lent->bytes[0], 200);
	free(s.area);
}

static void
write__after_the_fence_of_another_client__asks_again_and_goes_on(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_WRITE);
	struct scatter s = scatter_new(&w->rand, 100);
	struct op op = op_for(w, OP_WRITE, &token, &s, 0);

	assert_int_equal(run(w, &op), OP_DONE);
	lent_fence(w->lent);
	scatter_fill(&s, 77);
	op = op_for(w, OP_WRITE, &token, &s, 0);

	assert_int_equal(run(w, &op), OP_DONE);

	assert_false(scatter_differs(&s, w->lent->bytes));
	free(s.area);
}

static void
target__on_another_host__is_not_for_this_transport(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ | TOKEN_MAP);
	struct scatter s = scatter_new(&w->rand, 100);
	struct target_desc desc = desc_of(w->lent, serve_endpoint(w->serve));
	struct op op;

	desc.host[0] ^= 1;
	engine_target_unref(w->engine, w->target);
	assert_int_equal(engine_target(w->engine, &desc, &w->target), 0);
	op = op_for(w, OP_READ, &token, &s, 0);

	assert_int_equal(run(w, &op), OP_E_LOST);

	free(s.area);
}

static void
target__of_another_epoch__is_not_mapped(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ | TOKEN_MAP);
	struct target_desc desc = desc_of(w->lent, serve_endpoint(w->serve));
	const void *bytes;

	desc.segment_epoch++;
	engine_target_unref(w->engine, w->target);
	assert_int_equal(engine_target(w->engine, &desc, &w->target), 0);

	assert_int_equal(engine_map(w->engine, w->target, &token, &bytes), ENGINE_E_NOT_HERE);
}

static void
map__shows_the_segment_and_outlives_the_provider(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ | TOKEN_MAP);
	const void *bytes;

	assert_int_equal(engine_map(w->engine, w->target, &token, &bytes), 0);
	serve_free(take(&w->serve));

	assert_memory_equal(bytes, w->lent->bytes, WORLD_SIZE);
}

static void
provider__that_was_not_there__is_not_asked_again_at_once(void **state)
{
	struct world *w = *state;
	struct token token = token_for(w->lent, TOKEN_READ | TOKEN_MAP);
	char endpoint[TARGET_ENDPOINT_MAX + 1];
	const void *bytes;

	snprintf(endpoint, sizeof(endpoint), "%s", serve_endpoint(w->serve));
	serve_free(w->serve);
	assert_int_equal(engine_map(w->engine, w->target, &token, &bytes), ENGINE_E_NOT_HERE);
	world_serve(w, endpoint);

	assert_int_equal(engine_map(w->engine, w->target, &token, &bytes), ENGINE_E_NOT_HERE);
}

static void
token__that_was_refused__does_not_stand_in_the_way_of_a_better_one(void **state)
{
	struct world *w = *state;
	struct token forged = token_for(w->lent, TOKEN_READ | TOKEN_MAP);
	struct token weak = token_for(w->lent, TOKEN_READ);
	struct token good = token_for(w->lent, TOKEN_READ | TOKEN_MAP);
	const void *bytes;

	forged.mac[0] ^= 1;
	assert_int_equal(engine_map(w->engine, w->target, &forged, &bytes), ENGINE_E_NOT_HERE);
	assert_int_equal(engine_map(w->engine, w->target, &weak, &bytes), ENGINE_E_NOT_HERE);

	assert_int_equal(engine_map(w->engine, w->target, &good, &bytes), 0);
}

/* ---- other users ---- */

/* as_nobody -- run fn in a child of another user; its exit status. */
static int
as_nobody(int (*fn)(struct world *), struct world *w)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(setgid(65534) < 0 || setuid(65534) < 0 ? 99 : fn(w));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/* ask_map -- by hand; the status, and the descriptor if one came. */
static int
ask_map(struct world *w, uint16_t flags, uint32_t rights, int *ret_fd)
{
	struct wire_request request = {
		.kind = WIRE_MAP,
		.flags = flags,
		.id = 5,
		.segment_id = w->lent->segment_id,
		.segment_epoch = w->lent->epoch,
		.len_bytes = 100,
		.token = token_for(w->lent, rights),
	};
	uint8_t bytes[WIRE_REQUEST_BYTES], back[WIRE_REPLY_BYTES];
	struct sock_addr addr;
	struct wire_reply reply;
	int sock;

	wire_request_encode(&request, bytes);
	if (sock_addr_parse(serve_endpoint(w->serve), &addr) != 0 ||
	    sock_connect(&addr, 1000, &sock) != 0 ||
	    sock_send_all(sock, bytes, sizeof(bytes), far_ns()) != 0 ||
	    sock_recv_fd(sock, back, sizeof(back), ret_fd, far_ns()) != 0 ||
	    wire_reply_decode(back, &reply) != 0)
		return -1;
	close(sock);
	return (int)reply.status;
}

static int
writable_is_refused(struct world *w)
{
	int fd = -1;

	return ask_map(w, WIRE_WRITABLE, TOKEN_WRITE, &fd) == WIRE_CANT && fd == -1 ? 0 : 1;
}

static int
readable_cannot_be_opened_for_writing(struct world *w)
{
	char path[64];
	int fd = -1;

	if (ask_map(w, 0, TOKEN_READ | TOKEN_MAP, &fd) != WIRE_DONE || fd < 0)
		return 1;
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
		return 2;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (open(path, O_RDWR) >= 0)
		return 3;
	return mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? 4 : 0;
}

static void
let_others_in(struct world *w)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/s", w->dir);
	assert_int_equal(chmod(w->dir, 0755), 0);
	assert_int_equal(chmod(path, 0666), 0);
}

static void
other_user__asks_for_writing__is_sent_to_the_other_transports(void **state)
{
	struct world *w = *state;

	if (geteuid() != 0)
		skip();
	let_others_in(w);

	assert_int_equal(as_nobody(writable_is_refused, w), 0);
}

static void
other_user__with_a_reader_s_descriptor__cannot_get_a_writer_s(void **state)
{
	struct world *w = *state;

	if (geteuid() != 0)
		skip();
	let_others_in(w);

	assert_int_equal(as_nobody(readable_cannot_be_opened_for_writing, w), 0);
}

/* ---- death of a writer ---- */

static void
fence__of_a_client_whose_writer_has_died__is_confirmed(void **state)
{
	struct world *w = *state;
	int to_child[2], to_us[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(to_child), 0);
	assert_int_equal(pipe(to_us), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = -1;
		bool ok = ask_map(w, WIRE_WRITABLE, TOKEN_WRITE, &fd) == WIRE_DONE && fd >= 0;

		if (!ok || write(to_us[1], &byte, 1) != 1 || read(to_child[0], &byte, 1) != 1)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(to_us[0], &byte, 1), 1);
	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), SERVE_E_ALIVE);

	assert_int_equal(write(to_child[1], &byte, 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);

	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);
	for (int i = 0; i < 2; i++) {
		close(to_child[i]);
		close(to_us[i]);
	}
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(ops__of_every_size_and_both_ways__move_the_right_bytes),
		T(write__of_more_than_one_piece__is_whole),
		T(read__whose_deadline_is_over__times_out_and_moves_nothing),
		T(read__with_a_token_that_may_not_map__is_not_for_this_transport),
		T(write__with_a_token_for_another_extent__is_not_done_even_when_mapped),
		T(write__with_a_forged_token__is_not_done),
		T(write__after_the_fence_of_its_client__is_not_done),
		T(write__after_the_fence_of_another_client__asks_again_and_goes_on),
		T(target__on_another_host__is_not_for_this_transport),
		T(target__of_another_epoch__is_not_mapped),
		T(map__shows_the_segment_and_outlives_the_provider),
		T(provider__that_was_not_there__is_not_asked_again_at_once),
		T(token__that_was_refused__does_not_stand_in_the_way_of_a_better_one),
		T(other_user__asks_for_writing__is_sent_to_the_other_transports),
		T(other_user__with_a_reader_s_descriptor__cannot_get_a_writer_s),
		T(fence__of_a_client_whose_writer_has_died__is_confirmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
