/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "transfer/base/json.h"
#include "core/cli/key_text.h"
#include "transfer/base/num.h"

static const struct arg_def defs[] = {
	{'m', "master", ARG_TEXT, offsetof(struct cli, master), "ADDR", NULL,
	 "the master, else $TIFFIN_MASTER, else this user's own"},
	{'\0', "tenant", ARG_TEXT, offsetof(struct cli, tenant), "NAME", "default",
	 "whose objects"},
	{'\0', "key-file", ARG_TEXT, offsetof(struct cli, key_file), "FILE", NULL,
	 "the cluster key, for a master on another machine"},
	{'\0', "timeout", ARG_MS, offsetof(struct cli, timeout_ms), "TIME", NULL,
	 "longest wait of each request, like 5s"},
	{'\0', "hot-cache", ARG_BYTES, offsetof(struct cli, hot_cache_bytes), "SIZE", NULL,
	 "keep so much of what is read often from other hosts, for all who say so; else "
	 "$TIFFIN_HOT_CACHE"},
	{'j', "json", ARG_FLAG, offsetof(struct cli, json), NULL, NULL,
	 "answers and errors as JSON"},
	{'0', "null", ARG_FLAG, offsetof(struct cli, nul), NULL, NULL,
	 "keys end in NUL, in output and on standard input"},
	{'q', "quiet", ARG_FLAG, offsetof(struct cli, quiet), NULL, NULL, "no progress, no notes"},
	{'h', "help", ARG_FLAG, offsetof(struct cli, help), NULL, NULL, "explain"},
	{'V', "version", ARG_FLAG, offsetof(struct cli, version), NULL, NULL, "say the version"},
};

const struct args_list cli_args = {defs, array_len(defs)};

/* ---- saying what is wrong ------------------------------------------------------ */

static void
say_prefix(const struct cli *cli)
{
	fputs("tiffin", stderr);
	if (cli->command != NULL)
		fprintf(stderr, " %s", cli->command->name);
	fputs(": ", stderr);
}

int
cli_say(const struct cli *cli, int status, const char *fmt, ...)
{
	char line[2048 + KEY_TEXT_CAP];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	text_scrub(line);

	fflush(stdout);
	if (cli->json) {
		struct json json;

		json_init(&json, stderr);
		json_open_object(&json, NULL);
		json_text(&json, "message", line);
		json_u64(&json, "exit", (uint64_t)status);
		json_close(&json);
		return status;
	}
	say_prefix(cli);
	fprintf(stderr, "%s\n", line);
	return status;
}

void
cli_note(const struct cli *cli, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (cli->quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	text_scrub(line);
	say_prefix(cli);
	fprintf(stderr, "%s\n", line);
}

int
cli_exit_of(int code)
{
	switch (code) {
	case 0:
		return CLI_OK;
	case TIFFIN_E_NOT_FOUND:
		return CLI_NOT_FOUND;
	case TIFFIN_E_INVALID:
		return CLI_USAGE;
	case TIFFIN_E_EXISTS:
		return CLI_EXISTS;
	case TIFFIN_E_NO_SPACE:
	case TIFFIN_E_QUOTA:
		return CLI_NO_SPACE;
	case TIFFIN_E_UNREACHABLE:
	case TIFFIN_E_TIMEOUT:
		return CLI_UNREACHABLE;
	case TIFFIN_E_LEASE:
	case TIFFIN_E_BUSY:
	case TIFFIN_E_NOT_EMPTY:
		return CLI_BUSY;
	case TIFFIN_E_CHECKSUM:
		return CLI_CHECKSUM;
	case TIFFIN_E_DENIED:
	case TIFFIN_E_VERSION:
		return CLI_DENIED;
	default:
		return CLI_SYSTEM;
	}
}

/* fail_with -- why NULL or "": there is nothing more to say. */
static int
fail_with(const struct cli *cli, int code, const char *key, const char *why)
{
	char shown[KEY_TEXT_CAP];
	struct json json;

	assert(code < 0);
	if (interrupted())
		return CLI_INTERRUPTED;
	fflush(stdout);

	if (cli->json) {
		json_init(&json, stderr);
		json_open_object(&json, NULL);
		json_text(&json, "error", tiffin_errname(code));
		if (key != NULL)
			json_key(&json, "key", key);
		json_text(&json, "message", tiffin_strerror(code));
		if (why != NULL && why[0] != '\0')
			json_text(&json, "why", why);
		json_u64(&json, "exit", (uint64_t)cli_exit_of(code));
		json_close(&json);
		return cli_exit_of(code);
	}

	say_prefix(cli);
	if (why == NULL || why[0] == '\0')
		why = tiffin_strerror(code);
	if (key != NULL && strstr(why, key) == NULL)
		fprintf(stderr, "%s: ", key_show(shown, sizeof(shown), key));
	fprintf(stderr, "%s\n", why);
	return cli_exit_of(code);
}

int
cli_fail(const struct cli *cli, int code, const char *key)
{
	return fail_with(cli, code, key, tiffin_why());
}

int
cli_fail_item(const struct cli *cli, int code, const char *key)
{
	return fail_with(cli, code, key, NULL);
}

int
cli_fail_system(const struct cli *cli, int r, const char *doing)
{
	assert(r < 0);
	if (interrupted())
		return CLI_INTERRUPTED;
	return cli_say(cli, CLI_SYSTEM, "%s: %s", doing, strerror(-r));
}

void
cli_keep(int *kept, int status)
{
	if (*kept == CLI_OK)
		*kept = status;
}

/* ---- output -------------------------------------------------------------------- */

void
cli_print_key(const struct cli *cli, const char *key)
{
	char shown[KEY_TEXT_CAP];

	if (cli->nul) {
		fwrite(key, 1, strlen(key) + 1, stdout);
		return;
	}
	puts(key_show(shown, sizeof(shown), key));
}

void
cli_progress(const struct cli *cli, struct progress *progress, const char *label,
	     uint64_t all_bytes)
{
	bool is_on = !cli->quiet && isatty(STDERR_FILENO);

	progress_init(progress, is_on ? stderr : NULL, cli->clock, label, all_bytes);
}

/* end_output -- what was printed has arrived, or it is an error. */
static int
end_output(const struct cli *cli, int status)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno == EPIPE)
		return status != CLI_OK ? status : CLI_PIPE;
	cli_keep(&status, cli_fail_system(cli, errno != 0 ? -errno : -EIO, "standard output"));
	return status;
}

/* ---- the client ---------------------------------------------------------------- */

const char *
cli_address(const struct cli *cli)
{
	return cli->master != NULL ? cli->master : tiffin_master_default();
}

int
cli_client(struct cli *cli, struct tiffin_client **ret_client)
{
	struct tiffin_options options = {
		.struct_bytes = sizeof(options),
		.master = cli_address(cli),
		.tenant = cli->tenant,
		.key_file = cli->key_file,
		.timeout_ms = (uint32_t)num_min(cli->timeout_ms, UINT32_MAX),
		.open_ms = (uint32_t)num_min(cli->timeout_ms, UINT32_MAX),
		.hot_cache_bytes = cli->hot_cache_bytes,
		.is_hot_cache_shared = true,
	};
	int r;

	if (cli->client == NULL) {
		r = tiffin_open(&options, &cli->client);
		if (r < 0)
			return cli_fail(cli, r, NULL);
	}
	*ret_client = cli->client;
	return CLI_OK;
}

/* ---- the program --------------------------------------------------------------- */

/* unknown -- no command of that name. */
static int
unknown(const struct cli *cli, const char *name)
{
	const struct command *nearest = commands_nearest(name);
	char shown[KEY_TEXT_CAP];

	key_show(shown, sizeof(shown), name);
	if (nearest != NULL)
		return cli_say(cli, CLI_USAGE, "unknown command '%s'; did you mean '%s'?", shown,
			       nearest->name);
	return cli_say(cli, CLI_USAGE, "unknown command '%s'; 'tiffin help' lists them", shown);
}

/* check_words -- are there as many as the command takes? */
static int
check_words(const struct cli *cli, const struct command *command, int n_words)
{
	/* With -0 the keys may come on standard input instead. */
	int least = cli->nul && command->max_words < 0 ? 0 : command->min_words;

	if (n_words >= least && (command->max_words < 0 || n_words <= command->max_words))
		return CLI_OK;
	return cli_say(cli, CLI_USAGE, "%s operand; usage: tiffin %s%s %s",
		       n_words < least ? "missing" : "extra", command->name,
		       command->args.n > 0 ? " [options]" : "", command->synopsis);
}

static void
opts_free_at(void **opts)
{
	free(*opts);
}

/* run_command -- words behind the command's name. */
static int
run_command(struct cli *cli, int argc, char **argv)
{
	const struct command *command = cli->command;
	cleanup_with(opts_free_at) void *opts = calloc(1, command->opts_bytes + 1);
	struct args_into into[] = {{&command->args, opts}, {&cli_args, cli}};
	char why[512];
	int n, status, n_behind = 0;
	struct args_words words = {ARGS_ALL, argc, argv, why, sizeof(why), &n_behind};

	if (opts == NULL)
		return cli_fail_system(cli, -ENOMEM, "options");

	args_init(&into[0]);
	n = args_parse(into, array_len(into), &words);
	if (n < 0)
		return cli_say(cli, CLI_USAGE, "%s", why);
	if (cli->help) {
		command_print_help(command, stdout);
		return CLI_OK;
	}
	status = check_words(cli, command, n);
	if (status != CLI_OK)
		return status;
	return command->run(cli, opts, (struct operands){n, argv, n_behind});
}

/* find_and_run -- words behind the program's name. */
static int
find_and_run(struct cli *cli, int argc, char **argv)
{
	struct args_into into = {&cli_args, cli};
	char why[512];
	struct args_words words = {ARGS_TO_FIRST_WORD, argc, argv, why, sizeof(why), NULL};
	int n = args_parse(&into, 1, &words);

	if (n < 0)
		return cli_say(cli, CLI_USAGE, "%s", why);
	if (cli->version) {
		cli->command = &cmd_version;
		return cmd_version.run(cli, NULL, (struct operands){0});
	}
	if (n == 0 && cli->help) {
		commands_print_help(stdout);
		return CLI_OK;
	}
	if (n == 0) {
		commands_print_help(stderr);
		return CLI_USAGE;
	}

	cli->command = commands_find(argv[0]);
	if (cli->command == NULL)
		return unknown(cli, argv[0]);
	return run_command(cli, n - 1, argv + 1);
}

int
cli_main(int argc, char **argv, const char *env_master, const char *env_hot_cache)
{
	struct cli cli = {.clock = clock_real()};
	struct args_into into = {&cli_args, &cli};
	int status;

	interrupt_install();
	args_init(&into);
	if (env_master != NULL && env_master[0] != '\0')
		cli.master = env_master;
	if (env_hot_cache != NULL && env_hot_cache[0] != '\0' &&
	    num_parse_bytes(env_hot_cache, &cli.hot_cache_bytes) != 0)
		return cli_say(&cli, CLI_USAGE, "$TIFFIN_HOT_CACHE: '%s' is not a size like 1GiB",
			       env_hot_cache);

	status = find_and_run(&cli, argc > 0 ? argc - 1 : 0, argv + 1);
	tiffin_close(cli.client);
	status = end_output(&cli, status);
	return interrupted() ? CLI_INTERRUPTED : status;
}
