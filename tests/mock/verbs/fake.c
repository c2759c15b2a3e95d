/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/mock/verbs/fake.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/mock/verbs/fake_inner.h"
#include "transfer/base/num.h"

#define LOST_NS (1 * NS_PER_MS)

struct fake_world world;

void
fake_lock(void)
{
	pthread_mutex_lock(&world.lock);
	assert(world.is_on);
}

void
fake_unlock(void)
{
	pthread_mutex_unlock(&world.lock);
}

uint64_t
fake_now(void)
{
	return clock_ns(world.config.clock);
}

bool
fake_chance(struct rand *rand, unsigned of_10000)
{
	return of_10000 > 0 && rand_below(rand, 10000) < of_10000;
}

uint64_t
fake_delay(struct rand *rand)
{
	uint64_t max = world.config.delay_ns_max;

	return fake_now() + (max > 0 ? rand_below(rand, max) : 0);
}

void
fake_moved(void)
{
	pthread_cond_broadcast(&world.moved);
}

void
fake_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(world.complaint, sizeof(world.complaint), fmt, ap);
	va_end(ap);
	world.n_complaints++;
}

int
fake_call(const char *name)
{
	world.n_calls++;
	if (!world.will_fail || (world.fail_name != NULL && strcmp(world.fail_name, name) != 0))
		return 0;
	if (world.fail_after-- > 0)
		return 0;
	world.will_fail = false;
	return world.fail_error;
}

void
fake_bell_init(struct fake_bell *bell)
{
	*bell = (struct fake_bell){.fd = eventfd(0, EFD_CLOEXEC)};
	assert(bell->fd >= 0);
}

void
fake_bell_fini(struct fake_bell *bell)
{
	close(bell->fd);
}

void
fake_bell_set(struct fake_bell *bell, bool rings)
{
	eventfd_t v;

	if (rings == bell->rings)
		return;
	bell->rings = rings;
	if (rings ? eventfd_write(bell->fd, 1) < 0 : eventfd_read(bell->fd, &v) < 0)
		abort();
}

/* ---- time ------------------------------------------------------------------------ */

/* tick -- all that is due; what happens may make other things due. */
static uint64_t
tick(void)
{
	for (;;) {
		uint64_t now_ns = fake_now(), next_ns = FAKE_NEVER;

		next_ns = num_min(next_ns, fake_cm_tick(now_ns));
		next_ns = num_min(next_ns, fake_qp_tick(now_ns));
		next_ns = num_min(next_ns, fake_fabric_tick(now_ns));
		next_ns = num_min(next_ns, fake_cq_tick(now_ns));
		if (next_ns > now_ns)
			return next_ns;
	}
}

void
fake_pump(void)
{
	fake_lock();
	tick();
	fake_unlock();
}

static void *
thread_main(void *arg)
{
	(void)arg;
	fake_lock();
	while (!world.is_ending) {
		uint64_t next_ns = tick(), now_ns = fake_now();
		struct timespec until;

		if (next_ns <= now_ns)
			continue;
		if (next_ns == FAKE_NEVER) {
			pthread_cond_wait(&world.moved, &world.lock);
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &until);
		next_ns = (uint64_t)until.tv_nsec + (next_ns - now_ns);
		until.tv_sec += (time_t)(next_ns / NS_PER_S);
		until.tv_nsec = (long)(next_ns % NS_PER_S);
		pthread_cond_timedwait(&world.moved, &world.lock, &until);
	}
	fake_unlock();
	return NULL;
}

/* ---- life ------------------------------------------------------------------------ */

static void
init_lists(void)
{
	list_init(&world.mrs);
	list_init(&world.cqs);
	list_init(&world.qps);
	list_init(&world.lates);
	list_init(&world.ids);
	list_init(&world.messages);
}

void
fake_init(const struct fake_config *config)
{
	pthread_condattr_t attr;

	assert(!world.is_on && config->n_devices <= FAKE_DEVICES_MAX);
	world = (struct fake_world){.config = *config, .is_on = true};
	pthread_mutex_init(&world.lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&world.moved, &attr);
	pthread_condattr_destroy(&attr);
	init_lists();
	rand_init(&world.rand, config->seed);
	/* Keys and numbers that are mixed up must not fit by chance. */
	world.next_key = (uint32_t)rand_below(&world.rand, 1 << 20) + 1;
	world.next_qp_num = (uint32_t)rand_below(&world.rand, 1 << 20) + 1;
	world.next_port = 20000;
	if (world.config.lost_ns == 0)
		world.config.lost_ns = LOST_NS;
	if (world.config.max_qp_rd_atom == 0)
		world.config.max_qp_rd_atom = 16;
	fake_devices_init();
	if (config->clock == NULL) {
		world.config.clock = clock_real();
		world.has_thread = true;
		if (pthread_create(&world.thread, NULL, thread_main, NULL) != 0)
			abort();
	}
}

unsigned
fake_fini(void)
{
	unsigned n_left;

	fake_lock();
	world.is_ending = true;
	fake_moved();
	fake_unlock();
	if (world.has_thread)
		pthread_join(world.thread, NULL);
	n_left = world.n_objects;
	fake_cm_fini();
	fake_fabric_fini();
	fake_devices_fini();
	pthread_cond_destroy(&world.moved);
	pthread_mutex_destroy(&world.lock);
	world.is_on = false;
	return n_left;
}

/* ---- a test's hands -------------------------------------------------------------- */

void
fake_fail_call(const char *name, unsigned n, int error)
{
	fake_lock();
	world.will_fail = true;
	world.fail_name = name;
	world.fail_after = n;
	world.fail_error = error;
	fake_unlock();
}

unsigned
fake_n_calls(void)
{
	unsigned n;

	fake_lock();
	n = world.n_calls;
	fake_unlock();
	return n;
}

void
fake_cut(unsigned device, bool is_cut)
{
	fake_lock();
	assert(device < world.config.n_devices);
	world.devices[device].is_cut = is_cut;
	fake_moved();
	fake_unlock();
}

void
fake_hold(bool do_hold)
{
	fake_lock();
	world.do_hold = do_hold;
	fake_moved();
	fake_unlock();
}

void
fake_lose_messages(bool do_lose)
{
	fake_lock();
	world.do_lose_messages = do_lose;
	fake_unlock();
}

void
fake_forget_fences(bool do_forget)
{
	fake_lock();
	world.do_forget_fences = do_forget;
	fake_unlock();
}

struct fake_counts
fake_counts(void)
{
	struct fake_counts counts;

	fake_lock();
	counts = world.counts;
	fake_unlock();
	return counts;
}

size_t
fake_n_in_fabric(void)
{
	size_t n = 0;

	fake_lock();
	list_each(&world.lates, link)
		n++;
	fake_unlock();
	return n;
}

unsigned
fake_complaints(const char **ret_last)
{
	unsigned n;

	fake_lock();
	n = world.n_complaints;
	*ret_last = world.complaint;
	fake_unlock();
	return n;
}
