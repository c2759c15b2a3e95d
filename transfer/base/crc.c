/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A sum is a polynomial over GF(2) modulo P, lowest power in the highest bit.
 * Bytes that follow multiply it by x^8 each, and so
 *
 *      sum(A B)  =  sum(A) * x^(8 * len B)  +  sum(B)          (+ is exclusive or)
 *
 * for the inversions before and after cancel out.  The power is put together
 * from x^1, x^2, x^4, ... squared once and for all below.  As x^(2^31 - 1) is 1
 * modulo P, x^(2^31) is x again, and 31 of them serve any length.
 */
#include "transfer/base/crc.h"

#include <isa-l.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <string.h>

#include "transfer/base/num.h"

#define P_REVERSED 0x82f63b78u
#define X_TO_0     0x80000000u

/* ISA-L counts in int. */
#define SUM_MAX_BYTES (1u << 30)

/* Below this ISA-L folds nothing, and its wide loads wait for what was just written in words. */
#define SHORT_BYTES 256

/* Source and target of one step fit the nearest cache together. */
#define STEP_BYTES (8u << 10)

static const uint32_t x_to_2_to[31] = {
	0x40000000, 0x20000000, 0x08000000, 0x00800000, 0x00008000, 0x82f63b78, 0x6ea2d55c,
	0x18b8ea18, 0x510ac59a, 0xb82be955, 0xb8fdb1e7, 0x88e56f72, 0x74c360a4, 0xe4172b16,
	0x0d65762a, 0x35d73a62, 0x28461564, 0xbf455269, 0xe2ea32dc, 0xfe7740e6, 0xf946610b,
	0x3c204f8f, 0x538586e3, 0x59726915, 0x734d5309, 0xbc1ac763, 0x7d0722cc, 0xd289cabe,
	0xe94ca9bc, 0x05b74f3f, 0xa51e1f42,
};

/* short_sum -- by the processor's own instruction, eight bytes at a time; `crc` is inverted. */
#ifdef __x86_64__
static bool
has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t
short_sum(uint32_t crc, const uint8_t *at, size_t len_bytes)
{
	uint64_t wide = crc, word;

	for (; len_bytes >= sizeof(word); len_bytes -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		wide = _mm_crc32_u64(wide, word);
	}
	crc = (uint32_t)wide;
	for (; len_bytes > 0; len_bytes--)
		crc = _mm_crc32_u8(crc, *at++);
	return crc;
}
#else
static bool
has_instruction(void)
{
	return false;
}

static uint32_t
short_sum(uint32_t crc, const uint8_t *at, size_t len_bytes)
{
	(void)at;
	(void)len_bytes;
	return crc;
}
#endif

/*
 * let_go -- ISA-L leaves the wide registers in use.  Until they are let go of, every narrow
 * instruction that writes to a register of theirs has to keep the wide part, on this thread for
 * ever: look-ups that compare sixteen bytes at a time took six times as long.
 */
#ifdef __x86_64__
__attribute__((target("avx"))) static void
let_go_wide(void)
{
	_mm256_zeroupper();
}

static void
let_go(void)
{
	if (__builtin_cpu_supports("avx"))
		let_go_wide();
}
#else
static void
let_go(void)
{
}
#endif

uint32_t
crc_of(uint32_t so_far, const void *bytes, size_t len_bytes)
{
	unsigned char *at = (unsigned char *)(uintptr_t)bytes; /* ISA-L forgot the const */
	uint32_t crc = ~so_far;

	if (len_bytes < SHORT_BYTES && has_instruction())
		return ~short_sum(crc, bytes, len_bytes);

	while (len_bytes > 0) {
		size_t n = num_min(len_bytes, (size_t)SUM_MAX_BYTES);

		crc = crc32_iscsi(at, (int)n, crc);
		at += n;
		len_bytes -= n;
	}
	let_go();
	return ~crc;
}

/* multiply -- a * b modulo P. */
static uint32_t
multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (uint32_t power = X_TO_0; power != 0; power >>= 1) {
		if (a & power)
			product ^= b;
		b = b & 1 ? b >> 1 ^ P_REVERSED : b >> 1;
	}
	return product;
}

uint32_t
crc_join(uint32_t crc_a, uint32_t crc_b, uint64_t len_b_bytes)
{
	size_t k = 3; /* a byte is x^8 = x^(2^3) */

	for (uint64_t left = len_b_bytes; left != 0; left >>= 1) {
		if (left & 1)
			crc_a = multiply(x_to_2_to[k], crc_a);
		k = k + 1 < array_len(x_to_2_to) ? k + 1 : 0;
	}
	return crc_a ^ crc_b;
}

/*
 * What is summed is the copy, not the source: should someone write to the
 * source meanwhile, the sum still tells what has arrived.
 */
uint32_t
crc_copy(uint32_t so_far, void *to, const void *from, size_t len_bytes)
{
	for (size_t at = 0; at < len_bytes; at += STEP_BYTES) {
		size_t n = num_min(len_bytes - at, (size_t)STEP_BYTES);

		memcpy((uint8_t *)to + at, (const uint8_t *)from + at, n);
		so_far = crc_of(so_far, (const uint8_t *)to + at, n);
	}
	return so_far;
}
