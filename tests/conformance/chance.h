/* SPDX-License-Identifier: Apache-2.0 */

/*
 * chance.h -- what the programs of this folder share: a seed's numbers, and how a program gives up.
 *
 * They are plain programs on files: nothing here knows of a store.
 */
#ifndef TESTS_CONFORMANCE_CHANCE_H
#define TESTS_CONFORMANCE_CHANCE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* chance_next -- a number out of 64 bits of state (splitmix). */
static inline uint64_t
chance_next(uint64_t *state)
{
	uint64_t x = (*state += 0x9e3779b97f4a7c15u);

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* chance_below -- 0 .. n - 1; 0 when n is 0. */
static inline size_t
chance_below(uint64_t *state, size_t n)
{
	return n == 0 ? 0 : (size_t)(chance_next(state) % n);
}

/* chance_fill -- bytes told by a seed: byte i depends on seed and i alone. */
static inline void
chance_fill(void *at, size_t len_bytes, uint64_t seed)
{
	unsigned char *bytes = at;

	for (size_t i = 0; i < len_bytes; i++)
		bytes[i] = (unsigned char)((seed + i * 0x9e3779b97f4a7c15u) >> 40);
}

/* chance_number -- a whole argument, or the program ends. */
static inline size_t
chance_number(const char *word)
{
	char *end;
	unsigned long long n = strtoull(word, &end, 10);

	if (*word == '\0' || *end != '\0') {
		fprintf(stderr, "%s: no number\n", word);
		exit(2);
	}
	return (size_t)n;
}

#endif
