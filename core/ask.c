/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ask.h"

#include "core/statuses.h"
#include "core/why.h"
#include "transfer/base/frame.h"
#include "transfer/base/num.h"

#define PATIENCE_MS 1000 /* so long an UNAVAILABLE is not taken for an answer */

void
ask_init(struct ask *ask, struct tiffin_client *client)
{
	ask->client = client;
	ask->has_reply = false;
	ask->asked_ns = 0;
	buf_init(&ask->payload);
}

void
ask_fini(struct ask *ask)
{
	if (ask->has_reply)
		link_reply_fini(&ask->reply);
	ask->has_reply = false;
	buf_fini(&ask->payload);
}

void
ask_again(struct ask *ask)
{
	if (ask->has_reply)
		link_reply_fini(&ask->reply);
	ask->has_reply = false;
	buf_clear(&ask->payload);
}

static int
why_link(const struct ask *ask, int outcome)
{
	const char *master = ask->client->master;
	int code = statuses_of_link(outcome);

	switch (outcome) {
	case LINK_E_TIMEOUT:
		return why_set(code, "the master at %s did not answer in time", master);
	case LINK_E_LOST:
		return why_set(code,
			       "the master at %s can't be reached; is it running? "
			       "(tiffin status, tiffin up)",
			       master);
	case LINK_E_DENIED:
		return why_set(code,
			       "the master at %s does not accept us, or could not prove "
			       "itself: check the cluster key file, and that nobody else goes by "
			       "this client id",
			       master);
	case LINK_E_VERSION:
		return why_set(code,
			       "the master at %s speaks another version of the protocol; "
			       "ours is %d",
			       master, PROTO_VERSION);
	case LINK_E_TENANT:
		return why_set(code,
			       "the master at %s has no tenant \"%s\"; make it: "
			       "tiffin tenants put %s",
			       master, ask->client->door.tenant, ask->client->door.tenant);
	default:
		return why_set(code, "the client is being closed");
	}
}

static int
why_status(const struct ask *ask, uint16_t type, uint32_t status)
{
	struct span words = why_decode(ask->reply.payload);

	if (words.len == 0)
		return why_set(statuses_code(status), "%s: %s", msg_name(type),
			       status_meaning(status));
	return why_set(statuses_code(status), "%s: %.*s", msg_name(type), (int)words.len,
		       (const char *)words.at);
}

/* call_once -- 0: there is a reply, whatever its status. */
static int
call_once(struct ask *ask, uint16_t type, uint64_t until_ns)
{
	struct link *link = ask->client->link;
	int r;

	if (ask->has_reply)
		link_reply_fini(&ask->reply);
	ask->has_reply = false;
	ask->asked_ns = clock_ns(ask->client->clock);
	r = link->ops->call(link, type, &ask->payload, until_ns, &ask->reply);
	if (r < 0)
		return why_system(r, "asking the master");
	if (r > 0)
		return why_link(ask, r);
	ask->has_reply = true;
	return 0;
}

int
ask_call(struct ask *ask, uint16_t type, int encoded, uint64_t until_ns)
{
	uint64_t patient_ns;
	int r;

	if (encoded != 0)
		return why_no_memory();
	if (buf_len(&ask->payload) > FRAME_PAYLOAD_MAX)
		return why_set(TIFFIN_E_INVALID, "%s: the request is too long", msg_name(type));

	patient_ns = num_min(until_ns, clock_ns(ask->client->clock) + PATIENCE_MS * NS_PER_MS);
	for (;;) {
		r = call_once(ask, type, until_ns);
		if (r != 0)
			return r;
		if (ask->reply.status == STATUS_OK)
			return 0;
		if (ask->reply.status != STATUS_UNAVAILABLE)
			break;
		if (!client_pause(ask->client,
				  client_settling(ask->client, true) ? until_ns : patient_ns))
			break;
	}
	return why_status(ask, type, ask->reply.status);
}

int
ask_read(struct ask *ask, int decoded)
{
	if (decoded == 0)
		return 0;
	if (decoded == CODEC_E_NO_MEMORY)
		return why_no_memory();
	return why_set(TIFFIN_E_VERSION, "the master at %s gave an answer that can't be read",
		       ask->client->master);
}

int
ask_count(struct ask *ask, uint32_t n_told, size_t n_asked)
{
	return ask_read(ask, n_told == n_asked ? 0 : CODEC_E_MALFORMED);
}

void
ask_post(struct ask *ask, uint16_t type, int encoded)
{
	if (encoded == 0)
		ask->client->link->ops->post(ask->client->link, type, &ask->payload);
}
