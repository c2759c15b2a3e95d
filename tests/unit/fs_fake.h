/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fs_fake.h -- a store in memory behind core/tiffin.h: the outer world of the file system.
 *
 * Include it in one file of the test; the linker then needs nothing of core/.
 */
#ifndef TESTS_UNIT_FS_FAKE_H
#define TESTS_UNIT_FS_FAKE_H

#include <pthread.h>
#include <string.h>

#include "core/tiffin.h"
#include "transfer/base/base.h"
#include "transfer/base/crc.h"

#define FAKE_OBJECTS_MAX 200000

/* The bytes of one version; lives as long as an object or a view has it. */
struct fake_value {
	uint64_t id, put_at_ms;
	size_t n_refs, len_bytes, attr_bytes;
	uint32_t crc;
	uint8_t *bytes;
	uint8_t attr[TIFFIN_ATTR_MAX];
};

struct fake_object {
	char *key;
	struct fake_value *value;
};

static struct {
	pthread_mutex_t lock;
	struct fake_object *objects; /* in the order of their keys */
	size_t n;
	uint64_t last_id;
	uint64_t n_stats, n_lists, n_list_nexts, n_gets, n_puts;
	int fail_code;         /* what fail_call gives; 0: nothing fails */
	const char *fail_call; /* "stat", "put_write", ... */
	bool has_no_borrow, has_lost_leases;
	void (*before_swap)(const char *key); /* what another mount does just then */
	_Atomic uint64_t n_borrowed;          /* runs of views, not given back */
	void (*on_change)(void *arg, int change, const char *key, uint64_t object_id);
	void *on_change_arg;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct tiffin_client {
	int unused;
};
struct tiffin_view {
	struct fake_value *value;
};
struct tiffin_put {
	char *key;
	uint32_t flags;
	uint8_t *bytes;
	size_t len_bytes, cap_bytes;
};
struct tiffin_list {
	char prefix[TIFFIN_KEY_MAX + 2], after[TIFFIN_KEY_MAX + 2];
	char delimiter;
	uint8_t attr[TIFFIN_ATTR_MAX];
};
struct tiffin_watch {
	int unused;
};

static struct tiffin_client fake_client;

/* ---- what is there ---- */

static int
fake_fails(const char *call)
{
	return fake.fail_call != NULL && strcmp(fake.fail_call, call) == 0 ? fake.fail_code : 0;
}

/* fake_at -- the first object whose key is not before this one. */
static size_t
fake_at(const char *key)
{
	size_t low = 0, high = fake.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(fake.objects[mid].key, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct fake_object *
fake_find(const char *key)
{
	size_t at = fake_at(key);

	return at < fake.n && strcmp(fake.objects[at].key, key) == 0 ? &fake.objects[at] : NULL;
}

static void
fake_value_drop(struct fake_value *value)
{
	if (--value->n_refs > 0)
		return;
	free(value->bytes);
	free(value);
}

static void
fake_tell(int change, const char *key, uint64_t id)
{
	if (fake.on_change != NULL)
		fake.on_change(fake.on_change_arg, change, key, id);
}

static void
fake_erase(const char *key)
{
	struct fake_object *object = fake_find(key);
	size_t at = (size_t)(object - fake.objects);

	free(object->key);
	fake_value_drop(object->value);
	memmove(object, object + 1, (fake.n - at - 1) * sizeof(*object));
	fake.n--;
}

static uint64_t
fake_store(const char *key, const void *bytes, size_t len_bytes, const void *attr,
	   size_t attr_bytes)
{
	struct fake_value *value = calloc(1, sizeof(*value));
	size_t at;

	value->id = ++fake.last_id;
	value->n_refs = 1;
	value->put_at_ms = 1700000000000ull + value->id;
	value->bytes = malloc(len_bytes + 1);
	if (len_bytes > 0)
		memcpy(value->bytes, bytes, len_bytes);
	value->len_bytes = len_bytes;
	value->crc = crc_of(0, value->bytes, len_bytes);
	if (attr_bytes > 0)
		memcpy(value->attr, attr, attr_bytes);
	value->attr_bytes = attr_bytes;

	if (fake_find(key) != NULL)
		fake_erase(key);
	if (fake.objects == NULL)
		fake.objects = calloc(FAKE_OBJECTS_MAX, sizeof(*fake.objects));
	assert(fake.n < FAKE_OBJECTS_MAX);
	at = fake_at(key);
	memmove(&fake.objects[at + 1], &fake.objects[at], (fake.n - at) * sizeof(*fake.objects));
	fake.objects[at] = (struct fake_object){strdup(key), value};
	fake.n++;
	fake_tell(TIFFIN_CHANGE_PUT, key, value->id);
	return value->id;
}

/* fake_put -- as an engine would: bytes of text, no attributes. */
static inline uint64_t
fake_put(const char *key, const char *text)
{
	return fake_store(key, text, strlen(text), NULL, 0);
}

static inline void
fake_clear(void)
{
	while (fake.n > 0)
		fake_erase(fake.objects[fake.n - 1].key);
	free(fake.objects);
	fake.objects = NULL;
	fake.n_stats = fake.n_lists = fake.n_list_nexts = fake.n_gets = fake.n_puts = 0;
	fake.fail_call = NULL;
	fake.has_no_borrow = fake.has_lost_leases = false;
	fake.on_change = NULL;
}

static void
fake_show(const struct fake_value *value, struct tiffin_stat *ret_stat)
{
	*ret_stat = (struct tiffin_stat){
		.object_id = value->id,
		.len_bytes = value->len_bytes,
		.put_at_ms = value->put_at_ms,
		.crc = value->crc,
		.has_crc = true,
		.n_replicas = 1,
		.attr = value->attr,
		.attr_bytes = value->attr_bytes,
	};
}

static bool
fake_has_below(const char *key)
{
	char below[TIFFIN_KEY_MAX + 2];
	size_t at;

	snprintf(below, sizeof(below), "%s/", key);
	at = fake_at(below);
	return at < fake.n && strncmp(fake.objects[at].key, below, strlen(below)) == 0;
}

static uint64_t
fake_scatter(const struct fake_value *value, uint64_t off, const struct iovec *slices, size_t n)
{
	uint64_t done = 0;

	for (size_t i = 0; i < n && off < value->len_bytes; i++) {
		size_t len = slices[i].iov_len;

		if (len > value->len_bytes - off)
			len = value->len_bytes - off;
		memcpy(slices[i].iov_base, value->bytes + off, len);
		off += len;
		done += len;
	}
	return done;
}

/* ---- the interface ---- */

#define FAKE_LOCKED(...)                                                                           \
	do {                                                                                       \
		pthread_mutex_lock(&fake.lock);                                                    \
		__VA_ARGS__;                                                                       \
		pthread_mutex_unlock(&fake.lock);                                                  \
	} while (0)

const char *
tiffin_strerror(int code)
{
	return code == 0 ? "fine" : "failed";
}

const char *
tiffin_why(void)
{
	return "the fake says so";
}

const char *
tiffin_master_default(void)
{
	return "unix:/fake";
}

int
tiffin_open(const struct tiffin_options *options, struct tiffin_client **ret_client)
{
	(void)options;
	*ret_client = &fake_client;
	return fake_fails("open");
}

void
tiffin_close(struct tiffin_client *client)
{
	(void)client;
}

int
tiffin_ping(struct tiffin_client *client)
{
	(void)client;
	return fake_fails("ping");
}

int
tiffin_put(struct tiffin_client *client, const char *key, const struct iovec *slices,
	   size_t n_slices, const struct tiffin_put_options *options, uint64_t *ret_id)
{
	uint64_t id;
	int r = fake_fails("put");

	(void)client;
	assert(n_slices == 1);
	pthread_mutex_lock(&fake.lock);
	fake.n_puts++;
	if (r == 0 && fake_find(key) != NULL && (options->flags & TIFFIN_REPLACE) == 0)
		r = TIFFIN_E_EXISTS;
	if (r == 0) {
		id = fake_store(key, slices[0].iov_base, slices[0].iov_len, options->attr,
				options->attr_bytes);
		if (ret_id != NULL)
			*ret_id = id;
	}
	pthread_mutex_unlock(&fake.lock);
	return r;
}

int
tiffin_get(struct tiffin_client *client, const char *key, const struct iovec *slices,
	   size_t n_slices, uint64_t *ret_len_bytes)
{
	struct fake_object *object;
	int r = fake_fails("get");

	(void)client;
	pthread_mutex_lock(&fake.lock);
	fake.n_gets++;
	object = fake_find(key);
	if (r == 0 && object == NULL)
		r = TIFFIN_E_NOT_FOUND;
	if (r == 0)
		*ret_len_bytes = fake_scatter(object->value, 0, slices, n_slices);
	pthread_mutex_unlock(&fake.lock);
	return r;
}

int
tiffin_stat(struct tiffin_client *client, const char *key, struct tiffin_stat *ret_stat,
	    void *attr_buf)
{
	struct fake_object *object;
	int r = fake_fails("stat");

	(void)client;
	if (r < 0)
		return r;
	if (key[0] == '\0')
		return TIFFIN_E_INVALID;
	pthread_mutex_lock(&fake.lock);
	fake.n_stats++;
	object = fake_find(key);
	*ret_stat = (struct tiffin_stat){0};
	if (object != NULL)
		fake_show(object->value, ret_stat);
	if (object != NULL && attr_buf != NULL)
		memcpy(attr_buf, object->value->attr, object->value->attr_bytes);
	ret_stat->attr = attr_buf;
	ret_stat->is_prefix = fake_has_below(key);
	pthread_mutex_unlock(&fake.lock);
	return object != NULL ? 0 : TIFFIN_E_NOT_FOUND;
}

int
tiffin_remove(struct tiffin_client *client, const char *key, uint32_t flags)
{
	struct fake_object *object;
	int r = fake_fails("remove");

	(void)client;
	(void)flags;
	if (r < 0)
		return r;
	pthread_mutex_lock(&fake.lock);
	object = fake_find(key);
	if (object == NULL) {
		r = TIFFIN_E_NOT_FOUND;
	} else {
		uint64_t id = object->value->id;
		char *copy = strdup(key);

		fake_erase(key);
		fake_tell(TIFFIN_CHANGE_REMOVED, copy, id);
		free(copy);
	}
	pthread_mutex_unlock(&fake.lock);
	return r;
}

static int
fake_rename(const char *from, const char *to, uint32_t flags)
{
	struct fake_object *object = fake_find(from);
	struct fake_value *value;
	size_t at;

	if (object == NULL || (flags == TIFFIN_EXCHANGE && fake_find(to) == NULL))
		return TIFFIN_E_NOT_FOUND;
	if (flags == TIFFIN_EXCHANGE) {
		struct fake_object *other = fake_find(to);

		value = object->value;
		object->value = other->value;
		other->value = value;
		fake_tell(TIFFIN_CHANGE_PUT, from, object->value->id);
		fake_tell(TIFFIN_CHANGE_PUT, to, value->id);
		return 0;
	}
	if (fake_find(to) != NULL && (flags & TIFFIN_NOREPLACE) != 0)
		return TIFFIN_E_EXISTS;
	if (strcmp(from, to) == 0)
		return 0;
	value = object->value;
	value->n_refs++;
	fake_erase(from);
	if (fake_find(to) != NULL)
		fake_erase(to);
	at = fake_at(to);
	memmove(&fake.objects[at + 1], &fake.objects[at], (fake.n - at) * sizeof(*fake.objects));
	fake.objects[at] = (struct fake_object){strdup(to), value};
	fake.n++;
	fake_tell(TIFFIN_CHANGE_REMOVED, from, value->id);
	fake_tell(TIFFIN_CHANGE_PUT, to, value->id);
	return 0;
}

int
tiffin_rename(struct tiffin_client *client, const char *from, const char *to, uint32_t flags)
{
	int r = fake_fails("rename");

	(void)client;
	if (r == 0)
		FAKE_LOCKED(r = fake_rename(from, to, flags));
	return r;
}

int
tiffin_rename_batch(struct tiffin_client *client, const char *const *from, const char *const *to,
		    size_t n_pairs, uint32_t flags)
{
	int r = fake_fails("rename_batch");

	(void)client;
	assert(n_pairs <= 1024);
	pthread_mutex_lock(&fake.lock);
	for (size_t i = 0; r == 0 && i < n_pairs; i++)
		r = fake_rename(from[i], to[i], flags);
	pthread_mutex_unlock(&fake.lock);
	return r;
}

int
tiffin_set_attr(struct tiffin_client *client, const char *key, uint64_t object_id, const void *attr,
		size_t attr_bytes)
{
	struct fake_object *object;
	int r = fake_fails("set_attr");

	(void)client;
	pthread_mutex_lock(&fake.lock);
	object = fake_find(key);
	if (r == 0 && (object == NULL || (object_id != 0 && object->value->id != object_id)))
		r = TIFFIN_E_NOT_FOUND;
	if (r == 0) {
		memcpy(object->value->attr, attr, attr_bytes);
		object->value->attr_bytes = attr_bytes;
		fake_tell(TIFFIN_CHANGE_ATTR, key, object->value->id);
	}
	pthread_mutex_unlock(&fake.lock);
	return r;
}

int
tiffin_swap_attr(struct tiffin_client *client, const char *key, uint64_t object_id,
		 const struct iovec *former, const struct iovec *attr)
{
	const struct fake_object *object;
	bool is_same = true;

	if (fake.before_swap != NULL)
		fake.before_swap(key);
	pthread_mutex_lock(&fake.lock);
	object = fake_find(key);
	if (object != NULL)
		is_same = object->value->attr_bytes == former->iov_len &&
			  memcmp(object->value->attr, former->iov_base, former->iov_len) == 0;
	pthread_mutex_unlock(&fake.lock);
	return is_same ? tiffin_set_attr(client, key, object_id, attr->iov_base, attr->iov_len)
		       : TIFFIN_E_BUSY;
}

/* ---- lists ---- */

int
tiffin_list_open(struct tiffin_client *client, const char *prefix, char delimiter,
		 const char *after, struct tiffin_list **ret_list)
{
	struct tiffin_list *list = calloc(1, sizeof(*list));

	(void)client;
	fake.n_lists++;
	strcpy(list->prefix, prefix);
	strcpy(list->after, after != NULL ? after : "");
	list->delimiter = delimiter;
	*ret_list = list;
	return 0;
}

/* fake_list_from -- behind a key; behind all keys of a prefix that was told as one. */
static size_t
fake_list_from(const struct tiffin_list *list)
{
	size_t n = strlen(list->after);
	size_t at = fake_at(list->after[0] != '\0' ? list->after : list->prefix);
	bool is_rolled = n > strlen(list->prefix) && list->delimiter != '\0' &&
			 list->after[n - 1] == list->delimiter;

	if (n == 0)
		return at;
	while (at < fake.n && (is_rolled ? strncmp(fake.objects[at].key, list->after, n) == 0
					 : strcmp(fake.objects[at].key, list->after) == 0))
		at++;
	return at;
}

int
tiffin_list_next(struct tiffin_list *list, const char **ret_key, struct tiffin_stat *ret_stat)
{
	size_t n_prefix = strlen(list->prefix);
	const char *key, *end;
	size_t at;
	int r = fake_fails("list_next");

	if (r < 0)
		return r;
	pthread_mutex_lock(&fake.lock);
	fake.n_list_nexts++;
	at = fake_list_from(list);
	if (at < fake.n && strncmp(fake.objects[at].key, list->prefix, n_prefix) == 0) {
		r = 1;
		key = fake.objects[at].key;
		end = list->delimiter != '\0' ? strchr(key + n_prefix, list->delimiter) : NULL;
		strcpy(list->after, key);
		fake_show(fake.objects[at].value, ret_stat);
		memcpy(list->attr, ret_stat->attr, ret_stat->attr_bytes);
		ret_stat->attr = list->attr;
		if (end != NULL) {
			list->after[end - key + 1] = '\0';
			if (end[1] != 0)
				ret_stat->attr_bytes = 0;
			ret_stat->object_id = ret_stat->len_bytes = 0;
			ret_stat->is_prefix =
				true; /* and the attributes of "prefix/", if it is there */
		}
		*ret_key = list->after;
	}
	pthread_mutex_unlock(&fake.lock);
	return r;
}

void
tiffin_list_close(struct tiffin_list *list)
{
	free(list);
}

#include "fs_fake_bytes.h" /* views and puts */

#endif
