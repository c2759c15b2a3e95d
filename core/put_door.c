/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tiffin_put_begin() and what follows: the doors to put_stream.h.
 *
 *      begin -> write, read, truncate ... -> commit
 *                        |  a write failed    -> abort
 *                        v
 *                     failed: bytes may be missing in the middle; only commit (which fails) and
 *                             abort are left
 */
#include <stdio.h>
#include <string.h>

#include "core/get.h"
#include "core/put.h"
#include "core/put_stream.h"
#include "core/register.h"
#include "core/why.h"
#include "transfer/base/num.h"

/* enter, leave -- the door of every call on a stream. */
static int
enter(struct tiffin_put *put)
{
	int r;

	if (put == NULL || put->magic != PUT_MAGIC)
		return why_set(TIFFIN_E_INVALID, "no put: tiffin_put_begin() makes one");
	r = client_enter(put->client);
	if (r == 0)
		put_stream_take(put);
	return r;
}

static int
leave(struct tiffin_put *put, int r)
{
	put_stream_drop(put);
	return client_leave(put->client, r);
}

/* ---- the public calls ---------------------------------------------------------------------- */

static void
put_free(struct tiffin_put *put)
{
	struct tiffin_client *client = put->client;

	lock_take(&client->lock);
	list_remove(&put->at);
	lock_drop(&client->lock);
	if (put->is_started)
		writing_fini(&put->writing);
	stage_fini(&put->stage);
	free(put->key);
	free(put->attr);
	put->magic = 0;
	free(put);
}

/* take_options -- copies of what the caller may forget. */
static int
take_options(struct tiffin_put *put, const char *key, const struct tiffin_put_options *options)
{
	put->key = strdup(key);
	if (options != NULL) {
		put->options = *options;
		for (size_t i = 0; i < options->n_preferred; i++)
			put->preferred[i] = options->preferred[i];
		for (size_t i = 0; i < options->n_preferred_nof; i++)
			put->preferred_nof[i] = options->preferred_nof[i];
		if (options->attr_bytes > 0)
			put->attr = malloc(options->attr_bytes);
	}
	if (put->key == NULL || (put->options.attr_bytes > 0 && put->attr == NULL))
		return why_no_memory();
	if (put->attr != NULL)
		memcpy(put->attr, options->attr, options->attr_bytes);
	put->options.struct_bytes = sizeof(put->options);
	put->options.preferred = put->preferred;
	put->options.preferred_nof = put->preferred_nof;
	snprintf(put->group, sizeof(put->group), "%s",
		 put->options.group != NULL ? put->options.group : "");
	put->options.group = put->group;
	put->options.attr = put->attr;
	return 0;
}

static int
begin(struct tiffin_client *client, const char *key, const struct tiffin_put_options *options,
      struct tiffin_put **ret_put)
{
	struct tiffin_put *put;
	int r;

	r = client_key_check(key);
	if (r == 0)
		r = put_options_check(options);
	if (r != 0)
		return r;
	put = calloc(1, sizeof(*put));
	if (put == NULL)
		return why_no_memory();
	put->client = client;
	list_link_init(&put->at);
	r = take_options(put, key, options);
	if (r != 0) {
		put_free(put);
		return r;
	}
	put->magic = PUT_MAGIC;
	put->is_summed = true;
	lock_take(&client->lock);
	list_push_back(&client->puts, &put->at);
	lock_drop(&client->lock);
	*ret_put = put;
	return 0;
}

int
tiffin_put_begin(struct tiffin_client *client, const char *key, uint64_t len_bytes,
		 const struct tiffin_put_options *options, struct tiffin_put **ret_put)
{
	struct tiffin_put *put = NULL;
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (len_bytes > OBJECT_LEN_MAX)
		r = why_set(TIFFIN_E_INVALID, "an object is at most 16 TiB");
	else
		r = begin(client, key, options, &put);
	if (r == 0) {
		put->first_room_bytes = len_bytes;
		*ret_put = put;
	}
	/* With a put in hand the caller must get it, whoever closes meanwhile. */
	return r == 0 ? (client_leave(client, 0), 0) : client_leave(client, r);
}

/* after -- a failure of the room is final: bytes may be missing in the middle. */
static int
after(struct tiffin_put *put, int r)
{
	if (r != 0 && r != TIFFIN_E_INVALID && put->failed == 0)
		put->failed = r;
	return r;
}

int
tiffin_put_write(struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
		 size_t n_slices)
{
	uint64_t len, end;
	int r = enter(put);

	if (r != 0)
		return r;
	r = get_slices_check(slices, n_slices);
	if (r == 0)
		r = register_check(put->client, slices, n_slices);
	len = r == 0 ? get_slices_len(slices, n_slices) : 0;
	if (r == 0 && (!num_add(offset_bytes, len, &end) || end > OBJECT_LEN_MAX))
		r = why_set(TIFFIN_E_INVALID, "an object is at most 16 TiB");
	if (r == 0 && put->failed != 0)
		r = why_set(put->failed, "\"%s\": an earlier write failed", put->key);
	if (r == 0 && len > 0) {
		r = after(put, put_stream_write(put, offset_bytes, slices, n_slices,
						client_until(put->client)));
		if (r == 0)
			put->len_bytes = num_max(put->len_bytes, offset_bytes + len);
	}
	return leave(put, r);
}

/* fill -- [from, from + len) of the caller's slices with zeros. */
static void
zero_slices(const struct iovec *slices, size_t n_slices, uint64_t from, uint64_t len)
{
	for (size_t i = 0; i < n_slices && len > 0; i++) {
		uint64_t n = slices[i].iov_len;

		if (from >= n) {
			from -= n;
			continue;
		}
		n = num_min(n - from, len);
		memset((uint8_t *)slices[i].iov_base + from, 0, n);
		from = 0;
		len -= n;
	}
}

/* read_staged -- a stream that has not begun: everything lies in the stage. */
static void
read_staged(const struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
	    size_t n_slices, uint64_t len_bytes)
{
	for (size_t i = 0; i < n_slices && len_bytes > 0; i++) {
		uint64_t n = num_min(slices[i].iov_len, len_bytes), there = 0;

		if (offset_bytes < put->stage.len_bytes)
			there = num_min(n, put->stage.len_bytes - offset_bytes);
		if (there > 0)
			memcpy(slices[i].iov_base, put->stage.bytes + offset_bytes, there);
		if (n > there)
			memset((uint8_t *)slices[i].iov_base + there, 0, n - there);
		offset_bytes += n;
		len_bytes -= n;
	}
}

static int
read_bytes(struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
	   size_t n_slices, uint64_t len_bytes)
{
	struct op part = {.offset_bytes = offset_bytes, .slices = slices, .n_slices = n_slices};
	uint64_t until = client_until(put->client), there = 0;
	int r;

	if (!put->is_started && put->stage.at_bytes == 0) {
		read_staged(put, offset_bytes, slices, n_slices, len_bytes);
		return 0;
	}
	r = after(put, put_stream_flush(put, until));
	if (r != 0)
		return r;
	if (offset_bytes < put->filled_bytes)
		there = num_min(len_bytes, put->filled_bytes - offset_bytes);
	zero_slices(slices, n_slices, there, len_bytes - there);
	if (there == 0)
		return 0;
	part.len_bytes = there;
	return put_stream_read(put, &part, until);
}

int
tiffin_put_read(struct tiffin_put *put, uint64_t offset_bytes, const struct iovec *slices,
		size_t n_slices, uint64_t *ret_len_bytes)
{
	uint64_t len = 0;
	int r = enter(put);

	if (r != 0)
		return r;
	r = get_slices_check(slices, n_slices);
	if (r == 0)
		r = register_check(put->client, slices, n_slices);
	if (r == 0 && put->failed != 0)
		r = why_set(put->failed, "\"%s\": an earlier write failed", put->key);
	if (r == 0 && offset_bytes < put->len_bytes) {
		len = num_min(put->len_bytes - offset_bytes, get_slices_len(slices, n_slices));
		if (len > 0)
			r = read_bytes(put, offset_bytes, slices, n_slices, len);
	}
	r = leave(put, r);
	if (r == 0 && ret_len_bytes != NULL)
		*ret_len_bytes = len;
	return r;
}

int
tiffin_put_truncate(struct tiffin_put *put, uint64_t len_bytes)
{
	int r = enter(put);

	if (r != 0)
		return r;
	if (len_bytes > OBJECT_LEN_MAX)
		return leave(put, why_set(TIFFIN_E_INVALID, "an object is at most 16 TiB"));

	stage_cut(&put->stage, len_bytes);
	if (put->stage.len_bytes == 0)
		stage_begin(&put->stage, num_min(put->filled_bytes, len_bytes));
	if (len_bytes < put->filled_bytes) {
		put->filled_bytes = len_bytes;
		put->is_summed = len_bytes == 0; /* the sum of nothing is known again */
		put->crc = 0;
	}
	put->len_bytes = len_bytes;
	return leave(put, 0);
}

uint64_t
tiffin_put_len(const struct tiffin_put *put)
{
	return put != NULL && put->magic == PUT_MAGIC ? put->len_bytes : 0;
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static int
commit_small(struct tiffin_put *put, uint64_t *ret_id)
{
	const struct iovec slice = {put->stage.bytes, put->stage.len_bytes};
	struct parcel parcel = {.key = put->key,
				.slices = &slice,
				.n_slices = put->stage.len_bytes > 0 ? 1 : 0,
				.attr = put->attr,
				.attr_bytes = put->options.attr_bytes,
				.group = put->group};
	int r;

	r = put_run(put->client, &parcel, 1, &put->options, client_until(put->client));
	*ret_id = parcel.object_id;
	return r == 0 ? parcel.result : r;
}

static int
commit_large(struct tiffin_put *put, uint64_t *ret_id)
{
	uint64_t until = client_until(put->client);
	struct rec_put_done done;
	int r;

	r = put_stream_flush(put, until);
	if (r == 0)
		r = put_stream_zeros(put, put->len_bytes, until);
	if (r == 0 && !put->is_started) /* an object of zeros that was made longer, then shorter */
		r = put_stream_room(put, put->len_bytes, until);
	if (r == 0)
		r = put_stream_sum(put, until);
	if (r != 0)
		return r;

	done = (struct rec_put_done){.object_id = put->writing.object_id,
				     .len_bytes = put->len_bytes,
				     .has_crc = 1,
				     .crc = put->crc,
				     .attr = span_of(put->attr, put->options.attr_bytes)};
	*ret_id = done.object_id;
	return writing_end(&put->writing, &done, client_until(put->client));
}

/* set_attr -- those of the commit take the place of those of the begin. */
static int
set_attr(struct tiffin_put *put, const void *attr, size_t attr_bytes)
{
	uint8_t *copy;
	int r = put_attr_check(attr, attr_bytes);

	if (r != 0 || attr == NULL)
		return r;
	copy = malloc(num_max(attr_bytes, (size_t)1));
	if (copy == NULL)
		return why_no_memory();
	memcpy(copy, attr, attr_bytes);
	free(put->attr);
	put->attr = copy;
	put->options.attr = copy;
	put->options.attr_bytes = attr_bytes;
	return 0;
}

/* give_up -- the master may use the room again. */
static void
give_up(struct tiffin_put *put)
{
	if (put->is_started)
		writing_revoke(&put->writing,
			       clock_ns(put->client->clock) + put->client->transfer_ms * NS_PER_MS);
}

int
tiffin_put_commit(struct tiffin_put *put, const void *attr, size_t attr_bytes, uint64_t *ret_id)
{
	struct tiffin_client *client;
	uint64_t id = 0;
	int r = enter(put);

	if (r != 0) {
		if (put != NULL && put->magic == PUT_MAGIC && r == TIFFIN_E_CLOSED)
			put_free(put);
		return r;
	}
	client = put->client;
	r = put->failed;
	if (r != 0)
		why_set(r, "\"%s\": an earlier write failed", put->key);
	if (r == 0)
		r = set_attr(put, attr, attr_bytes);
	if (r == 0 && !put->is_started && put->stage.at_bytes == 0 &&
	    stage_fill(&put->stage, put->len_bytes) == 0)
		r = commit_small(put, &id);
	else if (r == 0)
		r = commit_large(put, &id);
	if (r != 0)
		give_up(put);
	put_free(put);
	r = client_leave(client, r);
	if (r == 0 && ret_id != NULL)
		*ret_id = id;
	return r;
}

void
tiffin_put_abort(struct tiffin_put *put)
{
	struct tiffin_client *client;
	int r;

	if (put == NULL)
		return;
	r = enter(put);
	if (r == TIFFIN_E_CLOSED)
		put_free(put);
	if (r != 0)
		return;
	client = put->client;
	give_up(put);
	put_free(put);
	(void)client_leave(client, 0);
}
