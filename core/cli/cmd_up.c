/* SPDX-License-Identifier: Apache-2.0 */

/*
 * up -- master, provider and mount on this machine, with no configuration.
 *
 *      tiffin-master  ---ready--->  tiffin-provider  ---ready--->  tiffinfs
 *
 * Each one is started when the one before is ready.  What runs already stays as
 * it is.  When one fails, those that this call has started are stopped again.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/command.h"
#include "core/cli/house.h"
#include "core/cli/interrupt.h"
#include "transfer/base/json.h"
#include "core/cli/memory.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"

#define ARGS_MAX         16
#define SIZE_MAX_DEFAULT (1ull << 30)
#define SIZE_STEP        (2ull << 20)

struct opts {
	uint64_t size_bytes, wait_ms;
	const char *mount, *state, *run, *listen, *provider_listen;
};

static const struct arg_def defs[] = {
	{'s', "size", ARG_BYTES, offsetof(struct opts, size_bytes), "SIZE", NULL,
	 "memory to lend [1 GiB, at most a quarter of what is free]"},
	{'\0', "mount", ARG_TEXT, offsetof(struct opts, mount), "DIR", NULL,
	 "also show the objects as files below DIR"},
	{'\0', "listen", ARG_TEXT, offsetof(struct opts, listen), "ADDR", NULL,
	 "the master also listens here; beyond this machine wants --key-file"},
	{'\0', "provider-listen", ARG_TEXT, offsetof(struct opts, provider_listen), "ADDR", NULL,
	 "the provider also listens here"},
	{'\0', "state", ARG_TEXT, offsetof(struct opts, state), "DIR", NULL, "database and logs"},
	{'\0', "run", ARG_TEXT, offsetof(struct opts, run), "DIR", NULL, "sockets and pid files"},
	{'\0', "wait", ARG_MS, offsetof(struct opts, wait_ms), "TIME", "60s",
	 "how long each program may take to be ready"},
};

/* One call of up. */
struct raising {
	struct cli *cli;
	const struct opts *opts;
	struct house house;
	uint64_t size_bytes;
	bool started[HOUSE_N_DAEMONS]; /* by this call */
	pid_t pids[HOUSE_N_DAEMONS];
	uint64_t log_from_bytes; /* where the log of the program under way begins to be of interest
				  */
};

/* Arguments of a program; each text lives in `room`. */
struct words {
	char room[4 * PATH_MAX];
	size_t n_room;
	char *argv[ARGS_MAX + 1];
	size_t n;
};

static void add_word(struct words *words, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void
add_word(struct words *words, const char *fmt, ...)
{
	char *at = words->room + words->n_room;
	size_t cap = sizeof(words->room) - words->n_room;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(at, cap, fmt, ap);
	va_end(ap);
	assert(n >= 0 && (size_t)n < cap && words->n < ARGS_MAX);
	words->n_room += (size_t)n + 1;
	words->argv[words->n++] = at;
}

static void
add_key_file(struct words *words, const struct cli *cli)
{
	if (cli->key_file != NULL)
		add_word(words, "--key-file=%s", cli->key_file);
}

static void
master_words(const struct raising *raising, struct words *words)
{
	const struct house *house = &raising->house;
	const char *also = raising->opts->listen;

	add_word(words, "tiffin-master");
	add_word(words, "--db=%s/master.db", house->state);
	add_word(words, "--listen=%s%s%s", house->master, also != NULL ? " " : "",
		 also != NULL ? also : "");
	add_key_file(words, raising->cli);
	add_word(words, DAEMON_READY_ARG);
}

static void
provider_words(const struct raising *raising, struct words *words)
{
	const struct house *house = &raising->house;
	const char *also = raising->opts->provider_listen;

	add_word(words, "tiffin-provider");
	add_word(words, "--master=%s", house->master);
	add_word(words, "--name=local");
	add_word(words, "--size=%" PRIu64, raising->size_bytes);
	if (also != NULL)
		add_word(words, "--listen=unix:%s/local.sock %s", house->run, also);
	add_key_file(words, raising->cli);
	add_word(words, DAEMON_READY_ARG);
}

static void
mount_words(const struct raising *raising, struct words *words)
{
	add_word(words, "tiffinfs");
	add_word(words, "%s", raising->house.master);
	add_word(words, "%s", raising->house.mount);
	if (raising->cli->key_file != NULL)
		add_word(words, "-okey_file=%s", raising->cli->key_file);
	add_word(words, "-f");
	add_word(words, DAEMON_READY_ARG);
}

/* say_failed -- why a program did not start, and what it said itself. */
static int
say_failed(const struct raising *raising, enum house_daemon which, int r)
{
	const struct daemon *daemon = &raising->house.daemons[which];
	const struct cli *cli = raising->cli;

	if (r == DAEMON_E_NOT_FOUND)
		return cli_say(cli, CLI_SYSTEM, "%s is neither beside this program nor in PATH",
			       daemon->name);
	if (r < 0)
		return cli_fail_system(cli, r, daemon->name);
	if (interrupted())
		return CLI_INTERRUPTED;
	cli_say(cli, CLI_SYSTEM, "%s %s; the end of its log, %s:", daemon->name,
		r == DAEMON_E_TIMEOUT ? "was not ready in time" : "did not start", daemon->log);
	daemon_print_log(daemon, raising->log_from_bytes, stderr);
	return CLI_SYSTEM;
}

/* raise_one -- unless it runs already. */
static int
raise_one(struct raising *raising, enum house_daemon which)
{
	static void (*const make_words[])(const struct raising *, struct words *) = {
		[HOUSE_MASTER] = master_words,
		[HOUSE_PROVIDER] = provider_words,
		[HOUSE_MOUNT] = mount_words,
	};
	const struct daemon *daemon = &raising->house.daemons[which];
	struct words words = {.n = 0};
	int r;

	raising->pids[which] = daemon_pid(daemon);
	if (raising->pids[which] != 0)
		return CLI_OK;
	raising->log_from_bytes = daemon_log_bytes(daemon);
	make_words[which](raising, &words);
	r = daemon_start(daemon, words.argv, raising->opts->wait_ms, &raising->pids[which]);
	if (r != 0)
		return say_failed(raising, which, r);
	raising->started[which] = true;
	return CLI_OK;
}

static int
raise_all(struct raising *raising)
{
	int status = CLI_OK;
	int n = raising->opts->mount != NULL ? HOUSE_N_DAEMONS : HOUSE_MOUNT;

	for (int i = 0; i < n && status == CLI_OK; i++)
		status = raise_one(raising, (enum house_daemon)i);
	if (status == CLI_OK && raising->started[HOUSE_MOUNT])
		status = house_remember_mount(&raising->house, raising->cli);
	if (status == CLI_OK && interrupted())
		status = CLI_INTERRUPTED;
	if (status == CLI_OK)
		return CLI_OK;

	for (int i = n - 1; i >= 0; i--)
		if (raising->started[i])
			house_stop(&raising->house, raising->cli, (enum house_daemon)i, false);
	return status;
}

/* ---- what is said at the end ---------------------------------------------------- */

static void
print_json(const struct raising *raising)
{
	struct json json;

	json_init(&json, stdout);
	json_open_object(&json, NULL);
	json_text(&json, "master", raising->house.master);
	json_text(&json, "state", raising->house.state);
	json_text(&json, "run", raising->house.run);
	if (raising->pids[HOUSE_MOUNT] != 0)
		json_text(&json, "mount", raising->house.mount);
	json_open_list(&json, "programs");
	for (int i = 0; i < HOUSE_N_DAEMONS; i++) {
		if (raising->pids[i] == 0)
			continue;
		json_open_object(&json, NULL);
		json_text(&json, "name", raising->house.daemons[i].name);
		json_u64(&json, "pid", (uint64_t)raising->pids[i]);
		json_bool(&json, "was_running", !raising->started[i]);
		json_close(&json);
	}
	json_close(&json);
	json_close(&json);
}

static void
print_text(const struct raising *raising)
{
	const struct house *house = &raising->house;
	char size[32];

	for (int i = 0; i < HOUSE_N_DAEMONS; i++)
		if (raising->pids[i] != 0)
			printf("%-16s %s, pid %d\n", house->daemons[i].name,
			       raising->started[i] ? "started" : "running already",
			       (int)raising->pids[i]);
	if (raising->started[HOUSE_PROVIDER])
		printf("lent             %s\n",
		       num_show_bytes(size, sizeof(size), raising->size_bytes));
	if (raising->pids[HOUSE_MOUNT] != 0)
		printf("mounted          %s\n", house->mount);
	printf("logs             %s\n\nto try next:\n", house->state);
	if (strcmp(house->master, tiffin_master_default()) != 0)
		printf("  export TIFFIN_MASTER=%s\n", house->master);
	printf("  echo hello | tiffin put greeting\n"
	       "  tiffin cat greeting\n"
	       "  tiffin status\n");
	if (raising->pids[HOUSE_MOUNT] != 0)
		printf("  ls -l %s\n", house->mount);
	printf("  tiffin down%s%s\n", raising->opts->run != NULL ? " --run " : "",
	       raising->opts->run != NULL ? house->run : "");
}

/* ---- the command ---------------------------------------------------------------- */

/* choose_size -- what was asked for, or a modest part of this machine. */
static int
choose_size(const struct cli *cli, uint64_t wanted_bytes, uint64_t *ret_size_bytes)
{
	uint64_t size = wanted_bytes;
	uint64_t free_bytes;

	if (size == 0) {
		free_bytes = memory_free_bytes();
		size = SIZE_MAX_DEFAULT;
		if (free_bytes > 0)
			size = num_min(size, free_bytes / 4);
	}
	size -= size % SIZE_STEP;
	if (size == 0)
		return cli_say(cli, CLI_USAGE, "--size: at least 2 MiB");
	*ret_size_bytes = size;
	return CLI_OK;
}

/* lock -- one up or down at a time. */
static int
lock(const struct raising *raising, int *ret_fd)
{
	char path[PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/up.lock", raising->house.run);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return cli_fail_system(raising->cli, -errno, path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return cli_say(raising->cli, CLI_BUSY, "another 'tiffin up' is at work");
	}
	*ret_fd = fd;
	return CLI_OK;
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	struct raising raising = {.cli = cli, .opts = opts_at};
	cleanup_with(fd_close_at) int lock_fd = -1;
	int status;

	(void)words;
	interrupt_be_patient();
	status = house_init(&raising.house, cli, raising.opts->run, raising.opts->state);
	if (status == CLI_OK)
		status = house_make(&raising.house, cli);
	if (status == CLI_OK && raising.opts->mount != NULL)
		status = house_choose_mount(&raising.house, cli, raising.opts->mount);
	if (status == CLI_OK)
		status = choose_size(cli, raising.opts->size_bytes, &raising.size_bytes);
	if (status == CLI_OK)
		status = lock(&raising, &lock_fd);
	if (status == CLI_OK)
		status = raise_all(&raising);
	if (status != CLI_OK)
		return status;

	if (raising.opts->mount == NULL)
		raising.pids[HOUSE_MOUNT] = daemon_pid(&raising.house.daemons[HOUSE_MOUNT]);
	if (cli->json)
		print_json(&raising);
	else if (!cli->quiet)
		print_text(&raising);
	return CLI_OK;
}

const struct command cmd_up = {
	.name = "up",
	.run = run,
	.synopsis = "",
	.summary = "start all of it on this machine",
	.help = "Starts tiffin-master, one tiffin-provider, and with --mount tiffinfs, each when "
		"the one\n"
		"before is ready.  What runs already stays as it is; when one of them fails, what "
		"this\n"
		"call has started is stopped again.\n"
		"\n"
		"  tiffin up --size 4GiB --mount /mnt/tiffin",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 0,
};
