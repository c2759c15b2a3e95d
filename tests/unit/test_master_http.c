/* SPDX-License-Identifier: Apache-2.0 */

/* What is read by HTTP: the pages, made from a master without sockets. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "master/http.h"
#include "master/http_page.h"
#include "tests/unit/master_world.h"
#include "transfer/base/loop.h"

struct got {
	int status;
	size_t n_pieces;
	char *text; /* owned by the test */
};

/* One page whole, as the server would read it. */
static struct got
get(struct world *w, const char *path, const char *argument, const char *tenant)
{
	const struct http_route *route = http_route_find(path);
	struct http_page page;
	struct got got = {0};

	assert_non_null(route);
	http_page_init(&page, route, argument, tenant);
	for (int r = 0; r == HTTP_PAGE_WAITS || !page.is_whole; got.n_pieces++) {
		r = http_page_gather(&page, w->master);
		if (r == HTTP_PAGE_WAITS)
			world_turn(w);
		else
			assert_int_equal(r, 0);
	}
	assert_int_equal(http_page_write(&page), 0);
	got.status = page.status;
	assert_int_equal(buf_append(&page.text, "", 1), 0);
	got.text = strdup((const char *)buf_first(&page.text));
	http_page_fini(&page);
	return got;
}

static void
assert_page(struct world *w, const char *path, const char *argument, int status, const char *text)
{
	struct got got = get(w, path, argument, NULL);

	assert_string_equal(got.text, text);
	assert_int_equal(got.status, status);
	free(got.text);
}

static void
assert_says(const struct got *got, const char *line)
{
	if (strstr(got->text, line) == NULL)
		fail_msg("no \"%s\" in:\n%s", line, got->text);
}

static void
metrics__tell_counters_requests_segments_and_tenants(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct got got;

	end_mount(end, 1, 1, 64 * MIB);
	assert_true(end_put(end, "a", 1000) != 0);
	got = get(w, "/metrics", NULL, NULL);
	assert_int_equal(got.status, 200);
	assert_says(&got, "\ntiffin_master_puts_ended_total 1\n");
	assert_says(&got, "\ntiffin_master_objects 1\n");
	assert_says(&got, "\ntiffin_master_request_seconds_count{request=\"put_end\"} 1\n");
	assert_says(&got,
		    "\ntiffin_master_request_seconds_bucket{request=\"put_end\",le=\"+Inf\"} 1\n");
	assert_says(&got, "\n# TYPE tiffin_master_turn_seconds histogram\n");
	assert_says(&got, "\ntiffin_master_segment_used_bytes{segment=\"seg1\"} 1024\n");
	assert_says(&got, "\ntiffin_master_tenant_charged_bytes{tenant=\"default\"} 1024\n");
	assert_int_equal(got.text[strlen(got.text) - 1], '\n');
	free(got.text);
}

static void
a_request_that_waits_for_its_commit__counts_when_it_is_answered(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	const struct hist *hist = &w->master->requests[MSG_set_attr];
	struct rec_attr_set set = {.key = span_of("a", 1), .attr = span_of("x", 1)};
	uint64_t id;

	end_mount(end, 1, 1, 64 * MIB);
	assert_true(end_put(end, "a", 1000) != 0);
	id = SEND(end, set_attr, .n_sets = 1, .sets = &set);
	world_turn_alone(w);
	assert_int_equal(hist->n_all, 0);
	clock_fake_advance_ms(&w->clock, 7);
	world_turn(w);
	assert_int_equal(end_status(end, id), STATUS_OK);
	assert_int_equal(hist->n_all, 1);
	assert_int_equal(hist->sum_ns, 7000000);
}

static void
ready__says_what_is_missing(void **state)
{
	struct world *w = *state;

	assert_page(w, "/health", NULL, 200, "OK\n");
	assert_page(w, "/ready", NULL, 503, "no segment is mounted\n");
	end_mount(world_join(w, 11), 1, 1, 64 * MIB);
	assert_page(w, "/ready", NULL, 200, "OK\n");
}

static void
segments__are_told_a_line_each(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	assert_page(w, "/get_all_segments", NULL, 200, "");
	end_mount(end, 1, 1, 64 * MIB);
	end_mount(end, 2, 1, 64 * MIB);
	assert_true(end_put(end, "a", 0) != 0);
	assert_page(w, "/get_all_segments", NULL, 200, "seg1\nseg2\n");
	assert_page(w, "/query_segment", "seg1", 200,
		    "seg1\nUsed(bytes): 0\nCapacity(bytes) : 67108864\n");
	assert_page(w, "/query_segment", "none", 404, "no segment of that name is mounted\n");
}

static void
keys__are_told_in_order_each_one_word_on_a_line_of_its_own(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	end_mount(end, 1, 1, 64 * MIB);
	assert_true(end_put(end, "b\n%", 1) != 0);
	assert_true(end_put(end, "a", 1) != 0);
	assert_true(end_put(end, "\xc3\xa4 \"\\", 1) != 0);
	assert_page(w, "/get_all_keys", NULL, 200, "a\nb%0A%25\n%C3%A4%20%22%5C\n");
}

static void
many_keys__are_gathered_in_pieces(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct got got;
	size_t n = 0;
	char key[32];

	end_mount(end, 1, 1, 64 * MIB);
	for (int i = 0; i < 2100; i++) {
		snprintf(key, sizeof(key), "key-%05d", i);
		assert_true(end_put(end, key, 0) != 0);
	}
	got = get(w, "/get_all_keys", NULL, NULL);
	for (const char *at = got.text; (at = strchr(at, '\n')) != NULL; at++)
		n++;
	assert_int_equal(n, 2100);
	assert_true(got.n_pieces >= 3);
	free(got.text);
}

static void
a_key__is_told_with_its_copies_and_takes_no_lease(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct got got;
	char wanted[256];
	const struct object *object;
	uint64_t id;

	end_mount(end, 1, 1, 64 * MIB);
	id = end_put(end, "a", 600);
	snprintf(wanted, sizeof(wanted),
		 "{\"object_id\":%llu,\"length\":600,\"copies\":[{\"transport_endpoint_\":",
		 (unsigned long long)id);
	got = get(w, "/query_key", "a", NULL);
	assert_int_equal(got.status, 200);
	assert_says(&got, wanted);
	assert_says(&got, "\"segment\":\"seg1\",\"extents\":[{\"offset\":0,\"length\":600}]}]}\n");
	free(got.text);
	object = map_get(&w->master->objects, id);
	assert_int_equal(object->lease_until_ms, 0);
	assert_page(w, "/query_key", "none", 404, "{\"error\":\"no such key\"}\n");
	got = get(w, "/query_key", "a", "other");
	assert_int_equal(got.status, 404);
	free(got.text);
}

static void
many_keys_asked_for__are_answered_one_by_one(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);

	end_mount(end, 1, 1, 64 * MIB);
	assert_true(end_put(end, "a", 10) != 0);
	assert_page(w, "/batch_query_keys", "a,,none", 200,
		    "{\"success\":true,\"data\":{\"a\":{\"ok\":true,\"values\":[{\"transport_"
		    "endpoint_\":"
		    "\"shm:x\",\"segment\":\"seg1\",\"extents\":[{\"offset\":0,\"length\":10}]}]},"
		    "\"\":{\"ok\":false,\"error\":\"no such key\"},"
		    "\"none\":{\"ok\":false,\"error\":\"no such key\"}}}\n");
}

static void
many_keys_asked_for__are_told_in_pieces_that_do_not_hold_up_the_loop(void **state)
{
	struct world *w = *state;
	char keys[2 * 1000];
	size_t n_told = 0;
	struct got got;

	for (size_t i = 0; i < sizeof(keys); i += 2) {
		keys[i] = 'a';
		keys[i + 1] = ',';
	}
	keys[sizeof(keys) - 1] = '\0';
	got = get(w, "/batch_query_keys", keys, NULL);

	assert_true(got.n_pieces >= 1000 / 64);
	for (const char *at = got.text; (at = strstr(at, "no such key")) != NULL; at++)
		n_told++;
	assert_int_equal(n_told, 1000);
	assert_string_equal(got.text + strlen(got.text) - 3, "}}\n");
	free(got.text);
}

static void
what_is_not_committed_yet__is_not_told(void **state)
{
	struct world *w = *state;
	struct end *end = world_join(w, 11);
	struct http_page page;

	end_mount(end, 1, 1, 64 * MIB);
	assert_true(end_put(end, "a", 1) != 0);
	SEND(end, remove, .n_keys = 1, .keys = &(struct rec_key_only){span_of("a", 1)});
	world_turn_alone(w);
	http_page_init(&page, http_route_find("/get_all_keys"), NULL, NULL);
	assert_int_equal(http_page_gather(&page, w->master), HTTP_PAGE_WAITS);
	world_turn(w);
	assert_int_equal(http_page_gather(&page, w->master), 0);
	assert_int_equal(buf_len(&page.text), 0);
	http_page_fini(&page);
}

static void
an_address__is_judged_before_it_is_served(void **state)
{
	struct http *http = NULL, *second = NULL;
	char why[256], taken[64];
	struct asks *asks;
	struct loop *loop;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(asks_new(loop, &asks), 0);
	assert_int_equal(http_new(asks, "unix:/tmp/x", false, &http, why, sizeof(why)),
			 HTTP_E_BAD_ADDRESS);
	assert_int_equal(http_new(asks, "nonsense", false, &http, why, sizeof(why)),
			 HTTP_E_BAD_ADDRESS);
	assert_int_equal(http_new(asks, "0.0.0.0:0", false, &http, why, sizeof(why)), HTTP_E_OPEN);
	assert_non_null(strstr(why, "--insecure"));
	assert_int_equal(http_new(asks, "127.0.0.1:0", false, &http, why, sizeof(why)), 0);
	snprintf(taken, sizeof(taken), "127.0.0.1:%u", http_port(http));
	assert_int_equal(http_new(asks, taken, false, &second, why, sizeof(why)), HTTP_E_IN_USE);
	asks_close(asks);
	http_free(http);
	asks_free(asks);
	loop_free(loop);
}

/* status_for -- of a page that is not there, asked for by that name of the host. */
static int
status_for(uint16_t port, const char *host)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons(port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 0;
	char words[256];
	ssize_t n;

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	snprintf(words, sizeof(words), "GET /none HTTP/1.1\r\nHost: %s\r\n\r\n", host);
	assert_int_equal(send(fd, words, strlen(words), 0), (ssize_t)strlen(words));
	n = recv(fd, words, sizeof(words) - 1, 0);
	close(fd);
	assert_true(n > 0);
	words[n] = '\0';
	assert_int_equal(sscanf(words, "HTTP/1.1 %d", &status), 1);
	return status;
}

static void
a_name_of_somebody_else__is_not_served_on_a_local_address(void **state)
{
	struct http *http = NULL;
	char why[256];
	struct asks *asks;
	struct loop *loop;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(asks_new(loop, &asks), 0);
	assert_int_equal(http_new(asks, "127.0.0.1:0", false, &http, why, sizeof(why)), 0);

	assert_int_equal(status_for(http_port(http), "127.0.0.1"), 404);
	assert_int_equal(status_for(http_port(http), "127.1.2.3:9003"), 404);
	assert_int_equal(status_for(http_port(http), "LocalHost:9003"), 404);
	assert_int_equal(status_for(http_port(http), "[::1]:9003"), 404);
	assert_int_equal(status_for(http_port(http), "example.com"), 403);
	assert_int_equal(status_for(http_port(http), "127.example.com"), 403);
	assert_int_equal(status_for(http_port(http), "127.0.0.1.example.com:9003"), 403);

	asks_close(asks);
	http_free(http);
	asks_free(asks);
	loop_free(loop);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(metrics__tell_counters_requests_segments_and_tenants),
		WITH_WORLD(a_request_that_waits_for_its_commit__counts_when_it_is_answered),
		WITH_WORLD(ready__says_what_is_missing),
		WITH_WORLD(segments__are_told_a_line_each),
		WITH_WORLD(keys__are_told_in_order_each_one_word_on_a_line_of_its_own),
		WITH_WORLD(many_keys__are_gathered_in_pieces),
		WITH_WORLD(a_key__is_told_with_its_copies_and_takes_no_lease),
		WITH_WORLD(many_keys_asked_for__are_answered_one_by_one),
		WITH_WORLD(many_keys_asked_for__are_told_in_pieces_that_do_not_hold_up_the_loop),
		WITH_WORLD(what_is_not_committed_yet__is_not_told),
		cmocka_unit_test(an_address__is_judged_before_it_is_served),
		cmocka_unit_test(a_name_of_somebody_else__is_not_served_on_a_local_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
