/* SPDX-License-Identifier: Apache-2.0 */

/*
 * why.h -- the sentence behind the last failure of this thread: tiffin_why().
 *
 * Inside core a function whose contract says "result: 0 or TIFFIN_E_*" has told why before it
 * returns a failure, and nobody between it and the caller tells again.
 */
#ifndef CORE_WHY_H
#define CORE_WHY_H

#include "transfer/base/base.h"

#define WHY_MAX 512

/* why_set -- keep the sentence (cut at WHY_MAX), and give back code. */
int why_set(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* why_system -- a failure (-errno) with its trail becomes TIFFIN_E_SYSTEM. */
int why_system(int r, const char *doing);

/* why_no_memory -- TIFFIN_E_SYSTEM. */
int why_no_memory(void);

/* why_key -- the key as it may be shown in a sentence: cut, no control characters.  Gives buf. */
const char *why_key(char *buf, size_t cap_bytes, const void *key, size_t len_bytes);

#endif
