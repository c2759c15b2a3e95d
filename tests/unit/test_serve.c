/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/xfer_dial.h"

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
write__that_cuts_one_sided_writes__is_done_where_there_are_none(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_WRITE, TOKEN_WRITE);

	request.flags = WIRE_CUT;

	assert_int_equal(ask(w, &request), WIRE_DONE);
	assert_int_equal(w->lent->bytes[1000], 0xee);
}

static void
token__shown_over_tcp__is_of_no_use_there(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_SHOW, TOKEN_WRITE);

	assert_int_equal(ask(w, &request), WIRE_CANT);
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
		{WORLD_SIZE, 1},  {WORLD_SIZE - 1, 2},   {UINT64_MAX, 1},
		{UINT64_MAX, 64}, {UINT64_MAX - 63, 64}, {0, UINT64_MAX},
		{1, UINT64_MAX},  {0, WORLD_SIZE + 1},   {1ull << 63, 1ull << 63},
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

/* drip -- one byte each 10 ms, or as long as the provider listens.  What it says then. */
static int
drip(int fd, const uint8_t *bytes, size_t len)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};

	for (size_t i = 0; i < len; i++) {
		if (send(fd, bytes + i, 1, MSG_NOSIGNAL) != 1)
			return -1;
		if (poll(&pollfd, 1, 10) != 0)
			break;
	}
	return next_status(fd);
}

static void
peer__whose_write_drips_in__is_cut_off(void **state)
{
	struct world *w = *state;
	struct wire_request good = request_for(w, WIRE_WRITE, TOKEN_WRITE);
	struct wire_request bad = request_for(w, WIRE_WRITE, TOKEN_READ);
	const struct wire_request *requests[] = {&good, &bad};
	uint8_t bytes[64];

	memset(bytes, 0xee, sizeof(bytes));
	make_impatient(w);
	for (size_t i = 0; i < array_len(requests); i++) {
		int fd = dial(w);

		send_request(fd, requests[i]);
		assert_int_equal(drip(fd, bytes, sizeof(bytes)), -1);
		close(fd);
	}
}

static void
peer__whose_request_drips_in__is_cut_off(void **state)
{
	struct world *w = *state;
	struct wire_request request = request_for(w, WIRE_READ, TOKEN_READ);
	uint8_t head[WIRE_REQUEST_BYTES];
	int fd;

	make_impatient(w);
	wire_request_encode(&request, head);

	fd = dial(w);
	assert_int_equal(drip(fd, head, sizeof(head)), -1);
	close(fd);

	/* Nor may one that is known. */
	fd = dial(w);
	send_request(fd, &request);
	assert_int_equal(next_status(fd), WIRE_DONE);
	assert_int_equal(drip(fd, head, sizeof(head)), -1);
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
		T(peer__whose_write_drips_in__is_cut_off),
		T(peer__whose_request_drips_in__is_cut_off),
		T(peer__that_does_not_take_its_bytes__is_cut_off),
		T(known_peer__between_two_requests__may_rest),
		T(map__over_tcp__is_not_to_be_had),
		T(write__that_cuts_one_sided_writes__is_done_where_there_are_none),
		T(token__shown_over_tcp__is_of_no_use_there),
		U(map__with_a_token_that_may_not__is_refused),
		U(unix_socket__is_its_owner_s_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
