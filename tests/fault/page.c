/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	ALLOC = PAGE_ALLOC,
	SYS = PAGE_SYS,
	INTR = PAGE_INTR,
	SHORT = PAGE_SHORTENS,
	SQLITE = PAGE_SQLITE
};

static const struct {
	const char *name;
	unsigned class;
} calls[] = {
#define ROW(name, class, failure) {#name, class},
	PAGE_CALLS(ROW)
#undef ROW
};

static const struct {
	const char *name;
	unsigned class;
	int error;
} classes[] = {
	{"alloc", PAGE_ALLOC, PAGE_USUAL},   {"sys", PAGE_SYS, PAGE_USUAL},
	{"intr", PAGE_INTR, EINTR},          {"short", PAGE_SHORTENS, PAGE_SHORT},
	{"sqlite", PAGE_SQLITE, PAGE_USUAL},
};

static const struct {
	const char *name;
	int error;
} errors[] = {
	{"ENOMEM", ENOMEM},    {"NOMEM", ENOMEM}, {"ENOSPC", ENOSPC}, {"FULL", ENOSPC},
	{"EIO", EIO},          {"IOERR", EIO},    {"EMFILE", EMFILE}, {"EINTR", EINTR},
	{"EAGAIN", EAGAIN},    {"BUSY", EAGAIN},  {"EPIPE", EPIPE},   {"ECONNRESET", ECONNRESET},
	{"short", PAGE_SHORT},
};

const char *
page_name(enum page_call call)
{
	return calls[call].name;
}

/* By bare system calls: inside the shim the others would count themselves. */
struct page *
page_map(const char *path, bool makes)
{
	struct page *page;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path,
			      O_RDWR | O_CLOEXEC | (makes ? O_CREAT | O_TRUNC : 0), 0600);

	if (fd < 0)
		return NULL;
	if (makes && syscall(SYS_ftruncate, fd, sizeof(*page)) < 0) {
		close(fd);
		return NULL;
	}
	page = (struct page *)syscall(SYS_mmap, NULL, sizeof(*page), PROT_READ | PROT_WRITE,
				      MAP_SHARED, fd, 0L);
	close(fd);
	if (page == MAP_FAILED)
		return NULL;
	if (makes)
		page->magic = PAGE_MAGIC;
	return page->magic == PAGE_MAGIC ? page : NULL;
}

static int
find_calls(const char *what, size_t len, uint64_t *ret_calls, int *ret_error)
{
	*ret_calls = 0;
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		if (strlen(classes[i].name) != len || memcmp(classes[i].name, what, len) != 0)
			continue;
		*ret_error = classes[i].error;
		for (size_t c = 0; c < PAGE_N_CALLS; c++)
			if ((calls[c].class & classes[i].class) != 0)
				*ret_calls |= UINT64_C(1) << c;
		return 0;
	}
	for (size_t c = 0; c < PAGE_N_CALLS; c++) {
		if (strlen(calls[c].name) != len || memcmp(calls[c].name, what, len) != 0)
			continue;
		*ret_error = PAGE_USUAL;
		*ret_calls = UINT64_C(1) << c;
		return 0;
	}
	return -1;
}

static int
find_error(const char *name, int *ret_error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (strcmp(errors[i].name, name) == 0) {
			*ret_error = errors[i].error;
			return 0;
		}
	return -1;
}

int
page_arm(struct page *page, const char *spec)
{
	size_t len = strcspn(spec, ":");
	uint64_t which;
	unsigned long n;
	char *end;
	int error;

	if (spec[len] != ':' || find_calls(spec, len, &which, &error) < 0)
		return -1;
	n = strtoul(spec + len + 1, &end, 10);
	if (end == spec + len + 1 || n == 0 || n > UINT32_MAX)
		return -1;
	atomic_store(&page->is_armed, false);
	page->goes_on = *end == '+';
	end += *end == '+';
	if (*end == ':' && find_error(end + 1, &error) < 0)
		return -1;
	if (*end != ':' && *end != '\0')
		return -1;

	page->calls = which;
	page->first = (uint32_t)n;
	page->error = error;
	page->where[0] = '\0';
	atomic_store(&page->n_seen, 0);
	atomic_store(&page->n_failed, 0);
	atomic_store(&page->is_armed, true);
	return 0;
}
