/* SPDX-License-Identifier: Apache-2.0 */

/* base.h -- the handful of language helpers every file may use. */
#ifndef TRANSFER_BASE_BASE_H
#define TRANSFER_BASE_BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define MUST_CHECK                     __attribute__((warn_unused_result))
#define container_of(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))
#define array_len(a)                   (sizeof(a) / sizeof((a)[0]))

/* paranoid -- also make the checks that walk a whole structure?  cmake -DTIFFIN_PARANOID=1. */
#ifndef TIFFIN_PARANOID
#define TIFFIN_PARANOID 0
#endif
static const bool paranoid = TIFFIN_PARANOID;

/* implies -- "if a holds then so must b", for assertions that read as a sentence. */
#define implies(a, b) (!(a) || (b))

/* cleanup_with -- give a local back with fn when it goes out of scope. */
#define cleanup_with(fn) __attribute__((cleanup(fn)))

/* DEFINE_CLEANUP -- make free_fn##_at(), the form cleanup_with() wants, from free_fn(). */
#define DEFINE_CLEANUP(type, free_fn)                                                              \
	static inline void free_fn##_at(type **at)                                                 \
	{                                                                                          \
		free_fn(*at);                                                                      \
	}                                                                                          \
	struct cleanup_defined_##free_fn

/* take -- move the value out of *at and leave NULL: ownership goes to whoever receives it. */
#define take(at)                                                                                   \
	({                                                                                         \
		__typeof__(*(at)) taken_ = *(at);                                                  \
		*(at) = NULL;                                                                      \
		taken_;                                                                            \
	})

#endif
