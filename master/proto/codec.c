/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each list of fields in proto.def is unrolled three times:
 *
 *      SIZE   how many bytes it will take; this is where a caller's mistake is caught
 *      PUT    write them: room for all was reserved once, so nothing is checked any more
 *      GET    read them: every length is judged before it is believed
 *
 * A count is judged against its maximum and against the bytes that are left, so
 * a frame never makes us allocate more than a few times its own length.
 */
#include "master/proto/codec.h"

#include <string.h>

#define INLINE static inline __attribute__((unused))

/* ---- integers ---- */

#define INTEGER(type)                                                                              \
	INLINE size_t size_##type(const wire_##type *v)                                            \
	{                                                                                          \
		return sizeof(*v);                                                                 \
	}                                                                                          \
	INLINE uint8_t *put_##type(uint8_t *at, const wire_##type *v)                              \
	{                                                                                          \
		wire_##type le = codec_le_##type(*v);                                              \
                                                                                                   \
		return (uint8_t *)memcpy(at, &le, sizeof(le)) + sizeof(le);                        \
	}                                                                                          \
	INLINE bool get_##type(struct cursor *from, wire_##type *ret)                              \
	{                                                                                          \
		wire_##type le;                                                                    \
                                                                                                   \
		if (cursor_left(from) < sizeof(le))                                                \
			return false;                                                              \
		memcpy(&le, from->at, sizeof(le));                                                 \
		from->at += sizeof(le);                                                            \
		*ret = codec_le_##type(le);                                                        \
		return true;                                                                       \
	}
INTEGER(u8)
INTEGER(u16)
INTEGER(u32)
INTEGER(u64)
#undef INTEGER

/* ---- bytes of a fixed number ---- */

#define BYTES(type)                                                                                \
	INLINE size_t size_##type(const wire_##type *v)                                            \
	{                                                                                          \
		return sizeof(v->bytes);                                                           \
	}                                                                                          \
	INLINE uint8_t *put_##type(uint8_t *at, const wire_##type *v)                              \
	{                                                                                          \
		return (uint8_t *)memcpy(at, v->bytes, sizeof(v->bytes)) + sizeof(v->bytes);       \
	}                                                                                          \
	INLINE bool get_##type(struct cursor *from, wire_##type *ret)                              \
	{                                                                                          \
		if (cursor_left(from) < sizeof(ret->bytes))                                        \
			return false;                                                              \
		memcpy(ret->bytes, from->at, sizeof(ret->bytes));                                  \
		from->at += sizeof(ret->bytes);                                                    \
		return true;                                                                       \
	}
BYTES(mac)
BYTES(proof)
#undef BYTES

/* ---- bytes with their length in front ---- */

INLINE bool
is_within(uint32_t n, uint32_t least, uint32_t most)
{
	return n >= least && n <= most;
}

INLINE bool
has_no_nul(struct span span)
{
	return span.len == 0 || memchr(span.at, 0, span.len) == NULL;
}

INLINE bool
is_graphic(struct span span)
{
	for (uint32_t i = 0; i < span.len; i++) {
		if (span.at[i] <= ' ' || span.at[i] > '~')
			return false;
	}
	return true;
}

INLINE bool
is_anything(struct span span)
{
	(void)span;
	return true;
}

INLINE uint8_t *
put_span(uint8_t *at, struct span span)
{
	wire_u16 len = (wire_u16)span.len;

	at = put_u16(at, &len);
	if (len == 0)
		return at;
	return (uint8_t *)memcpy(at, span.at, len) + len;
}

INLINE bool
get_span(struct cursor *from, uint32_t least, uint32_t most, struct span *ret)
{
	wire_u16 len;

	if (!get_u16(from, &len) || !is_within(len, least, most) || cursor_left(from) < len)
		return false;
	*ret = (struct span){from->at, len};
	from->at += len;
	return true;
}

/* The bytes of what we send are looked at in test builds only: they came through a door before. */
#define SPAN(type, least, most, is_good)                                                           \
	INLINE size_t size_##type(const wire_##type *v)                                            \
	{                                                                                          \
		assert(is_within(v->len, least, most));                                            \
		assert(implies(paranoid, is_good(*v)));                                            \
		return sizeof(wire_u16) + v->len;                                                  \
	}                                                                                          \
	INLINE uint8_t *put_##type(uint8_t *at, const wire_##type *v)                              \
	{                                                                                          \
		return put_span(at, *v);                                                           \
	}                                                                                          \
	INLINE bool get_##type(struct cursor *from, wire_##type *ret)                              \
	{                                                                                          \
		return get_span(from, least, most, ret) && is_good(*ret);                          \
	}                                                                                          \
	enum { LEAST_##type = sizeof(wire_u16) + (least) };
SPAN(key, 1u, KEY_MAX, has_no_nul)
SPAN(part, 0u, KEY_MAX, has_no_nul)
SPAN(name, 1u, NAME_MAX_BYTES, is_graphic)
SPAN(text, 0u, TEXT_MAX, has_no_nul)
SPAN(attr, 0u, ATTR_MAX, is_anything)
#undef SPAN

/* ---- fewest bytes of each type, to judge a count by ---- */

enum {
	LEAST_u8 = sizeof(wire_u8),
	LEAST_u16 = sizeof(wire_u16),
	LEAST_u32 = sizeof(wire_u32),
	LEAST_u64 = sizeof(wire_u64),
	LEAST_mac = sizeof(wire_mac),
	LEAST_proof = sizeof(wire_proof),
};
#define LEAST_FIELD(type, name, doc)     +LEAST_##type
#define LEAST_LIST(rec, name, most, doc) +LEAST_u32

#define RECORD(name, FIELDS) enum { LEAST_rec_##name = 0 FIELDS(LEAST_FIELD, LEAST_LIST) };
RECORDS(RECORD)
#undef RECORD

/* ---- fields and lists, in a function with `s`, the struct ---- */

#define SIZE_FIELD(type, name, doc)     n_bytes += size_##type(&s->name);
#define SIZE_LIST(rec, name, most, doc) n_bytes += size_list_##rec(s->name, s->n_##name, most);
#define PUT_FIELD(type, name, doc)      at = put_##type(at, &s->name);
#define PUT_LIST(rec, name, most, doc)  at = put_list_##rec(at, s->name, s->n_##name);
#define GET_FIELD(type, name, doc)                                                                 \
	if (!get_##type(from, &s->name))                                                           \
		return CODEC_E_MALFORMED;
#define GET_LIST(rec, name, most, doc)                                                             \
	r = get_list_##rec(from, arena, most, &s->name, &s->n_##name);                             \
	if (r != 0)                                                                                \
		return r;

/* The three of one struct. */
#define THREE(what, FIELDS)                                                                        \
	INLINE size_t size_##what(const struct what *s)                                            \
	{                                                                                          \
		size_t n_bytes = 0;                                                                \
                                                                                                   \
		(void)s;                                                                           \
		FIELDS(SIZE_FIELD, SIZE_LIST)                                                      \
		return n_bytes;                                                                    \
	}                                                                                          \
	INLINE uint8_t *put_##what(uint8_t *at, const struct what *s)                              \
	{                                                                                          \
		(void)s;                                                                           \
		FIELDS(PUT_FIELD, PUT_LIST)                                                        \
		return at;                                                                         \
	}                                                                                          \
	INLINE int get_##what(struct cursor *from, struct arena *arena, struct what *s)            \
	{                                                                                          \
		int r = 0;                                                                         \
                                                                                                   \
		(void)from;                                                                        \
		(void)arena;                                                                       \
		(void)s;                                                                           \
		FIELDS(GET_FIELD, GET_LIST)                                                        \
		return r;                                                                          \
	}

/* The three of a list of records. */
#define THREE_OF_LIST(rec)                                                                         \
	INLINE size_t size_list_##rec(const struct rec_##rec *of, uint32_t n, uint32_t most)       \
	{                                                                                          \
		size_t n_bytes = sizeof(wire_u32);                                                 \
                                                                                                   \
		assert(n <= most && implies(n > 0, of != NULL));                                   \
		for (uint32_t i = 0; i < n; i++)                                                   \
			n_bytes += size_rec_##rec(&of[i]);                                         \
		return n_bytes;                                                                    \
	}                                                                                          \
	INLINE uint8_t *put_list_##rec(uint8_t *at, const struct rec_##rec *of, uint32_t n)        \
	{                                                                                          \
		at = put_u32(at, &n);                                                              \
		for (uint32_t i = 0; i < n; i++)                                                   \
			at = put_rec_##rec(at, &of[i]);                                            \
		return at;                                                                         \
	}                                                                                          \
	INLINE int get_list_##rec(struct cursor *from, struct arena *arena, uint32_t most,         \
				  struct rec_##rec **ret_of, uint32_t *ret_n)                      \
	{                                                                                          \
		struct rec_##rec *of = NULL;                                                       \
		uint32_t n;                                                                        \
		int r = 0;                                                                         \
                                                                                                   \
		if (!get_u32(from, &n) || n > most || n > cursor_left(from) / LEAST_rec_##rec)     \
			return CODEC_E_MALFORMED;                                                  \
		if (n > 0) {                                                                       \
			of = arena_alloc(arena, n, sizeof(*of));                                   \
			if (of == NULL)                                                            \
				return CODEC_E_NO_MEMORY;                                          \
		}                                                                                  \
		for (uint32_t i = 0; i < n && r == 0; i++)                                         \
			r = get_rec_##rec(from, arena, &of[i]);                                    \
		*ret_of = of;                                                                      \
		*ret_n = n;                                                                        \
		return r;                                                                          \
	}

/* What codec.h promises. */
#define ENCODE(what)                                                                               \
	int what##_encode(struct buf *to, const struct what *s)                                    \
	{                                                                                          \
		size_t n_bytes = size_##what(s);                                                   \
		uint8_t *at;                                                                       \
                                                                                                   \
		if (n_bytes == 0)                                                                  \
			return 0;                                                                  \
		if (buf_reserve(to, n_bytes) < 0)                                                  \
			return CODEC_E_NO_MEMORY;                                                  \
		at = put_##what(to->at + to->end, s);                                              \
		to->end += n_bytes;                                                                \
		assert(at == to->at + to->end);                                                    \
		return 0;                                                                          \
	}
#define DECODE(what)                                                                               \
	int what##_decode(struct cursor from, struct arena *arena, struct what *ret)               \
	{                                                                                          \
		struct what s = {};                                                                \
		int r;                                                                             \
                                                                                                   \
		r = get_##what(&from, arena, &s);                                                  \
		if (r != 0)                                                                        \
			return r;                                                                  \
		if (cursor_left(&from) != 0)                                                       \
			return CODEC_E_MALFORMED;                                                  \
		*ret = s;                                                                          \
		return 0;                                                                          \
	}

/* ---- all records, all messages ---- */

#define RECORD(name, FIELDS)                                                                       \
	THREE(rec_##name, FIELDS)                                                                  \
	THREE_OF_LIST(name)                                                                        \
	ENCODE(rec_##name)
RECORDS(RECORD)
#undef RECORD

#define MESSAGE(number, name, REQUEST, REPLY)                                                      \
	THREE(msg_##name, REQUEST)                                                                 \
	ENCODE(msg_##name)                                                                         \
	DECODE(msg_##name)                                                                         \
	THREE(rep_##name, REPLY)                                                                   \
	ENCODE(rep_##name)                                                                         \
	DECODE(rep_##name)
MESSAGES(MESSAGE)
#undef MESSAGE

const char *
msg_name(uint16_t number)
{
	switch (number) {
#define MESSAGE(number, name, REQUEST, REPLY)                                                      \
	case number:                                                                               \
		return #name;
		MESSAGES(MESSAGE)
#undef MESSAGE
	default:
		return "unknown";
	}
}

/* ---- lists told record by record ---- */

int
codec_list_begin(struct buf *to, size_t *ret_at)
{
	size_t at = buf_len(to);
	int r = codec_put_u32(to, 0);

	if (r != 0)
		return r;
	*ret_at = at;
	return 0;
}

void
codec_list_end(struct buf *to, size_t at, uint32_t n)
{
	assert(at + sizeof(n) <= buf_len(to));
	put_u32(buf_first(to) + at, &n);
}

/* ---- why ---- */

int
why_encode(struct buf *to, const char *why)
{
	struct span span = span_of(why, strnlen(why, TEXT_MAX));

	if (buf_reserve(to, size_text(&span)) < 0)
		return CODEC_E_NO_MEMORY;
	put_text(to->at + to->end, &span);
	to->end += size_text(&span);
	return 0;
}

struct span
why_decode(struct cursor from)
{
	struct span why;

	if (!get_text(&from, &why) || cursor_left(&from) != 0)
		return (struct span){0};
	return why;
}

bool
span_equal(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}
