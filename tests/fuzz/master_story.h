/* SPDX-License-Identifier: Apache-2.0 */

/*
 * master_story.h -- what fuzz_master.c tells its story with: the input's numbers, a master that is
 * started and stopped, requests, and what is learnt from answers.
 *
 *      input --next_*()--> SEND() --frame--> master
 *                 ^                             |
 *              struct past <---- hear() <-------+
 */
#ifndef TESTS_FUZZ_MASTER_STORY_H
#define TESTS_FUZZ_MASTER_STORY_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/books.h"
#include "tests/fuzz/form.h"
#include "transfer/base/num.h"

#define N_ENDS 4
#define N_PAST 8 /* numbers kept of each kind */
#define MIB    (1ull << 20)

struct end {
	struct peer *peer; /* NULL: not connected */
	uint64_t client_id, last_request;
};

/* Numbers that came in answers; the newest takes the place of the oldest. */
struct past {
	uint64_t ids[N_PAST];
	uint64_t also[N_PAST]; /* what belongs to it: a put's room, a lease's id */
	size_t owner[N_PAST];  /* the end that was told */
	size_t n;
};

struct story {
	const uint8_t *at, *end;
	struct clock_fake clock;
	struct rand rand;
	struct store *store; /* the master's */
	struct master *master;
	struct end ends[N_ENDS];
	struct past puts, leases, fences;
	size_t hearer;      /* whose answers are read */
	struct arena arena; /* of the request or answer at hand */
	unsigned n_starts;
};

static char path[96]; /* of the books */

/* ---- the input ---- */

FORM_INLINE uint8_t
next_u8(struct story *s)
{
	return s->at < s->end ? *s->at++ : 0;
}

FORM_INLINE uint64_t
next_below(struct story *s, uint64_t n)
{
	return next_u8(s) % n;
}

/* Mostly a plain number; now and then one at the edge of what fits. */
FORM_INLINE uint64_t
next_length(struct story *s)
{
	static const uint64_t edges[] = {0,
					 1,
					 63,
					 64,
					 65,
					 4095,
					 4096,
					 4097,
					 MIB,
					 4 * MIB,
					 4 * MIB + 1,
					 9 * MIB,
					 1ull << 44,
					 (1ull << 44) + 1,
					 UINT64_MAX / 8,
					 UINT64_MAX};
	uint8_t x = next_u8(s);

	return x < 0xd0 ? x * 3001ull : edges[x % array_len(edges)];
}

FORM_INLINE struct span
next_key(struct story *s)
{
	static const char *const keys[] = {"a", "a/", "a/b", "a/b/c", "ab", "b", "d/e", "\xff\xfe"};
	uint8_t x = next_u8(s);
	char *longer;

	if (x < 0xf0)
		return span_of(keys[x % array_len(keys)], strlen(keys[x % array_len(keys)]));
	longer = arena_alloc(&s->arena, 1, KEY_MAX);
	assert(longer != NULL);
	memset(longer, 'a' + x % 4, KEY_MAX);
	return span_of(longer, (size_t)(x % 2 == 0 ? KEY_MAX : 300));
}

/* 0: the newest. */
FORM_INLINE size_t
next_past(struct story *s, const struct past *past)
{
	return (past->n + N_PAST - 1 - next_below(s, N_PAST)) % N_PAST;
}

FORM_INLINE void
past_add(struct past *past, uint64_t id, uint64_t also, size_t owner)
{
	past->owner[past->n % N_PAST] = owner;
	past->ids[past->n % N_PAST] = id;
	past->also[past->n % N_PAST] = also;
	past->n++;
}

/* ---- the master ---- */

FORM_INLINE void
forget_files(void)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	char name[128];

	for (size_t i = 0; i < array_len(suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		(void)unlink(name);
	}
}

FORM_INLINE void
start_master(struct story *s)
{
	struct store_config config = {
		.path = path,
		.clock = &s->clock.base,
		.is_inline = true,
		.wal_cap_bytes = 64 << 10,
		.sync_every_ms = 100,
		.lease_ms = 5000,
	};
	struct master_config master = {
		.clock = &s->clock.base,
		.rand = &s->rand,
		.limits = {.lease_ms = 5000,
			   .write_lease_ms = 3000,
			   .ping_ms = 1000,
			   .client_ttl_ms = 10000,
			   .client_grace_ms = 5000,
			   .put_wait_ms = 2000,
			   .evict_high_pct = 95,
			   .evict_low_pct = 80},
	};
	char why[512];
	int r = store_open(&config, &s->store, why, sizeof(why));

	if (r == 0) {
		struct store *store = s->store;

		r = master_new(&master, &store, &s->master, why, sizeof(why));
	}
	if (r != 0) {
		fprintf(stderr, "the master does not start (%d): %s\n", r, why);
		abort();
	}
	master_check(s->master);
}

FORM_INLINE void
stop_master(struct story *s)
{
	for (size_t i = 0; i < N_ENDS; i++)
		s->ends[i].peer = NULL;
	master_free(s->master);
	s->master = NULL;
}

/* ---- answers ---- */

FORM_INLINE void
hear_places(struct story *s, const struct frame *frame)
{
	struct rep_put_start rep;

	if (rep_put_start_decode(frame->payload, &s->arena, &rep) != 0)
		abort();
	for (uint32_t i = 0; i < rep.n_places; i++) {
		const struct rec_put_place *place = &rep.places[i];
		uint64_t room = 0;

		if (place->status != STATUS_OK)
			continue;
		for (uint32_t j = 0; place->n_replicas > 0 && j < place->replicas[0].n_grants; j++)
			room += place->replicas[0].grants[j].len_bytes;
		past_add(&s->puts, place->object_id, room, s->hearer);
	}
}

FORM_INLINE void
hear_leases(struct story *s, const struct frame *frame)
{
	struct rep_get_replica_list rep;

	if (rep_get_replica_list_decode(frame->payload, &s->arena, &rep) != 0)
		abort();
	for (uint32_t i = 0; i < rep.n_objects; i++)
		if (rep.objects[i].status == STATUS_OK)
			past_add(&s->leases, rep.objects[i].object_id, rep.objects[i].lease_id,
				 s->hearer);
}

FORM_INLINE void
hear_fences(struct story *s, const struct frame *frame)
{
	struct rep_ping rep;

	if (rep_ping_decode(frame->payload, &s->arena, &rep) != 0)
		abort();
	for (uint32_t i = 0; i < rep.n_fences; i++)
		past_add(&s->fences, rep.fences[i].fence_id, 0, s->hearer);
}

FORM_INLINE void
hear(struct story *s, const struct frame *frame)
{
	const struct form *form = form_find(frame->type, /* is_reply= */ true);

	assert((frame->flags & FRAME_REPLY) != 0);
	if (frame->status != STATUS_OK)
		return;
	assert(form != NULL);
	arena_reset(&s->arena);
	if (frame->type == MSG_put_start)
		hear_places(s, frame);
	else if (frame->type == MSG_get_replica_list)
		hear_leases(s, frame);
	else if (frame->type == MSG_ping)
		hear_fences(s, frame);
	else if (!form_check(form, frame->payload))
		abort();
}

FORM_INLINE void
hear_all(struct story *s)
{
	for (size_t i = 0; i < N_ENDS; i++) {
		struct peer *peer = s->ends[i].peer;
		struct frame frame;
		size_t len;

		if (peer == NULL)
			continue;
		s->hearer = i;
		while (buf_len(&peer->out) > 0) {
			if (frame_peek(buf_first(&peer->out), buf_len(&peer->out), &frame, &len) !=
			    0)
				abort();
			hear(s, &frame);
			buf_consume(&peer->out, len);
		}
		if (peer->is_broken) {
			master_peer_free(peer);
			s->ends[i].peer = NULL;
		}
	}
}

FORM_INLINE void
turn(struct story *s)
{
	(void)master_turn(s->master);
	while (master_dirty(s->master) != NULL)
		;
	hear_all(s);
	master_check(s->master);
}

/* ---- requests ---- */

/* As the server does it: a frame in a buffer, foreseen, then taken. */
FORM_INLINE void
send_bytes(struct story *s, struct end *end, uint16_t type, const struct buf *payload)
{
	bool repeats = next_u8(s) >= 0xf0;
	struct frame frame = {
		.type = type,
		.request_id = repeats ? end->last_request : ++end->last_request,
	};
	struct buf in;
	size_t at, len;

	buf_init(&in);
	if (frame_begin(&in, &at) != 0)
		abort();
	if (buf_len(payload) > 0 && buf_append(&in, buf_first(payload), buf_len(payload)) != 0)
		abort();
	frame_end(&in, at, &frame);
	master_foresee(end->peer, buf_first(&in), buf_len(&in));
	if (frame_peek(buf_first(&in), buf_len(&in), &frame, &len) != 0)
		abort();
	master_receive(end->peer, &frame);
	buf_fini(&in);
}

#define SEND(s, end, name, ...)                                                                    \
	do {                                                                                       \
		struct msg_##name msg_ = {__VA_ARGS__};                                            \
		struct buf payload_;                                                               \
                                                                                                   \
		buf_init(&payload_);                                                               \
		if (msg_##name##_encode(&payload_, &msg_) != 0)                                    \
			abort();                                                                   \
		send_bytes((s), (end), MSG_##name, &payload_);                                     \
		buf_fini(&payload_);                                                               \
	} while (0)

#endif
