/* SPDX-License-Identifier: Apache-2.0 */
#include "master/change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "master/object.h"
#include "master/tenant.h"
#include "transfer/base/err.h"

void
changes_init(struct changes *changes)
{
	*changes = (struct changes){.first = 1};
}

static size_t
size_of(const struct change *change)
{
	return sizeof(*change) + change->key_len;
}

static void
drop_first(struct changes *changes)
{
	struct change **at = &changes->ring[changes->first % CHANGES_MAX];

	if (changes->first > changes->committed)
		changes->gone_batch = (*at)->batch;
	changes->bytes -= size_of(*at);
	free(*at);
	*at = NULL;
	changes->first++;
}

void
changes_forget(struct changes *changes)
{
	if (changes->ring == NULL)
		return;
	while (changes->first <= changes->last)
		drop_first(changes);
	free(changes->ring);
	changes->ring = NULL;
}

void
changes_fini(struct changes *changes)
{
	changes_forget(changes);
}

int
changes_keep(struct changes *changes)
{
	if (changes->ring == NULL)
		changes->ring = calloc(CHANGES_MAX, sizeof(struct change *));
	return changes->ring == NULL ? err_new(-ENOMEM) : 0;
}

static struct change *
change_new(const struct object *object, uint8_t kind, uint64_t batch)
{
	struct change *change = malloc(sizeof(*change) + object->key.len_bytes);

	if (change == NULL)
		return NULL;
	change->batch = batch;
	change->object_id = object->id;
	change->tenant_id = object->tenant->id;
	change->kind = kind;
	change->key_len = object->key.len_bytes;
	memcpy(change->key, object->key.bytes, object->key.len_bytes);
	return change;
}

void
changes_add(struct changes *changes, const struct object *object, uint8_t kind, uint64_t batch)
{
	struct change *change = NULL;

	if (changes->ring != NULL)
		change = change_new(object, kind, batch);
	if (change == NULL) {
		while (changes->first <= changes->last)
			drop_first(changes);
		changes->first = ++changes->last + 1;
		changes->gone_batch = batch;
		return;
	}
	changes->bytes += size_of(change);
	while (changes->first <= changes->last &&
	       (changes->last - changes->first + 1 >= CHANGES_MAX ||
		changes->bytes > CHANGES_BYTES_MAX))
		drop_first(changes);
	changes->ring[++changes->last % CHANGES_MAX] = change;
}

void
changes_commit(struct changes *changes, uint64_t committed_batch)
{
	if (changes->committed + 1 < changes->first) {
		if (changes->gone_batch > committed_batch)
			return;
		changes->committed = changes->first - 1;
	}
	while (changes->committed < changes->last &&
	       changes_at(changes, changes->committed + 1)->batch <= committed_batch)
		changes->committed++;
}
