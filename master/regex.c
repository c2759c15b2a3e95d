/* SPDX-License-Identifier: Apache-2.0 */
#include "master/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

#include "transfer/base/err.h"

/* Ways tried in one key: some milliseconds for all keys of a request (handle_bulk.c) at worst. */
#define WAYS_MAX      5000
#define HEAP_KIB_MAX  256
#define CODE_SIZE_MAX 65536 /* of a compiled pattern: "(((a{999}){999}){999})" is none */

struct regex {
	pcre2_code *code;
	pcre2_match_data *found;
	pcre2_match_context *bounds;
};

static int
compile(struct regex *regex, const uint8_t *pattern, size_t pattern_len, char *why, size_t why_cap)
{
	PCRE2_SIZE at = 0;
	size_t size = 0;
	int code = 0;
	char reason[128];

	regex->code = pcre2_compile(pattern, pattern_len, PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C,
				    &code, &at, NULL);
	if (regex->code == NULL && code == PCRE2_ERROR_NOMEMORY)
		return err_new(-ENOMEM);
	if (regex->code == NULL) {
		pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof(reason));
		snprintf(why, why_cap, "the pattern is none: %s, at byte %zu", reason, (size_t)at);
		return REGEX_E_PATTERN;
	}
	pcre2_pattern_info(regex->code, PCRE2_INFO_SIZE, &size);
	if (size > CODE_SIZE_MAX) {
		snprintf(why, why_cap, "the pattern is too large");
		return REGEX_E_PATTERN;
	}
	return 0;
}

int
regex_new(const uint8_t *pattern, size_t pattern_len, struct regex **ret_regex, char *why,
	  size_t why_cap)
{
	cleanup_with(regex_free_at) struct regex *regex = calloc(1, sizeof(*regex));
	int r;

	if (pattern_len == 0) {
		snprintf(why, why_cap, "the pattern is empty: it would be found everywhere");
		return REGEX_E_PATTERN;
	}
	if (regex == NULL)
		return err_new(-ENOMEM);
	r = compile(regex, pattern, pattern_len, why, why_cap);
	if (r != 0)
		return r;
	regex->found = pcre2_match_data_create(1, NULL);
	regex->bounds = pcre2_match_context_create(NULL);
	if (regex->found == NULL || regex->bounds == NULL)
		return err_new(-ENOMEM);
	pcre2_set_match_limit(regex->bounds, WAYS_MAX);
	pcre2_set_depth_limit(regex->bounds, WAYS_MAX);
	pcre2_set_heap_limit(regex->bounds, HEAP_KIB_MAX);
	*ret_regex = take(&regex);
	return 0;
}

void
regex_free(struct regex *regex)
{
	if (regex == NULL)
		return;

	pcre2_match_context_free(regex->bounds);
	pcre2_match_data_free(regex->found);
	pcre2_code_free(regex->code);
	free(regex);
}

int
regex_find(const struct regex *regex, const uint8_t *bytes, size_t len, bool *ret_found)
{
	int n = pcre2_match(regex->code, bytes, len, 0, 0, regex->found, regex->bounds);

	if (n == PCRE2_ERROR_NOMEMORY)
		return err_new(-ENOMEM);
	if (n < 0 && n != PCRE2_ERROR_NOMATCH)
		return REGEX_E_COSTLY;
	*ret_found = n >= 0;
	return 0;
}
