/* SPDX-License-Identifier: Apache-2.0 */

/* load.h -- a master goes on where its store says that the last one ended. */
#ifndef MASTER_LOAD_H
#define MASTER_LOAD_H

#include "master/master.h"

/*
 * books_load -- every row of master->store becomes the books.
 *
 * needs:   books that are empty.
 * result:  0; -EBADMSG when the rows break their laws (why names one); -errno.  Then the books are
 *          good for nothing but master_free().
 */
int books_load(struct master *master, char *why, size_t why_cap) MUST_CHECK;

#endif
