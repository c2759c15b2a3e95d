/* SPDX-License-Identifier: Apache-2.0 */

/*
 * dispatch.c -- from a frame to its handler, and from the handler to the answer's time.
 *
 *      frame -> known before? -> that answer again
 *            -> decode -> handler -> answer: at once            when all it says is committed
 *                                    held (struct answer)       until it is
 *                                    parked (struct parked)     until there may be room
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "master/books.h"
#include "master/handle.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

/* ---- one function a message: decode, then handle ---- */

#define MESSAGE(number, name, REQUEST, REPLY)                                                      \
	static int run_##name(struct peer *peer, struct cursor payload, struct buf *out)           \
	{                                                                                          \
		struct msg_##name msg;                                                             \
                                                                                                   \
		if (msg_##name##_decode(payload, &peer->master->arena, &msg) != 0)                 \
			return STATUS_INVALID;                                                     \
		return handle_##name(peer, &msg, out);                                             \
	}
MESSAGES(MESSAGE)
#undef MESSAGE

enum { WORK_A_CLOCK = 32, BYTES_A_WORK = 256 };

static const struct {
	int (*run)(struct peer *peer, struct cursor payload, struct buf *out);
} runs[MESSAGE_NUMBERS] = {
#define MESSAGE(number, name, REQUEST, REPLY) [number] = {run_##name},
	MESSAGES(MESSAGE)
#undef MESSAGE
};

#define ANSWER_SPARE_BYTES 256u /* a reason in words, or what else stands beside the statuses */

/* Requests that change something: their answers are remembered (client.h). */
static bool
is_lasting(uint16_t type)
{
	switch (type) {
	case MSG_mount_segment:
	case MSG_unmount_segment:
	case MSG_put_start:
	case MSG_put_extend:
	case MSG_put_end:
	case MSG_put_revoke:
	case MSG_remove:
	case MSG_remove_by_prefix:
	case MSG_remove_by_regex:
	case MSG_remove_all:
	case MSG_replica_clear:
	case MSG_rename:
	case MSG_set_attr:
	case MSG_pin:
	case MSG_unpin:
	case MSG_tenant_put:
	case MSG_tenant_delete:
	case MSG_settings:
	case MSG_copy:
	case MSG_move:
	case MSG_drain:
	case MSG_cancel:
	case MSG_fetch_tasks:
	case MSG_report_task:
		return true;
	default:
		return false;
	}
}

/* While the disk is full nothing new is begun; what makes rows fewer, or ends a put, goes on. */
static bool
makes_rows(uint16_t type)
{
	switch (type) {
	case MSG_tenant_put:
	case MSG_put_start:
	case MSG_set_attr:
	case MSG_copy:
	case MSG_move:
	case MSG_drain:
		return true;
	default:
		return false;
	}
}

/* ---- answers ---- */

void
why_refused(struct master *master, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(master->why, sizeof(master->why), fmt, args);
	va_end(args);
}

static void
mark_dirty(struct peer *peer)
{
	if (!list_link_is_on(&peer->at_dirty))
		list_push_back(&peer->master->dirty, &peer->at_dirty);
}

static void
send_again(struct peer *peer, const struct answer *answer)
{
	if (buf_append(&peer->out, buf_first(&answer->frame), buf_len(&answer->frame)) < 0)
		peer->is_broken = true;
	mark_dirty(peer);
}

static bool
must_wait(const struct master *master)
{
	uint64_t done = master->hold_sync || (master->limits.durable_power &&
					      master->hold_batch == master->batch)
				? master->progress.synced
				: master->progress.committed;

	return master->hold_batch > done;
}

/* The request at hand is answered now; the next one of this turn is reckoned from here. */
static void
note_time(struct master *master, uint16_t type)
{
	uint64_t now_ns = clock_ns(master->clock);

	hist_add(&master->requests[type], now_ns - master->since_ns);
	master->lap_ns = now_ns;
}

/* Before anything changes: the room that an answer of one status an item needs. */
static int
prepare_answer(struct peer *peer, const struct frame *frame, struct answer **ret_answer)
{
	size_t room = FRAME_HEADER_BYTES + cursor_left(&frame->payload) / 4 + ANSWER_SPARE_BYTES;
	struct answer *answer;
	int r = client_answer_new(peer->client, frame->request_id, &answer);

	if (r < 0)
		return err_up(r);
	r = buf_reserve(&answer->frame, room);
	if (r == 0)
		r = buf_reserve(&peer->out, room);
	if (r < 0) {
		answer_free(answer);
		return err_up(r);
	}
	*ret_answer = answer;
	return 0;
}

/* Move the frame just written at the end of peer->out into an answer that waits, or is remembered.
 */
static int
keep_answer(struct peer *peer, size_t at, struct answer *answer, uint16_t type, bool lasting)
{
	struct master *master = peer->master;
	const uint8_t *frame = buf_first(&peer->out) + at;
	size_t len = buf_len(&peer->out) - at;
	int r = buf_append(&answer->frame, frame, len);

	if (r < 0) {
		answer_free(answer);
		return err_up(r);
	}
	peer->client->answer_bytes += len;
	answer->is_lasting = lasting;
	answer->batch = master->hold_batch;
	answer->needs_sync = master->hold_sync || master->limits.durable_power;
	if (must_wait(master)) {
		answer->since_ns = master->since_ns;
		answer->type = type;
		peer->out.end -= len;
		peer->client->held_bytes += len;
		list_push_back(answer->needs_sync ? &master->held_sync : &master->held,
			       &answer->at_held);
	}
	return 0;
}

/* The frame's header, when the payload (or in its place the reason) stands behind it. */
static void
finish_frame(struct peer *peer, size_t at, const struct frame *asked, int status)
{
	struct frame reply = {
		.type = asked->type,
		.flags = asked->type == MSG_watch && status == STATUS_OK ? FRAME_REPLY | FRAME_MORE
									 : FRAME_REPLY,
		.status = (uint32_t)status,
		.request_id = asked->request_id,
	};

	if (status != STATUS_OK) {
		peer->out.end = peer->out.start + at + FRAME_HEADER_BYTES;
		counter_add(&peer->master->counters.requests_refused, 1);
		if (why_encode(&peer->out, peer->master->why[0] != '\0'
						   ? peer->master->why
						   : status_meaning((uint32_t)status)) != 0)
			peer->is_broken = true;
	}
	frame_end(&peer->out, at, &reply);
}

/* may_write -- what this request changes can go into the books now; else why says what is wrong. */
static bool
may_write(struct master *master, uint16_t type)
{
	if (master->progress.is_stalled)
		why_refused(master, "the books can't be written just now: %s",
			    master->progress.why);
	else if (master->progress.is_full && makes_rows(type))
		why_refused(master, "the disk of the master's database is full: what is there is "
				    "read and may be removed, nothing new is taken");
	else
		return true;
	return false;
}

static void
run(struct peer *peer, const struct frame *frame)
{
	struct master *master = peer->master;
	bool lasting = peer->client != NULL && is_lasting(frame->type);
	struct answer *answer = NULL;
	size_t at;
	int status;

	peer->request_id = frame->request_id;
	master->hold_batch = 0;
	master->hold_sync = false;
	master->wants_room = false;
	master->why[0] = '\0';
	arena_reset(&master->arena);
	if (frame_begin(&peer->out, &at) < 0) {
		peer->is_broken = true;
		return;
	}
	if (lasting && prepare_answer(peer, frame, &answer) < 0)
		status = STATUS_UNAVAILABLE;
	else if (lasting && !may_write(master, frame->type))
		status = STATUS_UNAVAILABLE;
	else
		status = runs[frame->type].run(peer, frame->payload, &peer->out);

	if (status == HANDLE_PARK) {
		peer->out.end = peer->out.start + at;
		status = park(master, peer, frame);
		if (status == 0) {
			if (answer != NULL)
				answer_free(answer);
			return;
		}
	}
	if (status < 0) {
		char trail[512];

		log_event(LOG_WARN, "request_failed", "type=%s why=\"%s\"", msg_name(frame->type),
			  err_trail(trail, sizeof(trail)));
		status = STATUS_UNAVAILABLE;
	}
	if (buf_len(&peer->out) - at - FRAME_HEADER_BYTES > FRAME_PAYLOAD_MAX)
		status = STATUS_TOO_MANY;
	finish_frame(peer, at, frame, status);
	if (!lasting && peer->client != NULL && must_wait(master) &&
	    client_answer_new(peer->client, frame->request_id, &answer) < 0)
		peer->is_broken = true;
	if (answer != NULL && keep_answer(peer, at, answer, frame->type, lasting) < 0)
		peer->is_broken = true; /* better no answer than one that can't be repeated */
	if (answer == NULL || !list_link_is_on(&answer->at_held))
		note_time(master, frame->type);
	mark_dirty(peer);
}

/* Before hello and join nothing else is heard. */
static int
judge(const struct peer *peer, const struct frame *frame)
{
	if (frame->type == MSG_hello)
		return STATUS_OK;
	if (!peer->said_hello || (peer->client == NULL && frame->type != MSG_join))
		return STATUS_NOT_JOINED;
	return STATUS_OK;
}

static void
refuse(struct peer *peer, const struct frame *frame, int status)
{
	size_t at;

	peer->master->why[0] = '\0';
	if (frame_begin(&peer->out, &at) < 0)
		peer->is_broken = true;
	else
		finish_frame(peer, at, frame, status);
	mark_dirty(peer);
}

static bool
is_parked(const struct peer *peer, uint64_t request_id)
{
	list_each(&peer->parked, link)
		if (list_of(link, struct parked, at_peer)->request_id == request_id)
			return true;
	return false;
}

/* A promise made now may not be reckoned from the last turn, nor from before a large batch. */
static void
tell_time(struct master *master, size_t len_bytes)
{
	if (master->work == 0)
		master->now_ms = clock_ms(master->clock);
	master->work += 1 + (unsigned)(len_bytes / BYTES_A_WORK);
	if (master->work >= WORK_A_CLOCK)
		master->work = 0;
}

void
master_receive(struct peer *peer, const struct frame *frame)
{
	struct master *master = peer->master;
	const struct answer *answer;
	int status;

	if (peer->is_broken)
		return;
	tell_time(master, cursor_left(&frame->payload));
	if (master->lap_ns == 0)
		master->turn_began_ns = master->lap_ns = clock_ns(master->clock);
	master->since_ns = master->lap_ns;
	counter_add(&master->counters.requests, 1);
	if ((frame->flags & FRAME_REPLY) != 0 || frame->type >= MESSAGE_NUMBERS ||
	    runs[frame->type].run == NULL) {
		refuse(peer, frame, STATUS_INVALID);
		return;
	}
	status = judge(peer, frame);
	if (status != STATUS_OK) {
		refuse(peer, frame, status);
		return;
	}
	if (peer->client == NULL) {
		run(peer, frame);
		return;
	}

	client_heard(master, peer->client);
	if (is_parked(peer, frame->request_id))
		return; /* it came again while it waits for room: one answer will do */
	answer = is_lasting(frame->type) ? client_answer(peer->client, frame->request_id) : NULL;
	if (answer == NULL) {
		run(peer, frame);
		return;
	}
	counter_add(&master->counters.requests_repeated, 1);
	if (!list_link_is_on(&answer->at_held))
		send_again(peer, answer);
}

/* ---- time ---- */

static void
release(struct master *master, struct list *held, uint64_t done)
{
	uint64_t now_ns = list_is_empty(held) ? 0 : clock_ns(master->clock);

	list_each_safe(held, link) {
		struct answer *answer = list_of(link, struct answer, at_held);

		if (answer->batch > done)
			return;
		list_remove(&answer->at_held);
		hist_add(&master->requests[answer->type], now_ns - answer->since_ns);
		answer->client->held_bytes -= buf_len(&answer->frame);
		if (answer->client->peer != NULL)
			send_again(answer->client->peer, answer);
		if (!answer->is_lasting)
			answer_free(answer);
	}
}

void
dispatch_release(struct master *master)
{
	release(master, &master->held, master->progress.committed);
	release(master, &master->held_sync, master->progress.synced);
}

struct peer *
master_dirty(struct master *master)
{
	struct list_link *link = list_first(&master->dirty);

	if (link == NULL)
		return NULL;
	list_remove(link);
	return list_of(link, struct peer, at_dirty);
}

/* ---- waiting for room ---- */

/* Just after a start nothing comes free before the leases of before are over: that is worth waiting
 * for. */
static uint64_t
wait_end(const struct master *master)
{
	uint64_t until_ms = num_max(master->now_ms, master->leases_of_before_ms);

	return until_ms + master->limits.put_wait_ms;
}

/* follow -- it waits for events, not for room. */
static void
follow(struct master *master, struct parked *parked)
{
	parked->until_ms = master->now_ms + master->follow_ms;
	list_push_back(&master->followers, &parked->at_master);
}

/* is_first -- has it waited for half of its time?  Then nobody takes the room that it waits for. */
static bool
is_first(const struct master *master, const struct parked *parked)
{
	return parked->wants_room &&
	       master->now_ms + master->limits.put_wait_ms / 2 >= parked->until_ms;
}

bool
parked_goes_first(const struct master *master)
{
	if (master->trying != NULL)
		return false;
	list_each(&master->parked, link) {
		const struct parked *parked = list_of(link, struct parked, at_master);

		if (is_first(master, parked))
			return true;
		if (parked->wants_room)
			return false; /* those behind it came later */
	}
	return false;
}

int
park(struct master *master, struct peer *peer, const struct frame *frame)
{
	struct parked *parked;

	if (master->trying != NULL) {
		master->trying->waits_on = true;
		master->trying->wants_room = master->wants_room;
		return 0;
	}
	if (peer->n_parked >= PARKED_MAX ||
	    peer->parked_bytes + cursor_left(&frame->payload) > PARKED_BYTES_MAX) {
		why_refused(master,
			    "at most %d puts of one client (and %u bytes of requests) may wait for "
			    "room; wait for some of them",
			    PARKED_MAX, PARKED_BYTES_MAX);
		return STATUS_TOO_MANY;
	}
	parked = calloc(1, sizeof(*parked));
	if (parked == NULL)
		return err_new(-ENOMEM);
	buf_init(&parked->payload);
	if (buf_append(&parked->payload, frame->payload.at, cursor_left(&frame->payload)) < 0) {
		free(parked);
		return err_new(-ENOMEM);
	}
	parked->peer = peer;
	parked->type = frame->type;
	parked->request_id = frame->request_id;
	parked->since_ns = master->since_ns;
	parked->wants_room = master->wants_room;
	parked->until_ms = wait_end(master);
	list_link_init(&parked->at_peer);
	list_link_init(&parked->at_master);
	list_push_back(&peer->parked, &parked->at_peer);
	peer->n_parked++;
	peer->parked_bytes += buf_len(&parked->payload);
	if (parked->type == MSG_events) {
		follow(master, parked);
		return 0;
	}
	list_push_back(&master->parked, &parked->at_master);
	counter_add(&master->counters.puts_waited, 1);
	return 0;
}

void
parked_free(struct parked *parked)
{
	list_remove(&parked->at_peer);
	parked->peer->n_parked--;
	parked->peer->parked_bytes -= buf_len(&parked->payload);
	list_remove(&parked->at_master);
	buf_fini(&parked->payload);
	free(parked);
}

/* true: it found no room, and keeps its place and the time that it has left. */
static bool
try_again(struct master *master, struct parked *parked)
{
	struct frame frame = {
		.type = parked->type,
		.request_id = parked->request_id,
		.payload = {buf_first(&parked->payload), buf_behind(&parked->payload)},
	};

	master->trying = parked;
	parked->waits_on = false;
	master->is_last_try = parked->until_ms <= master->now_ms;
	master->since_ns = parked->since_ns;
	run(parked->peer, &frame);
	master->trying = NULL;
	master->is_last_try = false;
	if (parked->waits_on)
		return true;
	parked_free(parked);
	return false;
}

void
unpark(struct master *master, bool has_room)
{
	list_each_safe(&master->parked, link) {
		struct parked *parked = list_of(link, struct parked, at_master);
		bool goes_first = is_first(master, parked);

		if (!has_room && parked->until_ms > master->now_ms)
			return;
		if (try_again(master, parked)) {
			if (is_first(master, parked))
				return;
			continue;
		}
		has_room |= goes_first; /* those behind it were not tried while it waited */
	}
}

void
unpark_followers(struct master *master, bool has_news)
{
	list_each_safe(&master->followers, link) {
		struct parked *parked = list_of(link, struct parked, at_master);

		if (has_news || parked->until_ms <= master->now_ms)
			(void)try_again(master, parked);
	}
}
