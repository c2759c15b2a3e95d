/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fake_cm.c -- the connection manager: identifiers, messages between them, events for their owners.
 *
 *      client                                    server
 *      connect ---- REQ ----------------------->  CONNECT_REQUEST (a new identifier)
 *      ESTABLISHED <---- REP -------------------  accept
 *              ---- RTU ----------------------->  ESTABLISHED
 *      REJECTED <------- REJ -------------------  reject, or nobody listens, or it was destroyed
 *      disconnect -- DREQ --------------------->  DISCONNECTED
 *      DISCONNECTED <--- DREP
 *
 * A message that is lost becomes UNREACHABLE for who waits for the answer; a lost DREQ is heard of
 * by nobody at the other end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "tests/mock/verbs/fake_cm.h"

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

struct fake_id *
fake_id_find(uint32_t number)
{
	list_each(&world.ids, link) {
		struct fake_id *id = list_of(link, struct fake_id, at);

		if (id->number == number)
			return id;
	}
	return NULL;
}

struct fake_id *
fake_id_find_listener(unsigned device, uint16_t port)
{
	list_each(&world.ids, link) {
		struct fake_id *id = list_of(link, struct fake_id, at);

		if (id->state == LISTENING && id->device == device && id->port == port)
			return id;
	}
	return NULL;
}

void
fake_id_set_device(struct fake_id *id, unsigned device)
{
	id->device = device;
	id->id.verbs = fake_device_open(device);
	id->id.port_num = 1;
}

struct fake_id *
fake_id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps)
{
	struct fake_id *id = calloc(1, sizeof(*id));

	assert(id != NULL);
	id->id.channel = channel;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = IBV_QPT_RC;
	id->number = ++world.next_id;
	list_link_init(&id->at);
	list_push_back(&world.ids, &id->at);
	channel_of(channel)->n_ids++;
	world.n_objects++;
	return id;
}

void
fake_id_free(struct fake_id *id)
{
	list_remove(&id->at);
	channel_of(id->id.channel)->n_ids--;
	world.n_objects--;
	free(id);
}

static void
set_param(struct fake_message *message, const struct rdma_conn_param *param)
{
	if (param == NULL)
		return;
	message->responder_resources = param->responder_resources;
	message->initiator_depth = param->initiator_depth;
	message->rnr_retry = param->rnr_retry_count;
	message->n_bytes = param->private_data_len;
	if (param->private_data_len > 0)
		memcpy(message->bytes, param->private_data, param->private_data_len);
}

int
rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **ret_id, void *context,
	       enum rdma_port_space ps)
{
	int e;

	fake_lock();
	e = fake_call(__func__);
	if (e == 0)
		*ret_id = &fake_id_new(channel, context, ps)->id;
	fake_unlock();
	return fails(e);
}

int
rdma_destroy_id(struct rdma_cm_id *id_at)
{
	struct fake_id *id = id_of(id_at);

	fake_lock();
	if (id->id.qp != NULL)
		fake_complain("an identifier goes before its queue pair");
	if (id->n_events > 0) /* a real one would wait for ever */
		fake_complain("an identifier goes before its event is acknowledged");
	if (id->state == UP)
		fake_message_send(id, fake_message_new(id, id->peer, DREQ));
	else if (id->state == ASKED || id->state == CONNECTING || id->state == ACCEPTING)
		fake_message_rej(id, id->peer, REJ_CONSUMER);
	fake_events_forget(id);
	fake_id_free(id);
	fake_unlock();
	return 0;
}

/* device_at -- that has the address; -ENODEV: none has. */
static int
device_at(const struct sockaddr *address)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
	uint32_t host;

	if (address->sa_family != AF_INET)
		return -ENODEV;
	host = ntohl(in->sin_addr.s_addr);
	if (host <= INADDR_LOOPBACK - 1 || host - INADDR_LOOPBACK >= world.config.n_devices)
		return -ENODEV;
	return (int)(host - INADDR_LOOPBACK);
}

static uint16_t
port_of(const struct sockaddr *address)
{
	return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
}

int
rdma_bind_addr(struct rdma_cm_id *id_at, struct sockaddr *address)
{
	struct fake_id *id = id_of(id_at);
	int e, device;

	fake_lock();
	e = fake_call(__func__);
	device = device_at(address);
	if (e == 0 && device < 0)
		e = ENODEV;
	if (e == 0 && port_of(address) != 0 &&
	    fake_id_find_listener((unsigned)device, port_of(address)) != NULL)
		e = EADDRINUSE;
	if (e == 0) {
		fake_id_set_device(id, (unsigned)device);
		id->state = BOUND;
		id->port = port_of(address) != 0 ? port_of(address) : (uint16_t)world.next_port++;
		memcpy(&id->id.route.addr.src_sin, address, sizeof(id->id.route.addr.src_sin));
		id->id.route.addr.src_sin.sin_port = htons(id->port);
	}
	fake_unlock();
	return fails(e);
}

int
rdma_listen(struct rdma_cm_id *id, int backlog)
{
	int e;

	(void)backlog;
	fake_lock();
	e = fake_call(__func__);
	if (e == 0 && id_of(id)->state != BOUND)
		e = EINVAL;
	if (e == 0)
		id_of(id)->state = LISTENING;
	fake_unlock();
	return fails(e);
}

int
rdma_resolve_addr(struct rdma_cm_id *id_at, struct sockaddr *source, struct sockaddr *to,
		  int timeout_ms)
{
	struct fake_id *id = id_of(id_at);
	struct fake_message *message;
	int e, device;

	(void)timeout_ms;
	fake_lock();
	e = fake_call(__func__);
	if (e == 0) {
		device = device_at(to);
		memcpy(&id->id.route.addr.dst_sin, to, sizeof(id->id.route.addr.dst_sin));
		memcpy(&id->id.route.addr.src_sin, source != NULL ? source : to,
		       sizeof(id->id.route.addr.src_sin));
		if (device >= 0 && source != NULL)
			device = device_at(source);
		message = fake_message_new(id, id->number, ADDRESS);
		message->device = device < 0 ? 0 : (unsigned)device;
		message->status = device < 0 ? -ENODEV : 0;
		fake_message_send(id, message);
	}
	fake_unlock();
	return fails(e);
}

int
rdma_resolve_route(struct rdma_cm_id *id_at, int timeout_ms)
{
	struct fake_id *id = id_of(id_at);
	int e;

	(void)timeout_ms;
	fake_lock();
	e = fake_call(__func__);
	if (e == 0 && id->state != RESOLVED)
		e = EINVAL;
	if (e == 0)
		fake_message_send(id, fake_message_new(id, id->number, ROUTE));
	fake_unlock();
	return fails(e);
}

int
rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct fake_qp *qp = NULL;

	fake_lock();
	errno = fake_call(__func__);
	if (errno == 0 && (id->verbs == NULL || pd->context != id->verbs || id->qp != NULL))
		errno = EINVAL;
	if (errno == 0)
		qp = fake_qp_new(pd, attr);
	if (qp != NULL) {
		id->qp = &qp->qp;
		id->pd = pd;
	}
	fake_unlock();
	return qp != NULL ? 0 : -1;
}

void
rdma_destroy_qp(struct rdma_cm_id *id)
{
	fake_lock();
	fake_qp_free(fake_qp_of(id->qp));
	id->qp = NULL;
	fake_unlock();
}

/* ---- connections ----------------------------------------------------------------- */

int
rdma_connect(struct rdma_cm_id *id_at, struct rdma_conn_param *param)
{
	struct fake_id *id = id_of(id_at);
	struct fake_message *message;
	int e;

	fake_lock();
	e = fake_call(__func__);
	if (e == 0 &&
	    (id->state != RESOLVED || id->id.qp == NULL || param->private_data_len > REQ_BYTES))
		e = EINVAL;
	if (e == 0) {
		id->state = CONNECTING;
		id->initiator_depth = param->initiator_depth;
		message = fake_message_new(id, 0, REQ);
		set_param(message, param);
		message->device = (unsigned)device_at(&id->id.route.addr.dst_addr);
		message->port = port_of(&id->id.route.addr.dst_addr);
		fake_message_send(id, message);
	}
	fake_unlock();
	return fails(e);
}

int
rdma_init_qp_attr(struct rdma_cm_id *id_at, struct ibv_qp_attr *attr, int *ret_mask)
{
	struct fake_id *id = id_of(id_at);
	int e;

	fake_lock();
	e = fake_call(__func__);
	if (e == 0 && id->state != ASKED)
		e = EINVAL; /* others leave it all to librdmacm */
	if (e == 0 && attr->qp_state == IBV_QPS_INIT) {
		*ret_mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
		attr->qp_access_flags = FAKE_ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC;
		attr->port_num = 1;
	} else if (e == 0 && attr->qp_state == IBV_QPS_RTR) {
		*ret_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		attr->dest_qp_num = id->peer_qp_num;
	} else if (e == 0) {
		*ret_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
		attr->rnr_retry = id->peer_rnr_retry;
	}
	fake_unlock();
	return fails(e);
}

/* accepted_qp -- the identifier's own, brought up here; or the caller's, who has done it. */
static struct fake_qp *
accepted_qp(struct fake_id *id, const struct rdma_conn_param *param)
{
	struct fake_qp *qp;

	if (id->id.qp != NULL) {
		fake_connect_qp(id, id->peer_qp_num, param->initiator_depth, UINT8_MAX);
		qp = fake_qp_of(id->id.qp);
		qp->rnr_retry = param->rnr_retry_count;
		return qp;
	}
	qp = fake_qp_find(param->qp_num);
	if (qp != NULL && (qp->qp.state != IBV_QPS_RTS || qp->peer_num != id->peer_qp_num))
		fake_complain("accepted with a queue pair that is not connected to who asked");
	return qp;
}

int
rdma_accept(struct rdma_cm_id *id_at, struct rdma_conn_param *param)
{
	struct fake_id *id = id_of(id_at);
	struct fake_message *message;
	struct fake_qp *qp = NULL;
	int e;

	fake_lock();
	e = fake_call(__func__);
	if (e == 0 && id->state == ASKED && param->private_data_len <= REP_BYTES)
		qp = accepted_qp(id, param);
	if (e == 0 && qp == NULL)
		e = EINVAL;
	if (e == 0) {
		id->state = ACCEPTING;
		message = fake_message_new(id, id->peer, REP);
		message->qp_num = qp->qp.qp_num;
		set_param(message, param);
		fake_message_send(id, message);
	}
	fake_unlock();
	return fails(e);
}

int
rdma_reject(struct rdma_cm_id *id_at, const void *bytes, uint8_t n_bytes)
{
	struct fake_id *id = id_of(id_at);
	struct fake_message *message;
	int e;

	fake_lock();
	e = fake_call(__func__);
	if (e == 0 && (id->state != ASKED || n_bytes > REJ_BYTES))
		e = EINVAL;
	if (e == 0) {
		id->state = DOWN;
		message = fake_message_new(id, id->peer, REJ);
		message->status = REJ_CONSUMER;
		message->n_bytes = n_bytes;
		if (n_bytes > 0)
			memcpy(message->bytes, bytes, n_bytes);
		fake_message_send(id, message);
	}
	fake_unlock();
	return fails(e);
}

int
rdma_disconnect(struct rdma_cm_id *id_at)
{
	struct fake_id *id = id_of(id_at);
	int e;

	fake_lock();
	e = fake_call(__func__);
	if (e == 0 && id->id.qp != NULL)
		fake_qp_error(fake_qp_of(id->id.qp));
	if (e == 0 && id->state != UP && id->state != ACCEPTING && id->state != DOWN)
		e = EINVAL;
	if (e == 0 && id->state != DOWN) {
		id->state = DOWN;
		fake_message_send(id, fake_message_new(id, id->peer, DREQ));
		fake_message_send(id, fake_message_new(id, id->number, DREP));
	}
	fake_unlock();
	return fails(e);
}

int
rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t len)
{
	(void)id;
	(void)level;
	(void)name;
	(void)value;
	(void)len;
	return 0;
}
