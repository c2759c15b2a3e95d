/* SPDX-License-Identifier: Apache-2.0 */

/*
 * err.h -- how a function says "no".
 *
 *      r == 0   done.
 *      r  > 0   an outcome.  Part of the function's contract, listed in its
 *               module's enum (ALLOC_E_FULL, LINK_E_LOST...).  The direct
 *               caller handles it; it never travels further.
 *      r  < 0   a failure, -errno.  Nobody in between inspects it.  It travels
 *               unchanged to whoever owns the request.
 *
 * A failure is born with err_new() and handed on with err_up().  Both leave a
 * mark on a small per-thread trail, so that the owner of the request can write
 * one line with the whole path instead of five lines from five layers.
 */
#ifndef TRANSFER_BASE_ERR_H
#define TRANSFER_BASE_ERR_H

#include <stddef.h>

#define err_new(e) err_mark_new((e), __func__, __FILE__, __LINE__)
#define err_up(r)  err_mark_up((r), __func__, __FILE__, __LINE__)

/* err_fold -- an outcome we have no answer for becomes a failure (-ENOTRECOVERABLE). */
#define err_fold(r) err_mark_fold((r), __func__, __FILE__, __LINE__)

int err_mark_new(int e, const char *func, const char *file, int line);
int err_mark_up(int r, const char *func, const char *file, int line);
int err_mark_fold(int r, const char *func, const char *file, int line);

/*
 * err_trail -- the last failure of this thread in one line: its words, then the way it took.
 *
 * result:  buf, always ending in NUL.
 * thread:  any; each has its own trail.
 */
const char *err_trail(char *buf, size_t cap_bytes);

#endif
