/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/depot.h"
#include "tests/sim/keeper.h"
#include "tests/sim/ledger.h"
#include "tests/sim/line.h"
#include "tests/sim/tenants.h"
#include "transfer/base/num.h"

#define BATCH      4
#define HOLD_BYTES (1u << 20)

static uint64_t n_calls;

struct call
call_begin(struct user *user)
{
	n_calls++;
	return (struct call){user, sim_now(), keeper_n_starts(), line_joins(user->link)};
}

/* Could an answer have been lost and forgotten, so that "not found" may mean "done before"? */
static bool
is_clean(const struct call *call)
{
	return call->n_starts == keeper_n_starts() && keeper_is_up() &&
	       call->n_joins == line_joins(call->user->link);
}

/* ---- outcomes ---- */

void
call_judge_error(const struct call *call, const char *what, unsigned key, int r)
{
	if (r == TIFFIN_E_INVALID || r == TIFFIN_E_SYSTEM || r == TIFFIN_E_VERSION ||
	    r == TIFFIN_E_FORKED || r == TIFFIN_E_TOO_SMALL)
		sim_fail("%s \"%s\": %s (%s)", what, ledger_key(key), tiffin_errname(r),
			 tiffin_why());
	if (r == TIFFIN_E_QUOTA && !user_habits.has_quotas)
		sim_fail("%s \"%s\": there are no quotas (%s)", what, ledger_key(key),
			 tiffin_why());
	if (r == TIFFIN_E_CHECKSUM && !user_habits.has_flips)
		sim_fail("%s \"%s\": wrong bytes (%s)", what, ledger_key(key), tiffin_why());
	if (user_habits.is_strict && call->t0 >= user_habits.calm_ns && r != TIFFIN_E_NOT_FOUND &&
	    r != TIFFIN_E_EXISTS && r != TIFFIN_E_NO_SPACE && r != TIFFIN_E_QUOTA &&
	    r != TIFFIN_E_LEASE && r != TIFFIN_E_CHECKSUM)
		sim_fail("%s \"%s\" by user %u: %s though all is well (%s)", what, ledger_key(key),
			 call->user->index, tiffin_errname(r), tiffin_why());
}

static void
close_put(const struct call *call, struct deed *deed, int r)
{
	if (call->user->proc.is_dead) {
		ledger_end(deed, r == 0 ? FATE_DONE : FATE_UNKNOWN);
		return;
	}
	if (r == 0) {
		ledger_end(deed, FATE_DONE);
		return;
	}
	call_judge_error(call, "put", deed->key, r);
	if (r == TIFFIN_E_EXISTS && deed->replaces)
		sim_fail("put \"%s\": EXISTS though it replaces", ledger_key(deed->key));
	if (r == TIFFIN_E_EXISTS)
		ledger_found_in_the_way(deed->key, call->t0, deed);
	ledger_end(deed, (r == TIFFIN_E_EXISTS || r == TIFFIN_E_NO_SPACE || r == TIFFIN_E_QUOTA) &&
					 is_clean(call)
				 ? FATE_NOTHING
				 : FATE_UNKNOWN);
}

static void
close_get(const struct call *call, unsigned key, const uint8_t *bytes, uint64_t len_bytes, int r)
{
	if (call->user->proc.is_dead)
		return;
	if (r == 0)
		ledger_saw(key, 0, &(struct sight){0, len_bytes, len_bytes, bytes}, call->t0);
	else if (r == TIFFIN_E_NOT_FOUND)
		ledger_missed(key, call->t0);
	else
		call_judge_error(call, "get", key, r);
}

/* ---- calls ---- */

/* How many keys its tenant has, and the i-th of them. */
static unsigned
n_keys_of(const struct user *user)
{
	unsigned n = user_habits.n_tenants;

	return (user_habits.n_keys - user->index % n + n - 1) / n;
}

static unsigned
key_of(const struct user *user, unsigned i)
{
	return i * user_habits.n_tenants + user->index % user_habits.n_tenants;
}

static unsigned
some_key(const struct user *user)
{
	return key_of(user, (unsigned)sim_between(0, n_keys_of(user) - 1));
}

static uint64_t
some_len(void)
{
	return sim_chance(4) ? sim_between(64, 4096) : sim_between(64, user_habits.len_max);
}

static struct tiffin_put_options
some_options(bool *ret_replaces)
{
	static const char *const groups[] = {"g", "h", "i"};
	struct tiffin_put_options options = {
		.struct_bytes = sizeof(options),
		.replica_num = sim_chance(2) ? 2 : 1,
		.flags = sim_chance(3) ? 0 : TIFFIN_REPLACE,
	};

	*ret_replaces = (options.flags & TIFFIN_REPLACE) != 0;
	if (sim_chance(8)) {
		options.flags |= TIFFIN_SOFT_PIN;
		options.pin_ttl_ms = sim_between(1, 20000);
	}
	if (sim_chance(3))
		options.group = groups[sim_between(0, array_len(groups) - 1)];
	options.nof_replica_num = sim_chance(6) ? 1 : 0;
	return options;
}

static void
do_put(struct user *user)
{
	unsigned key = some_key(user);
	uint64_t len = some_len(), version = ledger_version(key, len);
	uint8_t *bytes = malloc(len);
	struct iovec slices[2] = {{bytes, len / 3}, {bytes + len / 3, len - len / 3}};
	struct tiffin_put_options options;
	struct call call = call_begin(user);
	struct deed *deed;
	bool replaces;
	int r;

	options = some_options(&replaces);
	ledger_fill(version, 0, bytes, len);
	deed = ledger_put(key, version, replaces);
	r = tiffin_put(user->client, ledger_key(key), slices, 2, &options, NULL);
	sim_say("user %u put \"%s\" version %" PRIu64 " (%" PRIu64 " bytes): %s", user->index,
		ledger_key(key), version, len, r == 0 ? "OK" : tiffin_errname(r));
	close_put(&call, deed, r);
	free(bytes);
}

static void
do_get(struct user *user)
{
	unsigned key = some_key(user);
	uint64_t len = 0;
	uint8_t *bytes = calloc(1, HOLD_BYTES);
	struct iovec slice = {bytes, HOLD_BYTES};
	struct call call = call_begin(user);
	int r = tiffin_get(user->client, ledger_key(key), &slice, 1, &len);

	sim_say("user %u get \"%s\": %s", user->index, ledger_key(key),
		r == 0 ? "OK" : tiffin_errname(r));
	close_get(&call, key, bytes, len, r);
	free(bytes);
}

static void
do_range(struct user *user)
{
	unsigned key = some_key(user);
	uint64_t at = sim_between(0, user_habits.len_max / 64) * 64, len = 0;
	uint8_t bytes[4096];
	struct iovec slice = {bytes, sizeof(bytes)};
	struct call call = call_begin(user);
	int r = tiffin_get_range(user->client, ledger_key(key), at, &slice, 1, &len);

	if (user->proc.is_dead)
		return;
	if (r == 0 && len >= 8)
		ledger_saw(key, 0, &(struct sight){at, len, 0, bytes}, call.t0);
	else if (r == TIFFIN_E_NOT_FOUND)
		ledger_missed(key, call.t0);
	else if (r != 0)
		call_judge_error(&call, "get_range", key, r);
}

static void
do_put_batch(struct user *user)
{
	struct tiffin_item items[BATCH] = {0};
	struct iovec slices[BATCH];
	struct deed *deeds[BATCH];
	struct tiffin_put_options options;
	struct call call = call_begin(user);
	bool replaces;
	int r;

	options = some_options(&replaces);
	for (unsigned i = 0; i < BATCH; i++) {
		unsigned first = (unsigned)sim_between(0, n_keys_of(user) - 1) / BATCH * BATCH;
		unsigned key = key_of(user, (first + i) % n_keys_of(user));
		uint64_t len = some_len(), version = ledger_version(key, len);

		slices[i] = (struct iovec){malloc(len), len};
		ledger_fill(version, 0, slices[i].iov_base, len);
		deeds[i] = ledger_put(key, version, replaces);
		items[i] = (struct tiffin_item){
			.key = ledger_key(key), .slices = &slices[i], .n_slices = 1};
	}
	r = tiffin_put_batch(user->client, items, BATCH, &options);
	for (unsigned i = 0; i < BATCH; i++) {
		sim_say("user %u put_batch \"%s\" version %" PRIu64 ": %d", user->index,
			items[i].key, deeds[i]->version, r != 0 ? r : items[i].result);
		close_put(&call, deeds[i], r != 0 ? r : items[i].result);
		free(slices[i].iov_base);
	}
}

static void
do_get_batch(struct user *user)
{
	struct tiffin_item items[BATCH] = {0};
	struct iovec slices[BATCH];
	unsigned keys[BATCH];
	struct call call = call_begin(user);
	int r;

	for (unsigned i = 0; i < BATCH; i++) {
		keys[i] = some_key(user);
		slices[i] = (struct iovec){calloc(1, HOLD_BYTES), HOLD_BYTES};
		items[i] = (struct tiffin_item){
			.key = ledger_key(keys[i]), .slices = &slices[i], .n_slices = 1};
	}
	r = tiffin_get_batch(user->client, items, BATCH);
	for (unsigned i = 0; i < BATCH; i++) {
		close_get(&call, keys[i], slices[i].iov_base, items[i].ret_len_bytes,
			  r != 0 ? r : items[i].result);
		free(slices[i].iov_base);
	}
}

/* Remove and rename: what an answer says of the deed. */
static void
close_deed(const struct call *call, struct deed *deed, const char *what, int r)
{
	bool is_refusal = r == TIFFIN_E_NOT_FOUND || r == TIFFIN_E_LEASE || r == TIFFIN_E_EXISTS;

	if (r == 0) {
		ledger_end(deed, FATE_DONE);
		return;
	}
	if (!call->user->proc.is_dead)
		call_judge_error(call, what, deed->key, r);
	ledger_end(deed, is_refusal && is_clean(call) && !call->user->proc.is_dead ? FATE_NOTHING
										   : FATE_UNKNOWN);
	if (deed->fate == FATE_NOTHING && r == TIFFIN_E_NOT_FOUND)
		ledger_missed(deed->key, call->t0);
}

static void
do_remove(struct user *user)
{
	unsigned key = some_key(user);
	struct call call = call_begin(user);
	struct deed *deed = ledger_remove(key);
	int r = tiffin_remove(user->client, ledger_key(key), sim_chance(2) ? TIFFIN_FORCE : 0);

	sim_say("user %u remove \"%s\": %s", user->index, ledger_key(key),
		r == 0 ? "OK" : tiffin_errname(r));
	close_deed(&call, deed, "remove", r);
}

static void
do_rename(struct user *user)
{
	unsigned from = some_key(user), to = some_key(user);
	bool replaces = sim_chance(2);
	struct call call = call_begin(user);
	struct deed *deed;
	int r;

	if (from == to || !user_habits.is_renaming)
		return;
	deed = ledger_rename(from, to, replaces);
	r = tiffin_rename(user->client, ledger_key(from), ledger_key(to),
			  replaces ? 0 : TIFFIN_NOREPLACE);
	sim_say("user %u rename \"%s\" to \"%s\": %s", user->index, ledger_key(from),
		ledger_key(to), r == 0 ? "OK" : tiffin_errname(r));
	close_deed(&call, deed, "rename", r);
}

/* A pin changes nothing that the ledger knows of.  Hard ones are few: they fill the store. */
static void
do_pin(struct user *user)
{
	unsigned key = some_key(user);
	bool is_hard = sim_chance(20), is_off = sim_chance(3);
	struct call call = call_begin(user);
	int r = is_off ? tiffin_unpin(user->client, ledger_key(key))
		       : tiffin_pin(user->client, ledger_key(key),
				    is_hard ? TIFFIN_HARD_PIN : TIFFIN_SOFT_PIN,
				    is_hard ? 0 : sim_between(1, 20000));

	if (user->proc.is_dead)
		return;
	if (r == TIFFIN_E_NOT_FOUND)
		ledger_missed(key, call.t0);
	else if (r != 0)
		call_judge_error(&call, "pin", key, r);
}

static void
do_stat(struct user *user)
{
	unsigned key = some_key(user);
	struct tiffin_stat stat;
	struct call call = call_begin(user);
	int r = tiffin_stat(user->client, ledger_key(key), &stat, NULL);

	if (user->proc.is_dead)
		return;
	if (r == TIFFIN_E_NOT_FOUND)
		ledger_missed(key, call.t0);
	else if (r != 0)
		call_judge_error(&call, "stat", key, r);
}

static void
do_list(struct user *user)
{
	struct tiffin_list *list;
	struct tiffin_stat stat;
	const char *key;
	char last[32] = "";
	struct call call = call_begin(user);
	int r = tiffin_list_open(user->client, sim_chance(2) ? "" : "d", sim_chance(2) ? '/' : 0,
				 NULL, &list);

	if (r != 0)
		return;
	while ((r = tiffin_list_next(list, &key, &stat)) == 1) {
		if (strcmp(last, key) >= 0)
			sim_fail("list: \"%s\" came after \"%s\"", key, last);
		snprintf(last, sizeof(last), "%s", key);
	}
	tiffin_list_close(list);
	if (r < 0 && !user->proc.is_dead)
		call_judge_error(&call, "list", 0, r);
}

static uint64_t
some_segment(void)
{
	return sim_chance(3) ? 0 : depots[sim_between(0, n_depots - 1)].life->segment_id;
}

static void
relocate(struct user *user, unsigned key)
{
	struct tiffin_relocation wish = {ledger_key(key), some_segment(), some_segment()};
	struct call call = call_begin(user);
	int code = 0;
	int r = tiffin_relocate(user->client, &wish, 1, NULL, &code);

	r = r != 0 ? r : code;
	if (r == TIFFIN_E_BUSY)
		return; /* another task has it */
	if (r != 0 && !user->proc.is_dead)
		call_judge_error(&call, "relocate", key, r);
}

/* A version is read at leisure while others replace and remove it, and it moves on and on. */
static void
do_view(struct user *user)
{
	unsigned key = some_key(user);
	struct tiffin_view *view;
	struct tiffin_stat stat;
	struct call call = call_begin(user);
	bool moves = sim_chance(2);
	uint64_t version = 0;
	int r = tiffin_view_open(user->client, ledger_key(key), &view);

	if (r == TIFFIN_E_NOT_FOUND && !user->proc.is_dead)
		ledger_missed(key, call.t0);
	if (r != 0)
		return;
	tiffin_view_stat(view, &stat);
	for (unsigned n = 0; n < 12 && r == 0 && !user->proc.is_dead; n++) {
		uint64_t at = sim_between(0, (stat.len_bytes - 1) / 64) * 64, len = 0;
		uint8_t bytes[8192];
		struct iovec slice = {bytes, sizeof(bytes)};

		r = tiffin_view_read(view, at, &slice, 1, &len);
		if (r == 0 && len >= 8 && !user->proc.is_dead)
			version = ledger_saw(key, version,
					     &(struct sight){at, len, stat.len_bytes, bytes},
					     call.t0);
		if (moves)
			relocate(user, key);
		fiber_wait(sim_now() + sim_between(MS(1), sim_chance(4) ? MS(1500) : MS(100)));
	}
	/* a fence for an earlier put of ours cuts our reading there, too; it may be tried again */
	if (r != 0 && r != TIFFIN_E_UNREACHABLE && !user->proc.is_dead)
		call_judge_error(&call, "view", key, r);
	tiffin_view_close(view);
}

static int
write_pieces(struct user *user, struct tiffin_put *put, uint64_t version, uint64_t len)
{
	uint64_t piece = num_max(len / 4, (uint64_t)64);
	uint8_t *bytes = malloc(piece);
	int r = 0;

	/* from behind, and some twice */
	for (uint64_t n = (len + piece - 1) / piece; n-- > 0 && r == 0 && !user->proc.is_dead;) {
		uint64_t at = n * piece, part = num_min(piece, len - at);
		struct iovec slice = {bytes, part};

		ledger_fill(version, at, bytes, part);
		r = tiffin_put_write(put, at, &slice, 1);
		if (r == 0 && sim_chance(4))
			r = tiffin_put_write(put, at, &slice, 1);
		if (sim_chance(3))
			fiber_wait(sim_now() + sim_between(MS(1), MS(2000)));
	}
	free(bytes);
	return r;
}

static void
do_stream(struct user *user)
{
	unsigned key = some_key(user);
	uint64_t len = some_len(), version = ledger_version(key, len);
	struct tiffin_put_options options;
	struct tiffin_put *put;
	struct call call = call_begin(user);
	struct deed *deed;
	bool replaces;
	int r;

	options = some_options(&replaces);
	r = tiffin_put_begin(user->client, ledger_key(key), sim_chance(2) ? len : 0, &options,
			     &put);
	if (r != 0)
		return;
	deed = ledger_put(key, version, replaces);
	r = write_pieces(user, put, version, len);
	if (r != 0 || user->proc.is_dead) {
		tiffin_put_abort(put);
		ledger_end(deed, FATE_NOTHING);
		if (r != 0 && !user->proc.is_dead)
			call_judge_error(&call, "write", key, r);
		return;
	}
	r = tiffin_put_commit(put, NULL, 0, NULL);
	sim_say("user %u commit \"%s\" version %" PRIu64 ": %s", user->index, ledger_key(key),
		version, r == 0 ? "OK" : tiffin_errname(r));
	close_put(&call, deed, r);
}

/* ---- tasks: what objects there are does not change by them ---- */

static void
do_relocate(struct user *user)
{
	relocate(user, some_key(user));
}

/* Seldom, and most of them are undone soon, so that there is room for puts. */
static void
do_drain(struct user *user)
{
	uint64_t id = depots[sim_between(0, n_depots - 1)].life->segment_id;
	const struct tiffin_drain_options options = {
		.struct_bytes = sizeof(options), .segments = &id, .n_segments = 1};
	struct call call = call_begin(user);
	int r;

	if (sim_chance(4) && sim_now() < user_habits.calm_ns)
		r = tiffin_drain(user->client, &options, NULL);
	else
		r = tiffin_undrain(user->client, &id, 1);
	if (r != 0 && r != TIFFIN_E_BUSY)
		call_judge_error(&call, "drain", 0, r);
}

/* ---- one of them ---- */

static void (*const calls[])(struct user *user) = {
	do_put,
	do_put,
	do_put,
	do_get,
	do_get,
	do_get,
	do_range,
	do_put_batch,
	do_get_batch,
	do_remove,
	do_rename,
	do_stat,
	do_list,
	do_view,
	do_view,
	do_view,
	do_stream,
	tenants_quota,
	tenants_come_and_go,
	do_relocate,
	do_relocate,
	do_drain,
	do_pin,
};

void
call_some(struct user *user)
{
	calls[sim_between(0, array_len(calls) - 1)](user);
}

uint64_t
calls_made(void)
{
	return n_calls;
}

/* ---- the last look ---- */

static bool
is_listed(struct user *user, unsigned key)
{
	struct tiffin_list *list;
	struct tiffin_stat stat;
	const char *name;
	bool found = false;
	int r = tiffin_list_open(user->client, "", 0, NULL, &list);

	while (r >= 0 && (r = tiffin_list_next(list, &name, &stat)) == 1)
		found |= strcmp(name, ledger_key(key)) == 0;
	if (r < 0)
		sim_fail("list: %s (%s)", tiffin_errname(r), tiffin_why());
	tiffin_list_close(list);
	return found;
}

void
call_look(struct user *user, unsigned key)
{
	uint8_t *bytes = calloc(1, HOLD_BYTES);
	struct iovec slice = {bytes, HOLD_BYTES};
	const char *name = ledger_key(key);
	struct tiffin_stat stat = {0};
	struct call call = call_begin(user);
	uint64_t len = 0;
	int get = tiffin_get(user->client, name, &slice, 1, &len), exist;
	int r = tiffin_stat(user->client, name, &stat, NULL);

	close_get(&call, key, bytes, len, get);
	if (tiffin_exist(user->client, &name, 1, &exist) != 0)
		sim_fail("exist \"%s\": %s", name, tiffin_why());
	if ((get == TIFFIN_E_NOT_FOUND) != (r == TIFFIN_E_NOT_FOUND) || (r == 0) != (exist == 0) ||
	    (r == 0) != is_listed(user, key))
		sim_fail("\"%s\": get says %d, stat %d, exist %d", name, get, r, exist);
	if (get == 0 && stat.len_bytes != len)
		sim_fail("\"%s\": get says %" PRIu64 " bytes, stat %" PRIu64, name, len,
			 stat.len_bytes);
	free(bytes);
}
