/* SPDX-License-Identifier: Apache-2.0 */

/*
 * page.h -- the page through which a test speaks with tiffin_fault.so in another process.
 *
 *      test                                   program under the shim
 *      arm "alloc:37"  ----> [ page ] <----   every call counts itself; the 37th fails
 *      look at n_failed <----        ----->   writes down where that was
 *
 * The page is a file that both map.  The shim finds it by TIFFIN_FAULT_FILE, and arms itself by
 * TIFFIN_FAULT when that is set, so that the calls of a program's start can be reached too.
 *
 * A spec is WHAT:N[+][:ERROR].  WHAT is a function's name or one of these:
 *
 *      alloc    malloc calloc realloc strdup strndup aligned_alloc
 *      sys      every system call, each with the failure that is likeliest for it
 *      intr     those that a signal can interrupt: EINTR
 *      short    transfers of bytes: half of them
 *      sqlite   sqlite3_open_v2, _prepare_v2, _prepare_v3, _step, _exec: SQLITE_IOERR
 *
 * N counts from 1; with + all later ones fail too.  ERROR is ENOMEM, ENOSPC, EIO, EMFILE, EINTR,
 * EAGAIN, ECONNRESET, EPIPE, short, or for sqlite NOMEM, FULL, BUSY, IOERR.
 */
#ifndef TESTS_FAULT_PAGE_H
#define TESTS_FAULT_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGE_MAGIC 0x7469666675u
#define PAGE_SHORT 10000 /* an error that is none: half of the bytes */
#define PAGE_USUAL 0     /* the failure that is likeliest for the function */

/* X(function, class, usual failure); the place in the list is its bit and its counter. */
#define PAGE_CALLS(X)                                                                              \
	X(malloc, ALLOC, ENOMEM)                                                                   \
	X(calloc, ALLOC, ENOMEM)                                                                   \
	X(realloc, ALLOC, ENOMEM)                                                                  \
	X(strdup, ALLOC, ENOMEM)                                                                   \
	X(strndup, ALLOC, ENOMEM)                                                                  \
	X(aligned_alloc, ALLOC, ENOMEM)                                                            \
	X(mmap, SYS, ENOMEM)                                                                       \
	X(memfd_create, SYS, EMFILE)                                                               \
	X(ftruncate, SYS, ENOSPC)                                                                  \
	X(posix_fallocate, SYS, ENOSPC)                                                            \
	X(open, SYS | INTR, EMFILE)                                                                \
	X(open64, SYS | INTR, EMFILE)                                                              \
	X(openat, SYS | INTR, EMFILE)                                                              \
	X(fopen, SYS, EMFILE)                                                                      \
	X(read, SYS | INTR | SHORT, EIO)                                                           \
	X(write, SYS | INTR | SHORT, ENOSPC)                                                       \
	X(pread, SYS | INTR | SHORT, EIO)                                                          \
	X(pread64, SYS | INTR | SHORT, EIO)                                                        \
	X(pwrite, SYS | INTR | SHORT, ENOSPC)                                                      \
	X(pwrite64, SYS | INTR | SHORT, ENOSPC)                                                    \
	X(fsync, SYS, EIO)                                                                         \
	X(fdatasync, SYS, EIO)                                                                     \
	X(send, SYS | INTR | SHORT, ECONNRESET)                                                    \
	X(sendto, SYS | INTR | SHORT, ECONNRESET)                                                  \
	X(sendmsg, SYS | INTR | SHORT, ECONNRESET)                                                 \
	X(recv, SYS | INTR | SHORT, ECONNRESET)                                                    \
	X(recvfrom, SYS | INTR | SHORT, ECONNRESET)                                                \
	X(recvmsg, SYS | INTR | SHORT, ECONNRESET)                                                 \
	X(accept4, SYS | INTR, EMFILE)                                                             \
	X(connect, SYS, ECONNREFUSED)                                                              \
	X(socket, SYS, EMFILE)                                                                     \
	X(bind, SYS, EADDRINUSE)                                                                   \
	X(listen, SYS, EADDRINUSE)                                                                 \
	X(setsockopt, SYS, ENOMEM)                                                                 \
	X(getsockopt, SYS, ENOBUFS)                                                                \
	X(epoll_create1, SYS, EMFILE)                                                              \
	X(epoll_ctl, SYS, ENOMEM)                                                                  \
	X(epoll_wait, SYS | INTR, EINTR)                                                           \
	X(poll, SYS | INTR, EINTR)                                                                 \
	X(ppoll, SYS | INTR, EINTR)                                                                \
	X(eventfd, SYS, EMFILE)                                                                    \
	X(pthread_create, SYS, EAGAIN)                                                             \
	X(getrandom, SYS | INTR, EINTR)                                                            \
	X(ioctl, SYS, EIO)                                                                         \
	X(flock, SYS | INTR, ENOLCK)                                                               \
	X(fchmod, SYS, EPERM)                                                                      \
	X(mkdir, SYS, ENOSPC)                                                                      \
	X(pipe2, SYS, EMFILE)                                                                      \
	X(sqlite3_open_v2, SQLITE, EIO)                                                            \
	X(sqlite3_prepare_v2, SQLITE, EIO)                                                         \
	X(sqlite3_prepare_v3, SQLITE, EIO)                                                         \
	X(sqlite3_step, SQLITE, EIO)                                                               \
	X(sqlite3_exec, SQLITE, EIO)

enum {
	PAGE_ALLOC = 1,
	PAGE_SYS = 2,
	PAGE_INTR = 4,
	PAGE_SHORTENS = 8,
	PAGE_SQLITE = 16,
};

#define PAGE_IN_LIST(name, class, failure) PAGE_AT_##name,
enum page_call { PAGE_CALLS(PAGE_IN_LIST) PAGE_N_CALLS };

struct page {
	uint64_t magic;
	uint64_t calls; /* bits by enum page_call: which count */
	uint32_t first; /* the first that fails, from 1 */
	int32_t error;  /* an errno, PAGE_SHORT or PAGE_USUAL */
	bool goes_on;   /* and all later ones */
	bool is_narrow; /* only calls of the program itself, not those of its libraries */
	_Atomic bool is_armed;
	_Atomic uint32_t n_seen, n_failed; /* since it was armed */
	_Atomic uint64_t n_calls[PAGE_N_CALLS];
	char where[1024]; /* of the first failure: function, file+offset... of its callers */
};

/* page_map -- NULL when it can't be; makes the file when asked to. */
struct page *page_map(const char *path, bool makes);

/* page_arm -- 0, or -1 when the spec is none. */
int page_arm(struct page *page, const char *spec);

/* page_name -- of a call. */
const char *page_name(enum page_call call);

#endif
