/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fuzz_serve.c -- one connection to the provider's door, led by the input.
 *
 *      input:  request, its numbers and bytes, request, ...
 *              each signed by the segment's own secret, or spoilt afterwards
 *
 *      socket --> serve_conn.c --> the segment (SEGMENT_BYTES, a pattern)
 *
 * Laws: the provider answers in order and hangs up, it never stands still; every answer
 * decodes; no byte changes but those that a genuine WRITE was allowed to; the segment's
 * header stays right.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transfer/base/buf.h"
#include "transfer/base/clock.h"
#include "transfer/base/crc.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/rand.h"
#include "transfer/base/sock.h"
#include "transfer/lent_header.h"
#include "transfer/serve.h"
#include "transfer/wire.h"

#define SEGMENT_BYTES LENT_SIZE_MIN
#define REQUESTS_MAX  24
#define STREAM_MAX    (96u << 10) /* the socket takes so much without being read from */
#define ANSWER_MS     5000
#define CLIENT_ID     7
#define FENCED_ID     1
#define TOKEN_MS      600000

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

struct range {
	uint64_t from, to;
};

struct talk {
	const uint8_t *at, *end;
	struct buf stream;                  /* what is sent */
	struct range allowed[REQUESTS_MAX]; /* what may be written */
	size_t n_allowed;
};

static struct serve *serve;
static struct lent *lent;
static char dir[64];
static uint8_t *shadow; /* the segment as it should be */

/* ---- the input ---- */

static uint8_t
next_u8(struct talk *t)
{
	return t->at < t->end ? *t->at++ : 0;
}

static uint64_t
next_number(struct talk *t)
{
	static const uint64_t edges[] = {0,
					 1,
					 4095,
					 4096,
					 SEGMENT_BYTES - 1,
					 SEGMENT_BYTES,
					 SEGMENT_BYTES + 1,
					 1ull << 32,
					 1ull << 63,
					 UINT64_MAX - 4096,
					 UINT64_MAX};
	uint8_t x = next_u8(t);

	return x < 0xc0 ? x * 61ull : edges[x % array_len(edges)];
}

static void
append(struct talk *t, const void *bytes, size_t n)
{
	if (buf_append(&t->stream, bytes, n) != 0)
		abort();
}

/* ---- requests ---- */

static struct wire_request
next_request(struct talk *t, uint8_t how)
{
	struct wire_request request = {
		.kind = (enum wire_kind)(1 + how % 3),
		.flags = how / 4 % 2,
		.id = t->stream.end,
		.segment_id = lent->segment_id,
		.segment_epoch = lent->epoch,
		.offset_bytes = next_number(t),
		.len_bytes = next_number(t),
	};

	request.token = (struct token){
		.client_id = CLIENT_ID,
		.segment_id = lent->segment_id,
		.segment_epoch = lent->epoch,
		.until_ms = clock_ms(clock_real()) + TOKEN_MS,
		.rights = TOKEN_READ | TOKEN_WRITE | TOKEN_MAP,
	};
	return request;
}

/* One thing that is not as it should be, before it is signed. */
static void
spoil(struct talk *t, struct wire_request *request)
{
	uint8_t how = next_u8(t);

	switch (how % 10) {
	case 0:
		request->segment_id ^= next_u8(t);
		break;
	case 1:
		request->segment_epoch ^= next_u8(t);
		break;
	case 2:
		request->token.segment_id ^= next_u8(t);
		break;
	case 3:
		request->token.segment_epoch ^= next_u8(t);
		break;
	case 4:
		request->token.until_ms = next_number(t);
		break;
	case 5:
		request->token.client_id = next_u8(t) % 3;
		break;
	case 6:
		request->token.rights = next_u8(t) % 16;
		break;
	default:
		request->token.offset_bytes = next_number(t);
		request->token.len_bytes = next_number(t);
	}
}

/* An own judge, plainer than the door's. */
static bool
may_write(const struct wire_request *request)
{
	const struct token *token = &request->token;
	uint64_t from = request->offset_bytes, len = request->len_bytes;
	bool is_whole = token->offset_bytes == 0 && token->len_bytes == 0;

	if (request->kind != WIRE_WRITE || (token->rights & TOKEN_WRITE) == 0)
		return false;
	if (request->segment_id != lent->segment_id || request->segment_epoch != lent->epoch ||
	    token->segment_id != lent->segment_id || token->segment_epoch != lent->epoch)
		return false;
	if (from > SEGMENT_BYTES || len > SEGMENT_BYTES - from)
		return false;
	if (token->until_ms < clock_ms(clock_real()))
		return false;
	if (is_whole)
		return true;
	return from >= token->offset_bytes && from - token->offset_bytes <= token->len_bytes &&
	       len <= token->len_bytes - (from - token->offset_bytes);
}

static void
allow(struct talk *t, const struct wire_request *request)
{
	t->allowed[t->n_allowed++] =
		(struct range){request->offset_bytes, request->offset_bytes + request->len_bytes};
}

/* The bytes behind a WRITE: all of them, or, where the input says so, fewer or more. */
static void
add_bytes(struct talk *t, const struct wire_request *request, uint8_t how)
{
	uint64_t len = how % 16 == 0 ? next_u8(t) : request->len_bytes;

	for (len = num_min(len, (uint64_t)(STREAM_MAX / 4)); len > 0; len--)
		append(t, &how, 1);
}

static void
add_request(struct talk *t)
{
	uint8_t how = next_u8(t), then = next_u8(t);
	struct wire_request request = next_request(t, how);
	uint8_t head[WIRE_REQUEST_BYTES];

	if (how & 0x40)
		spoil(t, &request);
	token_sign(&request.token, lent->secret);
	if (then % 8 == 1)
		request.token.mac[next_u8(t) % TOKEN_MAC_BYTES] ^= 1;
	else if (may_write(&request))
		allow(t, &request);
	wire_request_encode(&request, head);
	if (then % 8 == 2) /* its sum tells */
		head[next_u8(t) % sizeof(head)] ^= (uint8_t)(1 + next_u8(t) % 255);
	append(t, head, sizeof(head));
	if (request.kind == WIRE_WRITE)
		add_bytes(t, &request, then);
}

static void
add_garbage(struct talk *t)
{
	size_t n = next_u8(t);

	n = num_min(n, (size_t)(t->end - t->at));
	if (n > 0)
		append(t, t->at, n);
	t->at += n;
}

/* ---- the connection ---- */

static int
dial(void)
{
	struct sock_addr addr;
	int fd = -1;

	if (sock_addr_parse(serve_endpoint(serve), &addr) != 0 ||
	    sock_connect(&addr, ANSWER_MS, &fd) != 0)
		abort();
	return fd;
}

/* drain -- until it hangs up; the answers, one after the other, must be such. */
static void
drain(int fd)
{
	static uint8_t away[256 << 10];
	uint64_t until_ns = clock_ns(clock_real()) + ANSWER_MS * NS_PER_MS;
	uint8_t head[WIRE_REPLY_BYTES];
	struct wire_reply reply;

	while (sock_recv_all(fd, head, sizeof(head), until_ns) == 0) {
		if (wire_reply_decode(head, &reply) != 0 || reply.len_bytes > SEGMENT_BYTES)
			abort();
		for (uint64_t left = reply.len_bytes, n; left > 0; left -= n) {
			n = num_min(left, (uint64_t)sizeof(away));
			if (sock_recv_all(fd, away, n, until_ns) != 0)
				abort();
		}
	}
	assert(clock_ns(clock_real()) < until_ns); /* it stood still */
}

static void
check_bytes(const struct talk *t)
{
	for (size_t i = 0; i < t->n_allowed; i++) {
		const struct range *range = &t->allowed[i];

		if (range->to > range->from)
			memcpy(shadow + range->from, lent->bytes + range->from,
			       range->to - range->from);
	}
	assert(memcmp(shadow, lent->bytes, SEGMENT_BYTES) == 0);
	assert(lent_header_is_right(lent->header));
}

/* ---- the target ---- */

static void
clean_up(void)
{
	serve_remove(serve, lent);
	serve_free(serve);
	lent_close(lent);
	free(shadow);
	(void)rmdir(dir);
}

/* The provider lives as long as the program. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char listen[96];
	struct serve_config config = {
		.clock = clock_real(), .listen = listen, .idle_ms = 500, .connections_max = 64};
	struct lent_config memory = {.size_bytes = SEGMENT_BYTES};
	struct rand rand;

	(void)argc;
	(void)argv;
	log_set_sink(NULL, NULL, LOG_ERROR);
	snprintf(dir, sizeof(dir), "/tmp/fuzz-serve-XXXXXX");
	if (mkdtemp(dir) == NULL)
		abort();
	snprintf(listen, sizeof(listen), "unix:%s/s", dir);
	rand_init(&rand, 1);
	shadow = malloc(SEGMENT_BYTES);
	if (shadow == NULL || lent_open(&memory, &rand, &lent) != 0 ||
	    serve_new(&config, &serve) != 0 || serve_add(serve, lent) != 0)
		abort();
	atexit(clean_up);
	for (uint64_t i = 0; i < SEGMENT_BYTES; i++)
		lent->bytes[i] = shadow[i] = (uint8_t)(i * 167);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct talk t = {.at = bytes, .end = bytes + n_bytes};
	int fd;

	buf_init(&t.stream);
	for (size_t i = 0; i < REQUESTS_MAX && t.at < t.end && buf_len(&t.stream) < STREAM_MAX / 2;
	     i++) {
		if (next_u8(&t) % 16 == 0)
			add_garbage(&t);
		else
			add_request(&t);
	}
	fd = dial();
	if (buf_len(&t.stream) > 0)
		(void)sock_send_all(fd, buf_first(&t.stream), buf_len(&t.stream),
				    clock_ns(clock_real()) + ANSWER_MS * NS_PER_MS);
	shutdown(fd, SHUT_WR);
	drain(fd);
	close(fd);
	if (n_bytes % 8 == 0) /* from now on its tokens are of before, for a while */
		(void)serve_fence(serve, FENCED_ID);
	check_bytes(&t);
	buf_fini(&t.stream);
	return 0;
}
