/* SPDX-License-Identifier: Apache-2.0 */

/* Most tests walk all requests and replies of proto.def (tests/fuzz/form.h). */
#include "master/proto/codec.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/allocs.h"
#include "tests/unit/codec_room.h"

#define N_RANDOM 40

/* ---- there and back ---- */

static void
decode__every_message_of_the_pattern__gives_what_was_encoded(void **state)
{
	struct room *room = *state;

	for (size_t i = 0; i < array_len(forms); i++) {
		union form_any sent = {0}, got = {0};

		encode_pattern(room, &forms[i], &sent);

		assert_int_equal(forms[i].decode(cursor_of(&room->bytes), &room->decoded, &got), 0);
		assert_true(forms[i].same(&sent, &got));
	}
}

static void
decode__random_messages__gives_what_was_encoded(void **state)
{
	struct room *room = *state;

	for (size_t i = 0; i < array_len(forms) * N_RANDOM; i++) {
		const struct form *form = &forms[i / N_RANDOM];
		struct filler filler = filler_of_seed(&room->filled, i);
		union form_any sent = {0}, got = {0};

		room_clear(room);
		form->fill(&filler, &sent);
		assert_int_equal(form->encode(&room->bytes, &sent), 0);

		assert_int_equal(form->decode(cursor_of(&room->bytes), &room->decoded, &got), 0);
		assert_true(form->same(&sent, &got));
	}
}

static void
encode__random_messages__same_bytes_as_a_second_encoder_makes(void **state)
{
	struct room *room = *state;

	for (size_t i = 0; i < array_len(forms) * N_RANDOM; i++) {
		const struct form *form = &forms[i / N_RANDOM];
		struct filler filler = filler_of_seed(&room->filled, i);
		struct raw raw = {.to = &room->again};
		union form_any sent = {0};

		room_clear(room);
		form->fill(&filler, &sent);
		assert_int_equal(form->encode(&room->bytes, &sent), 0);
		raw_write(&raw, form, &sent);

		assert_same_bytes(&room->bytes, &room->again);
	}
}

static void
encode__behind_other_bytes__leaves_them_alone(void **state)
{
	struct room *room = *state;
	struct msg_query_put msg = {.after_id = 1};

	assert_int_equal(buf_append(&room->bytes, "xyz", 3), 0);
	buf_consume(&room->bytes, 1);
	assert_int_equal(msg_query_put_encode(&room->bytes, &msg), 0);

	assert_int_equal(buf_len(&room->bytes), 2 + 8);
	assert_memory_equal(buf_first(&room->bytes), "yz\1\0\0\0\0\0\0\0", 10);
}

/* ---- bytes that are no message ---- */

static void
decode__cut_at_any_byte__is_malformed(void **state)
{
	struct room *room = *state;

	for (size_t i = 0; i < array_len(forms); i++) {
		union form_any any = {0};

		encode_pattern(room, &forms[i], &any);
		for (size_t n = 0; n < buf_len(&room->bytes); n++) {
			/* On the heap and of that very length, so that a sanitizer sees a byte too
			 * far. */
			uint8_t *cut = malloc(n + 1);

			assert_non_null(cut);
			memcpy(cut + 1, buf_first(&room->bytes), n);
			arena_reset(&room->decoded);
			assert_int_equal(forms[i].decode((struct cursor){cut + 1, cut + 1 + n},
							 &room->decoded, &any),
					 CODEC_E_MALFORMED);
			free(cut);
		}
	}
}

static void
decode__one_byte_more__is_malformed(void **state)
{
	struct room *room = *state;

	for (size_t i = 0; i < array_len(forms); i++) {
		union form_any any = {0};

		for (int byte = 0; byte < 256; byte++) {
			encode_pattern(room, &forms[i], &any);
			assert_int_equal(buf_append(&room->bytes, &(uint8_t){(uint8_t)byte}, 1), 0);

			assert_int_equal(
				forms[i].decode(cursor_of(&room->bytes), &room->decoded, &any),
				CODEC_E_MALFORMED);
		}
	}
}

static void
decode__any_bit_flipped__is_malformed_or_another_message_with_just_those_bytes(void **state)
{
	struct room *room = *state;

	for (size_t i = 0; i < array_len(forms); i++) {
		union form_any any = {0};

		encode_pattern(room, &forms[i], &any);
		for (size_t bit = 0; bit < buf_len(&room->bytes) * 8; bit++) {
			buf_first(&room->bytes)[bit / 8] ^= (uint8_t)(1 << (bit % 8));
			form_check(&forms[i], cursor_of(&room->bytes)); /* asserts */
			buf_first(&room->bytes)[bit / 8] ^= (uint8_t)(1 << (bit % 8));
		}
	}
}

static void
decode__malformed__leaves_the_result_alone(void **state)
{
	struct room *room = *state;

	for (size_t i = 0; i < array_len(forms); i++) {
		union form_any any = {0}, before;

		encode_pattern(room, &forms[i], &any);
		assert_int_equal(buf_append(&room->bytes, "x", 1), 0);
		memset(&any, 0xa5, sizeof(any));
		before = any;
		assert_int_equal(forms[i].decode(cursor_of(&room->bytes), &room->decoded, &any),
				 CODEC_E_MALFORMED);

		assert_memory_equal(&any, &before, sizeof(any));
	}
}

/* ---- lists told record by record ---- */

static void
codec_list__told_record_by_record__same_bytes_as_told_at_once(void **state)
{
	struct room *room = *state;
	struct rec_fate fates[] = {{1}, {2}, {3}};
	struct rep_exist rep = {.n_fates = 3, .fates = fates};
	size_t at;

	assert_int_equal(rep_exist_encode(&room->again, &rep), 0);

	assert_int_equal(codec_list_begin(&room->bytes, &at), 0);
	for (size_t i = 0; i < array_len(fates); i++)
		assert_int_equal(rec_fate_encode(&room->bytes, &fates[i]), 0);
	codec_list_end(&room->bytes, at, array_len(fates));

	assert_same_bytes(&room->bytes, &room->again);
}

static void
codec_list__lists_within_lists_and_fields_between__same_bytes_as_told_at_once(void **state)
{
	struct room *room = *state;
	struct rec_grant grant = {.offset_bytes = 1, .len_bytes = 2, .until_ms = 3};
	struct rec_target_replica replica = {4, 5, 1, &grant};
	struct rec_put_place place = {6, 7, 1, &replica};
	struct rep_put_start rep = {.write_lease_ms = 8, .n_places = 1, .places = &place};
	size_t at_places, at_replicas, at_grants;

	assert_int_equal(rep_put_start_encode(&room->again, &rep), 0);

	/* Something was sent before, and the rest of it waits in front. */
	assert_int_equal(buf_append(&room->bytes, "xyz", 3), 0);
	buf_consume(&room->bytes, 1);
	assert_int_equal(codec_put_u32(&room->bytes, 8), 0);
	assert_int_equal(codec_list_begin(&room->bytes, &at_places), 0);
	assert_int_equal(codec_put_u32(&room->bytes, 6), 0);
	assert_int_equal(codec_put_u64(&room->bytes, 7), 0);
	assert_int_equal(codec_list_begin(&room->bytes, &at_replicas), 0);
	assert_int_equal(codec_put_u64(&room->bytes, 4), 0);
	assert_int_equal(codec_put_u64(&room->bytes, 5), 0);
	assert_int_equal(codec_list_begin(&room->bytes, &at_grants), 0);
	assert_int_equal(rec_grant_encode(&room->bytes, &grant), 0);
	codec_list_end(&room->bytes, at_grants, 1);
	codec_list_end(&room->bytes, at_replicas, 1);
	codec_list_end(&room->bytes, at_places, 1);
	assert_int_equal(codec_put_u16(&room->bytes, 0), 0); /* why */

	buf_consume(&room->bytes, 2);
	assert_same_bytes(&room->bytes, &room->again);
}

static void
codec_put__each_width__is_little_endian(void **state)
{
	struct room *room = *state;

	assert_int_equal(codec_put_u8(&room->bytes, 0x01), 0);
	assert_int_equal(codec_put_u16(&room->bytes, 0x0302), 0);
	assert_int_equal(codec_put_u32(&room->bytes, 0x07060504), 0);
	assert_int_equal(codec_put_u64(&room->bytes, 0x0f0e0d0c0b0a0908), 0);

	assert_int_equal(buf_len(&room->bytes), 15);
	for (uint8_t i = 0; i < 15; i++)
		assert_int_equal(buf_first(&room->bytes)[i], i + 1);
}

/* ---- no memory ---- */

static void
decode__any_allocation_fails__says_no_memory(void **state)
{
	for (size_t i = 0; i < array_len(forms); i++) {
		int r = CODEC_E_NO_MEMORY;

		for (unsigned n = 0; r != 0; n++) {
			struct room *room = *state;
			union form_any any = {0};

			encode_pattern(room, &forms[i], &any);
			arena_fini(&room->decoded);
			allocs_fail_after(n);
			r = forms[i].decode(cursor_of(&room->bytes), &room->decoded, &any);
			allocs_succeed();

			assert_true(r == 0 || r == CODEC_E_NO_MEMORY);
		}
	}
}

static void
encode__no_memory__says_so_and_appends_nothing(void **state)
{
	struct room *room = *state;

	for (size_t i = 0; i < array_len(forms); i++) {
		union form_any any = {0};
		bool is_empty;
		int r;

		encode_pattern(room, &forms[i], &any);
		is_empty = buf_len(&room->bytes) == 0;
		buf_fini(&room->again);
		allocs_fail_after(0);
		r = forms[i].encode(&room->again, &any);
		allocs_succeed();

		assert_int_equal(r, is_empty ? 0 : CODEC_E_NO_MEMORY);
		assert_int_equal(buf_len(&room->again), 0);
	}
}

static void
codec_list_begin__no_memory__says_so(void **state)
{
	struct room *room = *state;
	size_t at = 7;
	int r;

	allocs_fail_after(0);
	r = codec_list_begin(&room->bytes, &at);
	allocs_succeed();

	assert_int_equal(r, CODEC_E_NO_MEMORY);
	assert_int_equal(at, 7);
}

static void
why_encode__no_memory__says_so(void **state)
{
	struct room *room = *state;
	int r;

	allocs_fail_after(0);
	r = why_encode(&room->bytes, "the room is full");
	allocs_succeed();

	assert_int_equal(r, CODEC_E_NO_MEMORY);
}

/* ---- a caller's mistake ends the process ---- */

static void
assert_encode_dies(const struct msg_exist *msg)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct buf buf;

		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		buf_init(&buf);
		_exit(msg_exist_encode(&buf, msg));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void
encode__a_list_longer_than_allowed__aborts(void **state)
{
	struct rec_key_only *keys = calloc(BATCH_MAX + 1, sizeof(*keys));

	(void)state;
	assert_non_null(keys);
	for (size_t i = 0; i <= BATCH_MAX; i++)
		keys[i].key = span_of("k", 1);

	assert_encode_dies(&(struct msg_exist){.n_keys = BATCH_MAX + 1, .keys = keys});
	free(keys);
}

static void
encode__an_empty_key__aborts(void **state)
{
	struct rec_key_only key = {.key = span_of("", 0)};

	(void)state;
	assert_encode_dies(&(struct msg_exist){.n_keys = 1, .keys = &key});
}

static void
encode__a_key_longer_than_allowed__aborts(void **state)
{
	char bytes[KEY_MAX + 1];
	struct rec_key_only key = {
		.key = span_of(memset(bytes, 'k', sizeof(bytes)), sizeof(bytes))};

	(void)state;
	assert_encode_dies(&(struct msg_exist){.n_keys = 1, .keys = &key});
}

/* ---- words ---- */

static void
why__there_and_back__same_words(void **state)
{
	struct room *room = *state;
	struct span why;

	assert_int_equal(why_encode(&room->bytes, "the room is full"), 0);
	why = why_decode(cursor_of(&room->bytes));

	assert_true(span_equal(why, span_of("the room is full", 16)));
}

static void
why_encode__more_words_than_a_text_holds__cuts_them(void **state)
{
	struct room *room = *state;
	char words[TEXT_MAX + 2];

	memset(words, 'w', sizeof(words));
	words[sizeof(words) - 1] = '\0';
	assert_int_equal(why_encode(&room->bytes, words), 0);

	assert_int_equal(why_decode(cursor_of(&room->bytes)).len, TEXT_MAX);
}

static void
why_decode__bytes_that_are_no_text__gives_none(void **state)
{
	static const char *const wrong[] = {"", "\5", "\5\0abc", "\1\0ab"};
	static const uint8_t lengths[] = {0, 1, 5, 4};

	(void)state;
	for (size_t i = 0; i < array_len(wrong); i++) {
		const uint8_t *at = (const uint8_t *)wrong[i];

		assert_int_equal(why_decode((struct cursor){at, at + lengths[i]}).len, 0);
	}
}

static void
msg_name__every_number_up_to_100__is_the_name_or_unknown(void **state)
{
	(void)state;

	for (uint16_t number = 0; number < 100; number++) {
		const struct form *form = form_find(number, false);

		assert_string_equal(msg_name(number), form != NULL ? form->name : "unknown");
	}
}

static void
span_equal__other_bytes_or_other_length__says_no(void **state)
{
	(void)state;

	assert_true(span_equal(span_of("ab", 2), span_of("ab", 2)));
	assert_true(span_equal(span_of(NULL, 0), span_of("", 0)));
	assert_false(span_equal(span_of("ab", 2), span_of("ac", 2)));
	assert_false(span_equal(span_of("ab", 2), span_of("ab", 1)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		IN_ROOM(decode__every_message_of_the_pattern__gives_what_was_encoded),
		IN_ROOM(decode__random_messages__gives_what_was_encoded),
		IN_ROOM(encode__random_messages__same_bytes_as_a_second_encoder_makes),
		IN_ROOM(encode__behind_other_bytes__leaves_them_alone),
		IN_ROOM(decode__cut_at_any_byte__is_malformed),
		IN_ROOM(decode__one_byte_more__is_malformed),
		IN_ROOM(decode__any_bit_flipped__is_malformed_or_another_message_with_just_those_bytes),
		IN_ROOM(decode__malformed__leaves_the_result_alone),
		IN_ROOM(codec_list__told_record_by_record__same_bytes_as_told_at_once),
		IN_ROOM(codec_list__lists_within_lists_and_fields_between__same_bytes_as_told_at_once),
		IN_ROOM(codec_put__each_width__is_little_endian),
		IN_ROOM(decode__any_allocation_fails__says_no_memory),
		IN_ROOM(encode__no_memory__says_so_and_appends_nothing),
		IN_ROOM(codec_list_begin__no_memory__says_so),
		IN_ROOM(why_encode__no_memory__says_so),
		IN_ROOM(encode__a_list_longer_than_allowed__aborts),
		IN_ROOM(encode__an_empty_key__aborts),
		IN_ROOM(encode__a_key_longer_than_allowed__aborts),
		IN_ROOM(why__there_and_back__same_words),
		IN_ROOM(why_encode__more_words_than_a_text_holds__cuts_them),
		IN_ROOM(why_decode__bytes_that_are_no_text__gives_none),
		IN_ROOM(msg_name__every_number_up_to_100__is_the_name_or_unknown),
		IN_ROOM(span_equal__other_bytes_or_other_length__says_no),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
