/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "transfer/base/token.h"

static const uint8_t secret[TOKEN_SECRET_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8};

/* The bytes [100, 150) of segment 7, epoch 3, for client 9 until 5000. */
static struct token
token_for(uint32_t rights)
{
	struct token token = {
		.client_id = 9,
		.segment_id = 7,
		.segment_epoch = 3,
		.offset_bytes = 100,
		.len_bytes = 50,
		.until_ms = 5000,
		.rights = rights,
	};

	token_sign(&token, secret);
	return token;
}

/* ---- signature ---- */

static void
signed_token__is_genuine(void **state)
{
	struct token token = token_for(TOKEN_READ);

	(void)state;
	assert_true(token_is_genuine(&token, secret));
}

static void
change__of_any_field__is_noticed(void **state)
{
	const struct token good = token_for(TOKEN_READ);
	struct token changed[8];

	(void)state;
	for (size_t i = 0; i < array_len(changed); i++)
		changed[i] = good;
	changed[0].client_id++;
	changed[1].segment_id++;
	changed[2].segment_epoch++;
	changed[3].offset_bytes--;
	changed[4].len_bytes++;
	changed[5].until_ms++;
	changed[6].rights |= TOKEN_WRITE;
	changed[7].mac[15] ^= 1;

	for (size_t i = 0; i < array_len(changed); i++)
		assert_false(token_is_genuine(&changed[i], secret));
}

static void
fields__that_trade_places__are_noticed(void **state)
{
	struct token token = token_for(TOKEN_READ);

	(void)state;
	token.offset_bytes = 50;
	token.len_bytes = 100;

	assert_false(token_is_genuine(&token, secret));
}

static void
token__of_another_secret__is_not_genuine(void **state)
{
	struct token token = token_for(TOKEN_READ);
	uint8_t other[TOKEN_SECRET_BYTES];

	(void)state;
	memcpy(other, secret, sizeof(other));
	other[15] ^= 0x80;

	assert_false(token_is_genuine(&token, other));
}

static void
padding__of_the_struct__is_not_signed(void **state)
{
	struct token a, b;

	(void)state;
	memset(&a, 0x00, sizeof(a));
	memset(&b, 0xff, sizeof(b));
	a.client_id = b.client_id = 9;
	a.segment_id = b.segment_id = 7;
	a.segment_epoch = b.segment_epoch = 3;
	a.offset_bytes = b.offset_bytes = 100;
	a.len_bytes = b.len_bytes = 50;
	a.until_ms = b.until_ms = 5000;
	a.rights = b.rights = TOKEN_READ;

	token_sign(&a, secret);
	token_sign(&b, secret);

	assert_memory_equal(a.mac, b.mac, sizeof(a.mac));
}

static void
secrets__are_never_the_same(void **state)
{
	uint8_t a[TOKEN_SECRET_BYTES], b[TOKEN_SECRET_BYTES];

	(void)state;
	assert_int_equal(token_secret_new(a), 0);
	assert_int_equal(token_secret_new(b), 0);

	assert_memory_not_equal(a, b, sizeof(a));
}

/* ---- what it allows ---- */

static void
token__allows_what_it_names(void **state)
{
	struct token token = token_for(TOKEN_READ);

	(void)state;
	assert_true(token_allows(&token, TOKEN_READ, 7, 3, 100, 50, 4999));
	assert_true(token_allows(&token, TOKEN_READ, 7, 3, 149, 1, 0));
}

static void
token__allows_no_right_it_lacks(void **state)
{
	struct token read = token_for(TOKEN_READ);
	struct token map = token_for(TOKEN_READ | TOKEN_MAP);
	struct token none = token_for(0);

	(void)state;
	assert_false(token_allows(&read, TOKEN_WRITE, 7, 3, 100, 50, 0));
	assert_false(token_allows(&read, TOKEN_READ | TOKEN_MAP, 7, 3, 100, 50, 0));
	assert_true(token_allows(&map, TOKEN_READ | TOKEN_MAP, 7, 3, 100, 50, 0));
	assert_false(token_allows(&read, 0, 7, 3, 100, 50, 0));
	assert_false(token_allows(&none, TOKEN_READ, 7, 3, 100, 50, 0));
}

static void
writer__may_read_back_its_extent_but_not_map_it(void **state)
{
	struct token write = token_for(TOKEN_WRITE);

	(void)state;
	assert_true(token_allows(&write, TOKEN_READ, 7, 3, 100, 50, 0));
	assert_false(token_allows(&write, TOKEN_READ, 7, 3, 0, 50, 0));
	assert_false(token_allows(&write, TOKEN_READ | TOKEN_MAP, 7, 3, 100, 50, 0));
}

static void
token__of_another_segment_or_epoch__is_refused(void **state)
{
	struct token token = token_for(TOKEN_READ);

	(void)state;
	assert_false(token_allows(&token, TOKEN_READ, 8, 3, 100, 50, 0));
	assert_false(token_allows(&token, TOKEN_READ, 7, 2, 100, 50, 0));
	assert_false(token_allows(&token, TOKEN_READ, 7, 4, 100, 50, 0));
}

static void
token__whose_time_is_up__is_refused(void **state)
{
	struct token token = token_for(TOKEN_READ);

	(void)state;
	assert_false(token_allows(&token, TOKEN_READ, 7, 3, 100, 50, 5000));
	assert_false(token_allows(&token, TOKEN_READ, 7, 3, 100, 50, UINT64_MAX));
}

static void
range__beyond_the_extent__is_refused_even_if_its_end_wraps(void **state)
{
	struct token token = token_for(TOKEN_WRITE);

	(void)state;
	assert_false(token_allows(&token, TOKEN_WRITE, 7, 3, 99, 2, 0));
	assert_false(token_allows(&token, TOKEN_WRITE, 7, 3, 100, 51, 0));
	assert_false(token_allows(&token, TOKEN_WRITE, 7, 3, 150, 1, 0));
	assert_false(token_allows(&token, TOKEN_WRITE, 7, 3, 120, UINT64_MAX, 0));
	assert_false(token_allows(&token, TOKEN_WRITE, 7, 3, UINT64_MAX, 120, 0));
}

static void
token__without_a_range__is_for_the_whole_segment(void **state)
{
	struct token token = token_for(TOKEN_READ);

	(void)state;
	token.offset_bytes = token.len_bytes = 0;

	assert_true(token_allows(&token, TOKEN_READ, 7, 3, 0, UINT64_MAX, 0));
}

/* ---- cluster key ---- */

struct folder {
	char path[64];
	char key_path[80];
};

static int
folder_make(void **state)
{
	static struct folder folder;

	snprintf(folder.path, sizeof(folder.path), "/tmp/tiffin-test-token-XXXXXX");
	if (mkdtemp(folder.path) == NULL)
		return -1;
	snprintf(folder.key_path, sizeof(folder.key_path), "%s/key", folder.path);
	*state = &folder;
	return 0;
}

static int
folder_drop(void **state)
{
	struct folder *folder = *state;

	unlink(folder->key_path);
	return rmdir(folder->path);
}

static void
write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

#define HEX_62 "000102030405060708090a0b0c0d0e0f101112131415161718191a1B1C1D1E"

static void
created_key__can_be_loaded_and_only_its_owner_may_read_it(void **state)
{
	struct folder *folder = *state;
	struct cluster_key key = {0};
	struct stat st;

	assert_int_equal(key_create(folder->key_path), 0);

	assert_int_equal(key_load(folder->key_path, &key), 0);
	assert_true(key.present);
	assert_int_equal(stat(folder->key_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 65);
}

static void
create__over_an_old_key__is_refused_and_leaves_it(void **state)
{
	struct folder *folder = *state;
	struct cluster_key before, after;

	assert_int_equal(key_create(folder->key_path), 0);
	assert_int_equal(key_load(folder->key_path, &before), 0);

	assert_int_equal(key_create(folder->key_path), -EEXIST);

	assert_int_equal(key_load(folder->key_path, &after), 0);
	assert_memory_equal(before.bytes, after.bytes, sizeof(before.bytes));
}

static void
load__reads_hexadecimal_with_or_without_a_newline(void **state)
{
	struct folder *folder = *state;
	struct cluster_key key;

	write_file(folder->key_path, HEX_62 "1f", 0400);

	assert_int_equal(key_load(folder->key_path, &key), 0);
	for (size_t i = 0; i < KEY_BYTES; i++)
		assert_int_equal(key.bytes[i], i);
}

static void
load__of_a_file_others_may_read__is_refused(void **state)
{
	struct folder *folder = *state;
	struct cluster_key key = {0};

	write_file(folder->key_path, HEX_62 "1f\n", 0640);

	assert_int_equal(key_load(folder->key_path, &key), -EACCES);
	assert_false(key.present);
}

static void
load__of_what_is_no_key__is_refused(void **state)
{
	static const char *const texts[] = {
		"",           "\n", HEX_62, HEX_62 "1", HEX_62 "1g", HEX_62 "1f\n\n", HEX_62 "1f00",
		HEX_62 " 1f",
	};
	struct folder *folder = *state;
	struct cluster_key key = {0};

	for (size_t i = 0; i < array_len(texts); i++) {
		write_file(folder->key_path, texts[i], 0600);
		assert_int_equal(key_load(folder->key_path, &key), -EINVAL);
		unlink(folder->key_path);
	}
	assert_int_equal(key_load(folder->key_path, &key), -ENOENT);
	assert_int_equal(key_load(folder->path, &key), -EINVAL);
	assert_false(key.present);
}

static void
answer__is_right_for_its_key_challenge_and_role_alone(void **state)
{
	struct cluster_key key = {.present = true, .bytes = {1}};
	struct cluster_key other = {.present = true, .bytes = {2}};
	struct cluster_key none = {0};
	uint8_t challenge[CHALLENGE_BYTES], second[CHALLENGE_BYTES], answer[KEY_BYTES];

	(void)state;
	assert_int_equal(key_challenge(challenge), 0);
	assert_int_equal(key_challenge(second), 0);
	key_answer(&key, challenge, KEY_ROLE_CLIENT, answer);

	assert_true(key_answer_is_right(&key, challenge, KEY_ROLE_CLIENT, answer));
	assert_false(key_answer_is_right(&key, challenge, KEY_ROLE_SERVER, answer));
	assert_false(key_answer_is_right(&key, second, KEY_ROLE_CLIENT, answer));
	assert_false(key_answer_is_right(&other, challenge, KEY_ROLE_CLIENT, answer));
	assert_false(key_answer_is_right(&none, challenge, KEY_ROLE_CLIENT, answer));
	answer[31] ^= 1;
	assert_false(key_answer_is_right(&key, challenge, KEY_ROLE_CLIENT, answer));
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_drop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signed_token__is_genuine),
		cmocka_unit_test(change__of_any_field__is_noticed),
		cmocka_unit_test(fields__that_trade_places__are_noticed),
		cmocka_unit_test(token__of_another_secret__is_not_genuine),
		cmocka_unit_test(padding__of_the_struct__is_not_signed),
		cmocka_unit_test(secrets__are_never_the_same),
		cmocka_unit_test(token__allows_what_it_names),
		cmocka_unit_test(token__allows_no_right_it_lacks),
		cmocka_unit_test(writer__may_read_back_its_extent_but_not_map_it),
		cmocka_unit_test(token__of_another_segment_or_epoch__is_refused),
		cmocka_unit_test(token__whose_time_is_up__is_refused),
		cmocka_unit_test(range__beyond_the_extent__is_refused_even_if_its_end_wraps),
		cmocka_unit_test(token__without_a_range__is_for_the_whole_segment),
		in_folder(created_key__can_be_loaded_and_only_its_owner_may_read_it),
		in_folder(create__over_an_old_key__is_refused_and_leaves_it),
		in_folder(load__reads_hexadecimal_with_or_without_a_newline),
		in_folder(load__of_a_file_others_may_read__is_refused),
		in_folder(load__of_what_is_no_key__is_refused),
		cmocka_unit_test(answer__is_right_for_its_key_challenge_and_role_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
