/* SPDX-License-Identifier: Apache-2.0 */

/* codec_room.h -- what the tests of the codec work in: memory, and the bytes between two sides. */
#ifndef TESTS_UNIT_CODEC_ROOM_H
#define TESTS_UNIT_CODEC_ROOM_H

#include <setjmp.h>
#include <stdarg.h>

#include "tests/fuzz/raw.h"

#include <cmocka.h>

/* What every test needs: memory to fill from and decode to, and the bytes between. */
struct room {
	struct arena filled;
	struct arena decoded;
	struct buf bytes;
	struct buf again;
};

FORM_INLINE int
room_open(void **state)
{
	struct room *room = calloc(1, sizeof(*room));

	if (room == NULL)
		return -1;
	arena_init(&room->filled);
	arena_init(&room->decoded);
	buf_init(&room->bytes);
	buf_init(&room->again);
	*state = room;
	return 0;
}

FORM_INLINE int
room_close(void **state)
{
	struct room *room = *state;

	arena_fini(&room->filled);
	arena_fini(&room->decoded);
	buf_fini(&room->bytes);
	buf_fini(&room->again);
	free(room);
	return 0;
}

FORM_INLINE void
room_clear(struct room *room)
{
	arena_reset(&room->filled);
	arena_reset(&room->decoded);
	buf_clear(&room->bytes);
	buf_clear(&room->again);
}

FORM_INLINE struct cursor
cursor_of(const struct buf *buf)
{
	return (struct cursor){buf_first(buf), buf_behind(buf)};
}

FORM_INLINE void
assert_same_bytes(const struct buf *a, const struct buf *b)
{
	assert_int_equal(buf_len(a), buf_len(b));
	if (buf_len(a) > 0)
		assert_memory_equal(buf_first(a), buf_first(b), buf_len(a));
}

/* encode_pattern -- room->bytes is the form's message, filled with the fixed pattern. */
FORM_INLINE void
encode_pattern(struct room *room, const struct form *form, union form_any *ret)
{
	struct filler filler = filler_of_pattern(&room->filled);

	room_clear(room);
	form->fill(&filler, ret);
	assert_int_equal(form->encode(&room->bytes, ret), 0);
}

#define IN_ROOM(test) cmocka_unit_test_setup_teardown(test, room_open, room_close)

#endif
