/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/keeper.h"
#include "transfer/base/num.h"
#include "transfer/base/vec.h"

#define BLOCK_BYTES 64
#define DEPTH_MAX   8 /* of renames followed backwards */

struct version {
	unsigned key; /* of its first put */
	uint64_t len_bytes;
};

static struct {
	unsigned n_keys;
	char names[KEYS_MAX][24];
	VEC(struct deed *) deeds[KEYS_MAX]; /* that bring something to the key or take it away */
	VEC(struct version) versions;       /* number - 1 */
	uint64_t n_checked;
	uint64_t undone_ns; /* the last power cut: what was asked before proves nothing for
			       afterwards */
} ledger;

void
ledger_init(unsigned n_keys, unsigned n_tenants)
{
	memset(&ledger, 0, sizeof(ledger));
	ledger.n_keys = n_keys;
	for (unsigned key = 0; key < n_keys; key++) {
		unsigned i = key / n_tenants;

		snprintf(ledger.names[key], sizeof(ledger.names[key]),
			 i % 3 == 0 ? "top%u" : "d%u/k%u", i % 3 == 0 ? i : i % 4, i);
	}
}

void
ledger_fini(void)
{
	for (unsigned i = 0; i < KEYS_MAX; i++)
		vec_fini(&ledger.deeds[i]);
	vec_fini(&ledger.versions);
}

const char *
ledger_key(unsigned key)
{
	return ledger.names[key];
}

/* ---- bytes ---- */

static uint64_t
mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* Each block says which version it is of, of which key, and where in it. */
static void
fill_block(uint64_t version, uint64_t at_bytes, uint64_t ret[BLOCK_BYTES / 8])
{
	ret[0] = version;
	ret[1] = at_bytes;
	ret[2] = mix(ledger.versions.at[version - 1].key + 1);
	for (unsigned i = 3; i < BLOCK_BYTES / 8; i++)
		ret[i] = mix(version * 1000003 + at_bytes + i);
}

uint64_t
ledger_version(unsigned key, uint64_t len_bytes)
{
	struct version version = {key, len_bytes};

	if (vec_push(&ledger.versions, version) < 0)
		abort();
	return ledger.versions.n;
}

uint64_t
ledger_len(uint64_t version)
{
	return ledger.versions.at[version - 1].len_bytes;
}

void
ledger_fill(uint64_t version, uint64_t at_bytes, uint8_t *ret, uint64_t len_bytes)
{
	uint64_t block[BLOCK_BYTES / 8];

	for (uint64_t done = 0, n; done < len_bytes; done += n) {
		uint64_t at = at_bytes + done, skip = at % BLOCK_BYTES;

		n = num_min(BLOCK_BYTES - skip, len_bytes - done);
		fill_block(version, at - skip, block);
		memcpy(ret + done, (uint8_t *)block + skip, n);
	}
}

/* ---- deeds ---- */

static void
enter(unsigned key, struct deed *deed)
{
	if (vec_push(&ledger.deeds[key], deed) < 0)
		abort();
}

static struct deed *
deed_new(enum deed_kind kind, unsigned key)
{
	struct deed *deed = sim_alloc(sizeof(*deed));

	deed->kind = kind;
	deed->key = key;
	deed->begin_ns = sim_now();
	deed->end_ns = UINT64_MAX;
	deed->n_starts = keeper_n_starts();
	enter(key, deed);
	return deed;
}

struct deed *
ledger_put(unsigned key, uint64_t version, bool replaces)
{
	struct deed *deed = deed_new(DEED_PUT, key);

	deed->version = version;
	deed->replaces = replaces;
	return deed;
}

struct deed *
ledger_remove(unsigned key)
{
	return deed_new(DEED_REMOVE, key);
}

struct deed *
ledger_rename(unsigned from, unsigned to, bool replaces)
{
	struct deed *deed = deed_new(DEED_RENAME, from);

	deed->to_key = to;
	deed->replaces = replaces;
	enter(to, deed);
	return deed;
}

/* Does it bring something to that key?  Else it takes away. */
static bool
brings(const struct deed *deed, unsigned key)
{
	return deed->kind == DEED_PUT || (deed->kind == DEED_RENAME && deed->to_key == key);
}

/* Two that must not replace, and nothing that could have taken the first away in between. */
static void
judge_race(const struct deed *mine)
{
	unsigned key = mine->kind == DEED_RENAME ? mine->to_key : mine->key;

	for (size_t i = 0; i < ledger.deeds[key].n; i++) {
		const struct deed *other = ledger.deeds[key].at[i];
		bool is_gone = false;

		if (other == mine || !brings(other, key) || other->fate != FATE_DONE)
			continue;
		if (other->end_ns > mine->begin_ns && other->replaces)
			continue; /* it may have come second */
		if (keeper_lost_ns() >= num_min(mine->begin_ns, other->begin_ns))
			continue;
		for (size_t j = 0; j < ledger.deeds[key].n; j++) {
			const struct deed *third = ledger.deeds[key].at[j];

			is_gone |= !brings(third, key) && third->fate != FATE_NOTHING &&
				   third->end_ns >= num_min(other->begin_ns, mine->begin_ns);
		}
		if (!is_gone)
			sim_fail("\"%s\": versions %" PRIu64 " and %" PRIu64
				 " were both put without replacing",
				 ledger_key(key), other->version, mine->version);
	}
}

void
ledger_end(struct deed *deed, enum deed_fate fate)
{
	if (fate == FATE_DONE && deed->is_shaken)
		fate = FATE_UNKNOWN;
	if (fate == FATE_NOTHING && deed->end_ns != UINT64_MAX)
		sim_fail("\"%s\": version %" PRIu64 " was seen, and its put is said to have failed",
			 ledger_key(deed->key), deed->version);
	deed->fate = fate == FATE_UNKNOWN && deed->end_ns != UINT64_MAX ? FATE_DONE : fate;
	if (fate != FATE_UNKNOWN)
		deed->end_ns = sim_now();
	if (fate == FATE_DONE && deed->kind != DEED_REMOVE && !deed->replaces)
		judge_race(deed);
}

/* ---- what may be seen ---- */

/* Did some deed certainly come after `deed` and end before t0?  Then what it brought is gone. */
static bool
is_over(const struct deed *deed, unsigned key, uint64_t t0)
{
	for (size_t i = ledger.deeds[key].n; i-- > 0;) {
		const struct deed *later = ledger.deeds[key].at[i];

		if (later != deed && later->fate == FATE_DONE && later->end_ns <= t0 &&
		    later->begin_ns >= deed->end_ns)
			return true;
	}
	return false;
}

static struct deed *
origin(unsigned key, uint64_t version, uint64_t t0, uint64_t t1, unsigned depth)
{
	for (size_t i = ledger.deeds[key].n; i-- > 0;) {
		struct deed *deed = ledger.deeds[key].at[i];

		if (!brings(deed, key) || deed->fate == FATE_NOTHING || deed->begin_ns > t1)
			continue;
		if (deed->kind == DEED_PUT && deed->version != version)
			continue;
		if (is_over(deed, key, t0))
			continue;
		if (deed->kind == DEED_PUT)
			return deed;
		if (depth < DEPTH_MAX && origin(deed->key, version, deed->begin_ns,
						num_min(deed->end_ns, t1), depth + 1) != NULL)
			return deed;
	}
	return NULL;
}

static uint64_t
first_word(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* For whoever has to find out: what was done to the key lately. */
static void
tell_deeds(unsigned key)
{
	static const char *const kinds[] = {"put", "remove", "rename"};
	static const char *const fates[] = {"open", "done", "nothing", "unknown"};
	size_t n = ledger.deeds[key].n;

	for (size_t i = n > 20 ? n - 20 : 0; i < n; i++) {
		const struct deed *deed = ledger.deeds[key].at[i];

		fprintf(stderr, "  %s %s version %" PRIu64 " [%.3f, %.3f] ms%s\n",
			kinds[deed->kind], fates[deed->fate], deed->version,
			(double)deed->begin_ns / 1e6,
			deed->end_ns == UINT64_MAX ? -1.0 : (double)deed->end_ns / 1e6,
			deed->kind == DEED_RENAME && deed->to_key == key ? " to here" : "");
	}
}

uint64_t
ledger_saw(unsigned key, uint64_t version, const struct sight *sight, uint64_t t0)
{
	const uint64_t at_bytes = sight->at_bytes, len_bytes = sight->len_bytes;
	const uint64_t all_bytes = sight->all_bytes;
	const uint8_t *bytes = sight->bytes;
	uint64_t block[BLOCK_BYTES / 8];
	struct deed *deed;

	if (len_bytes == 0)
		return version;
	if (version == 0) {
		assert(at_bytes % BLOCK_BYTES == 0 && len_bytes >= 8);
		memcpy(&version, bytes, sizeof(version));
	}
	if (version == 0 || version > ledger.versions.n)
		sim_fail("\"%s\": the bytes at %" PRIu64 " are of no version (%" PRIx64 ")",
			 ledger_key(key), at_bytes, version);
	for (uint64_t done = 0, n; done < len_bytes; done += n) {
		uint64_t at = at_bytes + done, skip = at % BLOCK_BYTES;

		n = num_min(BLOCK_BYTES - skip, len_bytes - done);
		fill_block(version, at - skip, block);
		if (memcmp(bytes + done, (uint8_t *)block + skip, n) != 0)
			sim_fail("\"%s\": version %" PRIu64 " has wrong bytes at %" PRIu64
				 " of %" PRIu64 " (a block of version %" PRIu64 ")",
				 ledger_key(key), version, at, all_bytes, first_word(bytes + done));
	}
	if (all_bytes != 0 && all_bytes != ledger_len(version))
		sim_fail("\"%s\": version %" PRIu64 " has %" PRIu64 " bytes, not %" PRIu64,
			 ledger_key(key), version, all_bytes, ledger_len(version));
	deed = origin(key, version, t0, sim_now(), 0);
	if (deed == NULL)
		tell_deeds(key);
	if (deed == NULL)
		sim_fail("\"%s\": version %" PRIu64 " was seen, which can't be", ledger_key(key),
			 version);
	/* What was seen has happened. */
	if (t0 > ledger.undone_ns && deed->kind == DEED_PUT &&
	    (deed->fate == FATE_OPEN || deed->fate == FATE_UNKNOWN)) {
		if (deed->fate == FATE_UNKNOWN)
			deed->fate = FATE_DONE;
		deed->end_ns = num_min(deed->end_ns, sim_now());
	}
	ledger.n_checked++;
	return version;
}

/* What was there before, and was not to be found, does not come back. */
static void
note_look(unsigned key, uint64_t t0)
{
	struct deed *look;

	if (t0 <= ledger.undone_ns)
		return;
	for (size_t i = 0; i < ledger.deeds[key].n; i++) {
		const struct deed *deed = ledger.deeds[key].at[i];

		if (!brings(deed, key) || deed->fate != FATE_DONE || deed->end_ns > t0 ||
		    is_over(deed, key, t0))
			continue;
		look = deed_new(DEED_REMOVE, key);
		look->begin_ns = t0;
		ledger_end(look, FATE_DONE);
		return;
	}
}

void
ledger_missed(unsigned key, uint64_t t0)
{
	for (size_t i = 0; i < ledger.deeds[key].n; i++) {
		const struct deed *deed = ledger.deeds[key].at[i];
		bool is_gone = false;

		if (!brings(deed, key) || deed->fate != FATE_DONE || deed->end_ns > t0)
			continue;
		if (keeper_lost_ns() >= deed->begin_ns)
			continue;
		for (size_t j = 0; j < ledger.deeds[key].n; j++) {
			const struct deed *other = ledger.deeds[key].at[j];

			is_gone |= !brings(other, key) && other->fate != FATE_NOTHING &&
				   other->end_ns >= deed->begin_ns;
		}
		if (!is_gone)
			sim_fail("\"%s\": there is nothing, though version %" PRIu64
				 " was put and never removed",
				 ledger_key(key), deed->version);
	}
	ledger.n_checked++;
	note_look(key, t0);
}

void
ledger_found_in_the_way(unsigned key, uint64_t t0, const struct deed *but)
{
	for (size_t i = 0; i < ledger.deeds[key].n; i++) {
		const struct deed *deed = ledger.deeds[key].at[i];

		if (deed != but && brings(deed, key) && !is_over(deed, key, t0))
			return;
	}
	/* puts that came to nothing may have stood in the way while they were under way */
	for (size_t i = 0; i < ledger.deeds[key].n; i++)
		if (ledger.deeds[key].at[i] != but && brings(ledger.deeds[key].at[i], key))
			return;
	sim_fail("\"%s\": something is said to be in the way, but nothing ever was",
		 ledger_key(key));
}

void
ledger_undo(uint64_t t)
{
	ledger.undone_ns = sim_now();
	for (unsigned key = 0; key < ledger.n_keys; key++) {
		for (size_t i = 0; i < ledger.deeds[key].n; i++) {
			struct deed *deed = ledger.deeds[key].at[i];

			if (deed->fate == FATE_NOTHING || deed->end_ns <= t)
				continue;
			deed->end_ns = UINT64_MAX;
			deed->is_shaken = true;
			if (deed->fate == FATE_DONE)
				deed->fate = FATE_UNKNOWN;
		}
	}
}

uint64_t
ledger_n_checked(void)
{
	return ledger.n_checked;
}
