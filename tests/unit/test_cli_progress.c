/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/cli/progress.h"

#define MIB (1ull << 20)

struct scene {
	struct clock_fake clock;
	struct progress progress;
	char *shown;
	size_t len;
	FILE *to;
};

static void
scene_open(struct scene *scene, uint64_t all_bytes)
{
	*scene = (struct scene){.shown = NULL};
	scene->to = open_memstream(&scene->shown, &scene->len);
	assert_non_null(scene->to);
	clock_fake_init(&scene->clock, 1000);
	progress_init(&scene->progress, scene->to, &scene->clock.base, "big.bin", all_bytes);
}

static void
scene_close(struct scene *scene)
{
	fclose(scene->to);
	free(scene->shown);
}

static void
line__with_the_whole_known__tells_share_rate_and_time_left(void **state)
{
	struct scene scene;
	char line[512];

	(void)state;
	scene_open(&scene, 100 * MIB);
	clock_fake_advance_ms(&scene.clock, 1000);
	scene.progress.done_bytes = 25 * MIB;

	progress_line(&scene.progress, line, sizeof(line));

	assert_string_equal(line, "big.bin  [#####---------------]  25%  25.0 MiB of 100.0 MiB  "
				  "25.0 MiB/s  0:00:03 left");
	scene_close(&scene);
}

static void
line__with_the_whole_not_known__tells_bytes_and_rate(void **state)
{
	struct scene scene;
	char line[512];

	(void)state;
	scene_open(&scene, 0);
	clock_fake_advance_ms(&scene.clock, 2000);
	scene.progress.done_bytes = 3 * MIB;

	progress_line(&scene.progress, line, sizeof(line));

	assert_string_equal(line, "big.bin  3.0 MiB  1.5 MiB/s");
	scene_close(&scene);
}

static void
line__when_more_came_than_was_said__stops_at_all_of_it(void **state)
{
	struct scene scene;
	char line[512];

	(void)state;
	scene_open(&scene, 10 * MIB);
	clock_fake_advance_ms(&scene.clock, 1000);
	scene.progress.done_bytes = 11 * MIB;

	progress_line(&scene.progress, line, sizeof(line));

	assert_non_null(strstr(line, "[####################] 100%"));
	scene_close(&scene);
}

static void
line__at_the_very_start__divides_by_nothing(void **state)
{
	struct scene scene;
	char line[512];

	(void)state;
	scene_open(&scene, 10 * MIB);

	progress_line(&scene.progress, line, sizeof(line));

	assert_non_null(strstr(line, "  0%"));
	scene_close(&scene);
}

static void
transfer__done_within_half_a_second__shows_nothing(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, 10 * MIB);
	clock_fake_advance_ms(&scene.clock, 499);
	progress_add(&scene.progress, 10 * MIB);
	progress_end(&scene.progress);
	fflush(scene.to);

	assert_int_equal(scene.len, 0);
	scene_close(&scene);
}

static void
line__is_written_at_most_ten_times_a_second(void **state)
{
	struct scene scene;
	size_t n = 0;

	(void)state;
	scene_open(&scene, 1000 * MIB);
	for (int i = 0; i < 1000; i++) {
		clock_fake_advance_ms(&scene.clock, 1);
		progress_add(&scene.progress, MIB);
	}
	fflush(scene.to);

	for (size_t i = 0; i < scene.len; i++)
		n += scene.shown[i] == '\r';
	assert_int_equal(n, 6); /* at 500, 600 ... 1000 ms */
	scene_close(&scene);
}

static void
end__wipes_the_line_out(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, 10 * MIB);
	clock_fake_advance_ms(&scene.clock, 600);
	progress_add(&scene.progress, MIB);

	progress_end(&scene.progress);

	assert_string_equal(scene.shown + scene.len - 4, "\r\033[K");
	scene_close(&scene);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line__with_the_whole_known__tells_share_rate_and_time_left),
		cmocka_unit_test(line__with_the_whole_not_known__tells_bytes_and_rate),
		cmocka_unit_test(line__when_more_came_than_was_said__stops_at_all_of_it),
		cmocka_unit_test(line__at_the_very_start__divides_by_nothing),
		cmocka_unit_test(transfer__done_within_half_a_second__shows_nothing),
		cmocka_unit_test(line__is_written_at_most_ten_times_a_second),
		cmocka_unit_test(end__wipes_the_line_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
