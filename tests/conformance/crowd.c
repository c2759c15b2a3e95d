/* SPDX-License-Identifier: Apache-2.0 */

/*
 * crowd -- many processes do to the same few names whatever programs do, at one or several mounts.
 *
 *      crowd SEED WORKERS CALLS FILES DIR...
 *
 * A file tells its own length and bytes, so whoever reads one can say whether it is whole:
 *
 *      d?/f?   come by rename: whole for everybody, always
 *      own-?   written in place: whole for who reads at another mount
 *      log-?   appended to by one worker, an open and close a line: in the end all lines, in order
 *      l?      made with O_EXCL by whoever is first, who is then alone until it is removed
 *      e?, s?  directories and links that come and go
 *
 * Every call may fail with the errors that its race can make, and with no other.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/chance.h"

#define N_DIRS      3
#define N_LOCKS     2
#define LEN_MAX     ((size_t)300000)
#define WORKERS_MAX 64
#define MAGIC       0x7469666663726f77u

struct head {
	uint64_t magic, len_bytes, seed;
};

/* What all processes see. */
struct shared {
	_Atomic int holders[N_LOCKS];
	_Atomic int has_failed;
	_Atomic size_t n_lines[WORKERS_MAX];
};

struct worker {
	size_t number, n_workers, n_dirs,
		n_files; /* files: in each directory, the fewer the hotter */
	const char *dir;
	uint64_t chance;
	struct shared *shared;
	char *buf; /* LEN_MAX + 1 */
};

static void __attribute__((format(printf, 2, 3), noreturn))
fail(const struct worker *w, const char *fmt, ...)
{
	int error = errno;
	char text[700];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(stderr, "worker %zu pid %d at %s: %s (errno %s)\n", w->number, getpid(), w->dir,
		text, strerrorname_np(error));
	atomic_store(&w->shared->has_failed, 1);
	_exit(1);
}

/* may -- r, or the end when the call failed for another reason than these (0: no more). */
static int
may(const struct worker *w, int r, const char *what, const char *path, ...)
{
	int error = errno, allowed;
	va_list args;

	if (r >= 0)
		return r;
	va_start(args, path);
	while ((allowed = va_arg(args, int)) != 0 && allowed != error)
		;
	va_end(args);
	errno = error;
	if (allowed == 0)
		fail(w, "%s %s", what, path);
	return r;
}

static const char *__attribute__((format(printf, 2, 3)))
path_of(const struct worker *w, const char *fmt, ...)
{
	static char paths[4][4096];
	static unsigned turn;
	char *path = paths[turn++ % 4];
	int n = snprintf(path, sizeof(paths[0]), "%s/", w->dir);
	va_list args;

	va_start(args, fmt);
	vsnprintf(path + n, sizeof(paths[0]) - (size_t)n, fmt, args);
	va_end(args);
	return path;
}

static size_t
any(struct worker *w, size_t n)
{
	return chance_below(&w->chance, n);
}

static const char *
some_file(struct worker *w)
{
	size_t dir = any(w, N_DIRS);

	return path_of(w, "d%zu/f%zu", dir, any(w, w->n_files));
}

/* ---- files that tell what they are ---- */

static size_t
make_bytes(struct worker *w)
{
	struct head head = {.magic = MAGIC, .seed = chance_next(&w->chance)};

	head.len_bytes = sizeof(head) + any(w, any(w, 8) == 0 ? LEN_MAX - sizeof(head) : 6000);
	memcpy(w->buf, &head, sizeof(head));
	chance_fill(w->buf + sizeof(head), head.len_bytes - sizeof(head), head.seed);
	return head.len_bytes;
}

static void
judge_bytes(const struct worker *w, const char *bytes, size_t len, const char *path)
{
	struct head head;

	if (len < sizeof(head))
		fail(w, "%s: %zu bytes are no file", path, len);
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != MAGIC || head.len_bytes != len)
		fail(w, "%s: says it has %llu bytes, has %zu", path,
		     (unsigned long long)head.len_bytes, len);
	for (size_t i = sizeof(head); i < len; i++) {
		unsigned char byte;

		chance_fill(&byte, 1, head.seed + (i - sizeof(head)) * 0x9e3779b97f4a7c15u);
		if ((unsigned char)bytes[i] != byte)
			fail(w, "%s: byte %zu of %zu is another version's", path, i, len);
	}
}

/* write_new -- in one or more pieces, closed. */
static void
write_new(struct worker *w, const char *path, int flags)
{
	size_t len = make_bytes(w), n = 0;
	int fd = may(w, open(path, O_WRONLY | O_CREAT | flags, 0644), "create", path, 0);

	while (n < len) {
		size_t piece = 1 + any(w, len - n);

		if (write(fd, w->buf + n, piece) != (ssize_t)piece)
			fail(w, "write %s", path);
		n += piece;
	}
	if (any(w, 8) == 0)
		may(w, fsync(fd), "fsync", path, 0);
	may(w, close(fd), "close", path, 0);
}

static void
judge_map(const struct worker *w, int fd, size_t len, const char *path)
{
	char *map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED)
		fail(w, "mmap %s", path);
	judge_bytes(w, map, len, path);
	munmap(map, len);
}

/* open_newest -- the kernel looks a path up anew once; replaced twice at another mount meanwhile,
 * it is ESTALE. */
static int
open_newest(const struct worker *w, const char *path)
{
	int fd = w->n_dirs > 1 ? may(w, open(path, O_RDONLY), "open", path, ENOENT, ESTALE, 0) : -1;

	if (fd >= 0 || (w->n_dirs > 1 && errno == ENOENT))
		return fd;
	return may(w, open(path, O_RDONLY), "open", path, ENOENT, 0);
}

static void
read_whole(struct worker *w, const char *path)
{
	int fd = open_newest(w, path);
	struct stat st;
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return;
	may(w, fstat(fd, &st), "fstat", path, 0);
	while ((n = read(fd, w->buf + len, LEN_MAX + 1 - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		fail(w, "read %s at %zu", path, len);
	judge_bytes(w, w->buf, len, path);
	if (len != (size_t)st.st_size)
		fail(w, "%s: %zu bytes, fstat says %lld", path, len, (long long)st.st_size);
	if (any(w, 4) == 0)
		judge_map(w, fd, len, path);
	close(fd);
}

/* ---- calls ---- */

static void
call_put(struct worker *w)
{
	const char *temporary = path_of(w, "d%zu/t-%zu", any(w, N_DIRS), w->number);
	const char *path = some_file(w);

	write_new(w, temporary, O_EXCL);
	may(w, rename(temporary, path), "rename to", path, 0);
}

static void
call_put_if_none(struct worker *w)
{
	const char *temporary = path_of(w, "t-%zu", w->number), *path = some_file(w);

	write_new(w, temporary, O_EXCL);
	if (may(w, renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE),
		"rename, if none, to", path, EEXIST, 0) < 0)
		may(w, unlink(temporary), "unlink", temporary, 0);
}

static void
call_read(struct worker *w)
{
	read_whole(w, some_file(w));
}

static void
call_unlink(struct worker *w)
{
	const char *path = some_file(w);

	may(w, unlink(path), "unlink", path, ENOENT, 0);
}

static void
call_rename(struct worker *w)
{
	const char *from = some_file(w), *to = some_file(w);

	may(w, rename(from, to), "rename", from, ENOENT, 0);
}

static void
call_exchange(struct worker *w)
{
	const char *from = some_file(w), *to = some_file(w);

	may(w, renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE), "exchange", from, ENOENT,
	    0);
}

/* call_own -- in place; who reads at another mount finds the one before or this one. */
static void
call_own(struct worker *w)
{
	write_new(w, path_of(w, "own-%zu", w->number), O_TRUNC);
}

static void
call_read_own(struct worker *w)
{
	size_t other = any(w, w->n_workers);

	if (other == w->number || other % w->n_dirs != w->number % w->n_dirs)
		read_whole(w, path_of(w, "own-%zu", other));
}

static void
call_log(struct worker *w)
{
	const char *path = path_of(w, "log-%zu", w->number);
	int fd = may(w, open(path, O_WRONLY | O_APPEND | O_CREAT, 0644), "open", path, 0);
	char line[40];
	int n;

	n = snprintf(line, sizeof(line), "%zu\n", atomic_load(&w->shared->n_lines[w->number]));
	if (write(fd, line, (size_t)n) != n)
		fail(w, "append to %s", path);
	may(w, close(fd), "close", path, 0);
	atomic_fetch_add(&w->shared->n_lines[w->number], 1);
}

static void
call_lock(struct worker *w)
{
	size_t lock = any(w, N_LOCKS);
	const char *path = path_of(w, "l%zu", lock);
	int fd = may(w, open(path, O_WRONLY | O_CREAT | O_EXCL, 0600), "lock", path, EEXIST, 0);
	int r;

	if (fd < 0)
		return;
	r = may(w, fsync(fd), "fsync of the lock", path, EEXIST, 0);
	if (r == 0 && atomic_fetch_add(&w->shared->holders[lock], 1) != 0)
		fail(w, "%s: two hold it", path);
	may(w, close(fd), "close of the lock", path, r == 0 ? 0 : EEXIST, 0);
	if (r < 0)
		return;
	atomic_fetch_sub(&w->shared->holders[lock], 1);
	may(w, unlink(path), "unlock", path, 0);
}

static void
call_dirs(struct worker *w)
{
	const char *dir = path_of(w, "e%zu", any(w, 4)), *other = path_of(w, "e%zu", any(w, 4));
	char inside[4200];
	int fd;

	switch (any(w, 4)) {
	case 0:
		may(w, mkdir(dir, 0755), "mkdir", dir, EEXIST, 0);
		break;
	case 1:
		may(w, rmdir(dir), "rmdir", dir, ENOENT, ENOTEMPTY, 0);
		break;
	case 2:
		may(w, rename(dir, other), "rename of a directory",
		    path_of(w, "%s -> %s", strrchr(dir, 0x2f), strrchr(other, 0x2f)), ENOENT,
		    ENOTEMPTY, EEXIST, 0);
		break;
	default:
		snprintf(inside, sizeof(inside), "%s/in-%zu", dir, w->number);
		fd = may(w, open(inside, O_WRONLY | O_CREAT, 0644), "create in", dir, ENOENT, 0);
		if (fd >= 0)
			may(w, close(fd), "close in", dir, 0);
		may(w, unlink(inside), "unlink in", dir, ENOENT, 0);
	}
}

/* call_list -- who stays all the time is listed exactly once: d? in the root, and log-? once they
 * are there. */
static void
call_list(struct worker *w)
{
	const char *path = any(w, 2) == 0 ? w->dir : path_of(w, "d%zu", any(w, N_DIRS));
	bool has_log = atomic_load(&w->shared->n_lines[w->number]) > 0;
	size_t n_dirs = 0, n_logs = 0;
	DIR *dir = opendir(path);
	struct dirent *entry;
	struct stat st;
	char log[32];

	if (dir == NULL)
		fail(w, "opendir %s", path);
	snprintf(log, sizeof(log), "log-%zu", w->number);
	while (errno = 0, (entry = readdir(dir)) != NULL) {
		n_dirs += entry->d_name[0] == 'd';
		n_logs += strcmp(entry->d_name, log) == 0;
		if (any(w, 4) == 0)
			may(w, fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW), "stat",
			    entry->d_name, ENOENT, 0);
	}
	if (errno != 0)
		fail(w, "readdir %s", path);
	if (path == w->dir && (n_dirs != N_DIRS || n_logs != has_log))
		fail(w, "%s: %zu directories and %zu logs are listed", path, n_dirs, n_logs);
	closedir(dir);
}

static void
call_attributes(struct worker *w)
{
	int stale = w->n_dirs > 1 ? ESTALE : ENOENT; /* replaced twice at another mount, as above */
	const char *path = some_file(w);
	struct statfs room;
	char value[16];

	switch (any(w, 5)) {
	case 0:
		may(w, chmod(path, 0600 + (mode_t)any(w, 0100)), "chmod", path, ENOENT, stale, 0);
		break;
	case 1:
		may(w, utimensat(AT_FDCWD, path, NULL, 0), "utimens", path, ENOENT, stale, 0);
		break;
	case 2:
		may(w, setxattr(path, "user.who", "crowd", 5, 0), "setxattr", path, ENOENT, stale,
		    0);
		break;
	case 3:
		may(w, (int)getxattr(path, "user.who", value, sizeof(value)), "getxattr", path,
		    ENOENT, ENODATA, stale, 0);
		break;
	default:
		may(w, statfs(path, &room), "statfs", path, ENOENT, 0);
	}
}

static void
call_link(struct worker *w)
{
	const char *path = path_of(w, "s%zu", any(w, 3));
	char target[64];

	switch (any(w, 3)) {
	case 0:
		may(w, symlink("d0/f0", path), "symlink", path, EEXIST, 0);
		break;
	case 1:
		may(w, unlink(path), "unlink", path, ENOENT, 0);
		break;
	default:
		if (may(w, (int)readlink(path, target, sizeof(target)), "readlink", path, ENOENT,
			0) >= 0 &&
		    memcmp(target, "d0/f0", 5) != 0)
			fail(w, "%s leads elsewhere", path);
	}
}

static const struct {
	size_t weight;
	void (*run)(struct worker *w);
} calls[] = {
	{16, call_put},       {4, call_put_if_none}, {24, call_read}, {5, call_unlink},
	{6, call_rename},     {3, call_exchange},    {6, call_own},   {8, call_read_own},
	{5, call_log},        {4, call_lock},        {8, call_dirs},  {4, call_list},
	{8, call_attributes}, {4, call_link},
};

static void
work(struct worker *w, size_t n_calls)
{
	size_t all = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		all += calls[i].weight;
	for (size_t n = 0; n < n_calls && !atomic_load(&w->shared->has_failed); n++) {
		size_t pick = any(w, all), i = 0;

		while (pick >= calls[i].weight)
			pick -= calls[i++].weight;
		calls[i].run(w);
	}
}

/* ---- before and after ---- */

/* names_in -- all names of a directory, in order, one a line. */
static char *
names_in(const struct worker *w, const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, alphasort);
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (n < 0 || out == NULL)
		fail(w, "scandir %s", path);
	for (int i = 0; i < n; i++) {
		fprintf(out, "%s\n", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	fclose(out);
	return text;
}

/* same_names -- at each mount, within two seconds. */
static void
same_names(const struct worker *at, size_t n, const char *below)
{
	const struct timespec pause = {.tv_nsec = 20000000};

	for (size_t i = 1; i < n; i++) {
		char *a = NULL, *b = NULL;
		bool is_same = false;

		for (int tries = 0; tries < 100 && !is_same; tries++) {
			if (tries > 0)
				nanosleep(&pause, NULL);
			free(a);
			free(b);
			a = names_in(&at[0], path_of(&at[0], "%s", below));
			b = names_in(&at[i], path_of(&at[i], "%s", below));
			is_same = strcmp(a, b) == 0;
		}
		if (!is_same)
			fail(&at[i], "\"%s\" has other names:\n%s--- than:\n%s", below, b, a);
		free(a);
		free(b);
	}
}

static void
check_log(const struct worker *w, size_t number)
{
	const char *path = path_of(w, "log-%zu", number);
	size_t wanted = atomic_load(&w->shared->n_lines[number]), line = 0, found;
	FILE *log = fopen(path, "r");

	if (log == NULL && wanted == 0)
		return;
	if (log == NULL)
		fail(w, "open %s", path);
	for (; fscanf(log, "%zu\n", &found) == 1; line++)
		if (found != line)
			fail(w, "%s: line %zu is %zu", path, line, found);
	if (line != wanted)
		fail(w, "%s: %zu lines, not %zu", path, line, wanted);
	fclose(log);
}

static void
remove_below(const struct worker *w, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (dir == NULL)
		fail(w, "opendir %s", path);
	while ((entry = readdir(dir)) != NULL) {
		char below[4096 + 300];
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		may(w, lstat(below, &st), "lstat", below, 0);
		if (S_ISDIR(st.st_mode))
			remove_below(w, below);
		may(w, S_ISDIR(st.st_mode) ? rmdir(below) : unlink(below), "remove", below, 0);
	}
	closedir(dir);
}

/* remove_dirs -- one that lost its last file at a mount, and has no marker, is there for that mount
 * only. */
static void
remove_dirs(const struct worker *at, size_t n_dirs)
{
	for (size_t i = 0; i < n_dirs * 4; i++)
		may(&at[i / 4], rmdir(path_of(&at[i / 4], "e%zu", i % 4)), "rmdir at the end", "e",
		    ENOENT, ENOTEMPTY, 0);
}

static void
look_at_all(struct worker *at, size_t n_dirs, size_t n_workers)
{
	char below[8];

	/* One that lost its last file at a mount, and has no marker, is there for that mount only.
	 */
	for (size_t i = 0; i < n_dirs * 4; i++)
		may(&at[i / 4], rmdir(path_of(&at[i / 4], "e%zu", i % 4)), "rmdir at the end", "e",
		    ENOENT, ENOTEMPTY, 0);
	same_names(at, n_dirs, "");
	for (size_t i = 0; i < N_DIRS; i++) {
		snprintf(below, sizeof(below), "d%zu", i);
		same_names(at, n_dirs, below);
	}
	for (size_t i = 0; i < n_dirs; i++) {
		for (size_t j = 0; j < N_DIRS * at[i].n_files; j++)
			read_whole(&at[i], path_of(&at[i], "d%zu/f%zu", j % N_DIRS, j / N_DIRS));
		for (size_t j = 0; j < n_workers; j++) {
			read_whole(&at[i], path_of(&at[i], "own-%zu", j));
			check_log(&at[i], j);
		}
	}
	remove_below(&at[0], at[0].dir);
	remove_dirs(at, n_dirs);
	same_names(at, n_dirs, "");
}

static size_t
wait_for_all(size_t n)
{
	size_t n_bad = 0;
	int code;

	for (size_t i = 0; i < n; i++)
		if (wait(&code) < 0 || code != 0)
			n_bad++;
	return n_bad;
}

int
main(int argc, char **argv)
{
	struct worker at[8] = {0};
	size_t n_workers, n_calls, n_dirs = (size_t)argc - 5;
	struct shared *shared;
	uint64_t seed;

	if (argc < 6 || n_dirs > 8 || (n_workers = chance_number(argv[2])) > WORKERS_MAX) {
		fputs("usage: crowd SEED WORKERS CALLS FILES DIR...\n", stderr);
		return 2;
	}
	seed = chance_number(argv[1]);
	n_calls = chance_number(argv[3]);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	for (size_t i = 0; i < n_dirs; i++)
		at[i] = (struct worker){.number = i,
					.n_workers = n_workers,
					.n_dirs = n_dirs,
					.n_files = chance_number(argv[4]),
					.dir = argv[5 + i],
					.shared = shared,
					.buf = malloc(LEN_MAX + 1)};
	for (size_t i = 0; i < N_DIRS; i++)
		may(&at[0], mkdir(path_of(&at[0], "d%zu", i), 0755), "mkdir", "d", 0);
	for (size_t i = 1; i < n_dirs; i++)
		same_names(at, n_dirs, "");

	for (size_t i = 0; i < n_workers; i++) {
		struct worker w = at[i % n_dirs];

		w.number = i;
		w.chance = seed * 1000003 + i;
		if (fork() == 0) {
			work(&w, n_calls);
			_exit(0);
		}
	}
	if (wait_for_all(n_workers) > 0)
		return 1;
	look_at_all(at, n_dirs, n_workers);
	printf("seed=%s workers=%zu calls=%zu mounts=%zu\n", argv[1], n_workers, n_calls, n_dirs);
	return 0;
}
