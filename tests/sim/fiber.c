/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/fiber.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "transfer/base/list.h"
#include "transfer/base/lock.h"
#include "transfer/base/vec.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define SWITCH_START(save, bottom, size)  __sanitizer_start_switch_fiber(save, bottom, size)
#define SWITCH_FINISH(save, bottom, size) __sanitizer_finish_switch_fiber(save, bottom, size)
#else
#define SWITCH_START(save, bottom, size)  ((void)(save))
#define SWITCH_FINISH(save, bottom, size) ((void)(save))
#endif

#define STACK_BYTES (1u << 20)

struct event {
	uint64_t at_ns, number, word;
	void (*fn)(void *arg, uint64_t word);
	void *arg;
};

struct fiber {
	struct list_link at;
	ucontext_t context;
	struct proc *proc;
	void (*fn)(void *arg);
	void *arg, *stack, *fake;
	uint64_t turn; /* of the wait it is in: wake-ups for former ones are stale */
	bool is_over;
};

struct block {
	struct list_link at;
	_Alignas(16) uint8_t bytes[];
};

static struct {
	uint64_t seed, now_ns, n_events, n_steps;
	struct rand rand;
	VEC(struct event) heap; /* earliest first; a binary heap from 0 */
	struct list fibers, blocks;
	size_t n_fibers;
	ucontext_t main_context;
	const void *main_bottom;
	size_t main_size;
	struct fiber *self;
} sim;

unsigned sim_verbosity;
bool sim_is_calm;
void (*sim_at_fail)(void);

/* Also for assertions of the master and the library: the run can be told again by these two. */
static void
on_abort(int signal_number)
{
	fprintf(stderr, "sim: seed %" PRIu64 " step %" PRIu64 " time %" PRIu64 " ms\n", sim.seed,
		sim.n_steps, (uint64_t)(sim.now_ns / MS(1)));
	if (sim_at_fail != NULL)
		sim_at_fail();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* ---- chance and memory ---- */

void
sim_init(uint64_t seed)
{
	memset(&sim, 0, sizeof(sim));
	sim.seed = seed;
	sim_is_calm = false;
	sim.now_ns = MS(1000000);
	rand_init(&sim.rand, seed);
	signal(SIGABRT, on_abort);
	list_init(&sim.fibers);
	list_init(&sim.blocks);
}

void
sim_fini(void)
{
	assert(sim.n_fibers == 0);
	list_each_safe(&sim.blocks, link)
		free(list_of(link, struct block, at));
	vec_fini(&sim.heap);
}

uint64_t
sim_now(void)
{
	return sim.now_ns;
}

struct rand *
sim_rand(void)
{
	return &sim.rand;
}

bool
sim_chance(uint64_t n)
{
	return rand_below(&sim.rand, n) == 0;
}

uint64_t
sim_between(uint64_t lo, uint64_t hi)
{
	return lo + rand_below(&sim.rand, hi - lo + 1);
}

uint64_t
sim_delay(void)
{
	if (!sim_is_calm && sim_chance(500))
		return sim_between(MS(100), MS(3000));
	if (sim_chance(20))
		return sim_between(MS(1), MS(50));
	return sim_between(20000, 300000);
}

void *
sim_alloc(size_t len_bytes)
{
	struct block *block = calloc(1, sizeof(*block) + len_bytes);

	if (block == NULL)
		abort();
	list_link_init(&block->at);
	list_push_back(&sim.blocks, &block->at);
	return block->bytes;
}

/* ---- words ---- */

void
sim_say(const char *fmt, ...)
{
	va_list args;

	if (sim_verbosity == 0)
		return;
	printf("%9" PRIu64 ".%03" PRIu64 " ", (uint64_t)(sim.now_ns / MS(1)),
	       sim.now_ns / 1000 % 1000);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

void
sim_fail(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "sim: ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	abort();
}

/* ---- events ---- */

static bool
is_before(const struct event *a, const struct event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

void
sim_at(uint64_t at_ns, void (*fn)(void *arg, uint64_t word), void *arg, uint64_t word)
{
	struct event event = {at_ns > sim.now_ns ? at_ns : sim.now_ns, sim.n_events++, word, fn,
			      arg};
	size_t at = sim.heap.n;

	if (vec_push(&sim.heap, event) < 0)
		abort();
	for (; at > 0 && is_before(&event, &sim.heap.at[(at - 1) / 2]); at = (at - 1) / 2)
		sim.heap.at[at] = sim.heap.at[(at - 1) / 2];
	sim.heap.at[at] = event;
}

static struct event
take_first(void)
{
	struct event first = sim.heap.at[0], last = sim.heap.at[--sim.heap.n];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < sim.heap.n) {
		if (child + 1 < sim.heap.n &&
		    is_before(&sim.heap.at[child + 1], &sim.heap.at[child]))
			child++;
		if (!is_before(&sim.heap.at[child], &last))
			break;
		sim.heap.at[at] = sim.heap.at[child];
		at = child;
	}
	sim.heap.at[at] = last;
	return first;
}

bool
sim_step(void)
{
	struct event event;

	if (sim.heap.n == 0)
		return false;
	event = take_first();
	sim.now_ns = event.at_ns;
	sim.n_steps++;
	event.fn(event.arg, event.word);
	return true;
}

uint64_t
sim_steps(void)
{
	return sim.n_steps;
}

/* ---- fibers ---- */

struct fiber *
fiber_self(void)
{
	return sim.self;
}

size_t
fibers_alive(void)
{
	return sim.n_fibers;
}

/* Back to the main stack, for good when the fiber is over. */
static void
leave(struct fiber *fiber)
{
	SWITCH_START(fiber->is_over ? NULL : &fiber->fake, sim.main_bottom, sim.main_size);
	swapcontext(&fiber->context, &sim.main_context);
	SWITCH_FINISH(fiber->fake, &sim.main_bottom, &sim.main_size);
}

static void
fiber_main(void)
{
	struct fiber *fiber = sim.self;

	SWITCH_FINISH(NULL, &sim.main_bottom, &sim.main_size);
	fiber->fn(fiber->arg);
	fiber->is_over = true;
	leave(fiber);
}

static void
run(struct fiber *fiber)
{
	void *fake = NULL;

	fiber->turn++;
	sim.self = fiber;
	SWITCH_START(&fake, fiber->stack, STACK_BYTES);
	swapcontext(&sim.main_context, &fiber->context);
	SWITCH_FINISH(fake, NULL, NULL);
	sim.self = NULL;
	if (!fiber->is_over)
		return;
	list_remove(&fiber->at);
	sim.n_fibers--;
	munmap(fiber->stack, STACK_BYTES);
}

/* Its time has come, unless it was woken before, or its process is stopped. */
static void
on_turn(void *arg, uint64_t turn)
{
	struct fiber *fiber = arg;

	if (fiber->is_over || fiber->turn != turn)
		return;
	if (!fiber->proc->is_dead && fiber->proc->stopped_until_ns > sim.now_ns) {
		sim_at(fiber->proc->stopped_until_ns, on_turn, fiber, turn);
		return;
	}
	run(fiber);
}

struct fiber *
fiber_start(struct proc *proc, void (*fn)(void *arg), void *arg)
{
	struct fiber *fiber = sim_alloc(sizeof(*fiber));

	fiber->proc = proc;
	fiber->fn = fn;
	fiber->arg = arg;
	fiber->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fiber->stack == MAP_FAILED || getcontext(&fiber->context) < 0)
		abort();
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK_BYTES;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, fiber_main, 0);
	list_link_init(&fiber->at);
	list_push_back(&sim.fibers, &fiber->at);
	sim.n_fibers++;
	sim_at(sim.now_ns, on_turn, fiber, 0);
	return fiber;
}

void
fiber_wait(uint64_t until_ns)
{
	struct fiber *fiber = sim.self;

	assert(fiber != NULL);
	if (fiber->proc->is_dead)
		until_ns = sim.now_ns + 1000;
	sim_at(until_ns, on_turn, fiber, fiber->turn);
	leave(fiber);
}

void
fiber_wake(struct fiber *fiber)
{
	if (fiber != NULL && !fiber->is_over)
		sim_at(sim.now_ns, on_turn, fiber, fiber->turn);
}

/* A condition variable would stop the only thread: look again a little later instead. */
void __wrap_lock_wait(struct lock *lock, pthread_cond_t *cond);

void
__wrap_lock_wait(struct lock *lock, pthread_cond_t *cond)
{
	(void)cond;
	lock_drop(lock);
	fiber_wait(sim.now_ns + MS(1));
	lock_take(lock);
}

/* ---- clocks ---- */

static uint64_t
node_now_ns(const struct clock *base)
{
	const struct node_clock *clock = container_of(base, struct node_clock, base);
	int64_t drift = (int64_t)(sim.now_ns / 1000000) * clock->ppm;

	return clock->start_ns + sim.now_ns + (uint64_t)drift;
}

static uint64_t
node_wall_ms(const struct clock *base)
{
	(void)base;
	return 1700000000000ull + sim.now_ns / MS(1);
}

static void
node_sleep_ns(const struct clock *base, uint64_t len_ns)
{
	(void)base;
	fiber_wait(sim.now_ns + len_ns);
}

void
node_clock_init(struct node_clock *clock)
{
	*clock = (struct node_clock){
		.base = {node_now_ns, node_wall_ms, node_sleep_ns},
		.start_ns = sim_between(0, MS(100000000)),
		.ppm = (int64_t)sim_between(0, 4000) - 2000,
	};
}
