/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/keeper.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "master/books.h"
#include "tests/sim/disk.h"
#include "tests/sim/quotas.h"

#define WHY_CAP 512

/* One connection, as long as the peer lives. */
struct guest {
	struct list_link at;
	struct wire *wire;
	struct peer *peer;
	struct buf in;
};

static struct {
	struct keeper_limits limits;
	char dir[64], path[160];
	unsigned n_starts;
	struct node_clock clock;
	struct rand rand;
	struct store *store;
	struct master *master; /* NULL: it is dead */
	struct list guests;
	uint64_t life;       /* of the process: events of former ones are stale */
	uint64_t turn_at_ns; /* the earliest turn that is planned */
	uint64_t paused_until_ns;
	bool is_disk_busy;
	uint64_t n_synced,
		synced_at_ns;     /* what a power cut would leave: as of then, in "synced.db" */
	uint64_t n_gone, lost_ns; /* evicted and lost ones, as last counted; when that grew */
} keeper;

static void turn(void *arg, uint64_t life);

/* ---- the files ---- */

static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".reserve"};

static void
path_of_start(unsigned n, char *ret, size_t cap)
{
	snprintf(ret, cap, "%s/%u.db", keeper.dir, n);
}

static void
forget_files(const char *path)
{
	char name[200];

	for (size_t i = 0; i < array_len(suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		unlink(name);
	}
}

static void
synced_path(char *ret, size_t cap)
{
	snprintf(ret, cap, "%s/synced.db", keeper.dir);
}

static void
forget_books(void)
{
	char path[160];

	forget_files(keeper.path);
	synced_path(path, sizeof(path));
	forget_files(path);
	rmdir(keeper.dir);
	sim_at_fail = NULL;
}

static void
copy_file(const char *from, const char *to)
{
	static uint8_t bytes[1 << 16];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out;
	ssize_t n;

	if (in < 0)
		return; /* there is no WAL */
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		if (write(out, bytes, (size_t)n) != n)
			abort();
	close(in);
	close(out);
}

static void
copy_books(const char *from, const char *to)
{
	char from_name[200], to_name[200];

	forget_files(to);
	for (size_t i = 0; i < 2; i++) {
		snprintf(from_name, sizeof(from_name), "%s%s", from, suffixes[i]);
		snprintf(to_name, sizeof(to_name), "%s%s", to, suffixes[i]);
		copy_file(from_name, to_name);
	}
}

/* What is on the disk now is what the last sync put there, and perhaps more: a power cut may leave
 * it. */
static void
note_synced(void)
{
	struct store_progress progress;
	char path[160];

	if (!keeper.limits.has_power_cuts)
		return;
	store_progress(keeper.store, &progress);
	if (progress.synced == keeper.n_synced)
		return;
	keeper.n_synced = progress.synced;
	keeper.synced_at_ns = sim_now();
	synced_path(path, sizeof(path));
	copy_books(keeper.path, path);
}

/* ---- start and death ---- */

static void
plan_turn(uint64_t at_ns)
{
	if (keeper.turn_at_ns <= at_ns && keeper.turn_at_ns > sim_now())
		return;
	keeper.turn_at_ns = at_ns;
	sim_at(at_ns, turn, NULL, keeper.life);
}

static void
start(void *arg, uint64_t word)
{
	struct store_config config = {
		.path = keeper.path,
		.vfs = DISK_VFS,
		.clock = &keeper.clock.base,
		.is_inline = true,
		.wal_cap_bytes = 1 << 20,
		.sync_every_ms = keeper.limits.sync_every_ms,
		.lease_ms = keeper.limits.lease_ms,
	};
	struct master_config master = {
		.clock = &keeper.clock.base,
		.rand = &keeper.rand,
		.limits =
			{
				.lease_ms = keeper.limits.lease_ms,
				.write_lease_ms = keeper.limits.write_lease_ms,
				.ping_ms = keeper.limits.ping_ms,
				.client_ttl_ms = keeper.limits.ttl_ms,
				.client_grace_ms = keeper.limits.grace_ms,
				.put_wait_ms = keeper.limits.put_wait_ms,
				.evict_high_pct = keeper.limits.high_pct,
				.evict_low_pct = keeper.limits.low_pct,
				.failing_rest_ms = 10000,
				.evict_soft_pins = 1,
				.placement = keeper.limits.placement,
				.offload = keeper.limits.offload,
				.promote_uses = keeper.limits.promote_uses,
				.durable_power = keeper.limits.is_durable,
			},
	};
	struct store *store = NULL;
	char why[WHY_CAP];

	(void)arg, (void)word;
	disk_set(DISK_WELL);
	rand_init(&keeper.rand, rand_u64(sim_rand()));
	if (store_open(&config, &store, why, sizeof(why)) != 0)
		sim_fail("the books can't be opened: %s", why);
	keeper.store = store;
	if (master_new(&master, &store, &keeper.master, why, sizeof(why)) != 0)
		sim_fail("the master does not start: %s", why);
	keeper.n_starts++;
	keeper.life++;
	keeper.n_gone = 0;
	quotas_forget();
	keeper.n_synced = UINT64_MAX; /* the start itself is synced */
	note_synced();
	keeper.turn_at_ns = 0;
	keeper.is_disk_busy = false;
	keeper.paused_until_ns = 0;
	sim_say("master starts, epoch %" PRIu64, keeper.master->epoch);
	master_check(keeper.master);
	plan_turn(sim_now());
}

void
keeper_init(const struct keeper_limits *limits)
{
	memset(&keeper, 0, sizeof(keeper));
	keeper.limits = *limits;
	list_init(&keeper.guests);
	node_clock_init(&keeper.clock);
	snprintf(keeper.dir, sizeof(keeper.dir), "%s/tiffin-sim-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(keeper.dir) == NULL)
		abort();
	path_of_start(0, keeper.path, sizeof(keeper.path));
	sim_at_fail = forget_books;
	start(NULL, 0);
}

static void
show_out(struct guest *guest)
{
	wire_forget(guest->wire, SIDE_MASTER);
	wire_cut(guest->wire);
	if (guest->peer != NULL)
		master_peer_free(guest->peer);
	list_remove(&guest->at);
	buf_fini(&guest->in);
	free(guest);
}

static void
die(void)
{
	disk_set(DISK_WELL); /* what it would write now nobody reads */
	list_each_safe(&keeper.guests, link)
		show_out(list_of(link, struct guest, at));
	master_free(keeper.master);
	keeper.master = NULL;
	keeper.store = NULL;
	keeper.life++;
}

void
keeper_fini(void)
{
	if (keeper.master != NULL)
		die();
	forget_books();
}

/* Dead, and born again from what `from` has. */
static void
die_and_start(const char *from, uint64_t down_ns)
{
	char old[160];

	memcpy(old, keeper.path, sizeof(old));
	path_of_start(keeper.n_starts, keeper.path, sizeof(keeper.path));
	copy_books(from, keeper.path);
	die();
	forget_files(old);
	sim_at(sim_now() + down_ns, start, NULL, 0);
}

void
keeper_kill(uint64_t down_ns)
{
	char path[160];

	if (keeper.master == NULL)
		return;
	sim_say("master is killed");
	memcpy(path, keeper.path, sizeof(path));
	die_and_start(path, down_ns);
}

uint64_t
keeper_cut_power(uint64_t down_ns)
{
	char path[160];

	if (keeper.master == NULL || !keeper.limits.has_power_cuts)
		return UINT64_MAX;
	sim_say("master has no power; what was synced is %" PRIu64 " ms old",
		(sim_now() - keeper.synced_at_ns) / MS(1));
	synced_path(path, sizeof(path));
	die_and_start(path, down_ns);
	return keeper.limits.is_durable ? UINT64_MAX : keeper.synced_at_ns;
}

void
keeper_pause(uint64_t len_ns)
{
	sim_say("master is stopped for %" PRIu64 " ms", len_ns / MS(1));
	keeper.paused_until_ns = sim_now() + len_ns;
}

bool
keeper_is_up(void)
{
	return keeper.master != NULL;
}

/* ---- frames ---- */

static void
on_frames(void *arg, struct wire *wire, const uint8_t *bytes, size_t len_bytes)
{
	struct guest *guest = arg;

	(void)wire;
	if (buf_append(&guest->in, bytes, len_bytes) < 0)
		abort();
	plan_turn(sim_now() + sim_between(5000, 50000));
}

static void
on_ended(void *arg, struct wire *wire)
{
	(void)wire;
	show_out(arg);
}

struct wire *
keeper_dial(unsigned node, const struct wire_end *caller)
{
	struct guest *guest;
	struct wire_end mine = {on_frames, on_ended, NULL};

	if (keeper.master == NULL)
		return NULL;
	guest = calloc(1, sizeof(*guest));
	if (guest == NULL || master_peer_new(keeper.master, true, &guest->peer) < 0)
		abort();
	buf_init(&guest->in);
	list_link_init(&guest->at);
	list_push_back(&keeper.guests, &guest->at);
	mine.arg = guest;
	guest->wire = wire_new(node, caller, &mine);
	guest->peer->owner = guest;
	return guest->wire;
}

static void
receive(struct guest *guest)
{
	struct frame frame;
	size_t len;
	int r;

	while ((r = frame_peek(buf_first(&guest->in), buf_len(&guest->in), &frame, &len)) == 0) {
		master_receive(guest->peer, &frame);
		buf_consume(&guest->in, len);
	}
	if (r == FRAME_E_BAD)
		sim_fail("somebody sent what is no frame");
}

static void
send_all(void)
{
	struct peer *peer;

	while ((peer = master_dirty(keeper.master)) != NULL) {
		struct guest *guest = peer->owner;

		if (buf_len(&peer->out) > 0)
			wire_send(guest->wire, SIDE_MASTER, buf_first(&peer->out),
				  buf_len(&peer->out));
		buf_clear(&peer->out);
	}
	list_each_safe(&keeper.guests, link)
		if (list_of(link, struct guest, at)->peer->is_broken)
			show_out(list_of(link, struct guest, at));
}

/* ---- turns ---- */

static void
count_gone(void)
{
	const struct master_counters *counters = &keeper.master->counters;
	uint64_t n = counter_get(&counters->evictions) + counter_get(&counters->objects_lost);

	if (n != keeper.n_gone)
		keeper.lost_ns = sim_now();
	keeper.n_gone = n;
}

static void
disk_done(void *arg, uint64_t life)
{
	(void)arg;
	if (life != keeper.life || keeper.master == NULL)
		return;
	store_step(keeper.store);
	note_synced();
	keeper.is_disk_busy = false;
	plan_turn(sim_now());
}

/* A commit takes a moment, now and then much longer; a sync without a commit is not urgent. */
static void
plan_disk(void)
{
	const struct store_progress *progress = &keeper.master->progress;
	uint64_t len_ns = MS(5);

	/* of what failed, and for room, it tries by itself again */
	if (keeper.is_disk_busy || (progress->synced == keeper.master->batch - 1 &&
				    !progress->is_full && !progress->is_stalled))
		return;
	if (progress->committed < keeper.master->batch - 1)
		len_ns = sim_chance(keeper.limits.slow_one_in) ? sim_between(MS(20), MS(800))
							       : sim_between(30000, 600000);
	keeper.is_disk_busy = true;
	sim_at(sim_now() + len_ns, disk_done, NULL, keeper.life);
}

static void
turn(void *arg, uint64_t life)
{
	uint64_t wait_ms;

	(void)arg;
	if (life != keeper.life || keeper.master == NULL)
		return;
	if (keeper.paused_until_ns > sim_now()) {
		keeper.turn_at_ns = 0;
		plan_turn(keeper.paused_until_ns);
		return;
	}
	if (keeper.turn_at_ns == sim_now())
		keeper.turn_at_ns = 0;
	list_each(&keeper.guests, link)
		receive(list_of(link, struct guest, at));
	wait_ms = master_turn(keeper.master);
	master_check(keeper.master);
	quotas_judge(keeper.master);
	count_gone();
	send_all();
	plan_disk();
	plan_turn(sim_now() + MS(wait_ms));
}

/* ---- what is known of it ---- */

uint64_t
keeper_lost_ns(void)
{
	return keeper.lost_ns;
}

unsigned
keeper_n_starts(void)
{
	return keeper.n_starts;
}

bool
keeper_is_at_rest(void)
{
	const struct master *master = keeper.master;

	return master != NULL && master->puts_by_id.n == 0 && master->ghosts.n == 0 &&
	       master->quarantine.resting_bytes == 0 && master->quarantine.fences.n == 0 &&
	       list_is_empty(&master->held) && list_is_empty(&master->held_sync) &&
	       list_is_empty(&master->parked) && master->tasks.by_object.n == 0 &&
	       list_is_empty(&master->tasks.running_jobs) &&
	       master->progress.synced == master->batch - 1;
}

void
keeper_describe(char *text, size_t cap)
{
	const struct master *master = keeper.master;

	if (master == NULL) {
		snprintf(text, cap, "dead");
		return;
	}
	snprintf(text, cap,
		 "puts=%zu ghosts=%zu resting=%" PRIu64 " fences=%zu parked=%d held=%d/%d "
		 "synced=%" PRIu64 " batch=%" PRIu64 " segments=%zu clients=%zu",
		 master->puts_by_id.n, master->ghosts.n, master->quarantine.resting_bytes,
		 master->quarantine.fences.n, !list_is_empty(&master->parked),
		 !list_is_empty(&master->held), !list_is_empty(&master->held_sync),
		 master->progress.synced, master->batch, master->segments.n, master->clients.n);
}

/* ---- the database against memory ---- */

static void
judge_object(sqlite3_stmt *row, size_t *n)
{
	uint64_t id = (uint64_t)sqlite3_column_int64(row, 0);
	const struct object *object = map_get(&keeper.master->objects, id);

	if (object == NULL)
		sim_fail("the database has object %" PRIu64 ", memory has not", id);
	if ((uint64_t)sqlite3_column_int64(row, 1) != object->len_bytes ||
	    sqlite3_column_bytes(row, 2) != object->key.len_bytes ||
	    memcmp(sqlite3_column_blob(row, 2), object->key.bytes, object->key.len_bytes) != 0)
		sim_fail("object %" PRIu64 " is another one in the database", id);
	if (sqlite3_column_int(row, 3) != object->n_replicas)
		sim_fail("object %" PRIu64 " has %d copies in the database, %u in memory", id,
			 sqlite3_column_int(row, 3), object->n_replicas);
	(*n)++;
}

static void
query(sqlite3 *conn, const char *sql, void (*fn)(sqlite3_stmt *row, size_t *n), size_t *n)
{
	sqlite3_stmt *row;

	if (sqlite3_prepare_v2(conn, sql, -1, &row, NULL) != SQLITE_OK)
		sim_fail("%s: %s", sql, sqlite3_errmsg(conn));
	while (sqlite3_step(row) == SQLITE_ROW)
		fn(row, n);
	sqlite3_finalize(row);
}

static void
judge_extent(sqlite3_stmt *row, size_t *n)
{
	const struct object *object =
		map_get(&keeper.master->objects, (uint64_t)sqlite3_column_int64(row, 0));
	uint64_t segment_id = (uint64_t)sqlite3_column_int64(row, 1);
	struct extent ext = {(uint64_t)sqlite3_column_int64(row, 2),
			     (uint64_t)sqlite3_column_int64(row, 3)};

	if (object == NULL)
		sim_fail("an extent of no object in the database");
	object_each_replica(object, rep) {
		if (rep->segment->id != segment_id)
			continue;
		for (uint32_t i = 0; i < rep->n_extents; i++)
			if (memcmp(&replica_extents(rep)[i], &ext, sizeof(ext)) == 0)
				return (void)(*n)++;
	}
	sim_fail("object %" PRIu64 " lies elsewhere in the database", object->id);
}

static void
judge_tenant(sqlite3_stmt *row, size_t *n)
{
	uint64_t id = (uint64_t)sqlite3_column_int64(row, 0);
	const struct tenant *tenant = tenants_by_id(&keeper.master->tenants, id);

	if (tenant == NULL)
		sim_fail("the database has tenant %" PRIu64 ", memory has not", id);
	if ((uint64_t)sqlite3_column_int64(row, 1) != tenant->quota.bytes ||
	    (uint64_t)sqlite3_column_int64(row, 2) != tenant->quota.objects ||
	    (uint64_t)sqlite3_column_int64(row, 3) != tenant->n_objects ||
	    (uint64_t)sqlite3_column_int64(row, 4) != tenant->charged_bytes)
		sim_fail("tenant %s is another one in the database", tenant->name);
	(*n)++;
}

static size_t
extents_in_memory(void)
{
	size_t n = 0, at = 0;
	uint64_t id;
	void *value;

	while (map_next(&keeper.master->objects, &at, &id, &value))
		object_each_replica((struct object *)value, rep)
			n += rep->n_extents;
	return n;
}

void
keeper_judge_books(void)
{
	size_t n_objects = 0, n_extents = 0, n_tenants = 0;
	sqlite3 *conn;

	if (sqlite3_open_v2(keeper.path, &conn, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		sim_fail("the database can't be read");
	query(conn,
	      "SELECT object_id, len_bytes, key, (SELECT count(*) FROM replica "
	      "WHERE replica_id / 8 = object_id) FROM object",
	      judge_object, &n_objects);
	if (n_objects != keeper.master->objects.n)
		sim_fail("%zu objects in the database, %zu in memory", n_objects,
			 keeper.master->objects.n);
	query(conn, "SELECT object_id, segment_id, offset_bytes, len_bytes FROM v_extent",
	      judge_extent, &n_extents);
	if (n_extents != extents_in_memory())
		sim_fail("%zu extents in the database, %zu in memory", n_extents,
			 extents_in_memory());
	query(conn,
	      "SELECT tenant_id, quota_bytes, quota_objects, n_objects, stored_bytes FROM v_tenant",
	      judge_tenant, &n_tenants);
	if (n_tenants != keeper.master->tenants.by_name.n)
		sim_fail("%zu tenants in the database, %zu in memory", n_tenants,
			 keeper.master->tenants.by_name.n);
	sqlite3_close(conn);
}
