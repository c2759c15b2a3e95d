/* SPDX-License-Identifier: Apache-2.0 */

/* main.c -- tiffin-master: options, the books, the loop, and a good end. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "master/http.h"
#include "master/options.h"
#include "master/server.h"
#include "master/settings.h"
#include "master/warm.h"
#include "transfer/base/err.h"
#include "transfer/base/home.h"
#include "transfer/base/log.h"
#include "transfer/base/loop.h"
#include "transfer/base/program.h"

/* Exit codes, as in tiffin-master(8). */
enum {
	EXIT_USAGE = PROGRAM_EXIT_USAGE,
	EXIT_SYSTEM = 3,
	EXIT_ADDRESS = 4, /* can't listen there */
	EXIT_IN_USE = 5,  /* another master has the database */
	EXIT_DAMAGED = 6, /* the database is damaged */
	EXIT_NEWER = 7,   /* the database is from a newer version */
};

static const char usage[] =
	"usage: tiffin-master [--option=value]...\n"
	"\n"
	"Keeps the books of a Tiffin store: which object lies where, under which lease.\n"
	"\n"
	"  --config=FILE    read the [master] section of FILE first (tiffin.conf(5))\n"
	"  --dump-config    print every setting as in force, and end\n"
	"  --new-key=FILE   make a cluster key, and end\n"
	"  --help           this text\n"
	"  --version        the version\n"
	"\n";

static int own_word(const char *word);

static const struct program program = {
	.name = "tiffin-master",
	.usage = usage,
	.options = &master_options_list,
	.own_word = own_word,
};

/* Where others of this kind serve theirs. */
#define HTTP_AUTO "127.0.0.1:9003"

/* So many records of one turn are committed by the loop itself: the puts of a few clients. */
#define HERE_MAX_RECORDS 16

static struct loop *signal_loop; /* set before signals are caught */
static volatile sig_atomic_t is_ending;

static void
on_signal(int number)
{
	(void)number;
	is_ending = 1;
	loop_wake(signal_loop);
}

static int
new_key(const char *path)
{
	char why[4200];
	int r = key_create(path);

	if (r == 0)
		return 0;
	snprintf(why, sizeof(why), "%s: %s", path, strerror(-r));
	return program_fail(&program, EXIT_SYSTEM, why);
}

static int
own_word(const char *word)
{
	static const char key[] = "--new-key=";

	if (strncmp(word, key, sizeof(key) - 1) != 0)
		return PROGRAM_WORD_UNKNOWN;
	return new_key(word + sizeof(key) - 1);
}

/* Settings that stand each for itself are judged by options.def; here are those that belong
 * together. */
static const char *
judge(const struct master_options *opts, mode_t *ret_mode)
{
	char *end;
	unsigned long mode = strtoul(opts->socket_mode, &end, 8);

	if (*end != '\0' || mode > 0777)
		return "socket_mode: not an octal mode, such as 0600";
	if (strcmp(opts->durability, "process") != 0 && strcmp(opts->durability, "power") != 0)
		return "durability: neither process nor power";
	if (strcmp(opts->tenants, "open") != 0 && strcmp(opts->tenants, "strict") != 0)
		return "tenants: neither open nor strict";
	if (opts->evict_low_pct >= opts->evict_high_pct)
		return "evict_low_pct: must be below evict_high_pct";
	if (opts->ping_ms * 2 > opts->client_ttl_ms)
		return "ping_ms: must be at most half of client_ttl_ms";
	*ret_mode = (mode_t)mode;
	return NULL;
}

static int
default_text(char **at, const char *dir, const char *fmt)
{
	char text[HOME_DIR_MAX + 64];
	int r;

	if ((*at)[0] != '\0')
		return 0;
	r = home_make(dir);
	if (r < 0)
		return err_up(r);
	snprintf(text, sizeof(text), fmt, dir);
	free(*at);
	*at = strdup(text);
	return *at == NULL ? err_new(-ENOMEM) : 0;
}

static int
fill_defaults(struct master_options *opts, char *why, size_t why_cap)
{
	struct home home;
	int r;

	home_init(&home, geteuid());
	r = default_text(&opts->db, home.state, "%s/master.db");
	if (r < 0)
		snprintf(why, why_cap, "%s: %s", home.state, strerror(-r));
	if (r == 0) {
		r = default_text(&opts->listen, home.run, "unix:%s/master.sock");
		if (r < 0)
			snprintf(why, why_cap, "%s: %s", home.run, strerror(-r));
	}
	return err_up(r);
}

static void
wake_loop(void *arg)
{
	loop_wake(arg);
}

/* ---- from the outside in: loop, store, master, server; then turns until the end ---- */

/* http_open -- as `http` says; *ret_http stays NULL when there is to be none. */
static int
http_open(const struct master_options *opts, struct asks *asks, struct http **ret_http, char *why,
	  size_t why_cap)
{
	bool is_auto = strcmp(opts->http, "auto") == 0;
	int r;

	if (strcmp(opts->http, "off") == 0)
		return 0;
	r = http_new(asks, is_auto ? HTTP_AUTO : opts->http, opts->insecure != 0, ret_http, why,
		     why_cap);
	if (r != HTTP_E_IN_USE || !is_auto)
		return r;
	log_event(LOG_WARN, "http_off", "why=\"%s\" cure=\"give --http=HOST:PORT, or --http=off\"",
		  why);
	return 0;
}

/* turns -- until the end. */
static int
turns(struct server *server, struct master *master, struct asks *asks)
{
	int r = 0;

	while (!is_ending && r >= 0) {
		r = server_turn(server);
		asks_answer(asks, master);
	}
	asks_close(asks);
	return r;
}

static int
serve(const struct master_options *opts, struct master *master, struct loop *loop, mode_t mode)
{
	cleanup_with(asks_free_at) struct asks *asks = NULL;
	cleanup_with(http_free_at) struct http *http = NULL;
	cleanup_with(server_free_at) struct server *server = NULL;
	struct server_config config = {
		.loop = loop,
		.master = master,
		.listen = opts->listen,
		.socket_mode = mode,
		.connections_max = (unsigned)opts->connections_max,
		.is_insecure = opts->insecure != 0,
	};
	char why[512];
	int r = server_new(&config, &server, why, sizeof(why));

	if (r != 0)
		return program_fail(&program, EXIT_ADDRESS, why);
	r = asks_new(loop, &asks);
	if (r == 0)
		r = http_open(opts, asks, &http, why, sizeof(why));
	if (r != 0)
		return program_fail(&program, r > 0 ? EXIT_ADDRESS : EXIT_SYSTEM, why);
	r = program_write_pidfile(opts->pidfile);
	if (r < 0) {
		snprintf(why, sizeof(why), "%.300s: %s", opts->pidfile, strerror(-r));
		return program_fail(&program, EXIT_SYSTEM, why);
	}
	log_event(LOG_INFO, "master_ready", "listen=\"%s\" db=%s http_port=%u",
		  server_addresses(server), opts->db, http == NULL ? 0u : http_port(http));
	if (opts->ready_fd != 0) {
		snprintf(why, sizeof(why), "ready %.400s\n", server_addresses(server));
		program_ready((int)opts->ready_fd, why);
	}
	r = turns(server, master, asks);
	program_drop_pidfile(opts->pidfile);
	log_event(LOG_INFO, "master_ending", "db=%s", opts->db);
	return r < 0 ? program_fail(&program, EXIT_SYSTEM, err_trail(why, sizeof(why))) : 0;
}

static int
code_of(int r)
{
	return r == STORE_E_IN_USE                     ? EXIT_IN_USE
	       : r == STORE_E_NEWER                    ? EXIT_NEWER
	       : r == STORE_E_DAMAGED || r == -EBADMSG ? EXIT_DAMAGED
						       : EXIT_SYSTEM;
}

/* take_orders -- without them the master works all the same.  NULL: there are none. */
static struct orders *
take_orders(const struct master_options *opts, struct master *master, struct loop *loop)
{
	struct known_setting known[SETTINGS_MAX];
	struct orders_config config = {
		.db = opts->db,
		.clock = clock_real(),
		.known = known,
		.n_known = settings_n(),
		.wake = wake_loop,
		.wake_arg = loop,
	};
	struct orders *orders;

	assert(settings_n() <= array_len(known));
	for (size_t i = 0; i < settings_n(); i++)
		known[i] = settings_known(&master->configured, i);
	if (orders_open(&config, &orders) < 0) {
		log_event(LOG_WARN, "orders_none", "db=%s", opts->db);
		return NULL;
	}
	master->orders = orders;
	return orders;
}

static int
keep_books(const struct master_options *opts, struct loop *loop, mode_t mode,
	   const struct cluster_key *key)
{
	cleanup_with(store_close_at) struct store *store = NULL;
	cleanup_with(warm_free_at) struct warm *warm = NULL;
	cleanup_with(master_free_at) struct master *master = NULL;
	cleanup_with(orders_close_at) struct orders *orders = NULL;
	struct rand rand;
	struct store_config store_config = {
		.path = opts->db,
		.clock = clock_real(),
		.wal_cap_bytes = opts->wal_cap_bytes,
		.sync_every_ms = opts->sync_every_ms,
		.lease_ms = opts->lease_ms,
		.here_max_records = HERE_MAX_RECORDS,
		.wake = wake_loop,
		.wake_arg = loop,
	};
	struct master_config config = {
		.clock = clock_real(),
		.rand = &rand,
		.key = *key,
		.limits =
			{
				.lease_ms = opts->lease_ms,
				.write_lease_ms = opts->write_lease_ms,
				.ping_ms = opts->ping_ms,
				.client_ttl_ms = opts->client_ttl_ms,
				.client_grace_ms = opts->client_grace_ms,
				.put_wait_ms = opts->put_wait_ms,
				.evict_high_pct = opts->evict_high_pct,
				.evict_low_pct = opts->evict_low_pct,
				.failing_rest_ms = opts->failing_rest_ms,
				.evict_soft_pins = opts->evict_soft_pins,
				.placement = opts->placement,
				.offload = opts->offload,
				.promote_uses = opts->promote_uses,
				.events_max = opts->events_max,
				.durable_power = strcmp(opts->durability, "power") == 0,
				.strict_tenants = strcmp(opts->tenants, "strict") == 0,
			},
	};
	char why[512];
	int r = rand_init_os(&rand);

	if (r < 0)
		return program_fail(&program, EXIT_SYSTEM, strerror(-r));
	r = store_open(&store_config, &store, why, sizeof(why));
	if (r == 0 && warm_new(&warm) == 0) /* it works without, too */
		config.warm = warm;
	if (r == 0)
		r = master_new(&config, &store, &master, why, sizeof(why));
	if (r == 0)
		orders = take_orders(opts, master, loop);
	if (r != 0)
		return program_fail(&program, code_of(r), why);
	return serve(opts, master, loop, mode);
}

static int
run(struct master_options *opts)
{
	cleanup_with(loop_free_at) struct loop *loop = NULL;
	struct cluster_key key = {0};
	enum log_level level;
	mode_t mode = 0;
	char why[4600];
	const char *wrong = judge(opts, &mode);
	int r;

	if (wrong != NULL)
		return program_fail(&program, EXIT_USAGE, wrong);
	if (log_level_parse(opts->log_level, &level) < 0)
		return program_fail(&program, EXIT_USAGE,
				    "log_level: none of error, warn, info, debug");
	log_set_sink(log_to_stderr, NULL, level);
	r = fill_defaults(opts, why, sizeof(why));
	if (r < 0)
		return program_fail(&program, EXIT_SYSTEM, why);
	if (opts->key_file[0] != '\0' && (r = key_load(opts->key_file, &key)) < 0) {
		snprintf(why, sizeof(why), "%s: %s", opts->key_file,
			 r == -EINVAL   ? "not a cluster key (64 hexadecimal digits)"
			 : r == -EACCES ? "others may read it: chmod 600"
					: strerror(-r));
		return program_fail(&program, EXIT_USAGE, why);
	}
	r = loop_new(&loop);
	if (r < 0)
		return program_fail(&program, EXIT_SYSTEM, strerror(-r));
	signal_loop = loop;
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	signal(SIGPIPE, SIG_IGN);
	return keep_books(opts, loop, mode, &key);
}

int
main(int argc, char **argv)
{
	struct master_options opts;
	int code;

	if (options_init(&master_options_list, &opts) < 0)
		return program_fail(&program, EXIT_SYSTEM, "out of memory");
	code = program_words(&program, &opts, argc, argv);
	if (code == PROGRAM_GOES_ON)
		code = run(&opts);
	options_fini(&master_options_list, &opts);
	return code;
}
