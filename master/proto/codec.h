/* SPDX-License-Identifier: Apache-2.0 */

/*
 * codec.h -- structs and codec made from proto.def.
 *
 *      struct rec_extent           each RECORD
 *      struct msg_put_start        each MESSAGE's request      MSG_put_start   its number
 *      struct rep_put_start        each MESSAGE's reply
 *
 * A list field `extents` becomes `n_extents` (uint32_t) and `extents` (pointer).
 * Decoding is strict (short input, counts above the limit, bytes left over, NUL
 * in a key: all malformed), reads no byte twice, and allocates from the arena;
 * keys and texts are spans into the frame and live as long as it does.
 */
#ifndef MASTER_PROTO_CODEC_H
#define MASTER_PROTO_CODEC_H

#include <endian.h>
#include <string.h>

#include "master/proto/limits.h"
#include "master/proto/proto.def"
#include "transfer/base/arena.h"
#include "transfer/base/buf.h"

/* Bytes that lie elsewhere; not ended by NUL. */
struct span {
	const uint8_t *at;
	uint32_t len;
};

typedef uint8_t wire_u8;
typedef uint16_t wire_u16;
typedef uint32_t wire_u32;
typedef uint64_t wire_u64;
typedef struct span wire_key, wire_part, wire_name, wire_text, wire_attr;
typedef struct {
	uint8_t bytes[16];
} wire_mac;
typedef struct {
	uint8_t bytes[32];
} wire_proof;

enum codec_outcome {
	CODEC_E_MALFORMED = 1, /* decode: the bytes are not such a message */
	CODEC_E_NO_MEMORY,     /* decode: the arena is exhausted; encode: the buffer can't grow */
};

#define CODEC_FIELD(type, name, doc) wire_##type name;
#define CODEC_LIST(rec, name, most, doc)                                                           \
	uint32_t n_##name;                                                                         \
	struct rec_##rec *name;
#define CODEC_STRUCT(prefix, name, FIELDS)                                                         \
	struct prefix##_##name {                                                                   \
		FIELDS(CODEC_FIELD, CODEC_LIST)                                                    \
	};
/* (empty structs, of messages without fields, are a GNU extension) */

#define RECORD(name, FIELDS)                                                                       \
	CODEC_STRUCT(rec, name, FIELDS)                                                            \
	int rec_##name##_encode(struct buf *to, const struct rec_##name *rec) MUST_CHECK;
RECORDS(RECORD)
#undef RECORD

#define MESSAGE(number, name, REQUEST, REPLY)                                                      \
	CODEC_STRUCT(msg, name, REQUEST)                                                           \
	CODEC_STRUCT(rep, name, REPLY)                                                             \
	int msg_##name##_encode(struct buf *to, const struct msg_##name *msg) MUST_CHECK;          \
	int rep_##name##_encode(struct buf *to, const struct rep_##name *rep) MUST_CHECK;          \
	int msg_##name##_decode(struct cursor from, struct arena *arena, struct msg_##name *ret)   \
		MUST_CHECK;                                                                        \
	int rep_##name##_decode(struct cursor from, struct arena *arena, struct rep_##name *ret)   \
		MUST_CHECK;
MESSAGES(MESSAGE)
#undef MESSAGE

enum msg_number {
#define MESSAGE(number, name, REQUEST, REPLY) MSG_##name = number,
	MESSAGES(MESSAGE)
#undef MESSAGE
};

/* msg_name -- "put_start"; "unknown" for a number that is none. */
const char *msg_name(uint16_t number);

/*
 * codec_list_begin -- a list told record by record, when its length is not known before.
 * codec_list_end   -- write the count of the list that began at `at`.
 *
 *      size_t at;
 *      codec_list_begin(&out, &at);
 *      ...rec_fate_encode(&out, &fate), n++...
 *      codec_list_end(&out, at, n);
 *
 * `at` counts from buf_first(): the buffer may move while it grows, but may not be consumed.
 * Lists may stand in each other, and the fields before and after them be put with codec_put_u8()
 * and so on.  That n is within the list's maximum is the caller's care.
 *
 * result:  0 or CODEC_E_NO_MEMORY.
 */
int codec_list_begin(struct buf *to, size_t *ret_at) MUST_CHECK;
void codec_list_end(struct buf *to, size_t at, uint32_t n);

/* codec_le_uN -- to and from little-endian. */
#define codec_le_u8(v)  (v)
#define codec_le_u16(v) htole16(v)
#define codec_le_u32(v) htole32(v)
#define codec_le_u64(v) htole64(v)

/* codec_put_u8, _u16, _u32, _u64 -- one field of a reply told bit by bit.  0, CODEC_E_NO_MEMORY. */
#define CODEC_PUT(type)                                                                            \
	MUST_CHECK static inline int codec_put_##type(struct buf *to, wire_##type v)               \
	{                                                                                          \
		wire_##type le = codec_le_##type(v);                                               \
                                                                                                   \
		if (to->cap - to->end < sizeof(le) && buf_reserve(to, sizeof(le)) < 0)             \
			return CODEC_E_NO_MEMORY;                                                  \
		memcpy(to->at + to->end, &le, sizeof(le));                                         \
		to->end += sizeof(le);                                                             \
		return 0;                                                                          \
	}
CODEC_PUT(u8)
CODEC_PUT(u16)
CODEC_PUT(u32)
CODEC_PUT(u64)
#undef CODEC_PUT

/* A reply with a status other than OK: why, in words (what is longer than TEXT_MAX is cut). */
int why_encode(struct buf *to, const char *why) MUST_CHECK;

/* why_decode -- those words; none if the bytes are not a text. */
struct span why_decode(struct cursor from);

static inline struct span
span_of(const void *at, size_t len)
{
	return (struct span){at, (uint32_t)len};
}

bool span_equal(struct span a, struct span b);

#endif
