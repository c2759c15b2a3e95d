/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/line.h"

#include <string.h>

#include "tests/sim/keeper.h"
#include "transfer/base/frame.h"
#include "transfer/base/list.h"

enum line_state { LINE_DOWN, LINE_HELLO, LINE_JOIN, LINE_UP };

struct call {
	struct list_link at;
	uint64_t id;
	struct buf frame;
	bool is_sent, was_sent, is_done;
	int outcome;
	struct fiber *fiber;
	struct link_reply *reply;
};

/* Lives as long as the run: events may still point to it when its owner has gone. */
struct line {
	struct link base;
	struct line_config config;
	enum line_state state;
	struct link_session session;
	struct wire *wire;
	struct list calls;
	uint64_t next_id,
		serial; /* serial: of the connection, so that late news is told from new */
	bool is_stopped;
	bool is_dialling;
};

static struct line *
of(struct link *link)
{
	return container_of(link, struct line, base);
}

static bool
is_dead(const struct line *line)
{
	return line->is_stopped || line->config.proc->is_dead;
}

static void dial(void *arg, uint64_t serial);

/* ---- frames ---- */

static void
make_frame(struct buf *to, uint16_t type, uint64_t id, const struct buf *payload)
{
	struct frame header = {.type = type, .request_id = id};
	size_t at;

	if (frame_begin(to, &at) < 0 || buf_append(to, buf_first(payload), buf_len(payload)) < 0)
		abort();
	frame_end(to, at, &header);
}

static void
send_own(struct line *line, uint16_t type, const struct buf *payload)
{
	struct buf frame;

	buf_init(&frame);
	make_frame(&frame, type, ++line->next_id, payload);
	wire_send(line->wire, SIDE_CALLER, buf_first(&frame), buf_len(&frame));
	buf_fini(&frame);
}

static void
say_hello(struct line *line)
{
	struct msg_hello msg = {.version = PROTO_VERSION};
	struct buf payload;

	buf_init(&payload);
	if (msg_hello_encode(&payload, &msg) != 0)
		abort();
	send_own(line, MSG_hello, &payload);
	buf_fini(&payload);
	line->state = LINE_HELLO;
}

static void
say_join(struct line *line)
{
	const char *tenant = line->config.tenant != NULL ? line->config.tenant : "default";
	struct msg_join msg = {
		.client_id = line->config.client_id,
		.name = span_of(line->config.name, strlen(line->config.name)),
		.host = span_of(line->config.host, strlen(line->config.host)),
		.tenant = span_of(tenant, strlen(tenant)),
		.now_ms = clock_ms(line->config.clock),
	};
	struct buf payload;

	buf_init(&payload);
	if (msg_join_encode(&payload, &msg) != 0)
		abort();
	send_own(line, MSG_join, &payload);
	buf_fini(&payload);
	line->state = LINE_JOIN;
}

static void
send_call(struct line *line, struct call *call)
{
	call->is_sent = true;
	wire_send(line->wire, SIDE_CALLER, buf_first(&call->frame), buf_len(&call->frame));
	if (!sim_is_calm && sim_chance(300) && !line->wire->is_cut) /* comes twice */
		wire_send(line->wire, SIDE_CALLER, buf_first(&call->frame), buf_len(&call->frame));
}

/* ---- up and down ---- */

static void
go_down(struct line *line)
{
	if (line->wire != NULL) {
		wire_forget(line->wire, SIDE_CALLER);
		wire_cut(line->wire);
	}
	line->wire = NULL;
	line->state = LINE_DOWN;
	line->serial++;
	list_each(&line->calls, link) {
		struct call *call = list_of(link, struct call, at);

		call->was_sent |= call->is_sent;
		call->is_sent = false;
	}
	if (!is_dead(line) && !line->is_dialling) {
		line->is_dialling = true;
		sim_at(sim_now() + sim_between(MS(10), MS(300)), dial, line, line->serial);
	}
}

static void
go_up(struct line *line, const struct rep_join *rep)
{
	line->session = (struct link_session){
		.master_epoch = rep->master_epoch,
		.lease_ms = rep->lease_ms,
		.write_lease_ms = rep->write_lease_ms,
		.ping_ms = rep->ping_ms,
		.client_ttl_ms = rep->client_ttl_ms,
		.n_joins = line->session.n_joins + 1,
		.was_known = rep->was_known != 0,
		.fresh_join =
			rep->was_known != 0 ? line->session.fresh_join : line->session.n_joins + 1,
	};
	line->state = LINE_UP;
	list_each(&line->calls, link) {
		if (line->state != LINE_UP)
			return;
		send_call(line, list_of(link, struct call, at));
	}
}

static struct call *
find_call(struct line *line, uint64_t id)
{
	list_each(&line->calls, link)
		if (list_of(link, struct call, at)->id == id)
			return list_of(link, struct call, at);
	return NULL;
}

static void
finish(struct call *call, int outcome)
{
	call->is_done = true;
	call->outcome = outcome;
	list_remove(&call->at);
	fiber_wake(call->fiber);
}

static void
answer(struct line *line, const struct frame *frame, const uint8_t *bytes, size_t len_bytes)
{
	struct call *call = find_call(line, frame->request_id);
	struct frame mine;
	size_t len;

	if (frame->status == STATUS_NOT_JOINED) {
		go_down(line);
		return;
	}
	if (call == NULL)
		return;
	link_reply_init(call->reply);
	if (buf_append(&call->reply->bytes, bytes, len_bytes) < 0 ||
	    frame_peek(buf_first(&call->reply->bytes), len_bytes, &mine, &len) != 0)
		abort();
	call->reply->status = mine.status;
	call->reply->is_repeat = call->was_sent;
	call->reply->cluster_id = line->session.cluster_id;
	call->reply->payload = mine.payload;
	finish(call, 0);
}

static void
greeted(struct line *line, const struct frame *frame)
{
	struct rep_join rep;
	struct arena arena;

	if (frame->status != STATUS_OK) {
		go_down(line);
	} else if (line->state == LINE_HELLO) {
		say_join(line);
	} else {
		arena_init(&arena);
		if (rep_join_decode(frame->payload, &arena, &rep) != 0)
			sim_fail("a join answer that can't be read");
		go_up(line, &rep);
		arena_fini(&arena);
	}
}

static void
take_frame(struct line *line, const struct frame *frame, const uint8_t *bytes, size_t len_bytes)
{
	if (line->state != LINE_UP && (frame->type == MSG_hello || frame->type == MSG_join))
		greeted(line, frame);
	else if (line->state == LINE_UP)
		answer(line, frame, bytes, len_bytes);
}

static void
on_frames(void *arg, struct wire *wire, const uint8_t *bytes, size_t len_bytes)
{
	struct line *line = arg;
	struct frame frame;
	size_t len;

	while (len_bytes > 0 && !is_dead(line) && line->wire == wire) {
		if (frame_peek(bytes, len_bytes, &frame, &len) != 0)
			sim_fail("the master sent what is no frame");
		take_frame(line, &frame, bytes, len);
		bytes += len;
		len_bytes -= len;
	}
}

static void
on_ended(void *arg, struct wire *wire)
{
	struct line *line = arg;

	if (line->wire == wire)
		go_down(line);
}

static void
dial(void *arg, uint64_t serial)
{
	struct line *line = arg;
	struct wire_end end = {on_frames, on_ended, line};

	(void)serial;
	if (is_dead(line))
		return;
	if (line->config.proc->stopped_until_ns > sim_now()) {
		sim_at(line->config.proc->stopped_until_ns, dial, line, 0);
		return;
	}
	line->wire = net.parted_until_ns[line->config.node] > sim_now()
			     ? NULL
			     : keeper_dial(line->config.node, &end);
	if (line->wire == NULL) {
		sim_at(sim_now() + sim_between(MS(20), MS(300)), dial, line, 0);
		return;
	}
	line->is_dialling = false;
	say_hello(line);
}

/* ---- struct link ---- */

static int
line_call(struct link *link, uint16_t type, const struct buf *payload, uint64_t until_ns,
	  struct link_reply *ret_reply)
{
	struct line *line = of(link);
	struct call call = {.reply = ret_reply, .fiber = fiber_self()};

	if (is_dead(line))
		return LINK_E_CLOSED;
	call.id = ++line->next_id;
	buf_init(&call.frame);
	make_frame(&call.frame, type, call.id, payload);
	list_link_init(&call.at);
	list_push_back(&line->calls, &call.at);
	if (line->state == LINE_UP)
		send_call(line, &call);
	while (!call.is_done && !is_dead(line)) {
		uint64_t now = clock_ns(line->config.clock);

		if (now >= until_ns)
			break;
		fiber_wait(sim_now() + (until_ns - now));
	}
	list_remove(&call.at);
	buf_fini(&call.frame);
	if (call.is_done)
		return call.outcome;
	if (is_dead(line))
		return LINK_E_CLOSED;
	return line->state == LINE_UP ? LINK_E_TIMEOUT : LINK_E_LOST;
}

static void
line_post(struct link *link, uint16_t type, const struct buf *payload)
{
	struct line *line = of(link);

	if (line->state == LINE_UP && !is_dead(line))
		send_own(line, type, payload);
}

static void
line_session(struct link *link, struct link_session *ret_session)
{
	*ret_session = of(link)->session;
}

static void
line_stop(struct link *link)
{
	struct line *line = of(link);

	line->is_stopped = true;
	list_each_safe(&line->calls, at)
		finish(list_of(at, struct call, at), LINK_E_CLOSED);
	go_down(line);
}

static void
line_free(struct link *link)
{
	line_stop(link); /* its memory goes with the run */
}

static const struct link_ops line_ops = {line_call, line_post, line_session, line_stop, line_free};

struct link *
line_new(const struct line_config *config)
{
	struct line *line = sim_alloc(sizeof(*line));

	line->base.ops = &line_ops;
	line->config = *config;
	list_init(&line->calls);
	go_down(line);
	return &line->base;
}

void
line_cut(struct link *link)
{
	struct line *line = of(link);

	if (line->wire != NULL)
		wire_cut(line->wire);
}

void
line_die(struct link *link)
{
	line_stop(link);
}

uint32_t
line_joins(struct link *link)
{
	return of(link)->session.n_joins;
}
