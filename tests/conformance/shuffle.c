/* SPDX-License-Identifier: Apache-2.0 */

/*
 * shuffle -- random calls on one file, each compared with the same on a piece of memory.
 *
 *      shuffle SEED CALLS MAX_BYTES DIR...
 *
 * With one DIR, up to three descriptors are open at once, and mappings outlive them.  With several
 * (mounts of one store), the file is closed on one and opened on another: what was closed must be
 * there, at once and whole.
 *
 * A seed repeats a run.  On a difference: the last calls, what differs, and 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/conformance/chance.h"

#define FDS_MAX   3
#define STORY_MAX 40
#define AT_ONCE   ((size_t)192 << 10) /* bytes of one call at most */
#define PAGE      ((size_t)4096)

struct shuffle {
	uint64_t chance;
	size_t max_bytes;
	char **dirs;
	size_t n_dirs, dir;

	char *model; /* max_bytes; zeros beyond len */
	size_t len;
	char *buf; /* max_bytes */

	int fds[FDS_MAX]; /* -1: not open */
	int flags[FDS_MAX];
	bool is_late; /* published some time after close: cut to nothing by open, or by a mapping
		       * that outlived its descriptor */

	size_t n_calls;
	char story[STORY_MAX][120];
};

static void __attribute__((format(printf, 2, 3))) tell(struct shuffle *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(s->story[s->n_calls++ % STORY_MAX], sizeof(s->story[0]), fmt, args);
	va_end(args);
}

static void __attribute__((format(printf, 2, 3), noreturn))
differ(const struct shuffle *s, const char *fmt, ...)
{
	int error = errno;
	va_list args;

	for (size_t i = s->n_calls > STORY_MAX ? s->n_calls - STORY_MAX : 0; i < s->n_calls; i++)
		fprintf(stderr, "%6zu  %s\n", i, s->story[i % STORY_MAX]);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, " (errno %s, length %zu)\n", strerrorname_np(error), s->len);
	exit(1);
}

static const char *
path_in(const struct shuffle *s, size_t dir)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/shuffled", s->dirs[dir]);
	return path;
}

static const char *
path_of(const struct shuffle *s)
{
	return path_in(s, s->dir);
}

/* ---- what a call finds ---- */

/* without_pages -- the byte as the file system tells it when the kernel's page is dropped; -1: it
 * does not. */
static int
without_pages(const struct shuffle *s, size_t at)
{
	unsigned char byte;
	int fd = open(path_of(s), O_RDONLY);

	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0 ||
	    pread(fd, &byte, 1, (off_t)at) != 1)
		return -1;
	return byte;
}

static void
compare(const struct shuffle *s, const char *got, size_t at, size_t len, const char *what)
{
	for (size_t i = 0; i < len; i++)
		if (got[i] != s->model[at + i])
			differ(s, "%s: byte %zu (of %zu+%zu) is %02x, not %02x; without pages %02x",
			       what, at + i, at, len, (unsigned char)got[i],
			       (unsigned char)s->model[at + i], (unsigned)without_pages(s, at + i));
}

static void
compare_len(const struct shuffle *s, int fd, const char *what)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		differ(s, "%s: fstat", what);
	if ((size_t)st.st_size != s->len)
		differ(s, "%s: length %lld", what, (long long)st.st_size);
}

static void
read_and_compare(const struct shuffle *s, int fd, size_t at, size_t len)
{
	size_t there = at >= s->len ? 0 : s->len - at;
	size_t wanted = len < there ? len : there, n = 0;

	while (n < wanted) {
		ssize_t r = pread(fd, s->buf + n, len - n, (off_t)(at + n));

		if (r <= 0)
			differ(s, "read %zu+%zu: %zd at %zu", at, len, r, at + n);
		n += (size_t)r;
	}
	if (n != wanted || (n < len && pread(fd, s->buf + n, 1, (off_t)(at + n)) != 0))
		differ(s, "read %zu+%zu: bytes beyond the end", at, len);
	compare(s, s->buf, at, n, "read");
}

/* ---- descriptors ---- */

static int
writable(const struct shuffle *s, uint64_t *chance)
{
	size_t first = chance_below(chance, FDS_MAX);

	for (size_t i = 0; i < FDS_MAX; i++) {
		size_t slot = (first + i) % FDS_MAX;

		if (s->fds[slot] >= 0 && (s->flags[slot] & O_ACCMODE) != O_RDONLY)
			return (int)slot;
	}
	return -1;
}

/* readable -- one that may also write, when `and_write`. */
static int
readable(const struct shuffle *s, uint64_t *chance, bool and_write)
{
	size_t first = chance_below(chance, FDS_MAX);

	for (size_t i = 0; i < FDS_MAX; i++) {
		size_t slot = (first + i) % FDS_MAX;
		int mode = s->flags[slot] & O_ACCMODE;

		if (s->fds[slot] >= 0 && (mode == O_RDWR || (mode == O_RDONLY && !and_write)))
			return (int)slot;
	}
	return -1;
}

static void
set_len(struct shuffle *s, size_t len)
{
	if (len < s->len)
		memset(s->model + len, 0, s->len - len);
	s->len = len;
}

static void
open_slot(struct shuffle *s, size_t slot)
{
	static const int modes[] = {O_RDONLY, O_RDWR, O_RDWR, O_WRONLY};
	int flags = modes[chance_below(&s->chance, 4)];

	if (flags != O_RDONLY && chance_below(&s->chance, 6) == 0)
		flags |= O_APPEND;
	if (flags != O_RDONLY && chance_below(&s->chance, 12) == 0)
		flags |= O_TRUNC;
	tell(s, "open [%zu] on %zu flags=%#o", slot, s->dir, (unsigned)flags);
	s->fds[slot] = open(path_of(s), flags);
	s->flags[slot] = flags;
	if (s->fds[slot] < 0)
		differ(s, "open");
	if ((flags & O_TRUNC) != 0) {
		set_len(s, 0);
		s->is_late = true;
	}
	compare_len(s, s->fds[slot], "after open");
}

static void
close_slot(struct shuffle *s, size_t slot)
{
	if (s->fds[slot] < 0)
		return;
	tell(s, "close [%zu]", slot);
	if (close(s->fds[slot]) < 0)
		differ(s, "close");
	s->fds[slot] = -1;
}

static void
close_all(struct shuffle *s)
{
	for (size_t slot = 0; slot < FDS_MAX; slot++)
		close_slot(s, slot);
}

/* settle -- close all; what close does not promise is published by fsync. */
static void
settle(struct shuffle *s)
{
	int fd;

	close_all(s);
	if (!s->is_late)
		return;
	tell(s, "fsync of what is late");
	fd = open(path_of(s), O_RDWR);
	if (fd < 0 || fsync(fd) < 0 || close(fd) < 0)
		differ(s, "fsync of what is late");
	s->is_late = false;
}

/* move -- to another mount, where all that was closed must be seen. */
static void
move(struct shuffle *s)
{
	settle(s);
	s->dir = chance_below(&s->chance, s->n_dirs);
	open_slot(s, 0);
	if ((s->flags[0] & O_ACCMODE) != O_WRONLY && chance_below(&s->chance, 2) == 0)
		read_and_compare(s, s->fds[0], 0, s->len);
}

/* ---- calls ---- */

static size_t
some_len(struct shuffle *s)
{
	switch (chance_below(&s->chance, 4)) {
	case 0:
		return 1 + chance_below(&s->chance, 16);
	case 1:
		return PAGE * (1 + chance_below(&s->chance, 8));
	default:
		return 1 + chance_below(&s->chance, AT_ONCE - 1);
	}
}

/* some_place -- within the file, or a little beyond its end; so that len bytes have room. */
static size_t
some_place(struct shuffle *s, size_t *len)
{
	size_t at = chance_below(&s->chance, s->len + 20000);

	if (chance_below(&s->chance, 3) == 0)
		at = at / PAGE * PAGE;
	if (at >= s->max_bytes)
		at = s->max_bytes - 1;
	if (*len > s->max_bytes - at)
		*len = s->max_bytes - at;
	return at;
}

static void
call_write(struct shuffle *s)
{
	int slot = writable(s, &s->chance);
	size_t len = some_len(s), at = some_place(s, &len), n = 0;

	if (slot < 0)
		return;
	if ((s->flags[slot] & O_APPEND) != 0) {
		at = s->len;
		len = len < s->max_bytes - at ? len : s->max_bytes - at;
	}
	if (len == 0)
		return;
	chance_fill(s->buf, len, chance_next(&s->chance));
	tell(s, "write [%d] %zu+%zu", slot, at, len);
	while (n < len) {
		ssize_t r = pwrite(s->fds[slot], s->buf + n, len - n, (off_t)(at + n));

		if (r <= 0)
			differ(s, "write: %zd", r);
		n += (size_t)r;
	}
	memcpy(s->model + at, s->buf, len);
	if (at + len > s->len)
		s->len = at + len;
}

static void
call_read(struct shuffle *s)
{
	int slot = readable(s, &s->chance, false);
	size_t len = some_len(s), at = some_place(s, &len);

	if (slot < 0)
		return;
	tell(s, "read [%d] %zu+%zu", slot, at, len);
	read_and_compare(s, s->fds[slot], at, len);
}

static void
call_truncate(struct shuffle *s)
{
	int slot = writable(s, &s->chance), r;
	size_t len = chance_below(&s->chance, s->max_bytes);
	bool by_path = slot < 0 || chance_below(&s->chance, 3) == 0;

	if (chance_below(&s->chance, 3) != 0)
		len = chance_below(&s->chance, s->len + 1);
	tell(s, "truncate [%d] %zu%s", slot, len, by_path ? " by path" : "");
	r = by_path ? truncate(path_of(s), (off_t)len) : ftruncate(s->fds[slot], (off_t)len);
	if (r < 0)
		differ(s, "truncate");
	set_len(s, len);
}

static void
call_map(struct shuffle *s)
{
	bool is_write = chance_below(&s->chance, 2) == 0;
	int slot = readable(s, &s->chance, is_write);
	size_t at, len;
	bool outlives;
	char *map;

	if (slot < 0 || s->len == 0)
		return;
	at = chance_below(&s->chance, s->len) / PAGE * PAGE;
	len = 1 + chance_below(&s->chance, s->len - at < AT_ONCE ? s->len - at : AT_ONCE);
	outlives = s->n_dirs == 1 && chance_below(&s->chance, 4) == 0;
	tell(s, "map %s [%d] %zu+%zu%s", is_write ? "write" : "read", slot, at, len,
	     outlives ? " outlives" : "");
	map = mmap(NULL, len, is_write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		   s->fds[slot], (off_t)at);
	if (map == MAP_FAILED)
		differ(s, "mmap");
	if (outlives)
		close_slot(s, (size_t)slot);
	if (is_write) {
		chance_fill(map, len, chance_next(&s->chance));
		memcpy(s->model + at, map, len);
		if (chance_below(&s->chance, 2) == 0 && msync(map, len, MS_SYNC) < 0)
			differ(s, "msync");
	} else {
		compare(s, map, at, len, "map");
	}
	if (munmap(map, len) < 0)
		differ(s, "munmap");
	if (outlives && is_write)
		s->is_late = true;
}

static void
call_fsync(struct shuffle *s)
{
	int slot = writable(s, &s->chance);

	if (slot < 0)
		return;
	tell(s, "fsync [%d]", slot);
	if (fsync(s->fds[slot]) < 0)
		differ(s, "fsync");
}

static void
call_fallocate(struct shuffle *s)
{
	int slot = writable(s, &s->chance);
	size_t len = some_len(s), at = some_place(s, &len);

	if (slot < 0)
		return;
	tell(s, "fallocate [%d] %zu+%zu", slot, at, len);
	if (fallocate(s->fds[slot], 0, (off_t)at, (off_t)len) < 0)
		differ(s, "fallocate");
	if (at + len > s->len)
		s->len = at + len;
}

static void
call_stat(struct shuffle *s)
{
	struct stat st;

	tell(s, "stat");
	if (stat(path_of(s), &st) < 0 || (size_t)st.st_size != s->len)
		differ(s, "stat: length %lld", (long long)st.st_size);
}

static void
call_open(struct shuffle *s)
{
	size_t slot = chance_below(&s->chance, FDS_MAX);

	if (s->fds[slot] >= 0)
		close_slot(s, slot);
	else
		open_slot(s, slot);
}

static void
call_drop_pages(struct shuffle *s)
{
	int slot = readable(s, &s->chance, false);

	if (slot < 0)
		return;
	tell(s, "drop pages [%d]", slot);
	posix_fadvise(s->fds[slot], 0, 0, POSIX_FADV_DONTNEED);
}

/* call_rename -- away and back; what is open goes on. */
static void
call_rename(struct shuffle *s)
{
	char other[4096];

	snprintf(other, sizeof(other), "%s/away", s->dirs[s->dir]);
	tell(s, "rename and back");
	if (rename(path_of(s), other) < 0 || rename(other, path_of(s)) < 0)
		differ(s, "rename");
}

/* call_copy -- within the file, to a place that does not overlap. */
static void
call_copy(struct shuffle *s)
{
	int slot = readable(s, &s->chance, true);
	size_t half = s->len / 2, len = chance_below(&s->chance, half + 1), n = 0;
	loff_t from, to;

	if (slot < 0 || len == 0 || (s->flags[slot] & O_APPEND) != 0)
		return;
	from = (loff_t)chance_below(&s->chance, half - len + 1);
	to = (loff_t)(half + chance_below(&s->chance, half));
	if ((size_t)to + len > s->max_bytes)
		return;
	tell(s, "copy [%d] %lld+%zu to %lld", slot, (long long)from, len, (long long)to);
	memmove(s->model + to, s->model + from, len);
	while (n < len) {
		ssize_t r = copy_file_range(s->fds[slot], &from, s->fds[slot], &to, len - n, 0);

		if (r <= 0)
			differ(s, "copy_file_range: %zd", r);
		n += (size_t)r;
	}
	if ((size_t)to > s->len)
		s->len = (size_t)to;
}

static void
call_seek(struct shuffle *s)
{
	int slot = readable(s, &s->chance, false);
	size_t at = chance_below(&s->chance, s->len + 100);
	off_t data, hole;

	if (slot < 0)
		return;
	tell(s, "seek [%d] %zu", slot, at);
	data = lseek(s->fds[slot], (off_t)at, SEEK_DATA);
	hole = lseek(s->fds[slot], (off_t)at, SEEK_HOLE);
	if (at >= s->len ? data >= 0 || hole >= 0
			 : (size_t)hole < at || (size_t)hole > s->len ||
				   (data >= 0 && (size_t)data < at))
		differ(s, "seek: data %lld hole %lld", (long long)data, (long long)hole);
}

static const struct {
	size_t weight;
	void (*run)(struct shuffle *s);
} calls[] = {
	{22, call_write}, {20, call_read},      {8, call_truncate}, {14, call_map},
	{5, call_fsync},  {3, call_fallocate},  {6, call_stat},     {10, call_open},
	{6, move},        {2, call_drop_pages}, {2, call_rename},   {4, call_copy},
	{2, call_seek},
};

static void
call_any(struct shuffle *s)
{
	size_t all = 0, n;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		all += calls[i].weight;
	n = chance_below(&s->chance, all);
	for (size_t i = 0;; n -= calls[i++].weight) {
		if (n < calls[i].weight) {
			calls[i].run(s);
			return;
		}
	}
}

static void
begin(struct shuffle *s)
{
	int fd = open(path_of(s), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	s->model = calloc(1, s->max_bytes);
	s->buf = malloc(s->max_bytes);
	if (fd < 0 || s->model == NULL || s->buf == NULL || close(fd) < 0)
		differ(s, "create");
	for (size_t slot = 0; slot < FDS_MAX; slot++)
		s->fds[slot] = -1;
}

/* finish -- closed for good, it is the same everywhere. */
static void
finish(struct shuffle *s)
{
	settle(s);
	for (size_t dir = 0; dir < s->n_dirs; dir++) {
		int fd = open(path_in(s, dir), O_RDONLY);

		tell(s, "the end, on %zu", dir);
		if (fd < 0)
			differ(s, "open at the end");
		compare_len(s, fd, "at the end");
		read_and_compare(s, fd, 0, s->len);
		close(fd);
	}
	if (unlink(path_of(s)) < 0)
		differ(s, "unlink");
	free(s->model);
	free(s->buf);
}

int
main(int argc, char **argv)
{
	struct shuffle s = {0};
	size_t n_calls;

	if (argc < 5) {
		fputs("usage: shuffle SEED CALLS MAX_BYTES DIR...\n", stderr);
		return 2;
	}
	s.chance = chance_number(argv[1]);
	n_calls = chance_number(argv[2]);
	s.max_bytes = chance_number(argv[3]);
	s.dirs = argv + 4;
	s.n_dirs = (size_t)argc - 4;

	begin(&s);
	for (size_t i = 0; i < n_calls; i++)
		call_any(&s);
	finish(&s);
	printf("seed=%s calls=%zu\n", argv[1], s.n_calls);
	return 0;
}
