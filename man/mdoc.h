/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mdoc.h -- plain English in, mdoc(7) out, for the programs that write manual pages.
 *
 *      "may give TIFFIN_E_LEASE, see tiffin_get()."  -->  may give
 *                                                         .Dv TIFFIN_E_LEASE ,
 *                                                         see
 *                                                         .Fn tiffin_get .
 *
 * Lines end where sentences do, and before they are too long.
 */
#ifndef MAN_MDOC_H
#define MAN_MDOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* mdoc_word -- what roff would take for its own made plain; is_first: it begins a line.  Gives
 * bytes written. */
size_t mdoc_word(FILE *to, const char *word, size_t len, bool is_first);

/* mdoc_say -- a text, word for word. */
void mdoc_say(FILE *to, const char *text);

/*
 * mdoc_say_api -- a text about the C interface: names in it are marked as what they are.
 *
 * is_argument  tells whether a word names an argument.
 */
void mdoc_say_api(FILE *to, const char *text,
		  bool (*is_argument)(const void *arg, const char *word, size_t len),
		  const void *arg);

/* mdoc_head -- up to and with the line of NAME's heading. */
void mdoc_head(FILE *to, const char *made_by, const char *title, int section);

#endif
