/* SPDX-License-Identifier: Apache-2.0 */

/*
 * raw.h -- a second encoder, slow and plain, that can break one rule of the wire.
 *
 * It shares no line with codec.c, so both agreeing on bytes means something.  Texts
 * and lists are numbered in the order in which they are written; number `at` is
 * written in the way that `how` says, all others as they are.
 */
#ifndef TESTS_FUZZ_RAW_H
#define TESTS_FUZZ_RAW_H

#include "tests/fuzz/form.h"

enum raw_how {
	RAW_PLAIN,
	RAW_FULL,  /* as long as allowed */
	RAW_ABOVE, /* one more */
	RAW_EMPTY,
	RAW_NUL,   /* a NUL among the bytes */
	RAW_BLANK, /* a blank among the bytes */
	RAW_HIGH,  /* a byte that is not ASCII */
	RAW_HUGE,  /* a count of 2^32 - 1, and no records */
	RAW_HOW_COUNT,
};

struct raw {
	struct buf *to;
	enum raw_how how;
	uint32_t at;     /* which text or list is broken */
	uint32_t n_seen; /* so far */
	bool is_good;    /* still allowed? */
};

struct raw_rule {
	uint32_t least, most;
	bool may_nul, may_blank, may_high;
};

FORM_INLINE void
raw_bytes(struct raw *raw, const void *bytes, size_t n)
{
	int r = buf_append(raw->to, bytes, n);

	assert(r == 0);
}

FORM_INLINE void
raw_uint(struct raw *raw, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t byte = (uint8_t)(v >> (8 * i));

		raw_bytes(raw, &byte, 1);
	}
}

/* raw_turn -- what is to be done with the text or list that comes now? */
FORM_INLINE enum raw_how
raw_turn(struct raw *raw)
{
	return raw->n_seen++ == raw->at ? raw->how : RAW_PLAIN;
}

FORM_INLINE void
raw_repeat(struct raw *raw, char byte, uint32_t n)
{
	raw_uint(raw, n, 2);
	for (uint32_t i = 0; i < n; i++)
		raw_bytes(raw, &byte, 1);
}

FORM_INLINE void
raw_three(struct raw *raw, const char *bytes, bool is_allowed)
{
	raw_uint(raw, 3, 2);
	raw_bytes(raw, bytes, 3);
	raw->is_good = is_allowed;
}

FORM_INLINE void
raw_span(struct raw *raw, struct span span, struct raw_rule rule)
{
	switch (raw_turn(raw)) {
	case RAW_FULL:
		raw_repeat(raw, 'x', rule.most);
		break;
	case RAW_ABOVE:
		raw_repeat(raw, 'x', rule.most + 1);
		raw->is_good = false;
		break;
	case RAW_EMPTY:
		raw_uint(raw, 0, 2);
		raw->is_good = rule.least == 0;
		break;
	case RAW_NUL:
		raw_three(raw, "a\0b", rule.may_nul);
		break;
	case RAW_BLANK:
		raw_three(raw, "a b", rule.may_blank);
		break;
	case RAW_HIGH:
		raw_three(raw, "a\x80z", rule.may_high);
		break;
	case RAW_PLAIN:
	case RAW_HUGE: /* is about lists */
	case RAW_HOW_COUNT:
		raw_uint(raw, span.len, 2);
		raw_bytes(raw, span.at, span.len);
	}
}

/* raw_count -- write the count of a list of n; how many records must follow? */
FORM_INLINE uint32_t
raw_count(struct raw *raw, uint32_t n, uint32_t most)
{
	enum raw_how how = raw_turn(raw);

	if (how == RAW_HUGE) {
		raw_uint(raw, UINT32_MAX, 4);
		raw->is_good = false;
		return 0;
	}
	if (how == RAW_FULL)
		n = most;
	if (how == RAW_ABOVE) {
		n = most + 1;
		raw->is_good = false;
	}
	if (how == RAW_EMPTY)
		n = 0;
	raw_uint(raw, n, 4);
	return n;
}

#define raw_u8(raw, v)    raw_uint(raw, *(v), 1)
#define raw_u16(raw, v)   raw_uint(raw, *(v), 2)
#define raw_u32(raw, v)   raw_uint(raw, *(v), 4)
#define raw_u64(raw, v)   raw_uint(raw, *(v), 8)
#define raw_mac(raw, v)   raw_bytes(raw, (v)->bytes, 16)
#define raw_proof(raw, v) raw_bytes(raw, (v)->bytes, 32)
#define raw_key(raw, v)   raw_span(raw, *(v), (struct raw_rule){1, 1024, false, true, true})
#define raw_part(raw, v)  raw_span(raw, *(v), (struct raw_rule){0, 1024, false, true, true})
#define raw_name(raw, v)  raw_span(raw, *(v), (struct raw_rule){1, 255, false, false, false})
#define raw_text(raw, v)  raw_span(raw, *(v), (struct raw_rule){0, 512, false, true, true})
#define raw_attr(raw, v)  raw_span(raw, *(v), (struct raw_rule){0, 4096, true, true, true})

/* A list that grows or has nothing of its own repeats its first records. */
#define RAW_FIELD(type, name, doc) raw_##type(raw, &s->name);
#define RAW_LIST(rec, name, most, doc)                                                             \
	for (uint32_t i = 0, n = raw_count(raw, s->n_##name, most); i < n; i++)                    \
		raw_rec_##rec(raw, &s->name[i % s->n_##name]);
#define RAW_STRUCT(what, FIELDS)                                                                   \
	FORM_INLINE void raw_##what(struct raw *raw, const struct what *s)                         \
	{                                                                                          \
		(void)raw;                                                                         \
		(void)s;                                                                           \
		FIELDS(RAW_FIELD, RAW_LIST)                                                        \
	}

#define RECORD(rec, FIELDS) RAW_STRUCT(rec_##rec, FIELDS)
RECORDS(RECORD)
#undef RECORD
#define MESSAGE(number, name, REQUEST, REPLY)                                                      \
	RAW_STRUCT(msg_##name, REQUEST)                                                            \
	RAW_STRUCT(rep_##name, REPLY)
MESSAGES(MESSAGE)
#undef MESSAGE

/* raw_write -- the message of that form, in raw's way. */
FORM_INLINE void
raw_write(struct raw *raw, const struct form *form, const union form_any *any)
{
#define MESSAGE(n, message, REQUEST, REPLY)                                                        \
	if (form->number == (n) && !form->is_reply)                                                \
		raw_msg_##message(raw, &any->msg_##message);                                       \
	if (form->number == (n) && form->is_reply)                                                 \
		raw_rep_##message(raw, &any->rep_##message);
	MESSAGES(MESSAGE)
#undef MESSAGE
}

#endif
