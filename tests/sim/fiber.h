/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fiber.h -- virtual time: events in its order, and fibers that wait for it.
 *
 *      event   (time, number) -> a function, called on the main stack
 *      fiber   a blocking story with a stack of its own; runs until it waits
 *      proc    what fibers of one process share: it can be stopped for a while, or killed
 *
 * Time is a number that jumps from one event to the next; nothing else moves it.  One thread, so
 * the same seed tells the same story.
 */
#ifndef TESTS_SIM_FIBER_H
#define TESTS_SIM_FIBER_H

#include "transfer/base/clock.h"
#include "transfer/base/rand.h"

#define MS(n) ((uint64_t)(n) * (uint64_t)NS_PER_MS)

struct fiber;

/* A process.  Embedded by its owner, who keeps it until the end of the run. */
struct proc {
	uint64_t stopped_until_ns; /* SIGSTOP and SIGCONT: its code does not run before */
	bool is_dead;              /* killed: its fibers unwind without touching the world */
};

void sim_init(uint64_t seed);
void sim_fini(void);

uint64_t sim_now(void); /* ns */
struct rand *sim_rand(void);

/* sim_chance -- true once in n. */
bool sim_chance(uint64_t n);

/* sim_between -- from lo to hi, both possible. */
uint64_t sim_between(uint64_t lo, uint64_t hi);

/* sim_delay -- a delay on a network: mostly short, now and then long. */
uint64_t sim_delay(void);

/* sim_at -- call fn(arg, word) then.  arg must live as long as the run. */
void sim_at(uint64_t at_ns, void (*fn)(void *arg, uint64_t word), void *arg, uint64_t word);

/* sim_step -- the next event; false: there is none. */
bool sim_step(void);
uint64_t sim_steps(void);

/* sim_alloc -- zeroed memory that lives as long as the run. */
void *sim_alloc(size_t len_bytes);

/* sim_say -- a line for -v. */
void sim_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern unsigned sim_verbosity; /* 1: calls and faults, 2: also every piece of bytes */
#define sim_trace(...) (sim_verbosity > 1 ? sim_say(__VA_ARGS__) : (void)0)
extern bool sim_is_calm; /* no faults any more */

/* sim_at_fail -- called once before the end, to clear away what lies outside this process. */
extern void (*sim_at_fail)(void);

/* sim_fail -- a law is broken: say which, and abort; seed and step are told with every abort. */
void sim_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* fiber_start -- run fn(arg) from now on; its memory is freed when it returns. */
struct fiber *fiber_start(struct proc *proc, void (*fn)(void *arg), void *arg);

struct fiber *fiber_self(void); /* NULL on the main stack */

/* fiber_wait -- until woken, or then.  In a dead process: hardly at all. */
void fiber_wait(uint64_t until_ns);
void fiber_wake(struct fiber *fiber); /* NULL is fine */

size_t fibers_alive(void);

/* node_clock -- a clock of some machine: its own beginning, and a little too fast or slow. */
struct node_clock {
	struct clock base;
	uint64_t start_ns;
	int64_t ppm;
};
void node_clock_init(struct node_clock *clock);

#endif
