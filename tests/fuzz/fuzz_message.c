/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One program a message: FUZZ_MESSAGE is its name.  The first byte says which side
 * is meant, even a request, odd a reply; the rest is the payload.
 *
 * Laws: what the decoder takes for a message encodes to the very same bytes; and
 * whatever it is given, it allocates no more than a few times as much.
 */
#include "master/proto/codec.h"

#include <sanitizer/allocator_interface.h>
#include <string.h>

#define GLUE_(a, b, c)   a##b##c
#define GLUE(a, b, c)    GLUE_(a, b, c)
#define CALL(side, verb) GLUE(side, FUZZ_MESSAGE, verb)

#define ALLOC_TIMES_MAX 16
#define ALLOC_FIRST_MAX (64u << 10) /* an arena begins with a large block */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void
check_same(const struct buf *again, struct cursor from)
{
	assert(buf_len(again) == cursor_left(&from));
	assert(buf_len(again) == 0 || memcmp(buf_first(again), from.at, buf_len(again)) == 0);
}

static void
check_allocated(size_t before, size_t n_bytes)
{
	size_t after = __sanitizer_get_current_allocated_bytes();

	assert(after <= before + ALLOC_FIRST_MAX + ALLOC_TIMES_MAX * n_bytes);
}

#define DEFINE_CHECK(check, side)                                                                  \
	static void check(struct cursor from, struct arena *arena, struct buf *again)              \
	{                                                                                          \
		size_t before = __sanitizer_get_current_allocated_bytes();                         \
		struct CALL(side, ) it;                                                            \
		int r = CALL(side, _decode)(from, arena, &it);                                     \
                                                                                                   \
		assert(r == 0 || r == CODEC_E_MALFORMED);                                          \
		check_allocated(before, cursor_left(&from));                                       \
		if (r != 0)                                                                        \
			return;                                                                    \
		r = CALL(side, _encode)(again, &it);                                               \
		assert(r == 0);                                                                    \
		check_same(again, from);                                                           \
	}
DEFINE_CHECK(check_request, msg_)
DEFINE_CHECK(check_reply, rep_)

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct arena arena;
	struct buf again;

	if (n_bytes == 0)
		return 0;
	arena_init(&arena);
	buf_init(&again);
	if (bytes[0] % 2 == 0)
		check_request((struct cursor){bytes + 1, bytes + n_bytes}, &arena, &again);
	else
		check_reply((struct cursor){bytes + 1, bytes + n_bytes}, &arena, &again);
	buf_fini(&again);
	arena_fini(&arena);
	return 0;
}
