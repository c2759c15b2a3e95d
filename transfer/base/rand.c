/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/base/rand.h"

#include <errno.h>
#include <sys/random.h>

#include "transfer/base/err.h"

/* splitmix64 -- spreads a poor seed (0, 1, 2...) over all 256 bits; never leaves them all zero. */
static uint64_t
splitmix64(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void
rand_init(struct rand *rand, uint64_t seed)
{
	for (size_t i = 0; i < array_len(rand->s); i++)
		rand->s[i] = splitmix64(&seed);
}

int
rand_init_os(struct rand *rand)
{
	uint64_t seed;
	ssize_t n;

	do {
		n = getrandom(&seed, sizeof(seed), 0);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(seed))
		return err_new(n < 0 ? -errno : -EIO);

	rand_init(rand, seed);
	return 0;
}

static uint64_t
rotate_left(uint64_t v, unsigned n)
{
	return v << n | v >> (64 - n);
}

uint64_t
rand_u64(struct rand *rand)
{
	uint64_t *s = rand->s;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

/*
 * The upper half of a product with n lies in 0..n-1.  2^64 mod n of the lower
 * halves would make some results likelier than others; those are drawn again.
 */
uint64_t
rand_below(struct rand *rand, uint64_t n)
{
	unsigned __int128 product;
	uint64_t unfair;

	assert(n > 0);

	unfair = -n % n;
	do {
		product = (unsigned __int128)rand_u64(rand) * n;
	} while ((uint64_t)product < unfair);
	return (uint64_t)(product >> 64);
}

uint64_t
rand_id(struct rand *rand)
{
	uint64_t id;

	do {
		id = rand_u64(rand) >> 1;
	} while (id == 0);
	return id;
}
