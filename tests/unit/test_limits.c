/* SPDX-License-Identifier: Apache-2.0 */

/* Each text and each list of each message in turn is stretched to its limit, or breaks a rule. */
#include "master/proto/limits.h"

#include "tests/unit/codec_room.h"

/* try_one -- break (or stretch) one text or list of a message; false: it has no such. */
static bool
try_one(struct room *room, const struct form *form, enum raw_how how, uint32_t at)
{
	struct filler filler = filler_of_pattern(&room->filled);
	struct raw raw = {.to = &room->bytes, .how = how, .at = at, .is_good = true};
	union form_any any = {0}, got = {0};
	int r;

	room_clear(room);
	form->fill(&filler, &any);
	raw_write(&raw, form, &any);
	if (raw.n_seen <= at)
		return false;

	r = form->decode(cursor_of(&room->bytes), &room->decoded, &got);

	assert_int_equal(r, raw.is_good ? 0 : CODEC_E_MALFORMED);
	if (raw.is_good) {
		assert_int_equal(form->encode(&room->again, &got), 0);
		assert_same_bytes(&room->again, &room->bytes);
	}
	return true;
}

static void
try_each(struct room *room, enum raw_how how)
{
	for (size_t i = 0; i < array_len(forms); i++) {
		for (uint32_t at = 0; try_one(room, &forms[i], how, at); at++)
			;
	}
}

static void
decode__a_text_or_list_as_long_as_allowed__is_taken(void **state)
{
	try_each(*state, RAW_FULL);
}

static void
decode__a_text_or_list_longer_than_allowed__is_malformed(void **state)
{
	try_each(*state, RAW_ABOVE);
}

static void
decode__an_empty_text_or_list__is_malformed_where_it_must_not_be(void **state)
{
	try_each(*state, RAW_EMPTY);
}

static void
decode__nul_in_a_text__is_malformed_but_in_attributes(void **state)
{
	try_each(*state, RAW_NUL);
}

static void
decode__blank_in_a_text__is_malformed_in_names_only(void **state)
{
	try_each(*state, RAW_BLANK);
}

static void
decode__high_byte_in_a_text__is_malformed_in_names_only(void **state)
{
	try_each(*state, RAW_HIGH);
}

static void
decode__a_count_of_billions__is_malformed(void **state)
{
	try_each(*state, RAW_HUGE);
}

static void
decode__a_count_that_the_bytes_cannot_hold__allocates_nothing(void **state)
{
	struct room *room = *state;
	struct rep_get_replica_list rep;
	uint8_t bytes[4 + 16] = {0, 4}; /* 1024 objects in 16 bytes */

	assert_int_equal(rep_get_replica_list_decode((struct cursor){bytes, bytes + sizeof(bytes)},
						     &room->decoded, &rep),
			 CODEC_E_MALFORMED);

	assert_null(room->decoded.blocks);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		IN_ROOM(decode__a_text_or_list_as_long_as_allowed__is_taken),
		IN_ROOM(decode__a_text_or_list_longer_than_allowed__is_malformed),
		IN_ROOM(decode__an_empty_text_or_list__is_malformed_where_it_must_not_be),
		IN_ROOM(decode__nul_in_a_text__is_malformed_but_in_attributes),
		IN_ROOM(decode__blank_in_a_text__is_malformed_in_names_only),
		IN_ROOM(decode__high_byte_in_a_text__is_malformed_in_names_only),
		IN_ROOM(decode__a_count_of_billions__is_malformed),
		IN_ROOM(decode__a_count_that_the_bytes_cannot_hold__allocates_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
