/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What people write into the control surface of a mount: names below .tiffin/by-segment, and the
 * words after -o.
 *
 * Laws: the name of any bytes is one name and leads back to them, or to their beginning and the id;
 * any name is read or refused; any words are taken or refused with a line that says why.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fs/control_segment.h"
#include "fs/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void
check_name_of(const char *key, uint64_t id)
{
	char name[FS_PATH_NAME_MAX + 1], back[FS_KEY_ROOM];
	uint64_t back_id = 0;
	int r;

	fs_segment_name(key, id, name);
	assert(name[0] != '\0' && strchr(name, '/') == NULL && strlen(name) <= FS_PATH_NAME_MAX);
	assert(strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
	r = fs_segment_read_name(name, back, &back_id);
	assert(r == 0);
	if (back_id == 0)
		assert(strcmp(back, key) == 0);
	else
		assert(back_id == id && strncmp(back, key, strlen(back)) == 0);
}

static void
read_name(const char *name)
{
	char bytes[FS_KEY_ROOM];
	uint64_t id;

	if (strlen(name) <= FS_PATH_NAME_MAX && fs_segment_read_name(name, bytes, &id) == 0)
		assert(strlen(bytes) < FS_KEY_ROOM);
}

static void
take_words(char *text)
{
	static char program[] = "tiffinfs", flag[] = "-o", source[] = "unix:/m", dir[] = "/mnt";
	char *argv[] = {program, source, dir, flag, text, NULL};
	struct fs_options opts;
	char why[200] = "";
	int r = fs_options_init(&opts);

	assert(r == 0);
	r = fs_options_args(&opts, 5, argv, why, sizeof(why));
	assert(r == 0 || (r == -EINVAL && why[0] != '\0' && strlen(why) < sizeof(why)));
	fs_options_fini(&opts);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	char *text = malloc(n_bytes + 1);

	if (text == NULL)
		return 0;
	memcpy(text, bytes, n_bytes);
	text[n_bytes] = '\0';
	if (text[0] != '\0' && strlen(text) <= FS_PATH_KEY_MAX)
		check_name_of(text, 1 + n_bytes);
	read_name(text);
	take_words(text);
	free(text);
	return 0;
}
