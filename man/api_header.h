/* SPDX-License-Identifier: Apache-2.0 */

/*
 * api_header.h -- core/tiffin.h, read as what it is: a manual with prototypes in it.
 *
 *      comment of the file        what the whole is about
 *      ---- title ----            a section
 *      comment, struct or enum    a type
 *      comment, TIFFIN_API ...;   a function; the comment begins with its name (or names) and " --
 * "
 *
 * Everything lives in one arena that is never given back: this is for programs that write and end.
 */
#ifndef MAN_API_HEADER_H
#define MAN_API_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#define API_PIECES_MAX 256
#define API_PARTS_MAX  32

struct api_type {
	const char *tag;   /* "tiffin_put_options"; "" for one without a name */
	const char *code;  /* as it stands */
	const char *words; /* what is said of it; "": nothing */
};

/* A paragraph of a comment. */
enum api_part_kind { API_TEXT, API_ARGUMENT, API_TAKES, API_GIVES, API_ERRORS };
struct api_part {
	enum api_part_kind kind;
	const char *name; /* API_ARGUMENT */
	bool is_output;
	const char *text; /* blanks instead of line ends */
};

struct api_function {
	const char *name, *section, *returns;
	const char *summary; /* one line without a full stop */
	const char *names; /* "tiffin_put_batch, tiffin_get_batch": all that its comment is about */
	const char *page;  /* the first of these */
	const char *arguments[12];
	size_t n_arguments;
	struct api_part parts[API_PARTS_MAX];
	size_t n_parts;
};

struct api_error {
	const char *name, *meaning;
};

struct api {
	struct api_part intro[API_PARTS_MAX];
	size_t n_intro;
	struct api_type types[API_PIECES_MAX];
	size_t n_types;
	struct api_function functions[API_PIECES_MAX];
	size_t n_functions;
	const char *sections[API_PIECES_MAX];
	size_t n_sections;
	struct api_error errors[64];
	size_t n_errors;
};

/* api_read -- the whole header.  true, or false after a line on standard error that says what is
 * wrong. */
bool api_read(struct api *api, const char *path);

/* api_error_meaning -- of "TIFFIN_E_LEASE", or NULL. */
const char *api_error_meaning(const struct api *api, const char *name, size_t len);

/* api_keep -- len bytes of text in the arena, ended by NUL; runs of blanks and line ends become one
 * blank. */
const char *api_keep(const char *text, size_t len);

#endif
