/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tests/golden/ holds the bytes of every request and reply of proto.def, filled with a
 * fixed pattern (tests/fuzz/form.h).  They are what other builds of the same PROTO_VERSION speak.
 * A file comes with a new message; one changes only together with the version: it is removed first.
 * What is not there yet is made with
 *
 *      test_golden --write
 */
#include "tests/fuzz/form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#ifndef TIFFIN_SOURCE_DIR
#define TIFFIN_SOURCE_DIR "."
#endif

#define TEXT_CAP (64u << 10)
#define PATH_CAP 1024u

static void
path_of(const struct form *form, char path[static PATH_CAP])
{
	snprintf(path, PATH_CAP, "%s/tests/golden/%s_%s.hex", TIFFIN_SOURCE_DIR, form->name,
		 form->is_reply ? "reply" : "request");
}

/* text_of -- one line about the message, then its bytes, 32 a line. */
static void
text_of(const struct form *form, char text[static TEXT_CAP])
{
	struct arena arena;
	struct buf bytes;
	struct filler filler = filler_of_pattern(&arena);
	union form_any any = {0};
	size_t n;

	arena_init(&arena);
	buf_init(&bytes);
	form->fill(&filler, &any);
	assert_int_equal(form->encode(&bytes, &any), 0);

	n = (size_t)snprintf(text, TEXT_CAP, "# %s, number %u, %s, %zu bytes\n", form->name,
			     form->number, form->is_reply ? "reply" : "request", buf_len(&bytes));
	for (size_t i = 0; i < buf_len(&bytes); i++) {
		bool is_last = i % 32 == 31 || i + 1 == buf_len(&bytes);

		n += (size_t)snprintf(text + n, TEXT_CAP - n, "%02x%s", buf_first(&bytes)[i],
				      is_last ? "\n" : "");
		assert_true(n < TEXT_CAP);
	}

	buf_fini(&bytes);
	arena_fini(&arena);
}

static void
encode__every_message__gives_the_bytes_it_always_gave(void **state)
{
	static char want[TEXT_CAP], is[TEXT_CAP];
	char path[PATH_CAP];

	(void)state;
	for (size_t i = 0; i < array_len(forms); i++) {
		FILE *file;

		path_of(&forms[i], path);
		file = fopen(path, "r");
		if (file == NULL)
			fail_msg("%s: missing; see the head of this test", path);
		want[fread(want, 1, TEXT_CAP - 1, file)] = '\0';
		fclose(file);

		text_of(&forms[i], is);

		assert_string_equal(is, want);
	}
}

/* write_new -- the files that are not there yet; 0, or 1 if one can't be written. */
static int
write_new(void)
{
	static char text[TEXT_CAP];
	char path[PATH_CAP];

	for (size_t i = 0; i < array_len(forms); i++) {
		FILE *file;

		path_of(&forms[i], path);
		file = fopen(path, "r");
		if (file != NULL) {
			fclose(file);
			continue;
		}
		text_of(&forms[i], text);
		file = fopen(path, "wx");
		if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
			perror(path);
			return 1;
		}
		printf("%s\n", path);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encode__every_message__gives_the_bytes_it_always_gave),
	};

	if (argc == 2 && strcmp(argv[1], "--write") == 0)
		return write_new();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
