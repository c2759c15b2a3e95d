/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "fs/errno.h"
#include "fs/options.h"
#include "core/tiffin.h"

static struct fs_options opts;
static char why[300];

static int
setup(void **state)
{
	(void)state;
	why[0] = '\0';
	return fs_options_init(&opts);
}

static int
teardown(void **state)
{
	(void)state;
	fs_options_fini(&opts);
	return 0;
}

/* parse -- a line of words without quotes. */
static int
parse(const char *line)
{
	char text[500], *argv[32];
	int argc = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
		argv[argc++] = word;
	return fs_options_args(&opts, argc, argv, why, sizeof(why));
}

static void
line__of_a_person__is_understood(void **state)
{
	(void)state;
	assert_int_equal(
		parse("tiffinfs unix:/run/m.sock /mnt -f -o ro,prefix=a/b,umask=027,uid=5"), 0);

	assert_string_equal(opts.source, "unix:/run/m.sock");
	assert_string_equal(opts.dir, "/mnt");
	assert_true(opts.is_foreground);
	assert_int_equal(opts.ro, 1);
	assert_string_equal(opts.prefix, "a/b");
	assert_int_equal(opts.umask_is, 027);
	assert_int_equal(opts.uid_is, 5);
	assert_int_equal(opts.gid_is, getgid());
	assert_int_equal(opts.default_permissions, 1);
}

static void
line__with_the_directory_alone__leaves_the_master_to_the_default(void **state)
{
	(void)state;
	assert_int_equal(parse("tiffinfs /mnt"), 0);

	assert_string_equal(opts.source, "");
	assert_string_equal(opts.dir, "/mnt");
}

static void
source__with_a_path_behind_the_port__sets_the_prefix(void **state)
{
	(void)state;
	assert_int_equal(parse("tiffinfs host:7400/a/b /mnt"), 0);

	assert_string_equal(opts.source, "host:7400");
	assert_string_equal(opts.prefix, "a/b");
}

static void
other_words__for_source_threads_log_and_foreground__are_understood(void **state)
{
	(void)state;
	assert_int_equal(
		parse("tiffinfs /mnt -o master=h:7400/p,threads=7,log=/l,foreground,pin=soft"), 0);
	assert_string_equal(opts.source, "h:7400");
	assert_string_equal(opts.prefix, "p");
	assert_string_equal(opts.dir, "/mnt");
	assert_int_equal(opts.max_threads, 7);
	assert_string_equal(opts.log_file, "/l");
	assert_true(opts.is_foreground);
	assert_int_equal(opts.pin, FS_PIN_SOFT);
	assert_int_equal(parse("tiffinfs /mnt -o threads"), -EINVAL);
	assert_non_null(strstr(why, "threads"));
	assert_int_equal(parse("tiffinfs /mnt -o pin=firmly"), -EINVAL);
	assert_non_null(strstr(why, "pin"));
}

static void
line__of_mount_8__takes_its_flags_for_what_they_are(void **state)
{
	(void)state;
	assert_int_equal(
		parse("/sbin/mount.tiffin host:1 /mnt -s -n -v -t fuse.tiffin -o rw,_netdev"), 0);

	assert_false(opts.is_single);
	assert_false(opts.is_foreground);
	assert_int_equal(parse("mount.fuse.tiffin host:1 /mnt -f"), 0);
	assert_true(opts.is_fake);
}

static void
words_of_fstab__that_concern_others__are_passed_over_or_on(void **state)
{
	(void)state;
	assert_int_equal(
		parse("tiffinfs s:1 /mnt -o _netdev,nofail,noauto,users,x-systemd.automount,"
		      "defaults,comment=hi,nosuid,nodev,noexec,subtype=x"),
		0);

	assert_string_equal(opts.mount_words, "nosuid,nodev,noexec");
}

static void
timeouts__without_a_unit__are_seconds(void **state)
{
	(void)state;
	assert_int_equal(parse("tiffinfs /mnt -o attr_timeout=2,entry_timeout=1.5,timeout=250ms"),
			 0);

	assert_int_equal(opts.attr_timeout, 2000);
	assert_int_equal(opts.entry_timeout, 1500);
	assert_int_equal(opts.timeout, 250);
}

static void
comma__with_a_backslash__belongs_to_the_value(void **state)
{
	(void)state;
	assert_int_equal(parse("tiffinfs /mnt -oprefix=a\\,b,ro"), 0);

	assert_string_equal(opts.prefix, "a,b");
	assert_int_equal(opts.ro, 1);
}

static void
options__in_long_form__are_the_same(void **state)
{
	(void)state;
	assert_int_equal(
		parse("tiffinfs --max-threads=7 --ready-fd=5 --allow-other /mnt --log-level=debug"),
		0);

	assert_int_equal(opts.max_threads, 7);
	assert_int_equal(opts.ready_fd, 5);
	assert_int_equal(opts.allow_other, 1);
	assert_int_equal(opts.log_level_is, LOG_DEBUG);
}

static void
words__that_are_wrong__are_named(void **state)
{
	static const struct {
		const char *line, *named;
	} wrongs[] = {
		{"tiffinfs", "DIR"},
		{"tiffinfs a b c", "\"c\""},
		{"tiffinfs /mnt -o nonsense", "nonsense"},
		{"tiffinfs /mnt -o nonsense=3", "nonsense"},
		{"tiffinfs /mnt -o replicas", "replicas"},
		{"tiffinfs /mnt -o replicas=0", "replicas"},
		{"tiffinfs /mnt -o replicas=9", "replicas"},
		{"tiffinfs /mnt -o umask=9", "umask"},
		{"tiffinfs /mnt -o umask=1777", "umask"},
		{"tiffinfs /mnt -o uid=root", "uid"},
		{"tiffinfs /mnt -o uid=4294967295", "uid"},
		{"tiffinfs /mnt -o attr_timeout=soon", "attr_timeout"},
		{"tiffinfs /mnt -o log_level=loud", "log_level"},
		{"tiffinfs /mnt -o", "-o"},
		{"tiffinfs /mnt -x", "-x"},
		{"tiffinfs /mnt --nonsense", "nonsense"},
		{"tiffinfs /mnt --max-threads", "max_threads"},
		{"tiffinfs /mnt --ready-fd=x", "ready-fd"},
		{"mount.tiffin s:1 /mnt -q", "-q"},
	};

	(void)state;
	for (size_t i = 0; i < array_len(wrongs); i++) {
		why[0] = '\0';
		assert_int_equal(parse(wrongs[i].line), -EINVAL);
		if (strstr(why, wrongs[i].named) == NULL)
			fail_msg("%s: \"%s\" does not name %s", wrongs[i].line, why,
				 wrongs[i].named);
		fs_options_fini(&opts);
		assert_int_equal(fs_options_init(&opts), 0);
	}
}

static void
help_and_version__need_no_directory(void **state)
{
	(void)state;
	assert_int_equal(parse("tiffinfs --help"), 0);
	assert_true(opts.wants_help);
	assert_int_equal(parse("tiffinfs -V"), 0);
	assert_true(opts.wants_version);
}

static void
errno__of_every_code__is_one_that_programs_expect(void **state)
{
	(void)state;
	assert_int_equal(fs_errno(0), 0);
	assert_int_equal(fs_errno(TIFFIN_E_NOT_FOUND), -ENOENT);
	assert_int_equal(fs_errno(TIFFIN_E_EXISTS), -EEXIST);
	assert_int_equal(fs_errno(TIFFIN_E_NO_SPACE), -ENOSPC);
	assert_int_equal(fs_errno(TIFFIN_E_QUOTA), -EDQUOT);
	assert_int_equal(fs_errno(TIFFIN_E_TIMEOUT), -ETIMEDOUT);
	for (int code = -40; code <= 5; code++) {
		int r = fs_errno(code);

		assert_true(code == 0 ? r == 0 : r < 0);
		assert_true(r != -EAGAIN && r != -EINTR);
	}
}

int
main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(line__of_a_person__is_understood),
		TEST(line__with_the_directory_alone__leaves_the_master_to_the_default),
		TEST(source__with_a_path_behind_the_port__sets_the_prefix),
		TEST(other_words__for_source_threads_log_and_foreground__are_understood),
		TEST(line__of_mount_8__takes_its_flags_for_what_they_are),
		TEST(words_of_fstab__that_concern_others__are_passed_over_or_on),
		TEST(timeouts__without_a_unit__are_seconds),
		TEST(comma__with_a_backslash__belongs_to_the_value),
		TEST(options__in_long_form__are_the_same),
		TEST(words__that_are_wrong__are_named),
		TEST(help_and_version__need_no_directory),
		TEST(errno__of_every_code__is_one_that_programs_expect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
