/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tool.h -- what the little programs of the scripts share.
 *
 * They are users of the library: they include core/tiffin.h and nothing else of
 * the project.  Each prints facts as key=value and ends with 0, or says why not.
 * Bytes are told by their seed: word i of a pattern is mixed out of seed and i.
 */
#ifndef TESTS_SCRIPT_TOOLS_TOOL_H
#define TESTS_SCRIPT_TOOLS_TOOL_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/tiffin.h"

static inline void __attribute__((format(printf, 1, 2), noreturn)) tool_die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

#define tool_demand(truth)                                                                         \
	do {                                                                                       \
		if (!(truth))                                                                      \
			tool_die("%s:%d: not so: %s (%s)", __FILE__, __LINE__, #truth,             \
				 tiffin_why());                                                    \
	} while (0)

static inline uint64_t
tool_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static inline uint64_t
tool_now_ms(void)
{
	return tool_now_us() / 1000;
}

/* tool_options -- of the master that $TIFFIN_MASTER names; times by $TOOL_TIMEOUT_MS and the like.
 */
static inline struct tiffin_options
tool_options(void)
{
	const char *timeout = getenv("TOOL_TIMEOUT_MS"), *transfer = getenv("TOOL_TRANSFER_MS");
	const char *open = getenv("TOOL_OPEN_MS");

	return (struct tiffin_options){
		.struct_bytes = sizeof(struct tiffin_options),
		.master = getenv("TIFFIN_MASTER"),
		.timeout_ms = timeout == NULL ? 20000 : (uint32_t)atoi(timeout),
		.open_ms = open == NULL ? 0 : (uint32_t)atoi(open),
		.transfer_ms = transfer == NULL ? 0 : (uint32_t)atoi(transfer),
	};
}

static inline struct tiffin_client *
tool_open(void)
{
	struct tiffin_options options = tool_options();
	struct tiffin_client *client;
	int r = tiffin_open(&options, &client);

	if (r != 0)
		tool_die("open: %s: %s", tiffin_errname(r), tiffin_why());
	return client;
}

static inline uint64_t
tool_mix(uint64_t seed)
{
	seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
	seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
	return seed ^ (seed >> 31);
}

/* tool_seed -- of a key; `salt` tells values of the same key apart. */
static inline uint64_t
tool_seed(const char *key, uint64_t salt)
{
	uint64_t seed = tool_mix(salt + 1);

	for (; *key != '\0'; key++)
		seed = (seed ^ (uint8_t)*key) * 0x100000001b3u;
	return tool_mix(seed);
}

static inline void
tool_fill(void *at, size_t len_bytes, uint64_t seed)
{
	uint64_t word;

	for (size_t i = 0; i < len_bytes; i += sizeof(word)) {
		word = seed + i * 0x9e3779b97f4a7c15u;
		memcpy((char *)at + i, &word,
		       len_bytes - i < sizeof(word) ? len_bytes - i : sizeof(word));
	}
}

static inline int
tool_is(const void *at, size_t len_bytes, uint64_t seed)
{
	uint64_t word;

	for (size_t i = 0; i < len_bytes; i += sizeof(word)) {
		word = seed + i * 0x9e3779b97f4a7c15u;
		if (memcmp((const char *)at + i, &word,
			   len_bytes - i < sizeof(word) ? len_bytes - i : sizeof(word)) != 0)
			return 0;
	}
	return 1;
}

static inline void *
tool_alloc(size_t len_bytes)
{
	void *at = malloc(len_bytes == 0 ? 1 : len_bytes);

	if (at == NULL)
		tool_die("no memory");
	return at;
}

#endif
