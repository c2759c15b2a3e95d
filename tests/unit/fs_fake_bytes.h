/* SPDX-License-Identifier: Apache-2.0 */

/* fs_fake_bytes.h -- the rest of fs_fake.h, which includes it: reading and writing piece by piece.
 */
#ifndef TESTS_UNIT_FS_FAKE_BYTES_H
#define TESTS_UNIT_FS_FAKE_BYTES_H

/* ---- views ---- */

int
tiffin_view_open(struct tiffin_client *client, const char *key, struct tiffin_view **ret_view)
{
	struct fake_object *object;
	int r = fake_fails("view_open");

	(void)client;
	pthread_mutex_lock(&fake.lock);
	object = fake_find(key);
	if (r == 0 && object == NULL)
		r = TIFFIN_E_NOT_FOUND;
	if (r == 0) {
		*ret_view = malloc(sizeof(**ret_view));
		(*ret_view)->value = object->value;
		object->value->n_refs++;
	}
	pthread_mutex_unlock(&fake.lock);
	return r;
}

void
tiffin_view_close(struct tiffin_view *view)
{
	if (view == NULL)
		return;
	FAKE_LOCKED(fake_value_drop(view->value));
	free(view);
}

void
tiffin_view_stat(const struct tiffin_view *view, struct tiffin_stat *ret_stat)
{
	fake_show(view->value, ret_stat);
}

int
tiffin_view_read(struct tiffin_view *view, uint64_t offset_bytes, const struct iovec *slices,
		 size_t n_slices, uint64_t *ret_len_bytes)
{
	int r = fake_fails("view_read");

	if (r == 0)
		*ret_len_bytes = fake_scatter(view->value, offset_bytes, slices, n_slices);
	return r;
}

int
tiffin_view_borrow(struct tiffin_view *view, uint64_t offset_bytes, const void **ret_bytes,
		   uint64_t *ret_len_bytes)
{
	if (fake.has_no_borrow)
		return TIFFIN_E_NOT_FOUND;
	fake.n_borrowed++;
	*ret_bytes = view->value->bytes + offset_bytes;
	*ret_len_bytes = view->value->len_bytes - offset_bytes;
	return 0;
}

int
tiffin_view_return(struct tiffin_view *view, uint64_t n_borrows)
{
	(void)view;
	fake.n_borrowed -= n_borrows;
	return 0;
}

int
tiffin_view_check(struct tiffin_view *view)
{
	(void)view;
	return fake.has_lost_leases ? TIFFIN_E_LEASE : 0;
}

/* ---- puts ---- */

int
tiffin_put_begin(struct tiffin_client *client, const char *key, uint64_t len_bytes,
		 const struct tiffin_put_options *options, struct tiffin_put **ret_put)
{
	int r = fake_fails("put_begin");

	(void)client;
	(void)len_bytes;
	pthread_mutex_lock(&fake.lock);
	if (r == 0 && fake_find(key) != NULL && (options->flags & TIFFIN_REPLACE) == 0)
		r = TIFFIN_E_EXISTS;
	pthread_mutex_unlock(&fake.lock);
	if (r < 0)
		return r;
	*ret_put = calloc(1, sizeof(**ret_put));
	(*ret_put)->key = strdup(key);
	(*ret_put)->flags = options->flags;
	return 0;
}

int
tiffin_put_truncate(struct tiffin_put *put, uint64_t len_bytes)
{
	int r = fake_fails("put_truncate");

	if (r < 0)
		return r;
	if (len_bytes > 1ull << 34)
		return TIFFIN_E_NO_SPACE;
	if (len_bytes > put->cap_bytes) {
		put->cap_bytes = len_bytes * 2;
		put->bytes = realloc(put->bytes, put->cap_bytes);
	}
	if (len_bytes > put->len_bytes)
		memset(put->bytes + put->len_bytes, 0, len_bytes - put->len_bytes);
	put->len_bytes = len_bytes;
	return 0;
}

int
tiffin_put_write(struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
		 size_t n_slices)
{
	int r = fake_fails("put_write");

	assert(n_slices == 1);
	if (r == 0 && offset_bytes + slices[0].iov_len > put->len_bytes)
		r = tiffin_put_truncate(put, offset_bytes + slices[0].iov_len);
	if (r == 0 && slices[0].iov_len > 0)
		memcpy(put->bytes + offset_bytes, slices[0].iov_base, slices[0].iov_len);
	return r;
}

int
tiffin_put_read(struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
		size_t n_slices, uint64_t *ret_len_bytes)
{
	struct fake_value value = {.bytes = put->bytes, .len_bytes = put->len_bytes};

	*ret_len_bytes = fake_scatter(&value, offset_bytes, slices, n_slices);
	return 0;
}

uint64_t
tiffin_put_len(const struct tiffin_put *put)
{
	return put->len_bytes;
}

void
tiffin_put_abort(struct tiffin_put *put)
{
	if (put == NULL)
		return;
	free(put->key);
	free(put->bytes);
	free(put);
}

int
tiffin_put_commit(struct tiffin_put *put, const void *attr, size_t attr_bytes, uint64_t *ret_id)
{
	int r = fake_fails("put_commit");

	if (r == 0)
		FAKE_LOCKED(*ret_id = fake_store(put->key, put->bytes, put->len_bytes, attr,
						 attr_bytes));
	tiffin_put_abort(put);
	return r;
}

/* ---- the rest ---- */

int
tiffin_space(struct tiffin_client *client, struct tiffin_space *ret_space)
{
	(void)client;
	*ret_space = (struct tiffin_space){
		.size_bytes = 1ull << 30, .used_bytes = 1ull << 20, .n_objects = fake.n};
	return 0;
}

int
tiffin_watch_open(struct tiffin_client *client, const char *prefix,
		  void (*fn)(void *arg, int change, const char *key, uint64_t object_id), void *arg,
		  struct tiffin_watch **ret_watch)
{
	static struct tiffin_watch watch;

	(void)client;
	(void)prefix;
	fake.on_change_arg = arg;
	fake.on_change = fn;
	*ret_watch = &watch;
	return 0;
}

void
tiffin_watch_close(struct tiffin_watch *watch)
{
	(void)watch;
	FAKE_LOCKED(fake.on_change = NULL);
}

#endif
