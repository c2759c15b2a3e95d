/* SPDX-License-Identifier: Apache-2.0 */

/* index_keys.h -- keys for the tests of the index, the odder the better. */
#ifndef TESTS_UNIT_INDEX_KEYS_H
#define TESTS_UNIT_INDEX_KEYS_H

#include <stdio.h>
#include <string.h>

#include "master/index.h"
#include "transfer/base/rand.h"

#define KEY_MAX  1024
#define KEYS_MAX 3000

struct text {
	size_t len;
	uint8_t bytes[KEY_MAX];
};

static inline struct key *
key_new(const struct text *text)
{
	struct key *key = malloc(sizeof(*key) + text->len);

	assert(key != NULL);
	key->len_bytes = (uint16_t)text->len;
	memcpy(key->bytes, text->bytes, text->len);
	return key;
}

static inline void
text_of_few_letters(struct rand *rand, struct text *ret)
{
	static const uint8_t letters[] = {0x01, 'a', 0x7f, 0x80, 0xff};

	ret->len = 1 + rand_below(rand, 5);
	for (size_t i = 0; i < ret->len; i++)
		ret->bytes[i] = letters[rand_below(rand, array_len(letters))];
}

static inline void
text_of_one_letter(struct rand *rand, struct text *ret)
{
	ret->len = rand_below(rand, 4) == 0 ? KEY_MAX - rand_below(rand, 3)
					    : 1 + rand_below(rand, KEY_MAX);
	memset(ret->bytes, rand_below(rand, 8) == 0 ? 0xff : 'a', ret->len);
}

static inline void
text_like_a_path(struct rand *rand, struct text *ret)
{
	int len = snprintf((char *)ret->bytes, sizeof(ret->bytes), "model-%u/layer-%02u/%x",
			   (unsigned)rand_below(rand, 3), (unsigned)rand_below(rand, 20),
			   (unsigned)rand_below(rand, 400));

	ret->len = (size_t)len;
}

static inline void
text_of_any_bytes(struct rand *rand, struct text *ret)
{
	ret->len = 1 + rand_below(rand, rand_below(rand, 10) == 0 ? KEY_MAX : 3);
	for (size_t i = 0; i < ret->len; i++)
		ret->bytes[i] = (uint8_t)(1 + rand_below(rand, 255));
}

/* text_that_differs_late -- long, and all the same but for one byte. */
static inline void
text_that_differs_late(struct rand *rand, struct text *ret)
{
	ret->len = KEY_MAX;
	memset(ret->bytes, 'm', ret->len);
	ret->bytes[KEY_MAX - 1 - rand_below(rand, 4) * 300] = (uint8_t)(1 + rand_below(rand, 255));
}

static inline void
some_text(struct rand *rand, struct text *ret)
{
	static void (*const makers[])(struct rand *, struct text *) = {
		text_of_few_letters, text_of_one_letter,     text_like_a_path,
		text_of_any_bytes,   text_that_differs_late, text_like_a_path,
	};

	makers[rand_below(rand, array_len(makers))](rand, ret);
}

#endif
