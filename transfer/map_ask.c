/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/map_ask.h"

#include <string.h>

#include "transfer/base/clock.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"

static int
send_request(int fd, const struct map_wish *wish, uint64_t until_ns)
{
	struct wire_request request = {
		.kind = WIRE_MAP,
		.flags = wish->use == MAP_WRITING ? WIRE_WRITABLE : 0,
		.id = 1,
		.segment_id = wish->target->desc.segment_id,
		.segment_epoch = wish->target->desc.segment_epoch,
		.offset_bytes = wish->offset_bytes,
		.len_bytes = wish->len_bytes,
		.token = *wish->token,
	};
	uint8_t bytes[WIRE_REQUEST_BYTES];

	wire_request_encode(&request, bytes);
	return sock_send_all(fd, bytes, sizeof(bytes), until_ns);
}

/* ask_at -- 0 with the answer and its descriptor, or one of the outcomes. */
static int
ask_at(const struct sock_addr *addr, const struct map_wish *wish, uint64_t wait_ms,
       struct wire_reply *ret_reply, int *ret_fd)
{
	uint64_t until_ns = clock_ns(clock_real()) + wait_ms * NS_PER_MS;
	cleanup_with(fd_close_at) int sock = -1;
	cleanup_with(fd_close_at) int fd = -1;
	uint8_t bytes[WIRE_REPLY_BYTES];

	if (sock_connect(addr, wait_ms, &sock) != 0)
		return MAP_ASK_E_NO;
	if (send_request(sock, wish, until_ns) != 0)
		return MAP_ASK_E_NO;
	if (sock_recv_fd(sock, bytes, sizeof(bytes), &fd, until_ns) != 0)
		return MAP_ASK_E_NO;
	if (wire_reply_decode(bytes, ret_reply) != 0 || ret_reply->kind != WIRE_MAP ||
	    ret_reply->id != 1)
		return MAP_ASK_E_NO;
	if (ret_reply->status == WIRE_REFUSED)
		return MAP_ASK_E_REFUSED;
	if (ret_reply->status != WIRE_DONE || fd < 0)
		return MAP_ASK_E_NO;

	*ret_fd = fd;
	fd = -1;
	return 0;
}

int
map_ask(const struct map_wish *wish, uint64_t now_ns, struct wire_reply *ret_reply, int *ret_fd)
{
	char text[SOCK_ADDR_TEXT_MAX];
	uint64_t wait_ms;
	int r = MAP_ASK_E_NO;

	if (wish->deadline_ns <= now_ns)
		return MAP_ASK_E_NO;
	wait_ms = num_min((wish->deadline_ns - now_ns) / NS_PER_MS + 1, (uint64_t)MAP_ASK_MS_MAX);

	for (size_t i = 0;
	     r == MAP_ASK_E_NO && target_address(&wish->target->desc, i, text, sizeof(text)); i++) {
		struct sock_addr addr;

		if (strncmp(text, "unix:", 5) == 0 && sock_addr_parse(text, &addr) == 0)
			r = ask_at(&addr, wish, wait_ms, ret_reply, ret_fd);
	}
	return r;
}

static bool
has_unix_address(const struct target_desc *desc)
{
	return strncmp(desc->endpoint, "unix:", 5) == 0 || strstr(desc->endpoint, " unix:") != NULL;
}

bool
map_may_ask(const struct target *target, const struct token *token)
{
	return token != NULL && target->is_same_host && has_unix_address(&target->desc);
}

bool
map_can_open(const struct map_wish *wish)
{
	const uint32_t needed = wish->use == MAP_READING ? TOKEN_READ | TOKEN_MAP : TOKEN_WRITE;

	return (wish->token->rights & needed) == needed;
}

bool
map_may(const struct op *op)
{
	const struct target_desc *desc = &op->target->desc;

	return token_allows(op->token, op->kind == OP_READ ? TOKEN_READ : TOKEN_WRITE,
			    desc->segment_id, desc->segment_epoch, op->offset_bytes, op->len_bytes,
			    /* now_ms, the provider's alone: */ 0);
}
