/* SPDX-License-Identifier: Apache-2.0 */

/* top -- what the store does at the moment, shown anew each second. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "transfer/base/json.h"
#include "core/cli/top.h"

#define LINES_WITHOUT_TERMINAL 1000

struct opts {
	uint64_t every_ms, count;
};

static const struct arg_def defs[] = {
	{'d', "delay", ARG_MS, offsetof(struct opts, every_ms), "TIME", "1s",
	 "time between two looks"},
	{'n', "count", ARG_NUMBER, offsetof(struct opts, count), "N", NULL,
	 "end after N screens; else with q or Ctrl-C"},
};

/* ---- the terminal: keys come at once and are not shown ---- */

struct terminal {
	bool is_screen; /* standard output is one: it is written over */
	bool has_keys;
	struct termios before;
};

static void
terminal_begin(struct terminal *terminal)
{
	struct termios raw;

	*terminal = (struct terminal){.is_screen = isatty(STDOUT_FILENO) == 1};
	if (!terminal->is_screen || tcgetattr(STDIN_FILENO, &terminal->before) < 0)
		return;
	raw = terminal->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	terminal->has_keys = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static void
terminal_end(const struct terminal *terminal)
{
	if (terminal->has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal->before);
}

/* Lines that fit, but the one of the cursor. */
static unsigned
terminal_lines(const struct terminal *terminal)
{
	struct winsize size;

	if (!terminal->is_screen || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row < 2)
		return LINES_WITHOUT_TERMINAL;
	return size.ws_row - 1u;
}

/* pause_or_quit -- true: q was pressed, or we were asked to end. */
static bool
pause_or_quit(const struct terminal *terminal, uint64_t len_ms)
{
	struct pollfd key = {.fd = terminal->has_keys ? STDIN_FILENO : -1, .events = POLLIN};
	char pressed;

	if (poll(&key, 1, (int)len_ms) > 0 && read(STDIN_FILENO, &pressed, 1) == 1)
		return pressed == 'q';
	return interrupted();
}

/* ---- what is shown ---- */

static void
print_json(const struct top_look *before, const struct top_look *now)
{
	struct json json;

	json_init(&json, stdout);
	json_open_object(&json, NULL);
	json_u64(&json, "size_bytes", now->space.size_bytes);
	json_u64(&json, "used_bytes", now->space.used_bytes);
	json_u64(&json, "resting_bytes", now->space.resting_bytes);
	json_u64(&json, "n_objects", now->space.n_objects);
	json_open_object(&json, "a_second");
	for (size_t i = 0; i < now->n_counts; i++)
		json_u64(&json, now->counts[i].name, (uint64_t)(top_rate(before, now, i) + 0.5));
	json_close(&json);
	json_close(&json);
}

static void
print_screen(const struct terminal *terminal, const struct top_look *before,
	     const struct top_look *now)
{
	if (terminal->is_screen)
		fputs("\033[H\033[2J", stdout); /* home, wipe */
	top_show(before, now, terminal_lines(terminal), stdout);
	if (!terminal->is_screen)
		putchar('\n');
}

/* watch -- exit status. */
static int
watch(const struct cli *cli, struct tiffin_client *client, const struct opts *opts,
      const struct terminal *terminal, struct top_look *looks)
{
	struct top_look *before = &looks[0], *now = &looks[1];
	int r = top_look(client, cli->clock, before);

	for (uint64_t n = 0; r == 0 && (opts->count == 0 || n < opts->count); n++) {
		struct top_look *former = before;

		if (pause_or_quit(terminal, opts->every_ms))
			return CLI_OK;
		r = top_look(client, cli->clock, now);
		if (r != 0)
			break;
		if (cli->json)
			print_json(before, now);
		else
			print_screen(terminal, before, now);
		if (fflush(stdout) != 0)
			return CLI_PIPE;
		before = now;
		now = former;
	}
	return r == 0 ? CLI_OK : cli_fail(cli, r, NULL);
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct tiffin_client *client;
	struct terminal terminal;
	struct top_look *looks;
	int status = cli_client(cli, &client);

	(void)words;
	if (status != CLI_OK)
		return status;
	if (opts->every_ms < 100 || opts->every_ms > 3600000)
		return cli_say(cli, CLI_USAGE, "--delay: 100ms to 1h");
	looks = calloc(2, sizeof(*looks));
	if (looks == NULL)
		return cli_say(cli, CLI_SYSTEM, "out of memory");
	interrupt_be_patient(); /* the terminal is to be left as it was */
	terminal_begin(&terminal);
	status = watch(cli, client, opts, &terminal, looks);
	terminal_end(&terminal);
	free(looks);
	return status;
}

const struct command cmd_top = {
	.name = "top",
	.run = run,
	.synopsis = "",
	.summary = "what the store does at the moment, shown anew each second",
	.help = "Shows space (# used, ~ resting, - free), what moved since the last look, and the "
		"segments.\n"
		"Press q to end.  When standard output is no terminal, screens follow each other; "
		"with\n"
		"--json each is one object on one line, with all rates a second.",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 0,
};
