/* SPDX-License-Identifier: Apache-2.0 */

/*
 * closing -- the ends of clients.
 *
 *      closing busy       says "ready"; at SIGTERM, when the provider is stopped, 32 threads begin
 * to get, and while they wait their client is closed closing cycles     open, lend a segment, put,
 * close: 100 times closing two        two clients in one process, one is closed closing orphan says
 * "ready"; at SIGTERM, when the master is gone, closes within 3 s closing forgotten  ends without
 * closing, by exit()
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/script/tools/tool.h"

#define N_BUSY   32
#define N_CYCLES 100
#define LEN      (4u << 20)

static struct tiffin_client *client;
static atomic_uint n_ended;

static unsigned
count_in(const char *dir)
{
	DIR *at = opendir(dir);
	unsigned n = 0;

	tool_demand(at != NULL);
	while (readdir(at) != NULL)
		n++;
	closedir(at);
	return n;
}

/* work -- one get, from a provider that does not answer. */
static void *
work(void *arg)
{
	char *bytes = tool_alloc(LEN);
	struct iovec slice = {bytes, LEN};
	uint64_t len;
	int r;

	(void)arg;
	r = tiffin_get(client, "k", &slice, 1, &len);
	if (r != TIFFIN_E_CLOSED)
		tool_die("a call under way at close: %s", tiffin_errname(r));
	free(bytes);
	atomic_fetch_add(&n_ended, 1);
	return NULL;
}

/* all_sleep -- is every other thread of this process waiting for something? */
static int
all_sleep(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	unsigned n = 0, n_asleep = 0;

	tool_demand(tasks != NULL);
	while ((task = readdir(tasks)) != NULL) {
		char path[300], line[256] = "";
		FILE *file;

		if (task->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", task->d_name);
		file = fopen(path, "r");
		tool_demand(file != NULL && fgets(line, sizeof(line), file) != NULL);
		fclose(file);
		n++;
		n_asleep += strstr(line, ") S ") != NULL;
	}
	closedir(tasks);
	return n > N_BUSY && n_asleep == n - 1;
}

static void
put_one(struct tiffin_client *by, const char *key, size_t len_bytes)
{
	char *bytes = tool_alloc(len_bytes);
	struct iovec slice = {bytes, len_bytes};
	struct tiffin_put_options options = {.struct_bytes = sizeof(options),
					     .flags = TIFFIN_REPLACE};

	tool_fill(bytes, len_bytes, 5);
	tool_demand(tiffin_put(by, key, &slice, 1, &options, NULL) == 0);
	free(bytes);
}

static void
wait_for_signal(void)
{
	sigset_t signals;
	int number;

	puts("ready");
	fflush(stdout);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	tool_demand(sigwait(&signals, &number) == 0);
}

static void
busy(void)
{
	char *bytes = tool_alloc(LEN);
	struct iovec slice = {bytes, LEN};
	pthread_t threads[N_BUSY];
	uint64_t began_ms, len;

	client = tool_open();
	put_one(client, "k", LEN);
	tool_demand(tiffin_get(client, "k", &slice, 1, &len) == 0);
	free(bytes);
	wait_for_signal();
	for (unsigned i = 0; i < N_BUSY; i++)
		tool_demand(pthread_create(&threads[i], NULL, work, NULL) == 0);
	while (!all_sleep())
		sched_yield();
	began_ms = tool_now_ms();
	tiffin_close(client);
	tool_demand(tool_now_ms() - began_ms < 3000);
	for (unsigned i = 0; i < N_BUSY; i++)
		pthread_join(threads[i], NULL);
	tool_demand(n_ended == N_BUSY);
}

static void
cycles(void)
{
	struct tiffin_mount_options options = {.struct_bytes = sizeof(options),
					       .size_bytes = 1u << 20};
	unsigned fds = 0, tasks = 0;

	for (unsigned i = 0; i < N_CYCLES; i++) {
		client = tool_open();
		if (i % 10 == 0)
			tool_demand(tiffin_mount(client, &options, NULL) == 0);
		put_one(client, "k", 1000);
		tiffin_close(client);
		if (i == 10) {
			fds = count_in("/proc/self/fd");
			tasks = count_in("/proc/self/task");
		}
	}
	tool_demand(count_in("/proc/self/fd") == fds);
	tool_demand(count_in("/proc/self/task") == tasks);
}

static void
two(void)
{
	struct tiffin_client *other = tool_open();
	char bytes[1000];
	struct iovec slice = {bytes, sizeof(bytes)};
	uint64_t len;

	client = tool_open();
	put_one(client, "a", 1000);
	put_one(other, "b", 1000);
	tiffin_close(client);
	tool_demand(tiffin_get(other, "a", &slice, 1, &len) == 0 && tool_is(bytes, 1000, 5));
	put_one(other, "b", 1000);
	tiffin_close(other);
	tiffin_close(NULL);
}

static void
orphan(void)
{
	uint64_t began_ms;

	client = tool_open();
	put_one(client, "k", 1000);
	wait_for_signal();
	began_ms = tool_now_ms();
	tiffin_close(client);
	tool_demand(tool_now_ms() - began_ms < 3000);
}

static void
forgotten(void)
{
	client = tool_open();
	put_one(client, "k", 1000);
	exit(0);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {{"busy", busy},
		    {"cycles", cycles},
		    {"two", two},
		    {"orphan", orphan},
		    {"forgotten", forgotten}};

	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) == 0) {
			ways[i].run();
			return 0;
		}
	}
	tool_die("closing: no such way");
}
