/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/xfer_world.h"

#include <errno.h>
#include <sched.h>
#include <sys/socket.h>

static int
setup(void **state)
{
	*state = world_open(transport_tcp_new, "127.0.0.1:0");
	return 0;
}

static int
setup_unix(void **state)
{
	*state = world_open(transport_tcp_new, "unix");
	return 0;
}

static int
teardown(void **state)
{
	world_close(*state);
	return 0;
}

/* ---- a client made by hand ---- */

static int
dial(struct world *w)
{
	struct sock_addr addr;
	int fd = -1;

	assert_int_equal(sock_addr_parse(serve_endpoint(w->serve), &addr), 0);
	assert_int_equal(sock_connect(&addr, 5000, &fd), 0);
	return fd;
}

static struct wire_request
request_for(struct world *w, enum wire_kind kind, uint32_t rights)
{
	return (struct wire_request){
		.kind = kind,
		.id = 1,
		.segment_id = w->lent->segment_id,
		.segment_epoch = w->lent->epoch,
		.offset_bytes = 1000,
		.len_bytes = 64,
		.token = token_for(w->lent, rights),
	};
}

static void
send_request(int fd, const struct wire_request *request)
{
	uint8_t bytes[WIRE_REQUEST_BYTES];

	wire_request_encode(request, bytes);
	assert_int_equal(sock_send_all(fd, bytes, sizeof(bytes), far_ns()), 0);
}

/* next_status -- of the next answer, whose bytes are thrown away; -1: the provider hung up. */
static int
next_status(int fd)
{
	uint8_t bytes[WIRE_REPLY_BYTES], away[4096];
	struct wire_reply reply;

	if (sock_recv_all(fd, bytes, sizeof(bytes), far_ns()) != 0)
		return -1;
	assert_int_equal(wire_reply_decode(bytes, &reply), 0);
	assert_true(reply.len_bytes <= sizeof(away));
	if (reply.len_bytes > 0 && sock_recv_all(fd, away, reply.len_bytes, far_ns()) != 0)
		return -1;
	return (int)reply.status;
}

/* ask -- on a connection of its own; with a WRITE, 64 bytes of 0xee follow. */
static int
ask(struct world *w, const struct wire_request *request)
{
	int fd = dial(w);
	uint8_t bytes[64];
	int status;

	memset(bytes, 0xee, sizeof(bytes));
	send_request(fd, request);
	if (request->kind == WIRE_WRITE)
		assert_int_equal(sock_send_all(fd, bytes, sizeof(bytes), far_ns()), 0);
	status = next_status(fd);
	close(fd);
	return status;
}

static void
sign(struct world *w, struct wire_request *request)
{
	token_sign(&request->token, w->lent->secret);
}

/* ---- tokens ---- */

static void
read_and_write__with_the_right_token__are_done(void **state)
{
	struct world *w = *state;
	struct wire_request read = request_for(w, WIRE_READ, TOKEN_READ);
	struct wire_request write = request_for(w, WIRE_WRITE, TOKEN_WRITE);

	assert_int_equal(ask(w, &read), WIRE_DONE);
	assert_int_equal(ask(w, &write), WIRE_DONE);
	assert_int_equal(w->lent->bytes[1000], 0xee);
	assert_int_equal(w->lent->bytes[1063], 0xee);
	assert_int_equal(w->lent->bytes[1064], pattern(1064));
}

static void
token__whose_mac_is_wrong__is_refused(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_WRITE, TOKEN_WRITE);

	request.token.mac[15] ^= 0x80;

	assert_int_equal(ask(w, &request), WIRE_REFUSED);
	assert_int_equal(w->lent->bytes[1000], pattern(1000));
}

static void
token__whose_fields_were_changed__is_refused(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);

	request.token.until_ms++;

	assert_int_equal(ask(w, &request), WIRE_REFUSED);
}

static void
token__for_reading__does_not_write(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_WRITE, TOKEN_READ | TOKEN_MAP);

	assert_int_equal(ask(w, &request), WIRE_REFUSED);
	assert_int_equal(w->lent->bytes[1000], pattern(1000));
}

static void
token__for_writing__reads_its_extent_back_and_no_more(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_WRITE);

	request.token.offset_bytes = 1000;
	request.token.len_bytes = 64;
	sign(w, &request);
	assert_int_equal(ask(w, &request), WIRE_DONE);
	request.len_bytes = 65;

	assert_int_equal(ask(w, &request), WIRE_REFUSED);
}

static void
token__that_is_over__is_refused(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);

	request.token.until_ms = clock_ms(clock_real());
	sign(w, &request);

	assert_int_equal(ask(w, &request), WIRE_REFUSED);
}

static void
token__of_another_segment_or_epoch__is_refused(void **state)
{
	struct world *w = *state;
	struct wire_request segment = request_for(w, WIRE_READ, TOKEN_READ);
	struct wire_request epoch = segment, said = segment;

	segment.token.segment_id++;
	sign(w, &segment);
	epoch.token.segment_epoch--;
	sign(w, &epoch);
	said.segment_epoch--;

	assert_int_equal(ask(w, &segment), WIRE_REFUSED);
	assert_int_equal(ask(w, &epoch), WIRE_REFUSED);
	assert_int_equal(ask(w, &said), WIRE_REFUSED);
}

static void
segment__that_is_not_lent__is_refused(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);

	request.segment_id = 0;
	assert_int_equal(ask(w, &request), WIRE_REFUSED);
	request.segment_id = 4711;
	assert_int_equal(ask(w, &request), WIRE_REFUSED);
}

static void
write__next_to_its_extent__is_refused(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_WRITE, TOKEN_WRITE);

	request.token.offset_bytes = 1001;
	request.token.len_bytes = 4096;
	sign(w, &request);

	assert_int_equal(ask(w, &request), WIRE_REFUSED);
	assert_int_equal(w->lent->bytes[1001], pattern(1001));
}

static void
range__outside_of_the_segment__is_told_so_whatever_the_sum(void **state)
{
	static const uint64_t ranges[][2] = {
		{WORLD_SIZE, 1},          {WORLD_SIZE - 1, 2}, {UINT64_MAX, 1}, {UINT64_MAX, 64},
		{UINT64_MAX - 63, 64},    {0, UINT64_MAX},     {1, UINT64_MAX}, {0, WORLD_SIZE + 1},
		{1ull << 63, 1ull << 63},
	};
	struct world *w = *state;

	for (size_t i = 0; i < array_len(ranges); i++) {
		struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);

		request.offset_bytes = ranges[i][0];
		request.len_bytes = ranges[i][1];
		assert_int_equal(ask(w, &request), WIRE_OUTSIDE);
	}
}

static void
refused_write__between_two_good_ones__does_not_disturb_them(void **state)
{
	struct world *w = *state;
	struct wire_request good = request_for(w, WIRE_WRITE, TOKEN_WRITE);
	struct wire_request bad = request_for(w, WIRE_WRITE, TOKEN_READ);
	uint8_t bytes[64] = {1};
	int fd = dial(w);

	for (int i = 0; i < 3; i++) {
		send_request(fd, i == 1 ? &bad : &good);
		assert_int_equal(sock_send_all(fd, bytes, sizeof(bytes), far_ns()), 0);
	}

	assert_int_equal(next_status(fd), WIRE_DONE);
	assert_int_equal(next_status(fd), WIRE_REFUSED);
	assert_int_equal(next_status(fd), WIRE_DONE);
	close(fd);
}

/* ---- connections ---- */

static void
connection__that_shows_another_client_s_token__is_cut(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);
	int fd = dial(w);

	send_request(fd, &request);
	assert_int_equal(next_status(fd), WIRE_DONE);
	request.token.client_id++;
	sign(w, &request);
	send_request(fd, &request);

	assert_int_equal(next_status(fd), -1);
	close(fd);
}

static void
token__of_no_client__is_cut(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);

	request.token.client_id = 0;
	sign(w, &request);

	assert_int_equal(ask(w, &request), -1);
}

static void
garbage__is_cut_and_others_go_on(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);

	for (unsigned i = 0; i < 50; i++) {
		uint8_t bytes[300];
		int fd = dial(w);

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)rand_u64(&w->rand);
		/* One that is cut off in the middle of its head hears nothing of it. */
		assert_int_equal(sock_send_all(fd, bytes, WIRE_REQUEST_BYTES, far_ns()), 0);
		assert_int_equal(next_status(fd), -1);
		close(fd);
	}

	assert_int_equal(ask(w, &request), WIRE_DONE);
}

static void
header__with_one_bit_turned__is_cut(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);
	uint8_t bytes[WIRE_REQUEST_BYTES];

	wire_request_encode(&request, bytes);
	for (size_t i = 0; i < sizeof(bytes); i += 5) {
		int fd = dial(w);

		bytes[i] ^= 4;
		assert_int_equal(sock_send_all(fd, bytes, sizeof(bytes), far_ns()), 0);
		assert_int_equal(next_status(fd), -1);
		bytes[i] ^= 4;
		close(fd);
	}
}

static void
connections__more_than_allowed__are_told_that_it_is_busy(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);
	int fds[16], one_more;

	for (size_t i = 0; i < array_len(fds); i++) {
		fds[i] = dial(w);
		send_request(fds[i], &request);
		assert_int_equal(next_status(fds[i]), WIRE_DONE);
	}
	one_more = dial(w);

	assert_int_equal(next_status(one_more), WIRE_BUSY);
	assert_int_equal(next_status(one_more), -1);

	close(one_more);
	for (size_t i = 0; i < array_len(fds); i++)
		close(fds[i]);
}

/* impatient -- a provider that cuts off who stands still for 30 ms. */
static void
make_impatient(struct world *w)
{
	struct serve_config config = {
		.clock = clock_real(),
		.listen = "127.0.0.1:0",
		.idle_ms = 30,
		.connections_max = 4,
	};

	serve_free(w->serve);
	assert_int_equal(serve_new(&config, &w->serve), 0);
	assert_int_equal(serve_add(w->serve, w->lent), 0);
}

static void
peer__that_says_nothing_at_first__is_cut_off(void **state)
{
	struct world *w = *state;
	int fd;

	make_impatient(w);
	fd = dial(w);

	assert_int_equal(next_status(fd), -1);
	close(fd);
}

static void
peer__that_stands_still_in_a_write__is_cut_off(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_WRITE, TOKEN_WRITE);
	int fd;

	make_impatient(w);
	fd = dial(w);
	send_request(fd, &request);
	assert_int_equal(sock_send_all(fd, "half", 4, far_ns()), 0);

	assert_int_equal(next_status(fd), -1);
	close(fd);
}

static void
peer__that_does_not_take_its_bytes__is_cut_off(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);
	struct serve_counts counts;
	struct pollfd pollfd = {.events = POLLRDHUP};

	make_impatient(w);
	pollfd.fd = dial(w);
	request.offset_bytes = 0;
	request.len_bytes = WORLD_SIZE;
	for (int i = 0; i < 4; i++) /* more than the sockets hold */
		send_request(pollfd.fd, &request);

	assert_int_equal(poll(&pollfd, 1, 10000), 1);

	serve_counts(w->serve, &counts);
	assert_true(counts.ops_read < 4);
	close(pollfd.fd);
}

static void
known_peer__between_two_requests__may_rest(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);
	struct pollfd pollfd = {.events = POLLIN};

	make_impatient(w);
	pollfd.fd = dial(w);
	send_request(pollfd.fd, &request);
	assert_int_equal(next_status(pollfd.fd), WIRE_DONE);
	assert_int_equal(poll(&pollfd, 1, 120), 0); /* four times the patience: not cut off */
	send_request(pollfd.fd, &request);

	assert_int_equal(next_status(pollfd.fd), WIRE_DONE);
	close(pollfd.fd);
}

static void
write__whose_token_ends_on_the_way__goes_no_further(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_WRITE, TOKEN_WRITE);
	struct clock_fake fake;
	struct serve_config config = {
		.clock = &fake.base,
		.listen = "127.0.0.1:0",
		.idle_ms = 5000,
		.connections_max = 4,
	};
	uint8_t *piece = calloc(1, 1 << 20);
	int fd;

	clock_fake_init(&fake, 1000);
	serve_free(w->serve);
	assert_int_equal(serve_new(&config, &w->serve), 0);
	assert_int_equal(serve_add(w->serve, w->lent), 0);
	request.offset_bytes = 0;
	request.len_bytes = 3 << 20;
	request.token.until_ms = 1001;
	sign(w, &request);
	fd = dial(w);
	send_request(fd, &request);
	assert_int_equal(sock_send_all(fd, piece, 1 << 20, far_ns()), 0);
	while (__atomic_load_n(&w->lent->bytes[(1 << 20) - 1], __ATOMIC_RELAXED) != 0)
		sched_yield(); /* until the first piece is in place */

	clock_fake_advance_ms(&fake, 1);
	(void)!sock_send_all(fd, piece, 1 << 20, far_ns());
	(void)!sock_send_all(fd, piece, 1 << 20, far_ns());

	assert_int_equal(next_status(fd), -1);
	assert_int_equal(w->lent->bytes[(3 << 20) - 1], pattern((3 << 20) - 1));
	close(fd);
	free(piece);
}

/* ---- fence ---- */

static void
fence__cuts_the_client_and_refuses_its_old_write_tokens(void **state)
{
	struct world *w = *state;
	struct wire_request write = request_for(w, WIRE_WRITE, TOKEN_WRITE);
	struct wire_request read = request_for(w, WIRE_READ, TOKEN_READ);
	uint8_t bytes[64] = {0};
	int fd = dial(w);

	send_request(fd, &write);
	assert_int_equal(sock_send_all(fd, bytes, sizeof(bytes), far_ns()), 0);
	assert_int_equal(next_status(fd), WIRE_DONE);

	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);

	assert_int_equal(next_status(fd), -1);
	assert_int_equal(ask(w, &write), WIRE_REFUSED);
	assert_int_equal(ask(w, &read), WIRE_DONE); /* reading is not concerned */
	close(fd);
}

static void
fence__in_the_middle_of_a_write__no_byte_comes_after_it(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_WRITE, TOKEN_WRITE);
	uint8_t bytes[64];
	int fd = dial(w);

	memset(bytes, 0xee, sizeof(bytes));
	send_request(fd, &request);
	assert_int_equal(sock_send_all(fd, bytes, 32, far_ns()), 0);
	assert_int_equal(ask(w, &request), WIRE_DONE); /* so the provider has been there */
	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);
	memset(w->lent->bytes + 1000, 0x55, 64); /* the range has another owner now */

	(void)!sock_send_all(fd, bytes, 32, far_ns());
	assert_int_equal(next_status(fd), -1);

	for (size_t i = 1000; i < 1064; i++)
		assert_int_equal(w->lent->bytes[i], 0x55);
	close(fd);
}

static void
fence__leaves_other_clients_alone(void **state)
{
	struct world *w = *state;
	struct wire_request write = request_for(w, WIRE_WRITE, TOKEN_WRITE);
	uint8_t bytes[64] = {0};
	int fd = dial(w);

	write.token.client_id = 99;
	sign(w, &write);
	send_request(fd, &write);
	assert_int_equal(sock_send_all(fd, bytes, sizeof(bytes), far_ns()), 0);
	assert_int_equal(next_status(fd), WIRE_DONE);

	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);

	send_request(fd, &write);
	assert_int_equal(sock_send_all(fd, bytes, sizeof(bytes), far_ns()), 0);
	assert_int_equal(next_status(fd), WIRE_DONE);
	close(fd);
}

static void
fence__of_a_client_never_seen__is_confirmed(void **state)
{
	struct world *w = *state;

	assert_int_equal(serve_fence(w->serve, 123456), 0);
}

static void
write_token__that_ends_after_any_of_before_could__is_accepted_again(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_WRITE, TOKEN_WRITE);

	assert_int_equal(serve_fence(w->serve, WORLD_CLIENT), 0);
	request.token.until_ms = clock_ms(clock_real()) + SERVE_WRITE_TOKEN_MS_MAX + 60000;
	sign(w, &request);

	assert_int_equal(ask(w, &request), WIRE_DONE);
}

/* ---- memory ---- */

static void
map__over_tcp__is_not_to_be_had(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_MAP, TOKEN_READ | TOKEN_MAP);

	assert_int_equal(ask(w, &request), WIRE_CANT);
}

static void
map__with_a_token_that_may_not__is_refused(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_MAP, TOKEN_READ);

	assert_int_equal(ask(w, &request), WIRE_REFUSED);
	request.flags = WIRE_WRITABLE;
	assert_int_equal(ask(w, &request), WIRE_REFUSED);
}

static void
unix_socket__is_its_owner_s_alone(void **state)
{
	struct world *w = *state;
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/s", w->dir);
	assert_int_equal(stat(path, &st), 0);

	assert_int_equal(st.st_mode & 0777, 0600);
}

/* ---- life ---- */

static void
remove__while_a_reader_stands_still__does_not_wait_for_it(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);
	uint64_t begin_ns = clock_ns(clock_real());
	uint8_t byte;
	int fd = dial(w);

	request.offset_bytes = 0;
	request.len_bytes = WORLD_SIZE;
	for (int i = 0; i < 8; i++)
		send_request(fd, &request);
	assert_int_equal(sock_recv_all(fd, &byte, 1, far_ns()), 0);

	serve_remove(w->serve, w->lent);

	assert_true(clock_ns(clock_real()) - begin_ns < NS_PER_S);
	close(fd);
}

static void
segment__that_was_removed__is_refused(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);

	serve_remove(w->serve, w->lent);

	assert_int_equal(ask(w, &request), WIRE_REFUSED);
}

static void
segment__added_twice__is_an_error(void **state)
{
	struct world *w = *state;

	assert_int_equal(serve_add(w->serve, w->lent), -EEXIST);
}

static int
new_outcome(const char *listen)
{
	struct serve_config config = {
		.clock = clock_real(), .listen = listen, .idle_ms = 1000, .connections_max = 4};
	struct serve *serve = NULL;
	int r = serve_new(&config, &serve);

	serve_free(serve);
	return r;
}

static void
listen__at_what_is_no_address__is_told(void **state)
{
	(void)state;
	assert_int_equal(new_outcome(""), SERVE_E_BAD_ADDRESS);
	assert_int_equal(new_outcome("   "), SERVE_E_BAD_ADDRESS);
	assert_int_equal(new_outcome("nonsense"), SERVE_E_BAD_ADDRESS);
	assert_int_equal(new_outcome("127.0.0.1:99999"), SERVE_E_BAD_ADDRESS);
	assert_int_equal(new_outcome("127.0.0.1:0 unix:"), SERVE_E_BAD_ADDRESS);
	assert_int_equal(new_outcome("192.0.2.1:0"), SERVE_E_BAD_ADDRESS); /* not of this machine */
}

static void
listen__where_another_does__is_told(void **state)
{
	struct world *w = *state;

	assert_int_equal(new_outcome(serve_endpoint(w->serve)), SERVE_E_IN_USE);
}

static void
counts__tell_what_was_done(void **state)
{
	struct world *w = *state;
	struct wire_request read = request_for(w, WIRE_READ, TOKEN_READ);
	struct wire_request bad = request_for(w, WIRE_WRITE, TOKEN_READ);
	struct serve_counts counts;
	int fd = dial(w);

	for (int i = 0; i < 2; i++) {
		send_request(fd, &read);
		assert_int_equal(next_status(fd), WIRE_DONE);
	}
	assert_int_equal(ask(w, &bad), WIRE_REFUSED);
	send_request(fd, &read);
	assert_int_equal(next_status(fd), WIRE_DONE);

	serve_counts(w->serve, &counts);

	assert_true(counts.ops_read >= 2); /* the last one is counted after it was answered */
	assert_true(counts.bytes_read >= 128);
	assert_int_equal(counts.ops_write, 0);
	assert_int_equal(counts.n_refused, 1);
	close(fd);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define U(name) cmocka_unit_test_setup_teardown(name, setup_unix, teardown)
	const struct CMUnitTest tests[] = {
		T(read_and_write__with_the_right_token__are_done),
		T(token__whose_mac_is_wrong__is_refused),
		T(token__whose_fields_were_changed__is_refused),
		T(token__for_reading__does_not_write),
		T(token__for_writing__reads_its_extent_back_and_no_more),
		T(token__that_is_over__is_refused),
		T(token__of_another_segment_or_epoch__is_refused),
		T(segment__that_is_not_lent__is_refused),
		T(write__next_to_its_extent__is_refused),
		T(range__outside_of_the_segment__is_told_so_whatever_the_sum),
		T(refused_write__between_two_good_ones__does_not_disturb_them),
		T(connection__that_shows_another_client_s_token__is_cut),
		T(token__of_no_client__is_cut),
		T(garbage__is_cut_and_others_go_on),
		T(header__with_one_bit_turned__is_cut),
		T(connections__more_than_allowed__are_told_that_it_is_busy),
		T(peer__that_says_nothing_at_first__is_cut_off),
		T(peer__that_stands_still_in_a_write__is_cut_off),
		T(peer__that_does_not_take_its_bytes__is_cut_off),
		T(known_peer__between_two_requests__may_rest),
		T(write__whose_token_ends_on_the_way__goes_no_further),
		T(fence__cuts_the_client_and_refuses_its_old_write_tokens),
		T(fence__in_the_middle_of_a_write__no_byte_comes_after_it),
		T(fence__leaves_other_clients_alone),
		T(fence__of_a_client_never_seen__is_confirmed),
		T(write_token__that_ends_after_any_of_before_could__is_accepted_again),
		T(map__over_tcp__is_not_to_be_had),
		U(map__with_a_token_that_may_not__is_refused),
		U(unix_socket__is_its_owner_s_alone),
		T(remove__while_a_reader_stands_still__does_not_wait_for_it),
		T(segment__that_was_removed__is_refused),
		T(segment__added_twice__is_an_error),
		T(listen__at_what_is_no_address__is_told),
		T(listen__where_another_does__is_told),
		T(counts__tell_what_was_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
