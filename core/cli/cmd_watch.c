/* SPDX-License-Identifier: Apache-2.0 */

/* watch -- what changes below a prefix, as it happens. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/cli/command.h"
#include "core/cli/interrupt.h"
#include "core/cli/key_text.h"
#include "transfer/base/json.h"
#include "transfer/base/num.h"

#define LOOK_MS 200 /* so often: was Ctrl-C pressed? */

struct opts {
	const char *after;
	uint64_t count;
};

static const struct arg_def defs[] = {
	{'\0', "after", ARG_TEXT, offsetof(struct opts, after), "POSITION", NULL,
	 "go on where another watch ended, as it told"},
	{'n', "count", ARG_NUMBER, offsetof(struct opts, count), "N", NULL,
	 "end after so many; without it: at Ctrl-C"},
};

/* One run; the library's thread prints, ours waits for is_over. */
struct watching {
	struct cli *cli;
	struct tiffin_watch *watch;
	uint64_t count, n;
	struct tiffin_position at; /* behind what was printed */
	atomic_bool is_over;
	int over_fd; /* eventfd: readable once it is */
};

static const char *
kind_of(int change)
{
	switch (change) {
	case TIFFIN_CHANGE_PUT:
		return "put";
	case TIFFIN_CHANGE_REMOVED:
		return "removed";
	case TIFFIN_CHANGE_ATTR:
		return "attr";
	default:
		return "overflow";
	}
}

static const char *
position_show(char buf[48], struct tiffin_position at)
{
	snprintf(buf, 48, "%" PRIu64 ".%" PRIu64, at.epoch, at.number);
	return buf;
}

static void
print_json(const struct watching *watching, const char *kind, const char *key, uint64_t object_id)
{
	char position[48];
	struct json json;

	json_init(&json, stdout);
	json_open_object(&json, NULL);
	json_text(&json, "kind", kind);
	if (key != NULL) {
		json_key(&json, "key", key);
		json_id(&json, "object_id", object_id);
	}
	json_text(&json, "position", position_show(position, watching->at));
	json_close(&json);
}

static void
print(const struct watching *watching, const char *kind, const char *key, uint64_t object_id)
{
	char shown[KEY_TEXT_CAP];

	if (watching->cli->json)
		print_json(watching, kind, key, object_id);
	else if (watching->cli->nul)
		printf("%s%s%s%c", kind, key != NULL ? " " : "", key != NULL ? key : "", '\0');
	else if (key != NULL)
		printf("%-8s %s\n", kind, key_show(shown, sizeof(shown), key));
	else
		printf("%s\n", kind);
	fflush(stdout);
}

static void
on_change(void *arg, int change, const char *key, uint64_t object_id)
{
	struct watching *watching = arg;

	if (atomic_load(&watching->is_over))
		return;
	tiffin_watch_position(watching->watch, &watching->at);
	print(watching, kind_of(change), key, object_id);
	watching->n++;
	if (watching->n != watching->count && !ferror(stdout))
		return;
	atomic_store(&watching->is_over, true);
	(void)eventfd_write(watching->over_fd, 1); /* else it is seen at the next look */
}

static void
wait_for_end(const struct watching *watching)
{
	struct pollfd over = {.fd = watching->over_fd, .events = POLLIN};

	while (!atomic_load(&watching->is_over) && !interrupted())
		(void)poll(&over, 1, LOOK_MS);
}

/* parse_position -- "EPOCH.NUMBER". */
static int
parse_position(const char *text, struct tiffin_position *ret)
{
	const char *dot = strchr(text, '.');
	char epoch[24];

	if (dot == NULL || (size_t)(dot - text) >= sizeof(epoch))
		return -1;
	memcpy(epoch, text, (size_t)(dot - text));
	epoch[dot - text] = '\0';
	return num_parse(epoch, &ret->epoch) != 0 || num_parse(dot + 1, &ret->number) != 0 ||
			       ret->epoch == 0
		       ? -1
		       : 0;
}

/* watch -- until its end.  Exit status. */
static int
watch(struct watching *watching, const struct tiffin_watch_options *options)
{
	struct tiffin_position at;
	struct tiffin_client *client;
	char position[48];
	int r, status = cli_client(watching->cli, &client);

	if (status != CLI_OK)
		return status;
	r = tiffin_watch_resume(client, options, on_change, watching, &watching->watch);
	if (r != 0)
		return cli_fail(watching->cli, r, options->prefix);
	wait_for_end(watching);
	tiffin_watch_position(watching->watch, &at);
	tiffin_watch_close(watching->watch);
	cli_note(watching->cli, "to go on from here: --after %s",
		 position_show(position, watching->n > 0 ? watching->at : at));
	return watching->is_over ? CLI_OK : CLI_INTERRUPTED;
}

static int
run(struct cli *cli, const void *opts_at, struct operands words)
{
	const struct opts *opts = opts_at;
	struct tiffin_watch_options options = {.prefix = words.n > 0 ? words.at[0] : ""};
	struct watching watching = {.cli = cli, .count = opts->count};
	int status;

	if (opts->after != NULL && parse_position(opts->after, &options.after) < 0)
		return cli_say(cli, CLI_USAGE,
			       "--after %s: no position: another watch tells one when it ends",
			       opts->after);
	watching.over_fd = eventfd(0, EFD_CLOEXEC);
	if (watching.over_fd < 0)
		return cli_fail_system(cli, -errno, "watching");
	status = watch(&watching, &options);
	close(watching.over_fd);
	return status;
}

const struct command cmd_watch = {
	.name = "watch",
	.run = run,
	.synopsis = "[PREFIX]",
	.summary = "what changes below a prefix, as it happens",
	.help = "Prints a line for every key that is put, removed or gets other attributes, until\n"
		"Ctrl-C.  With -0 each is kind, blank, key and NUL; with --json an object.\n"
		"\n"
		"The line 'overflow' says that some changes were missed and are not known any "
		"more:\n"
		"after a restart of the master, or when very much has changed while nobody read.  "
		"At its\n"
		"end a watch tells its position, with --json each line does: --after goes on "
		"there.\n"
		"\n"
		"  tiffin watch models/\n"
		"  tiffin watch --json -n 1 jobs/done",
	.args = {defs, array_len(defs)},
	.opts_bytes = sizeof(struct opts),
	.min_words = 0,
	.max_words = 1,
};
