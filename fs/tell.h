/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tell.h -- records for people and programs, written once, shown in two ways.
 *
 *      text, many       name=p1 state=ok used_bytes=4096        a line a record
 *      text, one        version=0.1.0                           a line a field
 *      JSON             [{"name":"p1","state":"ok",...},...], or one object
 *
 * In text a value that has blanks, quotes or control bytes stands in quotes, as one line.
 */
#ifndef FS_TELL_H
#define FS_TELL_H

#include <stdio.h>

#include "transfer/base/json.h"

struct fs_tell {
	FILE *to;
	bool is_json;
	bool is_list;
	bool has_some; /* text: this record has fields already */
	struct json json;
};

/* fs_tell_begin, fs_tell_end -- is_list: many records; else one, and no fs_tell_record(). */
void fs_tell_begin(struct fs_tell *tell, FILE *to, bool is_json, bool is_list);
void fs_tell_end(struct fs_tell *tell);

/* fs_tell_record -- the next one begins; fs_tell_record_end -- and ends. */
void fs_tell_record(struct fs_tell *tell);
void fs_tell_record_end(struct fs_tell *tell);

void fs_tell_text(struct fs_tell *tell, const char *name, const char *text);
void fs_tell_u64(struct fs_tell *tell, const char *name, uint64_t v);
void fs_tell_id(struct fs_tell *tell, const char *name, uint64_t id);
void fs_tell_bool(struct fs_tell *tell, const char *name, bool v);

/* fs_tell_key -- any bytes but NUL. */
void fs_tell_key(struct fs_tell *tell, const char *name, const char *key);

#endif
