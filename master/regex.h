/* SPDX-License-Identifier: Apache-2.0 */

/*
 * regex.h -- a pattern that is looked for in keys: PCRE2, on bytes.
 *
 * A key matches when the pattern is found anywhere in it.  What one look may cost is bounded: a
 * pattern that tries too many ways (like "(a*)*b") is refused, and stalls nobody.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_REGEX_H
#define MASTER_REGEX_H

#include "transfer/base/base.h"

struct regex;

enum regex_outcome {
	REGEX_E_PATTERN = 1, /* it is none; why says where */
	REGEX_E_COSTLY,      /* it tries too many ways */
};

/* regex_new -- why: one line for REGEX_E_PATTERN.  0, REGEX_E_PATTERN, -ENOMEM. */
int regex_new(const uint8_t *pattern, size_t pattern_len, struct regex **ret_regex, char *why,
	      size_t why_cap) MUST_CHECK;
void regex_free(struct regex *regex);

/* regex_find -- 0: it is in there or not, *ret_found tells; REGEX_E_COSTLY; -ENOMEM. */
int regex_find(const struct regex *regex, const uint8_t *bytes, size_t len,
	       bool *ret_found) MUST_CHECK;

DEFINE_CLEANUP(struct regex, regex_free);

#endif
