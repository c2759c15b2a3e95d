/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ledger.h -- what each key may hold, as far as the answers of the store tell.
 *
 *      put answered 0           exactly that value
 *      put answered an error    that value, or what was there before: the answer may have been lost
 *      remove answered 0        nothing
 *      remove answered an error nothing, or what was there before
 *
 * A value is a seed and a length; its bytes follow from them.  Takes no memory of the heap, so
 * that allocations which fail are those of the library alone.
 */
#ifndef TESTS_FAULT_LEDGER_H
#define TESTS_FAULT_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define LEDGER_KEYS_MAX   64
#define LEDGER_VALUES_MAX 4
#define LEDGER_KEY_BYTES  64

struct value {
	uint32_t seed;
	uint64_t len_bytes;
};

struct ledger_row {
	char key[LEDGER_KEY_BYTES];
	bool may_be_absent;
	unsigned n_values; /* any of these may be there; 0: surely absent */
	struct value values[LEDGER_VALUES_MAX];
};

struct ledger {
	size_t n;
	struct ledger_row rows[LEDGER_KEYS_MAX];
};

/* ledger_row -- of a key; an absent one is added. */
struct ledger_row *ledger_row(struct ledger *ledger, const char *key);

void row_is(struct ledger_row *row, struct value value);
void row_may_be(struct ledger_row *row, struct value value);
void row_is_absent(struct ledger_row *row);
void row_may_be_absent(struct ledger_row *row);

/* row_moved -- a rename, certain or not. */
void row_moved(struct ledger_row *from, struct ledger_row *to, bool is_sure);

/* row_allows -- a read gave these bytes: are they one of the values? */
bool row_allows(const struct ledger_row *row, const struct iovec *slices, size_t n_slices,
		uint64_t len_bytes);

/* value_fill -- the bytes from offset on, spread over the slices. */
void value_fill(struct value value, uint64_t offset, const struct iovec *slices, size_t n_slices);

/* value_is -- are these its bytes from offset on? */
bool value_is(struct value value, uint64_t offset, const struct iovec *slices, size_t n_slices,
	      uint64_t len_bytes);

/* ledger_save, ledger_load -- one line a key.  0 or -1. */
int ledger_save(const struct ledger *ledger, const char *path);
int ledger_load(struct ledger *ledger, const char *path);

#endif
