/* SPDX-License-Identifier: Apache-2.0 */

/*
 * shim.c -- tiffin_fault.so, which stands between a program and libc by LD_PRELOAD.
 *
 *      program --> fate() --> libc          the call goes through
 *                   |
 *                   +-------> an error      its turn has come: errno, and libc never hears of it
 *
 * What fails, and when, stands in a page shared with the test (page.h).  The shim itself takes no
 * memory and no lock: it may be called from any thread, and from within malloc.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/fault/page.h"

#define SEEN         __attribute__((visibility("default")))
#define FRAMES_MAX   8
#define IOVS_MAX     64
#define SHORTEST_LEN 16u /* eventfds and the like have no halves */

static struct page *page; /* NULL: nothing ever fails */
static uintptr_t program_from, program_to;

static const int usual[] = {
#define ROW(name, class, failure) failure,
	PAGE_CALLS(ROW)
#undef ROW
};

/* ---- the beginning --------------------------------------------------------------------- */

static int
note_program(struct dl_phdr_info *object, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		uintptr_t from = object->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
			continue;
		program_from = from;
		program_to = from + part->p_memsz;
	}
	return 1; /* the first object is the program */
}

__attribute__((constructor)) static void
begin(void)
{
	const char *path = getenv("TIFFIN_FAULT_FILE");
	const char *spec = getenv("TIFFIN_FAULT");
	struct page *fresh = path != NULL ? page_map(path, false) : NULL;

	if (fresh == NULL)
		return;
	dl_iterate_phdr(note_program, NULL);
	if (spec != NULL && page_arm(fresh, spec) < 0) {
		static const char why[] = "tiffin_fault.so: TIFFIN_FAULT is no spec\n";

		(void)!write(STDERR_FILENO, why, sizeof(why) - 1);
		_exit(125);
	}
	/* What the program starts in its turn is left alone. */
	unsetenv("LD_PRELOAD");
	page = fresh;
}

/* ---- where it was ------------------------------------------------------------------------ */

static void
add_text(const char *text)
{
	size_t n = strlen(page->where), len = strlen(text);

	if (n + len + 1 < sizeof(page->where))
		memcpy(page->where + n, text, len + 1);
}

static void
add_place(uintptr_t at)
{
	char text[160], digits[2 * sizeof(at) + 1];
	const char *file = "?";
	Dl_info object;
	size_t n = sizeof(digits);

	if (dladdr((void *)at, &object) != 0 && object.dli_fname != NULL) {
		const char *slash = strrchr(object.dli_fname, '/');

		file = slash != NULL ? slash + 1 : object.dli_fname;
		at -= (uintptr_t)object.dli_fbase;
	}
	digits[--n] = '\0';
	do {
		digits[--n] = "0123456789abcdef"[at % 16];
		at /= 16;
	} while (at > 0 && n > 0);
	text[0] = ' ';
	text[1] = '\0';
	strncat(text, file, 100);
	strcat(text, "+0x");
	strcat(text, digits + n);
	add_text(text);
}

/* Frame pointers may hold anything: they are followed by a call that can fail. */
static void
write_down(enum page_call call, uintptr_t caller, uintptr_t frame)
{
	page->where[0] = '\0';
	add_text(page_name(call));
	add_place(caller);
	for (int i = 0; i < FRAMES_MAX; i++) {
		uintptr_t pair[2]; /* the next frame, and where it goes on */
		struct iovec here = {pair, sizeof(pair)}, there = {(void *)frame, sizeof(pair)};

		if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != (ssize_t)sizeof(pair))
			return;
		if (i > 0)
			add_place(pair[1]);
		if (pair[0] <= frame)
			return;
		frame = pair[0];
	}
}

/* ---- fate -------------------------------------------------------------------------------- */

/* fate -- 0: go on; else an errno or PAGE_SHORT. */
static int
fate(enum page_call call, void *caller, void *frame)
{
	uintptr_t at = (uintptr_t)caller;
	uint32_t n;
	int error, saved = errno;

	if (page == NULL)
		return 0;
	atomic_fetch_add_explicit(&page->n_calls[call], 1, memory_order_relaxed);
	if (!atomic_load_explicit(&page->is_armed, memory_order_acquire) ||
	    (page->calls >> call & 1) == 0)
		return 0;
	if (page->is_narrow && (at < program_from || at >= program_to))
		return 0;
	n = atomic_fetch_add(&page->n_seen, 1) + 1;
	if (n < page->first || (n > page->first && !page->goes_on))
		return 0;
	if (atomic_fetch_add(&page->n_failed, 1) == 0)
		write_down(call, at, (uintptr_t)frame);
	error = page->error != PAGE_USUAL ? page->error : usual[call];
	errno = saved;
	return error;
}

#define FATE(name) fate(PAGE_AT_##name, __builtin_return_address(0), __builtin_frame_address(0))

/* real -- the next function of that name. */
static void *
real(_Atomic(void *) *kept, const char *name)
{
	void *fn = atomic_load_explicit(kept, memory_order_relaxed);

	if (fn == NULL) {
		fn = dlsym(RTLD_NEXT, name);
		if (fn == NULL)
			abort();
		atomic_store_explicit(kept, fn, memory_order_relaxed);
	}
	return fn;
}

#define REAL(name)                                                                                 \
	({                                                                                         \
		static _Atomic(void *) kept;                                                       \
		(__typeof__(&name))real(&kept, #name);                                             \
	})

/* A function that answers `bad` and errno when its turn has come. */
#define WRAP(type, name, bad, parameters, ...)                                                     \
	SEEN type name parameters                                                                  \
	{                                                                                          \
		int error = FATE(name);                                                            \
                                                                                                   \
		if (error != 0 && error != PAGE_SHORT) {                                           \
			errno = error;                                                             \
			return bad;                                                                \
		}                                                                                  \
		return REAL(name)(__VA_ARGS__);                                                    \
	}

/* One that moves len bytes, or half of them. */
#define WRAP_MOVE(name, parameters, ...)                                                           \
	SEEN ssize_t name parameters                                                               \
	{                                                                                          \
		int error = FATE(name);                                                            \
                                                                                                   \
		if (error == PAGE_SHORT) {                                                         \
			len = len >= SHORTEST_LEN ? len / 2 : len;                                 \
		} else if (error != 0) {                                                           \
			errno = error;                                                             \
			return -1;                                                                 \
		}                                                                                  \
		return REAL(name)(__VA_ARGS__);                                                    \
	}

/* One that answers the error itself. */
#define WRAP_CODE(name, code, parameters, ...)                                                     \
	SEEN int name parameters                                                                   \
	{                                                                                          \
		int error = FATE(name);                                                            \
                                                                                                   \
		return error != 0 ? code : REAL(name)(__VA_ARGS__);                                \
	}

/* ---- memory -------------------------------------------------------------------------------- */

WRAP(void *, malloc, NULL, (size_t n), n)
WRAP(void *, calloc, NULL, (size_t n, size_t size), n, size)
WRAP(void *, realloc, NULL, (void *at, size_t n), at, n)
WRAP(char *, strdup, NULL, (const char *text), text)
WRAP(char *, strndup, NULL, (const char *text, size_t n), text, n)
WRAP(void *, aligned_alloc, NULL, (size_t align, size_t n), align, n)
WRAP(void *, mmap, MAP_FAILED, (void *at, size_t len, int prot, int flags, int fd, off_t offset),
     at, len, prot, flags, fd, offset)

/* ---- files --------------------------------------------------------------------------------- */

WRAP(int, memfd_create, -1, (const char *name, unsigned flags), name, flags)
WRAP(int, ftruncate, -1, (int fd, off_t len), fd, len)
WRAP_CODE(posix_fallocate, error, (int fd, off_t offset, off_t len), fd, offset, len)
WRAP(FILE *, fopen, NULL, (const char *path, const char *mode), path, mode)
WRAP_MOVE(read, (int fd, void *at, size_t len), fd, at, len)
WRAP_MOVE(write, (int fd, const void *at, size_t len), fd, at, len)
WRAP_MOVE(pread, (int fd, void *at, size_t len, off_t offset), fd, at, len, offset)
WRAP_MOVE(pread64, (int fd, void *at, size_t len, off_t offset), fd, at, len, offset)
WRAP_MOVE(pwrite, (int fd, const void *at, size_t len, off_t offset), fd, at, len, offset)
WRAP_MOVE(pwrite64, (int fd, const void *at, size_t len, off_t offset), fd, at, len, offset)
WRAP(int, fsync, -1, (int fd), fd)
WRAP(int, fdatasync, -1, (int fd), fd)
WRAP(int, flock, -1, (int fd, int op), fd, op)
WRAP(int, fchmod, -1, (int fd, mode_t mode), fd, mode)
WRAP(int, mkdir, -1, (const char *path, mode_t mode), path, mode)
WRAP(int, pipe2, -1, (int fds[2], int flags), fds, flags)

/* A mode that was not given is read all the same, and not used. */
static unsigned
mode_of(va_list list)
{
	return va_arg(list, unsigned);
}

#define WRAP_OPEN(name, parameters, last, ...)                                                     \
	SEEN int name parameters                                                                   \
	{                                                                                          \
		int error = FATE(name);                                                            \
		unsigned mode;                                                                     \
		va_list list;                                                                      \
                                                                                                   \
		va_start(list, last);                                                              \
		mode = mode_of(list);                                                              \
		va_end(list);                                                                      \
		if (error != 0) {                                                                  \
			errno = error;                                                             \
			return -1;                                                                 \
		}                                                                                  \
		return REAL(name)(__VA_ARGS__, mode);                                              \
	}

WRAP_OPEN(open, (const char *path, int flags, ...), flags, path, flags)
WRAP_OPEN(open64, (const char *path, int flags, ...), flags, path, flags)
WRAP_OPEN(openat, (int dir_fd, const char *path, int flags, ...), flags, dir_fd, path, flags)

SEEN int
ioctl(int fd, unsigned long request, ...)
{
	int error = FATE(ioctl);
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	if (error != 0) {
		errno = error;
		return -1;
	}
	return REAL(ioctl)(fd, request, arg);
}

/* ---- sockets ------------------------------------------------------------------------------- */

WRAP_MOVE(send, (int fd, const void *at, size_t len, int flags), fd, at, len, flags)
WRAP_MOVE(recv, (int fd, void *at, size_t len, int flags), fd, at, len, flags)
WRAP_MOVE(sendto,
	  (int fd, const void *at, size_t len, int flags, const struct sockaddr *to,
	   socklen_t to_len),
	  fd, at, len, flags, to, to_len)
WRAP_MOVE(recvfrom,
	  (int fd, void *at, size_t len, int flags, struct sockaddr *from, socklen_t *from_len), fd,
	  at, len, flags, from, from_len)

/* halve -- a message of the first half of the bytes; iovs has room for IOVS_MAX. */
static struct msghdr
halve(const struct msghdr *message, struct iovec *iovs)
{
	struct msghdr half = *message;
	size_t sum = 0, n = 0;

	if (message->msg_iovlen == 0 || message->msg_iovlen > IOVS_MAX)
		return half;
	for (size_t i = 0; i < message->msg_iovlen; i++)
		sum += message->msg_iov[i].iov_len;
	if (sum < SHORTEST_LEN)
		return half;
	for (sum /= 2; sum > 0; n++) {
		iovs[n] = message->msg_iov[n];
		if (iovs[n].iov_len > sum)
			iovs[n].iov_len = sum;
		sum -= iovs[n].iov_len;
	}
	half.msg_iov = iovs;
	half.msg_iovlen = n;
	return half;
}

SEEN ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
	int error = FATE(sendmsg);
	struct iovec iovs[IOVS_MAX];
	struct msghdr half;

	if (error == PAGE_SHORT) {
		half = halve(message, iovs);
		return REAL(sendmsg)(fd, &half, flags);
	}
	if (error != 0) {
		errno = error;
		return -1;
	}
	return REAL(sendmsg)(fd, message, flags);
}

SEEN ssize_t
recvmsg(int fd, struct msghdr *message, int flags)
{
	int error = FATE(recvmsg);
	struct iovec iovs[IOVS_MAX];
	struct msghdr half;
	ssize_t n;

	if (error == PAGE_SHORT) {
		half = halve(message, iovs);
		n = REAL(recvmsg)(fd, &half, flags);
		message->msg_namelen = half.msg_namelen;
		message->msg_controllen = half.msg_controllen;
		message->msg_flags = half.msg_flags;
		return n;
	}
	if (error != 0) {
		errno = error;
		return -1;
	}
	return REAL(recvmsg)(fd, message, flags);
}

WRAP(int, accept4, -1, (int fd, struct sockaddr *from, socklen_t *len, int flags), fd, from, len,
     flags)
WRAP(int, connect, -1, (int fd, const struct sockaddr *to, socklen_t len), fd, to, len)
WRAP(int, socket, -1, (int domain, int type, int protocol), domain, type, protocol)
WRAP(int, bind, -1, (int fd, const struct sockaddr *at, socklen_t len), fd, at, len)
WRAP(int, listen, -1, (int fd, int n), fd, n)
WRAP(int, setsockopt, -1, (int fd, int level, int name, const void *value, socklen_t len), fd,
     level, name, value, len)
WRAP(int, getsockopt, -1, (int fd, int level, int name, void *value, socklen_t *len), fd, level,
     name, value, len)

/* ---- waiting, threads, chance -------------------------------------------------------------- */

WRAP(int, epoll_create1, -1, (int flags), flags)
WRAP(int, epoll_ctl, -1, (int epoll_fd, int op, int fd, struct epoll_event *event), epoll_fd, op,
     fd, event)
WRAP(int, epoll_wait, -1, (int epoll_fd, struct epoll_event *events, int n, int wait_ms), epoll_fd,
     events, n, wait_ms)
WRAP(int, poll, -1, (struct pollfd * fds, nfds_t n, int wait_ms), fds, n, wait_ms)
WRAP(int, ppoll, -1,
     (struct pollfd * fds, nfds_t n, const struct timespec *wait, const sigset_t *signals), fds, n,
     wait, signals)
WRAP(int, eventfd, -1, (unsigned value, int flags), value, flags)
WRAP(ssize_t, getrandom, -1, (void *at, size_t len, unsigned flags), at, len, flags)
WRAP_CODE(pthread_create, error,
	  (pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg), thread,
	  attr, run, arg)

/* ---- SQLite -------------------------------------------------------------------------------- */

static int
code_of(int error)
{
	switch (error) {
	case ENOMEM:
		return SQLITE_NOMEM;
	case ENOSPC:
		return SQLITE_FULL;
	case EAGAIN:
		return SQLITE_BUSY;
	default:
		return SQLITE_IOERR;
	}
}

SEEN int
sqlite3_open_v2(const char *path, sqlite3 **ret, int flags, const char *vfs)
{
	int error = FATE(sqlite3_open_v2);

	if (error == 0)
		return REAL(sqlite3_open_v2)(path, ret, flags, vfs);
	*ret = NULL;
	return code_of(error);
}

SEEN int
sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **ret, const char **rest)
{
	int error = FATE(sqlite3_prepare_v2);

	if (error == 0)
		return REAL(sqlite3_prepare_v2)(db, sql, n, ret, rest);
	*ret = NULL;
	return code_of(error);
}

SEEN int
sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n, unsigned flags, sqlite3_stmt **ret,
		   const char **rest)
{
	int error = FATE(sqlite3_prepare_v3);

	if (error == 0)
		return REAL(sqlite3_prepare_v3)(db, sql, n, flags, ret, rest);
	*ret = NULL;
	return code_of(error);
}

WRAP_CODE(sqlite3_step, code_of(error), (sqlite3_stmt * stmt), stmt)

SEEN int
sqlite3_exec(sqlite3 *db, const char *sql, int (*fn)(void *, int, char **, char **), void *arg,
	     char **ret_why)
{
	int error = FATE(sqlite3_exec);

	if (error == 0)
		return REAL(sqlite3_exec)(db, sql, fn, arg, ret_why);
	if (ret_why != NULL)
		*ret_why = NULL;
	return code_of(error);
}
