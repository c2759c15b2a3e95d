/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/vec.h"

/* make_path -- root and what the caller formats; false when it is too long. */
static bool
make_path(char path[PATH_MAX], const char *root, const char *fmt, va_list ap)
{
	int n = snprintf(path, PATH_MAX, "%s", root), m;

	if (n < 0 || n >= PATH_MAX)
		return false;
	m = vsnprintf(path + n, (size_t)(PATH_MAX - n), fmt, ap);
	return m >= 0 && m < PATH_MAX - n;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* read_line -- at most cap - 1 characters of it.  Some files of empty table entries fail to read.
 */
static int
read_line(const char *path, char *ret, size_t cap)
{
	char text[4096];
	size_t start = 0, end;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ret[0] = '\0';
	if (fd < 0)
		return SYSFS_E_NONE;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return SYSFS_E_NONE;
	text[n] = '\0';
	end = strcspn(text, "\n");
	while (end > 0 && is_blank(text[end - 1]))
		end--;
	while (start < end && is_blank(text[start]))
		start++;
	if (end - start >= cap)
		return SYSFS_E_NONE;
	memcpy(ret, text + start, end - start);
	ret[end - start] = '\0';
	return 0;
}

int
sysfs_line(const char *root, char *ret, size_t cap, const char *path_fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	bool fits;

	assert(cap > 0);
	ret[0] = '\0';
	va_start(ap, path_fmt);
	fits = make_path(path, root, path_fmt, ap);
	va_end(ap);
	return fits ? read_line(path, ret, cap) : SYSFS_E_NONE;
}

int
sysfs_number(const char *root, int64_t *ret, const char *path_fmt, ...)
{
	char path[PATH_MAX], text[32], *end;
	long long v;
	va_list ap;
	bool fits;

	va_start(ap, path_fmt);
	fits = make_path(path, root, path_fmt, ap);
	va_end(ap);
	if (!fits || read_line(path, text, sizeof(text)) != 0 || text[0] == '\0')
		return SYSFS_E_NONE;
	errno = 0;
	v = strtoll(text, &end, 0);
	if (errno != 0 || *end != '\0')
		return SYSFS_E_NONE;
	*ret = v;
	return 0;
}

int
sysfs_place(const char *root, char *ret, size_t cap, const char *path_fmt, ...)
{
	char path[PATH_MAX], real[PATH_MAX], top[PATH_MAX], *within;
	size_t top_len = 0;
	va_list ap;
	bool fits;

	va_start(ap, path_fmt);
	fits = make_path(path, root, path_fmt, ap);
	va_end(ap);
	if (!fits || realpath(path, real) == NULL)
		return SYSFS_E_NONE;
	/* The root may itself be reached over a link. */
	if (root[0] != '\0' && realpath(root, top) != NULL)
		top_len = strlen(top);
	within = real + (top_len > 1 && strncmp(real, top, top_len) == 0 ? top_len : 0);
	if (strncmp(within, "/sys/", 5) != 0 || strlen(within + 5) >= cap)
		return SYSFS_E_NONE;
	memcpy(ret, within + 5, strlen(within + 5) + 1);
	return 0;
}

static int
by_version(const void *a, const void *b)
{
	return strverscmp(a, b);
}

int
sysfs_names(const char *root, const char *dir, char (**ret_names)[SYSFS_NAME_MAX + 1])
{
	struct name {
		char text[SYSFS_NAME_MAX + 1];
	};
	VEC(struct name) names = {0};
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *at;

	*ret_names = NULL;
	if (snprintf(path, sizeof(path), "%s%s", root, dir) >= (int)sizeof(path))
		return 0;
	at = opendir(path);
	if (at == NULL)
		return 0;
	while ((entry = readdir(at)) != NULL) {
		struct name name;

		if (entry->d_name[0] == '.' || strlen(entry->d_name) > SYSFS_NAME_MAX)
			continue;
		memset(&name, 0, sizeof(name));
		memcpy(name.text, entry->d_name, strlen(entry->d_name));
		if (vec_push(&names, name) < 0) {
			closedir(at);
			vec_fini(&names);
			return err_new(-ENOMEM);
		}
	}
	closedir(at);
	if (names.n > 0)
		qsort(names.at, names.n, sizeof(names.at[0]), by_version);
	*ret_names = (void *)names.at;
	return (int)names.n;
}
