/* SPDX-License-Identifier: Apache-2.0 */

/* fake_cm_wire.c -- messages on their way, and what the owners of identifiers hear of them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "tests/mock/verbs/fake_cm.h"
#include "transfer/base/num.h"

#define LOST_MESSAGES 4 /* times lost_ns, until it is told */

static struct fake_id *
id_of(struct rdma_cm_id *id)
{
	return container_of(id, struct fake_id, id);
}

static struct fake_event_channel *
channel_of(struct rdma_event_channel *channel)
{
	return container_of(channel, struct fake_event_channel, channel);
}

static int
fails(int e)
{
	errno = e;
	return e == 0 ? 0 : -1;
}

/* ---- events ---------------------------------------------------------------------- */

struct rdma_event_channel *
rdma_create_event_channel(void)
{
	struct fake_event_channel *channel = NULL;

	fake_lock();
	errno = fake_call(__func__);
	if (errno == 0 && world.config.n_devices == 0)
		errno = ENODEV;
	if (errno == 0) {
		channel = calloc(1, sizeof(*channel));
		assert(channel != NULL);
		fake_bell_init(&channel->bell);
		channel->channel.fd = channel->bell.fd;
		list_init(&channel->events);
		world.n_objects++;
	}
	fake_unlock();
	return channel != NULL ? &channel->channel : NULL;
}

void
rdma_destroy_event_channel(struct rdma_event_channel *channel_at)
{
	struct fake_event_channel *channel = channel_of(channel_at);

	fake_lock();
	if (channel->n_ids > 0)
		fake_complain("an event channel goes before %u identifiers of it", channel->n_ids);
	list_each_safe(&channel->events, link)
		free(list_of(link, struct fake_event, at));
	fake_bell_fini(&channel->bell);
	world.n_objects--;
	fake_unlock();
	free(channel);
}

/* event_push -- for the owner's channel; the bytes are padded as a fabric pads them. */
static struct fake_event *
event_push(struct fake_id *owner, enum rdma_cm_event_type type, const struct fake_message *message,
	   uint8_t padded)
{
	struct fake_event_channel *channel = channel_of(owner->id.channel);
	struct fake_event *event = calloc(1, sizeof(*event));

	assert(event != NULL);
	event->owner = owner;
	event->event = (struct rdma_cm_event){.id = &owner->id, .event = type};
	if (message != NULL) {
		struct rdma_conn_param *param = &event->event.param.conn;

		event->event.status = message->status;
		memcpy(event->bytes, message->bytes, message->n_bytes);
		param->private_data_len = world.config.is_iwarp ? message->n_bytes : padded;
		param->private_data = param->private_data_len > 0 ? event->bytes : NULL;
		param->responder_resources = message->responder_resources;
		param->initiator_depth = message->initiator_depth;
		param->qp_num = message->qp_num;
	}
	list_link_init(&event->at);
	list_push_back(&channel->events, &event->at);
	fake_bell_set(&channel->bell, true);
	return event;
}

/* take_event -- 0 or EAGAIN. */
static int
take_event(struct fake_event_channel *channel, struct rdma_cm_event **ret_event)
{
	struct fake_event *event;

	if (list_is_empty(&channel->events))
		return EAGAIN;
	event = list_of(list_first(&channel->events), struct fake_event, at);
	list_remove(&event->at);
	event->owner->n_events++;
	fake_bell_set(&channel->bell, !list_is_empty(&channel->events));
	*ret_event = &event->event;
	return 0;
}

int
rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **ret_event)
{
	bool may_block = (fcntl(channel->fd, F_GETFL) & O_NONBLOCK) == 0;
	int e;

	for (;;) {
		struct pollfd one = {.fd = channel->fd, .events = POLLIN};

		fake_lock();
		e = take_event(channel_of(channel), ret_event);
		fake_unlock();
		if (e == 0 || !may_block)
			return fails(e);
		(void)poll(&one, 1, -1);
	}
}

int
rdma_ack_cm_event(struct rdma_cm_event *event_at)
{
	struct fake_event *event = container_of(event_at, struct fake_event, event);

	fake_lock();
	event->owner->n_events--;
	fake_unlock();
	free(event);
	return 0;
}

void
fake_events_forget(struct fake_id *id)
{
	struct fake_event_channel *channel = channel_of(id->id.channel);

	list_each_safe(&channel->events, link) {
		struct fake_event *event = list_of(link, struct fake_event, at);

		if (event->owner != id && event->event.id != &id->id)
			continue;
		list_remove(&event->at);
		if (event->event.event == RDMA_CM_EVENT_CONNECT_REQUEST && event->owner == id) {
			struct fake_id *asked = id_of(event->event.id);

			fake_message_rej(asked, asked->peer, REJ_CONSUMER);
			fake_id_free(asked);
		}
		free(event);
	}
	fake_bell_set(&channel->bell, !list_is_empty(&channel->events));
}

/* ---- messages -------------------------------------------------------------------- */

struct fake_message *
fake_message_new(struct fake_id *from, uint32_t to, enum kind kind)
{
	struct fake_message *message = calloc(1, sizeof(*message));

	assert(message != NULL);
	message->kind = kind;
	message->from = from->number;
	message->to = to;
	message->qp_num = from->id.qp != NULL ? from->id.qp->qp_num : 0;
	return message;
}

void
fake_message_send(struct fake_id *from, struct fake_message *message)
{
	bool waits = message->kind == REQ || message->kind == REP;
	bool can_be_lost = waits || message->kind == REJ || message->kind == DREQ;

	message->due_ns = num_max(fake_delay(&world.rand), from->last_due_ns);
	from->last_due_ns = message->due_ns;
	if (can_be_lost && (world.devices[from->device].is_cut || world.do_lose_messages ||
			    fake_chance(&world.rand, world.config.luck.cm_drop))) {
		if (!waits) {
			free(message);
			return;
		}
		message->kind = UNREACHABLE;
		message->to = from->number;
		message->status = -ETIMEDOUT;
		message->n_bytes = 0;
		message->due_ns = fake_now() + LOST_MESSAGES * world.config.lost_ns;
	}
	list_link_init(&message->at);
	list_push_back(&world.messages, &message->at);
	fake_moved();
}

void
fake_message_rej(struct fake_id *from, uint32_t to, int status)
{
	struct fake_message *message = fake_message_new(from, to, REJ);

	message->status = status;
	fake_message_send(from, message);
}

static void
on_req(const struct fake_message *message, struct fake_id *client)
{
	struct fake_id *listener = fake_id_find_listener(message->device, message->port), *id;
	struct fake_event *event;

	if (client == NULL)
		return;
	if (listener == NULL) {
		fake_message_rej(client, client->number, REJ_NO_SUCH);
		return;
	}
	id = fake_id_new(listener->id.channel, listener->id.context, listener->id.ps);
	id->state = ASKED;
	fake_id_set_device(id, listener->device);
	id->id.route.addr.src_storage = listener->id.route.addr.src_storage;
	id->id.route.addr.dst_storage = client->id.route.addr.src_storage;
	id->peer = client->number;
	id->peer_qp_num = message->qp_num;
	id->peer_rnr_retry = message->rnr_retry;
	client->peer = id->number;
	event = event_push(listener, RDMA_CM_EVENT_CONNECT_REQUEST, message, REQ_BYTES);
	event->event.id = &id->id;
	event->event.listen_id = &listener->id;
}

void
fake_connect_qp(struct fake_id *id, uint32_t peer_num, unsigned depth, unsigned resources)
{
	struct fake_qp *qp;

	if (id->id.qp == NULL || id->id.qp->state != IBV_QPS_INIT)
		return;
	qp = fake_qp_of(id->id.qp);
	qp->peer_num = peer_num;
	qp->initiator_depth = (uint8_t)num_min(depth, resources);
	qp->qp.state = IBV_QPS_RTS;
}

static void
on_rep(const struct fake_message *message, struct fake_id *client, struct fake_id *server)
{
	if (client == NULL || client->state != CONNECTING) {
		if (server != NULL && server->state == ACCEPTING)
			event_push(server, RDMA_CM_EVENT_UNREACHABLE, NULL, 0);
		return;
	}
	client->state = UP;
	client->peer = message->from;
	fake_connect_qp(client, message->qp_num, client->initiator_depth,
			message->responder_resources);
	if (client->id.qp != NULL)
		fake_qp_of(client->id.qp)->rnr_retry = message->rnr_retry;
	event_push(client, RDMA_CM_EVENT_ESTABLISHED, message, REP_BYTES);
	fake_message_send(client, fake_message_new(client, message->from, RTU));
}

/* on_address -- the device is known from here on. */
static void
on_address(const struct fake_message *message, struct fake_id *id)
{
	if (message->status == 0) {
		fake_id_set_device(id, message->device);
		id->state = RESOLVED;
	}
	event_push(id,
		   message->status == 0 ? RDMA_CM_EVENT_ADDR_RESOLVED : RDMA_CM_EVENT_ADDR_ERROR,
		   message, 0);
}

static void
on_dreq(const struct fake_message *message, struct fake_id *id)
{
	if (id->state != UP && id->state != ACCEPTING)
		return;
	id->state = DOWN;
	event_push(id, RDMA_CM_EVENT_DISCONNECTED, message, 0);
}

static void
deliver(const struct fake_message *message)
{
	struct fake_id *to = fake_id_find(message->to), *from = fake_id_find(message->from);

	if (message->kind == REQ) {
		on_req(message, from);
		return;
	}
	if (message->kind == REP) {
		on_rep(message, to, from);
		return;
	}
	if (to == NULL)
		return;
	switch (message->kind) {
	case ADDRESS:
		on_address(message, to);
		break;
	case ROUTE:
		event_push(to, RDMA_CM_EVENT_ROUTE_RESOLVED, message, 0);
		break;
	case RTU:
		if (to->state != ACCEPTING)
			break;
		to->state = UP;
		event_push(to, RDMA_CM_EVENT_ESTABLISHED, message, 0);
		break;
	case REJ:
		if (to->state != CONNECTING && to->state != ACCEPTING)
			break;
		to->state = DOWN;
		event_push(to, RDMA_CM_EVENT_REJECTED, message, REJ_BYTES);
		break;
	case UNREACHABLE:
		if (to->state != CONNECTING && to->state != ACCEPTING)
			break;
		to->state = DOWN;
		event_push(to, RDMA_CM_EVENT_UNREACHABLE, message, 0);
		break;
	case DREQ:
		on_dreq(message, to);
		break;
	case DREP:
		event_push(to, RDMA_CM_EVENT_DISCONNECTED, message, 0);
		break;
	case REQ:
	case REP:
		abort(); /* above */
	}
}

uint64_t
fake_cm_tick(uint64_t now_ns)
{
	uint64_t next_ns = FAKE_NEVER;

	list_each_safe(&world.messages, link) {
		struct fake_message *message = list_of(link, struct fake_message, at);

		if (message->due_ns > now_ns) {
			next_ns = num_min(next_ns, message->due_ns);
			continue;
		}
		list_remove(&message->at);
		deliver(message);
		free(message);
		return now_ns; /* what it made stands behind it in the list, or before others */
	}
	return next_ns;
}

void
fake_cm_fini(void)
{
	list_each_safe(&world.messages, link)
		free(list_of(link, struct fake_message, at));
}
