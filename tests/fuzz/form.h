/* SPDX-License-Identifier: Apache-2.0 */

/*
 * form.h -- every request and reply of proto.def as a row of one table, so that a
 * test can say "for each": fill it, encode it, decode it, compare it.
 *
 * A filler makes the values.  With a seed they are random; without one they count
 * up from a fixed number, each list has two records, and no field is zero or empty:
 * that is the filling of the golden bytes.
 */
#ifndef TESTS_FUZZ_FORM_H
#define TESTS_FUZZ_FORM_H

#include <string.h>

#include "master/proto/codec.h"

#define FORM_INLINE static inline __attribute__((unused))

/* ---- values ---- */

struct filler {
	struct arena *arena; /* what is filled lives here */
	uint64_t at;
	bool is_random;
};

FORM_INLINE struct filler
filler_of_pattern(struct arena *arena)
{
	return (struct filler){.arena = arena};
}

FORM_INLINE struct filler
filler_of_seed(struct arena *arena, uint64_t seed)
{
	return (struct filler){.arena = arena, .at = seed, .is_random = true};
}

/* filler_next -- a number whose bytes differ from each other, so that their order is seen. */
FORM_INLINE uint64_t
filler_next(struct filler *f)
{
	uint64_t x;

	if (!f->is_random)
		return 0x8070605040302010u + ++f->at;

	x = f->at += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

FORM_INLINE void *
filler_room(struct filler *f, size_t n, size_t one_bytes)
{
	void *at = arena_alloc(f->arena, n, one_bytes);

	assert(at != NULL);
	return at;
}

/* Mostly short, now and then of any length that is allowed. */
FORM_INLINE uint32_t
fill_len(struct filler *f, uint32_t least, uint32_t most)
{
	uint64_t x = filler_next(f);

	if (!f->is_random)
		return 3 + (uint32_t)(x % 5);
	if (x % 16 == 0)
		return least + (uint32_t)((x >> 8) % (most - least + 1));
	return least + (uint32_t)((x >> 8) % 12);
}

FORM_INLINE void
fill_span(struct filler *f, uint32_t least, uint32_t most, uint8_t first, uint8_t last,
	  struct span *ret)
{
	uint32_t len = fill_len(f, least, most);
	uint8_t *at = filler_room(f, len, 1);

	for (uint32_t i = 0; i < len; i++) {
		if (f->is_random)
			at[i] = (uint8_t)(first + (filler_next(f) >> 32) % (last - first + 1u));
		else
			at[i] = (uint8_t)('a' + (f->at + i) % 26);
	}
	*ret = span_of(at, len);
}

#define FILL_INTEGER(type)                                                                         \
	FORM_INLINE void fill_##type(struct filler *f, wire_##type *ret)                           \
	{                                                                                          \
		*ret = (wire_##type)filler_next(f);                                                \
	}
FILL_INTEGER(u8)
FILL_INTEGER(u16)
FILL_INTEGER(u32)
FILL_INTEGER(u64)

#define FILL_BYTES(type)                                                                           \
	FORM_INLINE void fill_##type(struct filler *f, wire_##type *ret)                           \
	{                                                                                          \
		for (size_t i = 0; i < sizeof(ret->bytes); i++)                                    \
			ret->bytes[i] = (uint8_t)filler_next(f);                                   \
	}
FILL_BYTES(mac)
FILL_BYTES(proof)

#define FILL_SPAN(type, least, most, first, last)                                                  \
	FORM_INLINE void fill_##type(struct filler *f, wire_##type *ret)                           \
	{                                                                                          \
		fill_span(f, least, most, first, last, ret);                                       \
	}
FILL_SPAN(key, 1, KEY_MAX, 1, 255)
FILL_SPAN(part, 0, KEY_MAX, 1, 255)
FILL_SPAN(name, 1, NAME_MAX_BYTES, '!', '~')
FILL_SPAN(text, 0, TEXT_MAX, 1, 255)
FILL_SPAN(attr, 0, ATTR_MAX, 0, 255)

/* ---- are two values the same? ---- */

#define SAME_PLAIN(type)                                                                           \
	FORM_INLINE bool same_##type(const wire_##type *a, const wire_##type *b)                   \
	{                                                                                          \
		return memcmp(a, b, sizeof(*a)) == 0;                                              \
	}
SAME_PLAIN(u8)
SAME_PLAIN(u16)
SAME_PLAIN(u32)
SAME_PLAIN(u64)
SAME_PLAIN(mac)
SAME_PLAIN(proof)

#define same_key(a, b)  span_equal(*(a), *(b))
#define same_part(a, b) span_equal(*(a), *(b))
#define same_name(a, b) span_equal(*(a), *(b))
#define same_text(a, b) span_equal(*(a), *(b))
#define same_attr(a, b) span_equal(*(a), *(b))

/* ---- structs ---- */

#define FILL_FIELD(type, name, doc) fill_##type(f, &s->name);
#define FILL_LIST(rec, name, most, doc)                                                            \
	s->n_##name = f->is_random ? (uint32_t)(filler_next(f) % 4) : 2;                           \
	s->name = fill_list_##rec(f, s->n_##name);
#define SAME_FIELD(type, name, doc)                                                                \
	if (!same_##type(&a->name, &b->name))                                                      \
		return false;
#define SAME_LIST(rec, name, most, doc)                                                            \
	if (a->n_##name != b->n_##name || !same_list_##rec(a->name, b->name, a->n_##name))         \
		return false;

#define FORM_STRUCT(what, FIELDS)                                                                  \
	FORM_INLINE void fill_##what(struct filler *f, struct what *s)                             \
	{                                                                                          \
		(void)f;                                                                           \
		(void)s;                                                                           \
		FIELDS(FILL_FIELD, FILL_LIST)                                                      \
	}                                                                                          \
	FORM_INLINE bool same_##what(const struct what *a, const struct what *b)                   \
	{                                                                                          \
		(void)a;                                                                           \
		(void)b;                                                                           \
		FIELDS(SAME_FIELD, SAME_LIST)                                                      \
		return true;                                                                       \
	}

#define RECORD(rec, FIELDS)                                                                        \
	FORM_STRUCT(rec_##rec, FIELDS)                                                             \
	FORM_INLINE struct rec_##rec *fill_list_##rec(struct filler *f, uint32_t n)                \
	{                                                                                          \
		struct rec_##rec *of = filler_room(f, n, sizeof(*of));                             \
                                                                                                   \
		for (uint32_t i = 0; i < n; i++)                                                   \
			fill_rec_##rec(f, &of[i]);                                                 \
		return of;                                                                         \
	}                                                                                          \
	FORM_INLINE bool same_list_##rec(const struct rec_##rec *a, const struct rec_##rec *b,     \
					 uint32_t n)                                               \
	{                                                                                          \
		bool is_same = true;                                                               \
                                                                                                   \
		for (uint32_t i = 0; i < n; i++)                                                   \
			is_same = is_same && same_rec_##rec(&a[i], &b[i]);                         \
		return is_same;                                                                    \
	}
RECORDS(RECORD)
#undef RECORD

/* ---- the table ---- */

union form_any { /* room for the struct of any row */
#define MESSAGE(number, name, REQUEST, REPLY)                                                      \
	struct msg_##name msg_##name;                                                              \
	struct rep_##name rep_##name;
	MESSAGES(MESSAGE)
#undef MESSAGE
};

struct form {
	const char *name;
	uint16_t number;
	bool is_reply;
	size_t struct_bytes;
	void (*fill)(struct filler *f, union form_any *ret);
	bool (*same)(const union form_any *a, const union form_any *b);
	int (*encode)(struct buf *to, const union form_any *any);
	int (*decode)(struct cursor from, struct arena *arena, union form_any *ret);
};

#define FORM_ROW_OF(what)                                                                          \
	FORM_INLINE void form_fill_##what(struct filler *f, union form_any *ret)                   \
	{                                                                                          \
		fill_##what(f, &ret->what);                                                        \
	}                                                                                          \
	FORM_INLINE bool form_same_##what(const union form_any *a, const union form_any *b)        \
	{                                                                                          \
		return same_##what(&a->what, &b->what);                                            \
	}                                                                                          \
	FORM_INLINE int form_encode_##what(struct buf *to, const union form_any *any)              \
	{                                                                                          \
		return what##_encode(to, &any->what);                                              \
	}                                                                                          \
	FORM_INLINE int form_decode_##what(struct cursor from, struct arena *arena,                \
					   union form_any *ret)                                    \
	{                                                                                          \
		return what##_decode(from, arena, &ret->what);                                     \
	}

#define MESSAGE(number, name, REQUEST, REPLY)                                                      \
	FORM_STRUCT(msg_##name, REQUEST)                                                           \
	FORM_STRUCT(rep_##name, REPLY)                                                             \
	FORM_ROW_OF(msg_##name)                                                                    \
	FORM_ROW_OF(rep_##name)
MESSAGES(MESSAGE)
#undef MESSAGE

#define FORM_ROW(number, name, what, is_reply)                                                     \
	{#name,                                                                                    \
	 number,                                                                                   \
	 is_reply,                                                                                 \
	 sizeof(struct what),                                                                      \
	 form_fill_##what,                                                                         \
	 form_same_##what,                                                                         \
	 form_encode_##what,                                                                       \
	 form_decode_##what},
static const struct form forms[] = {
#define MESSAGE(number, name, REQUEST, REPLY)                                                      \
	FORM_ROW(number, name, msg_##name, false)                                                  \
	FORM_ROW(number, name, rep_##name, true)
	MESSAGES(MESSAGE)
#undef MESSAGE
};

/* form_find -- NULL for a number that is none. */
FORM_INLINE const struct form *
form_find(uint16_t number, bool is_reply)
{
	for (size_t i = 0; i < array_len(forms); i++) {
		if (forms[i].number == number && forms[i].is_reply == is_reply)
			return &forms[i];
	}
	return NULL;
}

/* form_check -- decode: what is taken for a message must encode to the same bytes again.  True: it
 * was one. */
FORM_INLINE bool
form_check(const struct form *form, struct cursor from)
{
	struct arena arena;
	struct buf again;
	union form_any any;
	int r;

	arena_init(&arena);
	buf_init(&again);
	r = form->decode(from, &arena, &any);
	assert(r == 0 || r == CODEC_E_MALFORMED);
	if (r == 0) {
		int encoded = form->encode(&again, &any);

		assert(encoded == 0);
		assert(buf_len(&again) == cursor_left(&from));
		assert(buf_len(&again) == 0 ||
		       memcmp(buf_first(&again), from.at, buf_len(&again)) == 0);
	}
	buf_fini(&again);
	arena_fini(&arena);
	return r == 0;
}

#endif
