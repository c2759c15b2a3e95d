/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ledger.h -- what may be true of each key: the model that every answer is held against.
 *
 *      deed     a put, remove or rename: begun then, ended then (or nobody knows), with a fate
 *      version  one value: a number of its own, a length, and bytes that tell both at every place
 *
 * A version may be seen during [t0, t1] when some deed that brings it to the key had begun by t1,
 * and no deed that certainly came after it and took it away had ended by t0.  A key may be missing
 * when nothing certainly was there, or something may have taken it away (a deed, eviction, a lost
 * segment).
 */
#ifndef TESTS_SIM_LEDGER_H
#define TESTS_SIM_LEDGER_H

#include "tests/sim/fiber.h"

#define KEYS_MAX 32

enum deed_kind { DEED_PUT, DEED_REMOVE, DEED_RENAME };
enum deed_fate {
	FATE_OPEN,    /* under way */
	FATE_DONE,    /* it took effect between its begin and end */
	FATE_NOTHING, /* it had no effect and never will */
	FATE_UNKNOWN, /* it may have, or may yet */
};

struct deed {
	enum deed_kind kind;
	enum deed_fate fate;
	unsigned key, to_key;
	bool replaces;
	bool is_shaken; /* a power cut while it was under way: part of it may have been answered
			   before */
	uint64_t version;
	uint64_t begin_ns, end_ns; /* end: UINT64_MAX while nobody knows */
	unsigned n_starts;         /* of the master when it began */
};

/* ledger_init -- key i is of tenant i % n_tenants; each tenant has the same names for its keys. */
void ledger_init(unsigned n_keys, unsigned n_tenants);
void ledger_fini(void);
const char *ledger_key(unsigned key);

/* ledger_version -- a new one of that length.  ledger_fill -- its bytes [at, at + len). */
uint64_t ledger_version(unsigned key, uint64_t len_bytes);
void ledger_fill(uint64_t version, uint64_t at_bytes, uint8_t *ret, uint64_t len_bytes);
uint64_t ledger_len(uint64_t version);

struct deed *ledger_put(unsigned key, uint64_t version, bool replaces);
struct deed *ledger_remove(unsigned key);
struct deed *ledger_rename(unsigned from, unsigned to, bool replaces);
void ledger_end(struct deed *deed, enum deed_fate fate);

/* Bytes [at, at + len) of an object of all_bytes (0: not told). */
struct sight {
	uint64_t at_bytes, len_bytes, all_bytes;
	const uint8_t *bytes;
};

/*
 * ledger_saw -- that was read in [t0, now].
 *
 * version  0: tell it from the bytes; else it must be that one.
 * gives:   the version.
 */
uint64_t ledger_saw(unsigned key, uint64_t version, const struct sight *sight, uint64_t t0);

/* ledger_missed -- nothing was found in [t0, now]. */
void ledger_missed(unsigned key, uint64_t t0);

/* ledger_undo -- what was answered after t may have been undone, by a power cut. */
void ledger_undo(uint64_t t);

/* ledger_found_in_the_way -- EXISTS was answered to `but`. */
void ledger_found_in_the_way(unsigned key, uint64_t t0, const struct deed *but);

uint64_t ledger_n_checked(void);

#endif
