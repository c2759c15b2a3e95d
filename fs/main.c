/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tiffinfs -- the objects of a store as files.
 *
 *      parent                            child
 *      fork ---------------------------> join the master, mount, serve
 *      wait for one byte  <------------- the exit status, once a stat came back through the mount
 *      exit with it                      goes on without terminal
 *
 * In the foreground there is no parent; --ready-fd tells in both cases.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/mount.h"
#include "fs/syslog_sink.h"
#include "transfer/base/log.h"
#include "transfer/base/program.h"

#define LINE_MAX_BYTES 600

struct daemon {
	struct fs_options opts;
	int parent_fd; /* -1: there is none, or it was told */
};

/* Its words are those of mount(8): fs/options.h. */
static const struct program program = {.name = "tiffinfs"};

/* ---- logs ---- */

static void
log_to_syslog(void *arg, enum log_level level, const char *line)
{
	(void)arg;
	fs_syslog((int)level, line);
}

/* begin_log -- to the file, else to standard error in the foreground, else to syslog. */
static int
begin_log(const struct fs_options *opts)
{
	int fd;

	if (opts->log_file[0] == '\0' && !opts->is_foreground) {
		fs_syslog_open("tiffinfs");
		log_set_sink(log_to_syslog, NULL, opts->log_level_is);
		return 0;
	}
	if (opts->log_file[0] != '\0') {
		fd = open(opts->log_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		if (dup2(fd, STDERR_FILENO) < 0)
			return -errno;
		close(fd);
	}
	log_set_sink(log_to_stderr, NULL, opts->log_level_is);
	return 0;
}

/* ---- who waits for us ---- */

static void
leave_terminal(const struct fs_options *opts)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	if (opts->log_file[0] == '\0')
		dup2(fd, STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static void
tell_parent(struct daemon *d, int status)
{
	unsigned char byte = (unsigned char)status;

	if (d->parent_fd < 0)
		return;
	if (write(d->parent_fd, &byte, 1) < 0)
		log_event(LOG_WARN, "fs_parent", "errno=%d", errno);
	close(d->parent_fd);
	d->parent_fd = -1;
}

static void
ready(void *arg)
{
	struct daemon *d = arg;
	int r;

	r = program_write_pidfile(d->opts.pidfile);
	if (r < 0)
		log_event(LOG_WARN, "fs_pidfile", "path=\"%s\" errno=%d", d->opts.pidfile, -r);
	if (d->opts.ready_fd >= 0)
		program_ready(d->opts.ready_fd, "ready\n");
	if (!d->opts.is_foreground)
		leave_terminal(&d->opts);
	tell_parent(d, FS_EXIT_OK);
}

/* ---- serving ---- */

/* serve -- standard error is still the user's: a failure is told there. */
static int
serve(struct daemon *d)
{
	char why[LINE_MAX_BYTES];
	struct fs_mount *mount;
	int status;

	status = fs_mount_open(&d->opts, &mount, why, sizeof(why));
	if (status != FS_EXIT_OK) {
		log_event(LOG_ERROR, "fs_mount", "status=%d why=\"%s\"", status, why);
		return program_fail(&program, status, why);
	}
	status = fs_mount_serve(mount, ready, d);
	fs_mount_close(mount);
	program_drop_pidfile(d->opts.pidfile);
	if (status == FS_EXIT_SYSTEM)
		return program_fail(&program, status,
				    "no thread, descriptor or memory to serve with");
	return status;
}

static void
block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int
run(struct daemon *d)
{
	int status;
	int r;

	block_signals();
	r = begin_log(&d->opts);
	if (r < 0) {
		fprintf(stderr, "tiffinfs: %s: %s\n", d->opts.log_file, strerrordesc_np(-r));
		status = FS_EXIT_USAGE;
	} else {
		status = serve(d);
	}
	tell_parent(d, status);
	return status;
}

/* wait_for_child -- the byte is its status; none: it died. */
static int
wait_for_child(int fd)
{
	unsigned char byte;
	ssize_t n;

	do {
		n = read(fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	return n == 1 ? byte
		      : program_fail(&program, FS_EXIT_SYSTEM,
				     "the daemon died before the mount was ready");
}

static int
run_in_background(struct daemon *d)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return program_fail(&program, FS_EXIT_SYSTEM, strerrordesc_np(errno));
	pid = fork();
	if (pid < 0)
		return program_fail(&program, FS_EXIT_SYSTEM, strerrordesc_np(errno));
	if (pid > 0) {
		close(fds[1]);
		return wait_for_child(fds[0]);
	}

	close(fds[0]);
	d->parent_fd = fds[1];
	setsid();
	if (chdir("/") < 0)
		return program_fail(&program, FS_EXIT_SYSTEM, strerrordesc_np(errno));
	return run(d);
}

/* make_absolute -- the daemon leaves the directory it was called in. */
static int
make_absolute(char **path)
{
	char *cwd, *whole;

	if ((*path)[0] == '/' || (*path)[0] == '\0')
		return 0;
	cwd = getcwd(NULL, 0);
	if (cwd == NULL)
		return -errno;
	if (asprintf(&whole, "%s/%s", cwd, *path) < 0)
		whole = NULL;
	free(cwd);
	if (whole == NULL)
		return -ENOMEM;
	free(*path);
	*path = whole;
	return 0;
}

static int
begin(struct daemon *d)
{
	int r;

	if (d->opts.wants_help) {
		fs_options_print_help(stdout);
		return FS_EXIT_OK;
	}
	if (d->opts.wants_version) {
		printf("tiffinfs %s\n", TIFFIN_VERSION);
		return FS_EXIT_OK;
	}
	if (d->opts.is_fake)
		return FS_EXIT_OK;

	r = make_absolute(&d->opts.dir);
	if (r == 0)
		r = make_absolute(&d->opts.log_file);
	if (r == 0)
		r = make_absolute(&d->opts.pidfile);
	if (r == 0)
		r = make_absolute(&d->opts.key_file);
	if (r < 0)
		return program_fail(&program, FS_EXIT_SYSTEM, strerrordesc_np(-r));
	return d->opts.is_foreground ? run(d) : run_in_background(d);
}

int
main(int argc, char **argv)
{
	struct daemon d = {.parent_fd = -1};
	char why[LINE_MAX_BYTES];
	int status;

	if (fs_options_init(&d.opts) < 0)
		return program_fail(&program, FS_EXIT_SYSTEM, "no memory");
	if (fs_options_args(&d.opts, argc, argv, why, sizeof(why)) < 0)
		status = program_fail(&program, FS_EXIT_USAGE, why);
	else
		status = begin(&d);
	fs_options_fini(&d.opts);
	return status;
}
