/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/cli/export_name.h"
#include "core/tiffin.h"
#include "fs/path.h"
#include "transfer/base/rand.h"

/* The mount and `tiffin get -r` are written apart, since neither may include the other. */
static void
export__and_mount__give_every_key_the_same_path(void **state)
{
	static const char bytes[] = "/%._@+25Eab";
	struct rand rand;

	(void)state;
	rand_init(&rand, 13);
	for (int i = 0; i < 20000; i++) {
		char key[TIFFIN_KEY_MAX + 1], exported[EXPORT_NAME_CAP], mounted[FS_PATH_MAX];
		size_t len = 1 + rand_below(&rand, i % 20 == 0 ? TIFFIN_KEY_MAX : 12);
		bool is_wide = rand_below(&rand, 4) == 0;

		for (size_t k = 0; k < len; k++)
			key[k] = is_wide && rand_below(&rand, 200) > 0
					 ? "%a"[rand_below(&rand, 2)]
					 : bytes[rand_below(&rand, sizeof(bytes) - 1)];
		key[len] = '\0';
		if (len >= 8 && rand_below(&rand, 8) == 0)
			memcpy(key, ".tiffin/", 6 + rand_below(&rand, 3));

		export_name_of(exported, sizeof(exported), key);
		fs_path_of_key(key, /* is_shadowed= */ false, mounted);

		assert_string_equal(exported, mounted);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(export__and_mount__give_every_key_the_same_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
