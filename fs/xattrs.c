/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/xattrs.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "fs/errno.h"

#define HEAD_BYTES 3

/* read_at -- the one that begins at `at`, and where it ends; 0: none does. */
static size_t
read_at(const uint8_t *bytes, size_t len_bytes, size_t at, struct fs_xattr *ret_xattr)
{
	size_t left = len_bytes - at;
	size_t n_name, n_value;

	if (left < HEAD_BYTES)
		return 0;
	n_name = bytes[at];
	n_value = bytes[at + 1] | (size_t)bytes[at + 2] << 8;
	if (n_name == 0 || n_name + n_value > left - HEAD_BYTES)
		return 0;
	*ret_xattr = (struct fs_xattr){
		.name = (const char *)bytes + at + HEAD_BYTES,
		.n_name = n_name,
		.value = bytes + at + HEAD_BYTES + n_name,
		.n_value = n_value,
	};
	return at + HEAD_BYTES + n_name + n_value;
}

bool
fs_xattrs_are_sound(const uint8_t *bytes, size_t len_bytes)
{
	struct fs_xattr xattr;
	size_t at = 0;

	while (at < len_bytes) {
		at = read_at(bytes, len_bytes, at, &xattr);
		if (at == 0 || memchr(xattr.name, '\0', xattr.n_name) != NULL)
			return false;
	}
	return true;
}

bool
fs_xattrs_next(const struct fs_xattrs *list, size_t *at, struct fs_xattr *ret_xattr)
{
	if (*at >= list->len_bytes)
		return false;
	*at = read_at(list->bytes, list->len_bytes, *at, ret_xattr);
	assert(*at != 0);
	return true;
}

bool
fs_xattrs_find(const struct fs_xattrs *list, const char *name, struct fs_xattr *ret_xattr)
{
	size_t n_name = strlen(name);
	size_t at = 0;

	while (fs_xattrs_next(list, &at, ret_xattr))
		if (ret_xattr->n_name == n_name && memcmp(ret_xattr->name, name, n_name) == 0)
			return true;
	return false;
}

static size_t
written_bytes(const struct fs_xattr *xattr)
{
	return HEAD_BYTES + xattr->n_name + xattr->n_value;
}

static void
cut(struct fs_xattrs *list, const struct fs_xattr *xattr)
{
	size_t from = (size_t)((const uint8_t *)xattr->name - list->bytes) - HEAD_BYTES;
	size_t n = written_bytes(xattr);

	memmove(list->bytes + from, list->bytes + from + n, list->len_bytes - from - n);
	list->len_bytes -= n;
}

int
fs_xattrs_set(struct fs_xattrs *list, const char *name, const void *value, size_t n_value,
	      int flags)
{
	struct fs_xattr old;
	bool is_there = fs_xattrs_find(list, name, &old);
	struct fs_xattr fresh = {.n_name = strlen(name), .n_value = n_value};
	uint8_t *to;

	if (is_there && (flags & XATTR_CREATE) != 0)
		return -EEXIST;
	if (!is_there && (flags & XATTR_REPLACE) != 0)
		return -ENODATA;
	if (fresh.n_name == 0 || fresh.n_name > FS_XATTR_NAME_MAX)
		return -ERANGE;
	if (n_value > FS_XATTRS_MAX ||
	    written_bytes(&fresh) >
		    FS_XATTRS_MAX - list->len_bytes + (is_there ? written_bytes(&old) : 0))
		return -ENOSPC;

	if (is_there)
		cut(list, &old);
	to = list->bytes + list->len_bytes;
	to[0] = (uint8_t)fresh.n_name;
	to[1] = (uint8_t)n_value;
	to[2] = (uint8_t)(n_value >> 8);
	memcpy(to + HEAD_BYTES, name, fresh.n_name);
	if (n_value > 0)
		memcpy(to + HEAD_BYTES + fresh.n_name, value, n_value);
	list->len_bytes += written_bytes(&fresh);
	return 0;
}

int
fs_xattrs_remove(struct fs_xattrs *list, const char *name)
{
	struct fs_xattr old;

	if (!fs_xattrs_find(list, name, &old))
		return -ENODATA;
	cut(list, &old);
	return 0;
}

void
fs_blob_make(const struct fs_attr *attr, const struct fs_xattrs *xattrs, struct fs_blob *ret_blob)
{
	fs_attr_encode(attr, ret_blob->bytes);
	ret_blob->len_bytes = FS_ATTR_BYTES;
	if (xattrs == NULL)
		return;
	memcpy(ret_blob->bytes + FS_ATTR_BYTES, xattrs->bytes, xattrs->len_bytes);
	ret_blob->len_bytes += xattrs->len_bytes;
}

int
fs_xattrs_fetch(struct tiffin_client *client, const char *key, uint64_t object_id,
		struct fs_xattrs *ret_list)
{
	uint8_t blob[TIFFIN_ATTR_MAX];
	struct tiffin_stat stat;
	struct fs_attr attr;
	int r = tiffin_stat(client, key, &stat, blob);

	ret_list->len_bytes = 0;
	ret_list->is_fetched = true;
	ret_list->is_there = ret_list->has_attr = false;
	if (r == TIFFIN_E_NOT_FOUND)
		return 0;
	if (r < 0)
		return fs_errno(r);
	if (object_id != 0 && stat.object_id != object_id)
		return 0;
	ret_list->is_there = true;
	ret_list->former_bytes = stat.attr_bytes;
	memcpy(ret_list->former, blob, stat.attr_bytes);
	if (fs_attr_decode(blob, stat.attr_bytes, &attr) != 0)
		return 0;
	ret_list->has_attr = true;
	ret_list->attr = attr;
	if (attr.xattr_bytes > 0)
		memcpy(ret_list->bytes, blob + FS_ATTR_BYTES, attr.xattr_bytes);
	ret_list->len_bytes = attr.xattr_bytes;
	return 0;
}

int
fs_blob_keep(struct tiffin_client *client, const char *key, uint64_t object_id,
	     const struct fs_blob *blob, const struct fs_xattrs *list)
{
	struct iovec former = {(void *)(uintptr_t)list->former, list->former_bytes};
	struct iovec now = {(void *)(uintptr_t)blob->bytes, blob->len_bytes};
	int r;

	if (!list->is_fetched)
		return fs_errno(
			tiffin_set_attr(client, key, object_id, blob->bytes, blob->len_bytes));
	if (!list->is_there)
		return -ENOENT;
	r = tiffin_swap_attr(client, key, object_id, &former, &now);
	return r == TIFFIN_E_BUSY ? -EAGAIN : fs_errno(r);
}

int
fs_xattrs_keep(struct tiffin_client *client, const char *key, uint64_t object_id,
	       struct fs_attr *attr, const struct fs_xattrs *list)
{
	struct fs_blob blob;

	attr->xattr_bytes = list->len_bytes;
	fs_blob_make(attr, list, &blob);
	return fs_blob_keep(client, key, object_id, &blob, list);
}
