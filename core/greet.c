/* SPDX-License-Identifier: Apache-2.0 */
#include "core/greet.h"

#include <errno.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/sock.h"
#include "transfer/target.h"

int
greet_frame(struct buf *to, uint16_t type, uint64_t request_id, const struct buf *payload)
{
	const struct frame header = {.type = type, .request_id = request_id};
	size_t at;
	int r;

	r = frame_begin(to, &at);
	if (r < 0)
		return err_up(r);
	r = buf_append(to, buf_first(payload), buf_len(payload));
	if (r < 0)
		return err_up(r);
	frame_end(to, at, &header);
	return 0;
}

/* of_sock -- outcomes of sock.h as those of a link. */
static int
of_sock(int r)
{
	if (r == SOCK_E_TIMEOUT)
		return LINK_E_TIMEOUT;
	return r > 0 ? LINK_E_LOST : r;
}

/* more -- n_bytes of the peer's behind what is there. */
static int
more(int fd, struct buf *in, size_t n_bytes, uint64_t until_ns)
{
	int r;

	r = buf_reserve(in, n_bytes);
	if (r < 0)
		return err_up(r);
	r = sock_recv_all(fd, in->at + in->end, n_bytes, until_ns);
	if (r == 0)
		in->end += n_bytes;
	return of_sock(r);
}

int
greet_read(int fd, uint64_t until_ns, struct buf *in, struct frame *ret_frame)
{
	uint32_t le;
	size_t len;
	int r;

	buf_clear(in);
	r = more(fd, in, FRAME_HEADER_BYTES, until_ns);
	if (r != 0)
		return r;

	memcpy(&le, buf_first(in) + 4, sizeof(le)); /* its length: see the picture in frame.h */
	if (le32toh(le) > FRAME_PAYLOAD_MAX)
		return LINK_E_LOST;
	if (le32toh(le) > 0)
		r = more(fd, in, le32toh(le), until_ns);
	if (r != 0)
		return r;

	r = frame_peek(buf_first(in), buf_len(in), ret_frame, &len);
	if (r != 0 || (ret_frame->flags & FRAME_REPLY) == 0)
		return LINK_E_LOST;
	return 0;
}

int
greet_exchange(int fd, const struct buf *frame, uint64_t until_ns, struct buf *in,
	       struct frame *ret_reply)
{
	struct frame sent;
	size_t len;
	int r;

	r = frame_peek(buf_first(frame), buf_len(frame), &sent, &len);
	assert(r == 0);

	r = of_sock(sock_send_all(fd, buf_first(frame), buf_len(frame), until_ns));
	while (r == 0) {
		r = greet_read(fd, until_ns, in, ret_reply);
		if (r == 0 && ret_reply->request_id == sent.request_id)
			break;
	}
	return r;
}

/* One question and its answer while greeting. */
struct talk {
	int fd;
	uint64_t until_ns;
	uint64_t *next_id;
	struct buf payload, frame, in;
	struct arena arena;
	struct frame reply;
};

static void
talk_fini(struct talk *talk)
{
	buf_fini(&talk->payload);
	buf_fini(&talk->frame);
	buf_fini(&talk->in);
	arena_fini(&talk->arena);
}

/* of_status -- what a master means that does not let us in. */
static int
of_status(uint32_t status)
{
	if (status == STATUS_VERSION)
		return LINK_E_VERSION;
	if (status == STATUS_DENIED)
		return LINK_E_DENIED;
	if (status == STATUS_TENANT_NOT_FOUND)
		return LINK_E_TENANT;
	return LINK_E_LOST;
}

/* ask -- the encoded payload of `talk`; its reply is OK when 0 comes back. */
static int
ask(struct talk *talk, uint16_t type)
{
	int r;

	buf_clear(&talk->frame);
	r = greet_frame(&talk->frame, type, (*talk->next_id)++, &talk->payload);
	if (r < 0)
		return err_up(r);

	r = greet_exchange(talk->fd, &talk->frame, talk->until_ns, &talk->in, &talk->reply);
	if (r != 0)
		return r;
	return talk->reply.status == STATUS_OK ? 0 : of_status(talk->reply.status);
}

static int
hello(struct talk *talk, const struct greet_config *config, struct rep_hello *ret_rep)
{
	struct msg_hello msg = {.version = PROTO_VERSION};
	int r;

	r = key_challenge(msg.challenge.bytes);
	if (r < 0)
		return err_up(r);
	if (msg_hello_encode(&talk->payload, &msg) != 0)
		return err_new(-ENOMEM);

	r = ask(talk, MSG_hello);
	if (r != 0)
		return r;
	if (rep_hello_decode(talk->reply.payload, &talk->arena, ret_rep) != 0)
		return LINK_E_LOST;

	if (ret_rep->version != PROTO_VERSION)
		return LINK_E_VERSION;
	if (ret_rep->needs_proof != 0 && !config->key.present)
		return LINK_E_DENIED;
	if (config->key.present && (config->must_prove || ret_rep->needs_proof != 0) &&
	    !key_answer_is_right(&config->key, msg.challenge.bytes, KEY_ROLE_SERVER,
				 ret_rep->answer.bytes))
		return LINK_E_DENIED;
	return 0;
}

static int
join(struct talk *talk, const struct greet_config *config, const struct rep_hello *theirs,
     struct link_session *session)
{
	struct msg_join msg = {
		.client_id = config->client_id,
		.name = span_of(config->name, strlen(config->name)),
		.host = span_of(host_id(), strlen(host_id())),
		.tenant = span_of(config->tenant, strlen(config->tenant)),
		.now_ms = clock_ms(clock_real()),
	};
	struct rep_join rep;
	int r;

	if (config->key.present)
		key_answer(&config->key, theirs->challenge.bytes, KEY_ROLE_CLIENT,
			   msg.answer.bytes);
	buf_clear(&talk->payload);
	if (msg_join_encode(&talk->payload, &msg) != 0)
		return err_new(-ENOMEM);

	r = ask(talk, MSG_join);
	if (r != 0)
		return r;
	if (rep_join_decode(talk->reply.payload, &talk->arena, &rep) != 0)
		return LINK_E_LOST;

	*session = (struct link_session){
		.master_epoch = rep.master_epoch,
		.cluster_id = theirs->cluster_id,
		.lease_ms = rep.lease_ms,
		.write_lease_ms = rep.write_lease_ms,
		.ping_ms = rep.ping_ms,
		.client_ttl_ms = rep.client_ttl_ms,
		.n_joins = session->n_joins + 1,
		.was_known = rep.was_known != 0,
		.fresh_join = rep.was_known != 0 ? session->fresh_join : session->n_joins + 1,
	};
	return 0;
}

int
greet(int fd, const struct greet_config *config, uint64_t until_ns, uint64_t *next_id,
      struct link_session *session)
{
	cleanup_with(talk_fini) struct talk talk = {
		.fd = fd, .until_ns = until_ns, .next_id = next_id};
	struct rep_hello theirs;
	int r;

	r = hello(&talk, config, &theirs);
	if (r != 0)
		return r;
	return join(&talk, config, &theirs, session);
}
