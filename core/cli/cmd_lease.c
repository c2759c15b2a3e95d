/* SPDX-License-Identifier: Apache-2.0 */

/* lease -- objects that stay as long as somebody wants them: for a time, or while a command runs.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "core/cli/keys.h"
#include "transfer/base/json.h"
#include "transfer/base/num.h"
#include "transfer/base/vec.h"

#define LOOK_MS 200 /* so often: do the leases hold, was Ctrl-C pressed? */

struct opts {
	uint64_t for_ms;
};

static const struct arg_def defs[] = {
	{'\0', "for", ARG_MS, offsetof(struct opts, for_ms), "TIME", NULL,
	 "give them back after that; without it: at Ctrl-C"},
};

/* The leases of one run. */
struct holding {
	struct cli *cli;
	VEC(char *) keys; /* owned */
	int *results;
	struct tiffin_lease *lease;
	uint64_t n_lost;
	bool *is_lost; /* and was said */
};

static void
holding_fini(struct holding *holding)
{
	tiffin_lease_drop(holding->lease);
	for (size_t i = 0; i < holding->keys.n; i++)
		free(holding->keys.at[i]);
	vec_fini(&holding->keys);
	free(holding->results);
	free(holding->is_lost);
}

static int
read_keys(struct holding *holding, struct operands words)
{
	struct keys keys;
	const char *key;
	int status;

	keys_init(&keys, holding->cli, words);
	while ((status = keys_next(&keys, holding->cli, &key)) == CLI_OK && key != NULL) {
		char *copy = strdup(key);

		if (copy == NULL || vec_push(&holding->keys, copy) < 0) {
			free(copy);
			return cli_fail_system(holding->cli, -ENOMEM, "a key");
		}
	}
	return status;
}

/* take_all -- all of them, or none. */
static int
take_all(struct holding *holding)
{
	const char *const *keys = (const char *const *)holding->keys.at;
	size_t n = holding->keys.n;
	struct tiffin_client *client;
	int r, status = cli_client(holding->cli, &client);

	if (status != CLI_OK || n == 0)
		return status;
	holding->results = calloc(n, sizeof(*holding->results));
	holding->is_lost = calloc(n, sizeof(*holding->is_lost));
	if (holding->results == NULL || holding->is_lost == NULL)
		return cli_fail_system(holding->cli, -ENOMEM, "leases");
	r = tiffin_lease_take(client, keys, n, holding->results, &holding->lease);
	if (r != 0)
		return cli_fail(holding->cli, r, NULL);
	for (size_t i = 0; i < n; i++) {
		if (holding->results[i] == 0)
			continue;
		cli_fail_item(holding->cli, holding->results[i], keys[i]);
		cli_keep(&status, cli_exit_of(holding->results[i]));
	}
	return status;
}

/* look -- do all hold?  Each that does not is said once. */
static void
look(struct holding *holding)
{
	for (size_t i = 0; i < holding->keys.n; i++) {
		int r = holding->is_lost[i] ? 0 : tiffin_lease_check(holding->lease, i);

		if (r == 0)
			continue;
		holding->is_lost[i] = true;
		holding->n_lost++;
		(void)cli_fail(holding->cli, r, holding->keys.at[i]);
	}
}

/* hold -- until the time is over, Ctrl-C, or a lease is lost. */
static int
hold(struct holding *holding, uint64_t for_ms)
{
	const struct clock *clock = holding->cli->clock;
	uint64_t until_ms = num_add_sat(clock_ms(clock), for_ms);

	cli_note(holding->cli, "%zu held%s", holding->keys.n,
		 for_ms == 0 ? "; Ctrl-C gives them back" : "");
	while (!interrupted() && holding->n_lost == 0) {
		uint64_t now_ms = clock_ms(clock);

		if (for_ms > 0 && now_ms >= until_ms)
			break;
		(void)poll(NULL, 0,
			   (int)num_min(for_ms > 0 ? until_ms - now_ms : LOOK_MS, LOOK_MS));
		look(holding);
	}
	if (holding->n_lost > 0)
		return CLI_BUSY;
	return interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

/* ---- while a command runs ---------------------------------------------------------------- */

/* status_of -- as a shell would tell it. */
static int
status_of(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* watch_over -- until it has ended.  Its wait status, or -errno. */
static int
watch_over(struct holding *holding, pid_t pid, int pidfd)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	int wait_status;

	while (poll(&ended, 1, LOOK_MS) <= 0)
		look(holding);
	if (waitpid(pid, &wait_status, 0) != pid)
		return -errno;
	return wait_status;
}

/* run_under -- signals are the command's: it ends by them, or not, and then we do. */
static int
run_under(struct holding *holding, char *const *argv)
{
	pid_t pid;
	int pidfd, r = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);

	if (r != 0)
		return cli_fail_system(holding->cli, -r, argv[0]);
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0) {
		r = -errno;
		kill(pid, SIGTERM);
		(void)waitpid(pid, NULL, 0);
		return cli_fail_system(holding->cli, r, "watching the command");
	}
	interrupt_pass_to(pid);
	r = watch_over(holding, pid, pidfd);
	interrupt_pass_to(0);
	close(pidfd);
	if (r < 0)
		return cli_fail_system(holding->cli, r, "waiting for the command");
	return status_of(r) == 0 && holding->n_lost > 0 ? CLI_BUSY : status_of(r);
}

/* ---- the command ------------------------------------------------------------------------- */

static void
print_json(const struct holding *holding)
{
	struct json json;

	json_init(&json, stdout);
	json_open_object(&json, NULL);
	json_u64(&json, "n_held", holding->keys.n - holding->n_lost);
	json_u64(&json, "n_lost", holding->n_lost);
	json_close(&json);
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct operands keys = {.n = words.n - words.n_behind, .at = words.at};
	struct holding holding = {.cli = cli};
	char **argv = calloc((size_t)words.n_behind + 1, sizeof(*argv));
	int status;

	if (argv == NULL)
		return cli_fail_system(cli, -ENOMEM, "the command");
	memcpy(argv, words.at + keys.n, (size_t)words.n_behind * sizeof(*argv));
	if (opts->for_ms > 0 && words.n_behind > 0)
		status = cli_say(cli, CLI_USAGE, "--for goes without a command: that has its time");
	else if (keys.n == 0 && !cli->nul)
		status = cli_say(cli, CLI_USAGE, "which keys?  They come before the --");
	else
		status = read_keys(&holding, keys);
	if (status == CLI_OK)
		status = take_all(&holding);
	if (status == CLI_OK) {
		status = words.n_behind > 0 ? run_under(&holding, argv)
					    : hold(&holding, opts->for_ms);
		if (cli->json && words.n_behind == 0)
			print_json(&holding);
	}
	holding_fini(&holding);
	free(argv);
	return status;
}

const struct command cmd_lease = {
	.name = "lease",
	.run = run,
	.synopsis = "KEY... [-- COMMAND...]",
	.summary = "keep objects while a command runs, or for a time",
	.help = "An object under a lease does not go for room, and is removed only by force; even "
		"then, and\n"
		"when it is replaced, its bytes stay for who reads them under the lease.  Without "
		"a "
		"command\n"
		"the leases are held until Ctrl-C, or --for TIME; with one until it ends, and its "
		"exit\n"
		"status is told; SIGTERM, SIGINT and SIGHUP are passed on to it.  They also end "
		"with this process, at the latest after lease_ms.\n"
		"\n"
		"All keys get a lease, or nothing is done.  A lease that is lost is told, with "
		"exit "
		"status 6.\n"
		"'tiffin stat' tells how long the leases on an object run; 'tiffin pin' keeps one "
		"for good.\n"
		"\n"
		"  tiffin lease models/llama -- ./serve --model models/llama\n"
		"  tiffin find -0 batch/7/ | tiffin lease -0 --for 10m",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 1,
	.max_words = -1,
};
