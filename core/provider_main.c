/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tiffin-provider -- lends memory of this machine, or room on its disk, to the store.
 *
 *      options -> open (join the master) -> mount (touch the memory, serve it) -> ready
 *              -> SIGTERM, SIGINT -> unmount, leave -> 0
 *
 * Signals are blocked in all threads and taken by the main one alone.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/mount.h"
#include "core/provider_options.h"
#include "core/tiffin.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/program.h"

/* Exit codes, as in tiffin-provider(8). */
enum {
	EXIT_USAGE = PROGRAM_EXIT_USAGE,
	EXIT_SYSTEM = 3,
	EXIT_UNREACHABLE = 4, /* no master there */
	EXIT_IN_USE = 5,      /* the file, the name or the address belongs to another provider */
	EXIT_DENIED = 6,      /* cluster key, tenant, version */
	EXIT_NO_ROOM = 7,     /* not so much memory */
	EXIT_DAMAGED = 8,     /* the file holds something else, or a segment of another size */
	EXIT_INTERRUPTED = 130,
};

#define LET_GO_PAUSE_MS 50

static const char usage[] =
	"usage: tiffin-provider [--option=value]...\n"
	"\n"
	"Lends memory of this machine, or room on its disk, to a Tiffin store, until it gets "
	"SIGTERM.\n"
	"\n"
	"  --config=FILE    read the [provider] section of FILE first (tiffin.conf(5))\n"
	"  --dump-config    print every setting as in force, and end\n"
	"  --foreground     stay in the foreground (it always does)\n"
	"  --help           this text\n"
	"  --version        the version\n"
	"\n";

static int
own_word(const char *word)
{
	return strcmp(word, "--foreground") == 0 ? PROGRAM_GOES_ON : PROGRAM_WORD_UNKNOWN;
}

static const struct program program = {
	.name = "tiffin-provider",
	.usage = usage,
	.options = &provider_options_list,
	.own_word = own_word,
};

static int
exit_of(int r)
{
	switch (r) {
	case TIFFIN_E_INVALID:
		return EXIT_USAGE;
	case TIFFIN_E_UNREACHABLE:
	case TIFFIN_E_TIMEOUT:
		return EXIT_UNREACHABLE;
	case TIFFIN_E_BUSY:
	case TIFFIN_E_EXISTS:
		return EXIT_IN_USE;
	case TIFFIN_E_DENIED:
	case TIFFIN_E_VERSION:
		return EXIT_DENIED;
	case TIFFIN_E_NO_SPACE:
		return EXIT_NO_ROOM;
	case TIFFIN_E_CHECKSUM:
		return EXIT_DAMAGED;
	default:
		return EXIT_SYSTEM;
	}
}

static bool
is_mode(const char *text)
{
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	return *end == '\0' && mode > 0 && mode <= 0777;
}

/* ---- signals ----------------------------------------------------------------------- */

static sigset_t
ending_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return set;
}

static void
block_signals(void)
{
	sigset_t set = ending_signals();

	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

/* is_to_end -- without waiting. */
static bool
is_to_end(void)
{
	sigset_t set = ending_signals();
	const struct timespec now = {0};

	return sigtimedwait(&set, NULL, &now) > 0;
}

static void
wait_for_end(void)
{
	sigset_t set = ending_signals();
	int number;

	while (sigwait(&set, &number) != 0)
		continue;
}

/* ---- progress ------------------------------------------------------------------------ */

/* Memory is touched once at start: 16 GiB take some seconds, which are shown to people. */
static void
on_progress(void *arg, uint64_t done_bytes, uint64_t all_bytes)
{
	const bool *is_terminal = arg;
	char done[32], all[32];

	if (is_to_end()) /* nothing was mounted: there is nothing to give back */
		_exit(program_fail(&program, EXIT_INTERRUPTED, "interrupted"));
	if (!*is_terminal)
		return;
	fprintf(stderr, "\rmaking memory ready: %s of %s (%u%%)%s",
		num_show_bytes(done, sizeof(done), done_bytes),
		num_show_bytes(all, sizeof(all), all_bytes),
		(unsigned)(all_bytes > 0 ? 100.0 * (double)done_bytes / (double)all_bytes : 100.0),
		done_bytes == all_bytes ? "\n" : "");
}

/* ---- the program ----------------------------------------------------------------------- */

/* note_pid -- 0 or the exit code. */
static int
note_pid(const char *path)
{
	char why[4200];
	int r = program_write_pidfile(path);

	if (r == 0)
		return 0;
	snprintf(why, sizeof(why), "%s: %s", path, strerror(-r));
	return program_fail(&program, EXIT_SYSTEM, why);
}

static void
name_segment(const struct provider_options *opts, char *ret, size_t cap)
{
	char host[128] = "host";

	if (opts->name[0] != '\0') {
		snprintf(ret, cap, "%s", opts->name);
		return;
	}
	(void)gethostname(host, sizeof(host) - 1);
	snprintf(ret, cap, "%s.%ld", host, (long)getpid());
}

/* or_null -- an option that was not given. */
static const char *
or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

static void
tell_ready(const struct provider_options *opts, const char *name, uint64_t segment_id)
{
	char line[512];

	log_event(LOG_INFO, "provider_ready", "segment=%" PRIu64 " name=%s size=%" PRIu64,
		  segment_id, name, opts->size);
	if (opts->ready_fd == 0)
		return;
	snprintf(line, sizeof(line), "ready segment=%" PRIu64 " name=%.255s\n", segment_id, name);
	program_ready((int)opts->ready_fd, line);
}

/* mount -- a provider that was killed a moment ago may not have let go of its file yet, and what
 * an unmounted segment held may still be promised to readers: wait a little. */
static int
mount(struct tiffin_client *client, const struct tiffin_mount_options *options,
      const struct provider_options *opts, uint64_t *ret_segment_id)
{
	const struct clock *clock = clock_real();
	uint64_t until_ns = clock_ns(clock) + opts->wait_ms * NS_PER_MS;
	const struct mount_door door = {opts->insecure != 0,
					(mode_t)strtoul(opts->socket_mode, NULL, 8),
					or_null(opts->rdma)};
	int r;

	do {
		r = mount_open(client, options, &door, ret_segment_id);
		if (r != TIFFIN_E_BUSY || is_to_end())
			break;
		clock_sleep_ms(clock, LET_GO_PAUSE_MS);
	} while (clock_ns(clock) < until_ns);
	return r;
}

/* lend -- mount, and stay until we are to end.  Gives the exit code. */
static int
lend(const struct provider_options *opts, struct tiffin_client *client, const char *name)
{
	bool is_terminal = isatty(STDERR_FILENO);
	struct tiffin_mount_options options = {
		.struct_bytes = sizeof(options),
		.name = name,
		.path = or_null(opts->path),
		.file = or_null(opts->file),
		.file_sync = opts->file_sync != 0,
		.nof = or_null(opts->nof),
		.nof_nsid = (uint32_t)opts->nof_nsid,
		.nof_connect = or_null(opts->nof_connect),
		.listen = or_null(opts->listen),
		.size_bytes = num_align_up(opts->size, 4096),
		.wipe = opts->wipe != 0,
		.huge_pages = opts->huge_pages != 0,
		.progress = on_progress,
		.progress_arg = &is_terminal,
	};
	uint64_t segment_id;
	int r;

	r = mount(client, &options, opts, &segment_id);
	if (r != 0)
		return program_fail(&program, exit_of(r), tiffin_why());
	r = note_pid(opts->pidfile);
	if (r != 0)
		return r;
	tell_ready(opts, name, segment_id);

	wait_for_end();
	log_event(LOG_INFO, "provider_ending", "segment=%" PRIu64, segment_id);
	program_drop_pidfile(opts->pidfile);
	return 0;
}

static int
run(const struct provider_options *opts)
{
	struct tiffin_client *client;
	char name[256];
	struct tiffin_options options = {
		.struct_bytes = sizeof(options),
		.master = or_null(opts->master),
		.name = name,
		.key_file = or_null(opts->key_file),
		.open_ms = (uint32_t)opts->wait_ms,
	};
	int r;

	name_segment(opts, name, sizeof(name));
	r = tiffin_open(&options, &client);
	if (r != 0)
		return program_fail(&program, exit_of(r), tiffin_why());
	r = lend(opts, client, name);
	tiffin_close(client);
	return r;
}

int
main(int argc, char **argv)
{
	struct provider_options opts = {0};
	enum log_level level;
	int r;

	if (options_init(&provider_options_list, &opts) < 0)
		return program_fail(&program, EXIT_SYSTEM, "out of memory");
	r = program_words(&program, &opts, argc, argv);
	if (r == PROGRAM_GOES_ON && !is_mode(opts.socket_mode))
		r = program_fail(&program, EXIT_USAGE,
				 "socket_mode: not an octal mode, such as 0600");
	if (r == PROGRAM_GOES_ON && log_level_parse(opts.log_level, &level) < 0)
		r = program_fail(&program, EXIT_USAGE,
				 "log_level: not one of error, warn, info, debug");
	if (r == PROGRAM_GOES_ON) {
		log_set_sink(log_to_stderr, NULL, level);
		block_signals();
		r = run(&opts);
	}
	options_fini(&provider_options_list, &opts);
	return r;
}
