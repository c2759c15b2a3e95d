/* SPDX-License-Identifier: Apache-2.0 */

/*
 * key_text.h -- a key is any bytes but NUL; here it becomes something to look at.
 *
 *      byte                             for people     in JSON
 *      valid UTF-8, printable           itself         itself
 *      backslash                        \\             \\
 *      newline, tab, carriage return    \n \t \r       \n \t \r
 *      other control bytes, DEL         \x01           \u0001
 *      a byte that is no UTF-8          \xff           \u00ff, and base64 beside it
 *
 * The text for people can be turned back into the key; the one in JSON cannot when
 * the key is not valid UTF-8: then key_base64 has its bytes.
 */
#ifndef CORE_CLI_KEY_TEXT_H
#define CORE_CLI_KEY_TEXT_H

#include "transfer/base/utf8.h"

/* KEY_TEXT_CAP -- enough for any key for people, NUL included. */
#define KEY_TEXT_CAP (4 * 1024 + 1)

/* key_show -- the key for people.  Gives buf; what does not fit is cut. */
static inline const char *
key_show(char *buf, size_t cap, const char *key)
{
	return utf8_show(buf, cap, key);
}

/* text_scrub -- control bytes become '?': nothing that is said may steer the terminal. */
void text_scrub(char *text);

#endif
