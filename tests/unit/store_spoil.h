/* SPDX-License-Identifier: Apache-2.0 */

/*
 * store_spoil.h -- small books that are well, and how to spoil them.
 *
 *      fill(box)                       segments, objects of one copy, of two, of three runs; closed
 *      box_sql(box, "UPDATE ...");     or read_file(), write_file()
 *      judge(box)                      0, or STORE_E_DAMAGED and box->why
 */
#ifndef TESTS_UNIT_STORE_SPOIL_H
#define TESTS_UNIT_STORE_SPOIL_H

#include "tests/unit/store_box.h"

#include <fcntl.h>

#define FILE_MAX (4 << 20)

static inline int
setup(void **state)
{
	struct box *box = malloc(sizeof(*box));

	assert_non_null(box);
	box_init(box);
	*state = box;
	return 0;
}

static inline int
teardown(void **state)
{
	box_fini(*state);
	free(*state);
	return 0;
}

/* fill -- segments 1..3 and the objects 1, 2 (copies on 1 and 2), 3 (three runs on 1); then closed.
 */
static inline void
fill(struct box *box)
{
	box_empty(box);
	assert_int_equal(box_open(box, NULL), 0);
	for (uint64_t id = 1; id <= 3; id++)
		box_add_segment(box, id);
	box_add_object(box, 1, 1, 1);
	box_add_object(box, 2, 2, 1);
	box_add_object(box, 3, 1, 3);
	box_add(box, &(struct record){.kind = RECORD_CHUNK_OPEN, .segment_id = 1, .chunk = 0});
	box_commit(box);
	box_close(box);
}

/* judge -- what opening and loading say: 0, or damage with its line in box->why. */
static inline int
judge(struct box *box)
{
	char *text = NULL;
	int r = box_open(box, NULL);

	if (r == 0)
		r = box_load(box, &text);
	free(text);
	return r;
}

static inline uint8_t *
read_file(const struct box *box, size_t *ret_n)
{
	uint8_t *bytes = malloc(FILE_MAX);
	int fd = open(box->path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, bytes, FILE_MAX);

	assert_true(n > 0 && n < FILE_MAX);
	close(fd);
	*ret_n = (size_t)n;
	return bytes;
}

static inline void
write_file(const struct box *box, const uint8_t *bytes, size_t n)
{
	int fd = open(box->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

#endif
