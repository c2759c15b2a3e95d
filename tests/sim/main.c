/* SPDX-License-Identifier: Apache-2.0 */

/*
 * main.c -- one run a seed:  trouble  ->  calm  ->  everybody ends  ->  rest  ->  the last look.
 *
 *      sim --seed N [--steps M] [-v]      one, told line by line
 *      sim --seeds A..B                   many
 *      sim --break fence                  providers say "fenced" and do nothing: must be noticed
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/depot.h"
#include "tests/sim/disk.h"
#include "tests/sim/ferry.h"
#include "tests/sim/keeper.h"
#include "tests/sim/ledger.h"
#include "tests/sim/line.h"
#include "tests/sim/user.h"
#include "tests/sim/worker.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"

#define STEPS_DEFAULT 60000
#define CALM_MS       20000  /* all faults are over: so long until everything must work */
#define STRICT_MS     5000   /* and everything works for so long */
#define END_MS        60000  /* every call ends */
#define REST_MS       120000 /* the books come to rest */

/* What goes wrong in this run: one chance in so many at each turn of fate; 0: never. */
static struct {
	unsigned cut, part, part_data, stop_user, stop_depot, kill_user, kill_depot, kill_master,
		cut_power, pause_master, sicken_disk;
	bool is_wiping;
	uint64_t turn_ms;
	bool is_over;
} fate;

/* ---- trouble ---- */

static unsigned
often(void)
{
	static const unsigned chances[] = {0, 8, 20, 60};

	return chances[sim_between(0, array_len(chances) - 1)];
}

static bool
comes(unsigned one_in)
{
	return one_in > 0 && sim_chance(one_in);
}

static unsigned
some_user(void)
{
	return (unsigned)sim_between(0, users_n() - 1);
}

static struct depot *
some_depot(void)
{
	return &depots[sim_between(0, n_depots - 1)];
}

static unsigned
some_node(void)
{
	return sim_chance(3) ? some_depot()->node : USER_NODES + some_user();
}

static uint64_t
some_while(uint64_t most_ms)
{
	return sim_chance(3) ? sim_between(MS(10), MS(most_ms))
			     : sim_between(MS(10), MS(most_ms / 8));
}

static void
turn_network(void)
{
	if (comes(fate.cut))
		user_cut(some_user());
	if (comes(fate.cut) && some_depot()->proc != NULL) {
		struct depot *depot = some_depot();

		if (depot->proc != NULL)
			line_cut(depot->link);
	}
	if (comes(fate.part))
		net.parted_until_ns[some_node()] = sim_now() + some_while(8000);
	if (comes(fate.part_data))
		some_depot()->parted_until_ns[USER_NODES + some_user()] =
			sim_now() + some_while(10000);
}

static void
turn_fate(void *arg, uint64_t word)
{
	(void)arg;
	(void)word;
	if (fate.is_over)
		return;
	sim_at(sim_now() + sim_between(MS(1), MS(fate.turn_ms)), turn_fate, NULL, 0);
	turn_network();
	if (comes(fate.stop_user))
		user_stop(some_user(), some_while(12000));
	if (comes(fate.kill_user))
		user_kill(some_user(), some_while(3000));
	if (comes(fate.stop_depot)) {
		struct depot *depot = some_depot();

		if (depot->proc != NULL)
			depot->proc->stopped_until_ns = sim_now() + some_while(8000);
	}
	if (comes(fate.kill_depot))
		depot_kill(some_depot(), some_while(8000), fate.is_wiping && sim_chance(3));
	if (comes(fate.kill_master))
		keeper_kill(some_while(4000));
	if (comes(fate.cut_power)) {
		uint64_t since_ns = keeper_cut_power(some_while(4000));

		if (since_ns != UINT64_MAX)
			ledger_undo(since_ns);
	}
	if (comes(fate.sicken_disk) && keeper_is_up())
		disk_sicken(sim_chance(2) ? DISK_FULL : DISK_FAILING, some_while(4000));
	if (comes(fate.pause_master) && keeper_is_up())
		keeper_pause(some_while(4000));
}

static void
draw_fate(uint64_t seed)
{
	memset(&fate, 0, sizeof(fate));
	fate.turn_ms = sim_between(100, 1000);
	fate.cut = often();
	fate.part = often();
	fate.part_data = often();
	fate.stop_user = often();
	fate.stop_depot = sim_chance(2) ? 0 : often() * 2;
	fate.kill_user = often();
	fate.kill_depot = sim_chance(2) ? 0 : often() * 4;
	fate.kill_master = sim_chance(2) ? 0 : often() * 2;
	fate.cut_power = sim_chance(3) ? often() * 2 : 0;
	fate.pause_master = sim_chance(2) ? 0 : often();
	fate.is_wiping = sim_chance(2);
	fate.sicken_disk = seed % 5 == 0 ? often() * 2 : 0;
	ferry_faults = (struct ferry_faults){
		.lost = sim_chance(3) ? 0 : (unsigned)sim_between(5, 100),
		.slow = sim_chance(3) ? 0 : (unsigned)sim_between(5, 100),
		.flipped = sim_chance(4) ? 50 : 0,
	};
}

static void
calm_down(void)
{
	sim_say("---- calm");
	fate.is_over = true;
	disk_set(DISK_WELL);
	sim_is_calm = true;
	user_habits.calm_ns = sim_now();
	memset(net.parted_until_ns, 0, sizeof(net.parted_until_ns));
	for (unsigned i = 0; i < n_depots; i++)
		memset(depots[i].parted_until_ns, 0, sizeof(depots[i].parted_until_ns));
	ferry_faults = (struct ferry_faults){0};
}

/* ---- one run ---- */

static void
build_world(uint64_t seed)
{
	struct keeper_limits limits = {
		.lease_ms = sim_between(500, 2000),
		.write_lease_ms = sim_between(1500, 5000),
		.ping_ms = 300,
		.ttl_ms = sim_chance(2) ? 3000 : 1500,
		.grace_ms = sim_chance(2) ? 1500 : 300,
		.sync_every_ms = sim_chance(2) ? 100 : 1000,
		.slow_one_in = sim_chance(4) ? 5 : 200,
		.put_wait_ms = 1000,
		.high_pct = 95,
		.low_pct = 85,
		.placement = sim_between(0, 2),
		.offload = sim_between(0, 2),
		.promote_uses = sim_between(0, 3),
	};
	unsigned n_keys = (unsigned)sim_between(4, KEYS_MAX - 1);

	net_init();
	draw_fate(seed);
	user_habits = (struct user_habits){
		.n_keys = n_keys,
		.n_tenants = sim_chance(2) ? 1 : (unsigned)sim_between(2, 3),
		.has_quotas = sim_chance(2),
		.len_max = sim_chance(2) ? 200000 : 30000,
		.has_flips = ferry_faults.flipped > 0,
		.is_renaming = sim_chance(2),
	};
	ledger_init(n_keys, user_habits.n_tenants);
	limits.has_power_cuts = fate.cut_power > 0;
	limits.is_durable = sim_chance(3);
	keeper_init(&limits);
	depots_init((unsigned)sim_between(2, 3), sim_chance(2) ? 1 << 20 : 4 << 20, sim_chance(4));
	users_init((unsigned)sim_between(3, 5));
	sim_at(sim_now() + MS(500), turn_fate, NULL, 0);
}

static void
run_for(uint64_t len_ns, bool (*is_done)(void))
{
	uint64_t until_ns = sim_now() + len_ns;

	while (sim_now() < until_ns && (is_done == NULL || !is_done()))
		if (!sim_step())
			sim_fail("nothing happens any more");
}

static void
come_to_rest(void)
{
	char words[400];

	run_for(MS(REST_MS), keeper_is_at_rest);
	if (keeper_is_at_rest())
		return;
	keeper_describe(words, sizeof(words));
	sim_fail("the books do not come to rest: %s", words);
}

static void
run(uint64_t seed, uint64_t n_steps)
{
	sim_init(seed);
	build_world(seed);
	while (sim_steps() < n_steps)
		if (!sim_step())
			sim_fail("nothing happens any more");

	calm_down();
	run_for(MS(CALM_MS), NULL);
	user_habits.is_strict = true;
	run_for(MS(STRICT_MS), NULL);
	user_habits.is_over = true;
	sim_say("---- the end");
	run_for(MS(END_MS), users_idle);
	if (!users_idle())
		sim_fail("a call does not end");
	come_to_rest();
	users_look();
	run_for(MS(END_MS), users_have_looked);
	if (!users_have_looked())
		sim_fail("the last look does not end");
	run_for(MS(END_MS), users_idle);
	come_to_rest();
	keeper_judge_books();

	depots_stop();
	keeper_fini();
	while (fibers_alive() > 0 && sim_step())
		;
	users_fini();
	depots_fini();
	ledger_fini();
	sim_fini();
}

static uint64_t
number(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	if (end == text) {
		fprintf(stderr, "sim: \"%s\" is no number\n", text);
		exit(2);
	}
	return n;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", required_argument, NULL, 's'},  {"seeds", required_argument, NULL, 'r'},
		{"steps", required_argument, NULL, 'n'}, {"break", required_argument, NULL, 'b'},
		{"log", no_argument, NULL, 'l'},         {0},
	};
	uint64_t from = 1, to = 1, n_steps = STEPS_DEFAULT;
	int c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt_long(argc, argv, "v", options, NULL)) != -1) {
		switch (c) {
		case 's':
			from = to = number(optarg);
			break;
		case 'r':
			from = number(optarg);
			to = strstr(optarg, "..") == NULL ? from : number(strstr(optarg, "..") + 2);
			break;
		case 'n':
			n_steps = number(optarg);
			break;
		case 'b':
			depot_skip_fences = strcmp(optarg, "fence") == 0;
			break;
		case 'l':
			log_set_sink(log_to_stderr, NULL, LOG_INFO);
			break;
		case 'v':
			sim_verbosity++;
			break;
		default:
			return 2;
		}
	}
	for (uint64_t seed = from; seed <= to; seed++) {
		run(seed, n_steps);
		printf("seed %" PRIu64 ": ok\n", seed);
	}
	printf("%" PRIu64 " answers checked, %" PRIu64 " late pieces landed, %" PRIu64
	       " tasks carried out\n",
	       ledger_n_checked(), ferry_n_late(), worker_n_done());
	return 0;
}
