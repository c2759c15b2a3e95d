/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/house.h"

#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void
house_must(int r, const char *what)
{
	if (r == 0)
		return;
	fprintf(stderr, "bench: %s: %s\n", what,
		r < 0 && r >= TIFFIN_E_VERSION ? tiffin_why() : strerror(r < 0 ? -r : r));
	exit(1);
}

double
house_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
house_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void
house_start(struct house *house, const char *program, char *const *args)
{
	char path[700], ready_option[32], byte;
	char *argv[24];
	int ready[2], n = 0;
	pid_t pid;

	house_must(pipe(ready), "pipe");
	snprintf(path, sizeof(path), "%s/%s", house->programs, program);
	snprintf(ready_option, sizeof(ready_option), "--ready-fd=%d", ready[1]);
	argv[n++] = path;
	while (*args != NULL)
		argv[n++] = *args++;
	argv[n++] = ready_option;
	argv[n] = NULL;

	pid = fork();
	house_must(pid < 0, "fork");
	if (pid == 0) {
		close(ready[0]);
		execv(path, argv);
		_exit(127);
	}
	close(ready[1]);
	house->pids[house->n_pids++] = pid;
	house_must(read(ready[0], &byte, 1) != 1, program);
	close(ready[0]);
}

void
house_open_master(struct house *house)
{
	char db[128], address[160], self[480];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	house_must(len <= 0, "/proc/self/exe");
	self[len] = '\0';
	*house = (struct house){.dir = "/tmp/tiffin-bench.XXXXXX"};
	snprintf(house->programs, sizeof(house->programs), "%s", dirname(self));
	house_must(mkdtemp(house->dir) == NULL, "mkdtemp");
	snprintf(house->master, sizeof(house->master), "unix:%s/master.sock", house->dir);
	snprintf(db, sizeof(db), "--db=%s/master.db", house->dir);
	snprintf(address, sizeof(address), "--listen=%s", house->master);
	house_start(house, "tiffin-master", (char *[]){db, address, "--log-level=error", NULL});
}

void
house_open(struct house *house, const char *size, const char *listen)
{
	char option_master[160], option_listen[200], option_size[64];

	house_open_master(house);
	snprintf(option_master, sizeof(option_master), "--master=%s", house->master);
	snprintf(option_size, sizeof(option_size), "--size=%s", size);
	if (strcmp(listen, "tcp") == 0)
		snprintf(option_listen, sizeof(option_listen), "--listen=127.0.0.1:0");
	else
		snprintf(option_listen, sizeof(option_listen), "--listen=unix:%s/p1.sock",
			 house->dir);
	house_start(house, "tiffin-provider",
		    (char *[]){option_master, option_size, option_listen, "--name=p1",
			       "--log-level=error", NULL});
}

void
house_close(struct house *house)
{
	char command[128];

	while (house->n_pids > 0) {
		pid_t pid = house->pids[--house->n_pids];

		kill(pid, SIGTERM);
		waitpid(pid, NULL, 0);
	}
	snprintf(command, sizeof(command), "rm -rf %s", house->dir);
	house_must(system(command), "rm");
}

struct tiffin_client *
house_client_with(const struct house *house, struct tiffin_options options)
{
	struct tiffin_client *client = NULL;

	options.struct_bytes = sizeof(options);
	options.master = house->master;
	options.name = "bench";
	house_must(tiffin_open(&options, &client), "tiffin_open");
	return client;
}

struct tiffin_client *
house_client(const struct house *house)
{
	return house_client_with(house, (struct tiffin_options){0});
}

double
house_cpu_of(pid_t pid)
{
	struct timespec now;
	clockid_t id;

	house_must(clock_getcpuclockid(pid, &id), "clock_getcpuclockid");
	clock_gettime(id, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double
house_cpu_s(const struct house *house)
{
	double all_s = house_cpu_of(0);

	for (int i = 0; i < house->n_pids; i++)
		all_s += house_cpu_of(house->pids[i]);
	return all_s;
}
