/* SPDX-License-Identifier: Apache-2.0 */

/*
 * utf8.h -- texts that others wrote, any bytes but NUL: is it UTF-8, and how is it shown to people?
 *
 * thread:  any.
 */
#ifndef TRANSFER_BASE_UTF8_H
#define TRANSFER_BASE_UTF8_H

#include "transfer/base/base.h"

/* utf8_len -- bytes of the character at `at` (1..4); 0 when no valid character begins there. */
size_t utf8_len(const char *at);

bool utf8_is_valid(const char *text);

/* utf8_width -- columns of a text on a terminal, every character counted as one. */
size_t utf8_width(const char *text);

/*
 * utf8_show -- one line of valid UTF-8, from which the text can be had back.
 *
 *      valid UTF-8, printable           itself
 *      backslash                        \\
 *      newline, tab, carriage return    \n \t \r
 *      any other byte                   \xff
 *
 * Gives buf; what does not fit is cut, never within a character.
 */
const char *utf8_show(char *buf, size_t cap, const char *text);

#endif
