/* SPDX-License-Identifier: Apache-2.0 */

/*
 * vec.h -- a growing array of anything.
 *
 *      VEC(struct extent) extents = {0};
 *      if (vec_push(&extents, ext) < 0) ...
 *      for (size_t i = 0; i < extents.n; i++) use(extents.at[i]);
 *      vec_fini(&extents);
 */
#ifndef TRANSFER_BASE_VEC_H
#define TRANSFER_BASE_VEC_H

#include "transfer/base/base.h"

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t n, cap;                                                                     \
	}

/* vec_reserve -- room for n_more.  0 or -ENOMEM; then nothing has changed. */
#define vec_reserve(vec, n_more)                                                                   \
	vec_reserve_bytes((void **)&(vec)->at, (vec)->n, &(vec)->cap, (n_more), sizeof(*(vec)->at))

/* vec_push -- append a value.  0 or -ENOMEM. */
#define vec_push(vec, ...)                                                                         \
	(vec_reserve((vec), 1) < 0 ? -12 /* -ENOMEM */                                             \
				   : ((vec)->at[(vec)->n++] = (__VA_ARGS__), 0))

/* vec_fini -- give the memory back and be empty. */
#define vec_fini(vec)                                                                              \
	do {                                                                                       \
		free((vec)->at);                                                                   \
		(vec)->at = NULL;                                                                  \
		(vec)->n = (vec)->cap = 0;                                                         \
	} while (0)

int vec_reserve_bytes(void **at, size_t n, size_t *cap, size_t n_more,
		      size_t item_bytes) MUST_CHECK;

#endif
