/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/cli/interrupt.h"
#include "transfer/base/clock.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"

#define LOG_TAIL_BYTES 4096
#define LOG_TAIL_LINES 12
#define GRACE_MS       5000

extern char **environ;

struct process {
	pid_t pid;
	uint64_t start; /* ticks since boot */
};

int
daemon_init(struct daemon *daemon, const char *name, const char *run, const char *state)
{
	int n;

	*daemon = (struct daemon){.name = name};
	n = snprintf(daemon->record, PATH_MAX, "%s/%s.pid", run, name);
	if (n < 0 || n >= PATH_MAX)
		return err_new(-ENAMETOOLONG);
	n = snprintf(daemon->log, PATH_MAX, "%s/%s.log", state, name);
	if (n < 0 || n >= PATH_MAX)
		return err_new(-ENAMETOOLONG);
	return 0;
}

/* ---- which process is it -------------------------------------------------------- */

/* start_of -- of a process that is there and no zombie. */
static bool
start_of(pid_t pid, uint64_t *ret_start)
{
	char path[64], line[1024], *at, state;
	size_t n;
	FILE *from;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	from = fopen(path, "re");
	if (from == NULL)
		return false;
	n = fread(line, 1, sizeof(line) - 1, from);
	fclose(from);
	line[n] = '\0';

	/* Field 2 is the name in brackets, and may hold anything. */
	at = strrchr(line, ')');
	return at != NULL &&
	       sscanf(at + 1,
		      " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		      "%" SCNu64,
		      &state, ret_start) == 2 &&
	       state != 'Z' && state != 'X';
}

/* is_program -- does the process run the program of that name?  Its file may have been replaced. */
static bool
is_program(pid_t pid, const char *name)
{
	static const char gone[] = " (deleted)";
	char path[64], exe[PATH_MAX];
	const char *slash;
	size_t len;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return false;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (slash == NULL)
		return false;
	len = strlen(slash + 1);
	if (len > strlen(gone) && strcmp(slash + 1 + len - strlen(gone), gone) == 0)
		len -= strlen(gone);
	return len == strlen(name) && memcmp(slash + 1, name, len) == 0;
}

pid_t
daemon_pid(const struct daemon *daemon)
{
	FILE *from = fopen(daemon->record, "re");
	uint64_t start, recorded = 0;
	int pid = 0, n;

	if (from == NULL)
		return 0;
	n = fscanf(from, "%d %" SCNu64, &pid, &recorded);
	fclose(from);
	if (n != 2 || pid <= 0 || !start_of(pid, &start) || start != recorded)
		return 0;
	return is_program(pid, daemon->name) ? pid : 0;
}

static int
write_record(const struct daemon *daemon, struct process process)
{
	char text[64];
	int fd, n, r = 0;

	n = snprintf(text, sizeof(text), "%d %" PRIu64 "\n", (int)process.pid, process.start);
	fd = open(daemon->record, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return err_new(-errno);
	if (write(fd, text, (size_t)n) != n)
		r = err_new(-EIO);
	close(fd);
	return r;
}

/* wait_gone -- 0 or -ETIMEDOUT, -errno. */
static int
wait_gone(int pidfd, uint64_t wait_ms)
{
	struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};
	int r = poll(&poll_fd, 1, (int)num_min(wait_ms, INT_MAX));

	if (r < 0)
		return err_new(-errno);
	return r == 0 ? -ETIMEDOUT : 0;
}

/* ---- start --------------------------------------------------------------------- */

/* spawn -- in a session of its own, the log at 1 and 2, the pipe at DAEMON_READY_FD. */
static int
spawn(const struct daemon *daemon, char *const *argv, int ready_fd, pid_t *ret_pid)
{
	char path[PATH_MAX];
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, defaults;
	int r;

	if (program_find(daemon->name, path) != 0)
		return DAEMON_E_NOT_FOUND;

	sigemptyset(&none);
	sigfillset(&defaults);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, daemon->log, O_WRONLY | O_CREAT | O_APPEND,
					 0600);
	posix_spawn_file_actions_adddup2(&files, 1, 2);
	posix_spawn_file_actions_adddup2(&files, ready_fd, DAEMON_READY_FD);

	r = posix_spawn(ret_pid, path, &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return r != 0 ? err_new(-r) : 0;
}

/* ready_pipe -- both ends above DAEMON_READY_FD, or dup2 would leave one of them close-on-exec. */
static int
ready_pipe(int ret_ends[2])
{
	int ends[2], high;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_new(-errno);
	high = fcntl(ends[1], F_DUPFD_CLOEXEC, DAEMON_READY_FD + 1);
	if (high < 0) {
		int r = err_new(-errno);

		close(ends[0]);
		close(ends[1]);
		return r;
	}
	close(ends[1]);
	ret_ends[0] = ends[0];
	ret_ends[1] = high;
	return 0;
}

/* wait_ready -- 0, DAEMON_E_FAILED, DAEMON_E_TIMEOUT. */
static int
wait_ready(int fd, uint64_t wait_ms)
{
	uint64_t until_ms = clock_ms(clock_real()) + wait_ms;

	for (;;) {
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
		uint64_t now_ms = clock_ms(clock_real());
		char line[256];
		ssize_t n;
		int r;

		if (interrupted())
			return DAEMON_E_FAILED;
		if (now_ms >= until_ms)
			return DAEMON_E_TIMEOUT;
		r = poll(&poll_fd, 1, (int)num_min(until_ms - now_ms, INT_MAX));
		if (r < 0 && errno != EINTR)
			return DAEMON_E_FAILED;
		if (r <= 0)
			continue;
		n = read(fd, line, sizeof(line));
		if (n <= 0)
			return DAEMON_E_FAILED;
		if (memchr(line, '\n', (size_t)n) != NULL)
			return 0;
	}
}

/* end_child -- one that cannot be used.  It has no word to say any more. */
static void
end_child(pid_t pid)
{
	cleanup_with(fd_close_at) int pidfd = pidfd_open(pid, 0);

	kill(pid, SIGTERM);
	if (pidfd < 0 || wait_gone(pidfd, GRACE_MS) < 0)
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int
daemon_start(const struct daemon *daemon, char *const *argv, uint64_t wait_ms, pid_t *ret_pid)
{
	struct process process = {0};
	int ends[2] = {-1, -1}, r;

	r = ready_pipe(ends);
	if (r < 0)
		return err_up(r);
	r = spawn(daemon, argv, ends[1], &process.pid);
	close(ends[1]);
	if (r == 0) {
		r = wait_ready(ends[0], wait_ms);
		if (r == 0 && !start_of(process.pid, &process.start))
			r = DAEMON_E_FAILED;
		if (r == 0)
			r = write_record(daemon, process);
		if (r != 0)
			end_child(process.pid);
	}
	close(ends[0]);
	if (r == 0)
		*ret_pid = process.pid;
	return r < 0 ? err_up(r) : r;
}

/* ---- stop ---------------------------------------------------------------------- */

/* open_running -- *ret_pidfd -1: none runs. */
static int
open_running(const struct daemon *daemon, int *ret_pidfd)
{
	pid_t pid = daemon_pid(daemon);
	int fd;

	*ret_pidfd = -1;
	if (pid == 0)
		return 0;
	fd = pidfd_open(pid, 0);
	if (fd < 0)
		return errno == ESRCH ? 0 : err_new(-errno);

	/* The number may have changed hands before the descriptor held it. */
	if (daemon_pid(daemon) != pid) {
		close(fd);
		return 0;
	}
	*ret_pidfd = fd;
	return 0;
}

int
daemon_wait(const struct daemon *daemon, uint64_t wait_ms)
{
	cleanup_with(fd_close_at) int pidfd = -1;
	int r = open_running(daemon, &pidfd);

	if (r < 0)
		return err_up(r);
	if (pidfd >= 0) {
		r = wait_gone(pidfd, wait_ms);
		if (r < 0)
			return r;
	}
	unlink(daemon->record);
	return 0;
}

int
daemon_stop(const struct daemon *daemon, uint64_t wait_ms)
{
	cleanup_with(fd_close_at) int pidfd = -1;
	int r = open_running(daemon, &pidfd);

	if (r < 0)
		return err_up(r);
	if (pidfd >= 0) {
		if (pidfd_send_signal(pidfd, SIGTERM, NULL, 0) < 0 && errno != ESRCH)
			return err_new(-errno);
		r = wait_gone(pidfd, wait_ms);
		if (r == -ETIMEDOUT) {
			pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
			r = wait_gone(pidfd, wait_ms);
		}
		if (r < 0)
			return err_up(r);
	}
	unlink(daemon->record);
	return 0;
}

/* ---- its log ------------------------------------------------------------------- */

uint64_t
daemon_log_bytes(const struct daemon *daemon)
{
	struct stat st;

	return stat(daemon->log, &st) == 0 ? (uint64_t)st.st_size : 0;
}

void
daemon_print_log(const struct daemon *daemon, uint64_t from_bytes, FILE *to)
{
	uint64_t end = daemon_log_bytes(daemon), start = num_min(from_bytes, end);
	char tail[LOG_TAIL_BYTES + 1];
	const char *at;
	size_t n, n_lines = 0;
	FILE *from = fopen(daemon->log, "re");

	if (from == NULL)
		return;
	if (end - start > LOG_TAIL_BYTES)
		start = end - LOG_TAIL_BYTES;
	if (fseek(from, (long)start, SEEK_SET) < 0)
		rewind(from);
	n = fread(tail, 1, LOG_TAIL_BYTES, from);
	fclose(from);

	for (at = tail + n; at > tail; at--)
		if (at[-1] == '\n' && at < tail + n && ++n_lines == LOG_TAIL_LINES)
			break;
	fwrite(at, 1, (size_t)(tail + n - at), to);
}
