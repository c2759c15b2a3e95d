/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/pair.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void
pair_open(struct pair *pair, const char *size, unsigned long n_listed, size_t big_bytes)
{
	*pair = (struct pair){0};
	house_open(&pair->house, size, "unix");
	snprintf(pair->ours, sizeof(pair->ours), "%s/ours", pair->house.dir);
	snprintf(pair->ref, sizeof(pair->ref), "%s/ref", pair->house.dir);
	snprintf(pair->n_listed, sizeof(pair->n_listed), "%lu", n_listed);
	snprintf(pair->big_bytes, sizeof(pair->big_bytes), "%zu", big_bytes);
	house_must(mkdir(pair->ours, 0700), pair->ours);
	house_must(mkdir(pair->ref, 0700), pair->ref);
}

static pid_t
ref_start(const struct pair *pair)
{
	char path[700], byte;
	int ready[2];
	pid_t pid;

	house_must(pipe(ready), "pipe");
	snprintf(path, sizeof(path), "%s/bench_ref_tree", pair->house.programs);
	pid = fork();
	house_must(pid < 0, "fork");
	if (pid == 0) {
		dup2(ready[1], 3);
		execl(path, path, pair->ref, pair->n_listed, pair->big_bytes, (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	house_must(read(ready[0], &byte, 1) != 1, "bench_ref_tree");
	close(ready[0]);
	return pid;
}

void
pair_mount(struct pair *pair)
{
	house_start(
		&pair->house, "tiffinfs",
		(char *[]){pair->house.master, pair->ours, "-f", "-o", "log_level=error", NULL});
	pair->ref_pid = ref_start(pair);
}

void
pair_unmount(struct pair *pair)
{
	char command[400];

	if (pair->ref_pid == 0)
		return;
	snprintf(command, sizeof(command), "fusermount3 -u %s; fusermount3 -u %s", pair->ref,
		 pair->ours);
	house_must(system(command), command);
	kill(pair->ref_pid, SIGTERM);
	waitpid(pair->ref_pid, NULL, 0);
	waitpid(pair->house.pids[--pair->house.n_pids], NULL, 0); /* the last that was started */
	pair->ref_pid = 0;
}

void
pair_close(struct pair *pair)
{
	pair_unmount(pair);
	house_close(&pair->house);
}

static int
note_requests(void *arg, const struct tiffin_count *count)
{
	if (strcmp(count->name, "requests") == 0)
		*(unsigned long *)arg = count->value;
	return 0;
}

unsigned long
pair_requests(const struct pair *pair)
{
	struct tiffin_client *client = house_client(&pair->house);
	unsigned long n = 0;

	house_must(tiffin_stats(client, note_requests, &n), "tiffin_stats");
	tiffin_close(client);
	return n;
}
