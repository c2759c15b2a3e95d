/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/landing.h"

struct place {
	char dir[64], file[128];
};

static int
setup(void **state)
{
	static struct place place;

	snprintf(place.dir, sizeof(place.dir), "/tmp/tiffin-landing-XXXXXX");
	if (mkdtemp(place.dir) == NULL)
		return -1;
	snprintf(place.file, sizeof(place.file), "%s/file", place.dir);
	*state = &place;
	return 0;
}

static int
teardown(void **state)
{
	struct place *place = *state;

	unlink(place->file);
	return rmdir(place->dir); /* fails when anything else was left behind */
}

static void
assert_file(const char *path, const char *wanted)
{
	char got[64] = "";
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	close(fd);
	assert_string_equal(got, wanted);
}

static void
write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void
file__before_it_is_done__is_not_there(void **state)
{
	struct place *place = *state;
	struct landing landing;

	assert_int_equal(landing_open(&landing, place->file), 0);
	assert_int_equal(write(landing.fd, "new", 3), 3);

	assert_int_equal(access(place->file, F_OK), -1);
	landing_close(&landing);
	assert_int_equal(access(place->file, F_OK), -1);
}

static void
file__when_it_is_done__is_there_whole(void **state)
{
	struct place *place = *state;
	struct landing landing;

	assert_int_equal(landing_open(&landing, place->file), 0);
	assert_int_equal(write(landing.fd, "new", 3), 3);
	assert_int_equal(landing_done(&landing), 0);
	landing_close(&landing);

	assert_file(place->file, "new");
}

static void
old_file__until_the_new_one_is_done__keeps_its_bytes(void **state)
{
	struct place *place = *state;
	struct landing landing;

	write_file(place->file, "old", 0640);
	assert_int_equal(landing_open(&landing, place->file), 0);
	assert_int_equal(write(landing.fd, "new", 3), 3);
	assert_file(place->file, "old");
	landing_close(&landing);

	assert_file(place->file, "old");
}

static void
old_file__that_is_replaced__passes_its_mode_on(void **state)
{
	struct place *place = *state;
	struct landing landing;
	struct stat st;

	write_file(place->file, "old", 0640);
	assert_int_equal(landing_open(&landing, place->file), 0);
	assert_int_equal(write(landing.fd, "new", 3), 3);
	assert_int_equal(landing_done(&landing), 0);
	landing_close(&landing);

	assert_file(place->file, "new");
	assert_int_equal(stat(place->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
}

static void
symbolic_link__stays__and_what_it_means_is_replaced(void **state)
{
	struct place *place = *state;
	struct landing landing;
	struct stat st;
	char link[128];

	snprintf(link, sizeof(link), "%s/link", place->dir);
	write_file(place->file, "old", 0600);
	assert_int_equal(symlink("file", link), 0);
	assert_int_equal(landing_open(&landing, link), 0);
	assert_int_equal(write(landing.fd, "new", 3), 3);
	assert_int_equal(landing_done(&landing), 0);
	landing_close(&landing);

	assert_file(place->file, "new");
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	unlink(link);
}

static void
device__is_written_to_directly(void **state)
{
	struct landing landing;
	struct stat st;

	(void)state;
	assert_int_equal(landing_open(&landing, "/dev/null"), 0);
	assert_int_equal(landing_done(&landing), 0);
	landing_close(&landing);

	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void
place__where_no_file_can_be__is_refused(void **state)
{
	struct place *place = *state;
	char path[PATH_MAX + 1], below[160];
	struct landing landing;

	memset(path, 'x', PATH_MAX);
	path[PATH_MAX] = '\0';
	snprintf(below, sizeof(below), "%s/none/file", place->dir);

	assert_int_equal(landing_open(&landing, ""), -ENOENT);
	assert_int_equal(landing_open(&landing, path), -ENAMETOOLONG);
	assert_int_equal(landing_open(&landing, below), -ENOENT);
	assert_int_equal(landing_open(&landing, place->dir), -EISDIR);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(file__before_it_is_done__is_not_there, setup,
						teardown),
		cmocka_unit_test_setup_teardown(file__when_it_is_done__is_there_whole, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			old_file__until_the_new_one_is_done__keeps_its_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(old_file__that_is_replaced__passes_its_mode_on,
						setup, teardown),
		cmocka_unit_test_setup_teardown(symbolic_link__stays__and_what_it_means_is_replaced,
						setup, teardown),
		cmocka_unit_test_setup_teardown(device__is_written_to_directly, setup, teardown),
		cmocka_unit_test_setup_teardown(place__where_no_file_can_be__is_refused, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
