/* SPDX-License-Identifier: Apache-2.0 */

/* handle_tenant.c -- tenant_put, tenant_list, tenant_delete. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "master/books.h"
#include "master/handle.h"
#include "transfer/base/err.h"
#include "transfer/base/log.h"

static int
journal_tenant(struct master *master, struct tenant *tenant, const struct tenant_quota *quota)
{
	struct record record = {
		.kind = RECORD_TENANT_SET,
		.tenant_id = tenant->id,
		.name = tenant->name,
		.name_len = (uint16_t)strlen(tenant->name),
		.quota_bytes = quota->bytes,
		.quota_objects = quota->objects,
	};
	int r = books_journal(master, &record);

	if (r < 0)
		return err_up(r);
	tenant->batch = master->tenants.batch = master->batch;
	tenant->quota = *quota;
	return 0;
}

int
tenant_make(struct master *master, struct span name, const struct tenant_quota *quota,
	    struct tenant **ret_tenant)
{
	struct tenant *tenant;
	int r;

	if (!tenant_name_is_sound(name.at, name.len))
		return TENANT_E_NAME;
	if (master->tenants.by_name.n >= TENANTS_MAX)
		return TENANT_E_MANY;
	r = tenants_add(&master->tenants, 0, name.at, name.len, &tenant);
	if (r < 0)
		return err_up(r);
	r = journal_tenant(master, tenant, quota);
	if (r < 0) {
		tenants_drop(&master->tenants, tenant);
		return err_up(r);
	}
	counter_add(&master->counters.tenants, 1);
	log_event(LOG_INFO, "tenant_made", "tenant=%s", tenant->name);
	event_tell(master, EVENT_tenant_made, tenant->id, "%s", tenant->name);
	*ret_tenant = tenant;
	return 0;
}

/* ---- tenant_put ---- */

static uint32_t
status_of(int outcome)
{
	switch (outcome) {
	case 0:
		return STATUS_OK;
	case TENANT_E_NAME:
		return STATUS_INVALID;
	case TENANT_E_MANY:
		return STATUS_TOO_MANY;
	default:
		return STATUS_UNAVAILABLE;
	}
}

static uint32_t
put_one(struct master *master, const struct rec_tenant_set *set)
{
	struct tenant *tenant = tenants_by_name(&master->tenants, set->name.at, set->name.len);
	struct tenant_quota quota = {0};
	int r;

	if ((set->flags & ~(TENANT_SET_BYTES | TENANT_SET_OBJECTS)) != 0 ||
	    set->quota_bytes > INT64_MAX || set->quota_objects > INT64_MAX)
		return STATUS_INVALID;
	if (tenant != NULL)
		quota = tenant->quota;
	if ((set->flags & TENANT_SET_BYTES) != 0)
		quota.bytes = set->quota_bytes;
	if ((set->flags & TENANT_SET_OBJECTS) != 0)
		quota.objects = set->quota_objects;
	if (tenant == NULL)
		return status_of(tenant_make(master, set->name, &quota, &tenant));

	books_hold(master, tenant->batch);
	if (quota.bytes == tenant->quota.bytes && quota.objects == tenant->quota.objects)
		return STATUS_OK;
	r = journal_tenant(master, tenant, &quota);
	if (r == 0)
		event_tell(master, EVENT_tenant_quota, tenant->id,
			   "%s bytes=%" PRIu64 " objects=%" PRIu64, tenant->name, quota.bytes,
			   quota.objects);
	return status_of(r);
}

int
tenant_order(struct master *master, const char *name, const int64_t *bytes, const int64_t *objects,
	     const char **ret_words)
{
	struct rec_tenant_set set = {.name = span_of(name, strlen(name))};
	uint32_t status;

	if (bytes != NULL) {
		set.flags |= TENANT_SET_BYTES;
		set.quota_bytes = (uint64_t)*bytes;
	}
	if (objects != NULL) {
		set.flags |= TENANT_SET_OBJECTS;
		set.quota_objects = (uint64_t)*objects;
	}
	status = put_one(master, &set);
	*ret_words = status == STATUS_OK ? "in the books" : status_meaning(status);
	if (status == STATUS_UNAVAILABLE)
		return err_new(-ENOMEM);
	return status == STATUS_OK ? 0 : 1;
}

int
handle_tenant_put(struct peer *peer, const struct msg_tenant_put *msg, struct buf *out)
{
	uint32_t *statuses = handle_statuses(peer, msg->n_tenants);

	if (statuses == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < msg->n_tenants; i++)
		statuses[i] = put_one(peer->master, &msg->tenants[i]);
	return handle_fates(out, statuses, msg->n_tenants);
}

/* ---- tenant_list ---- */

static int
tell_tenant(const struct tenant *tenant, struct buf *out)
{
	struct rec_tenant_state rec = {
		.name = span_of(tenant->name, strlen(tenant->name)),
		.quota_bytes = tenant->quota.bytes,
		.quota_objects = tenant->quota.objects,
		.charged_bytes = tenant->charged_bytes,
		.resting_bytes = tenant->resting_bytes,
		.object_bytes = tenant->bytes,
		.n_objects = tenant->n_objects,
		.n_puts = (uint32_t)tenant->n_puts,
		.n_clients = (uint32_t)tenant->n_clients,
		.is_over_quota = tenant_is_over(tenant),
	};

	return rec_tenant_state_encode(out, &rec);
}

int
handle_tenant_list(struct peer *peer, const struct msg_tenant_list *msg, struct buf *out)
{
	const struct tenants *tenants = &peer->master->tenants;
	size_t at = tenants_after(tenants, msg->after.at, msg->after.len);
	size_t n = tenants->by_name.n - at;
	int r;

	if (msg->most == 0 || msg->most > BATCH_MAX)
		return STATUS_INVALID;
	books_hold(peer->master, tenants->batch);
	r = codec_put_u8(out, n > msg->most);
	n = n > msg->most ? msg->most : n;
	if (r == 0)
		r = codec_put_u32(out, (uint32_t)n);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = tell_tenant(tenants->by_name.at[at + i], out);
	return handle_encoded(r);
}

/* ---- tenant_delete ---- */

static uint32_t
delete_one(struct master *master, struct span name)
{
	struct tenant *tenant = tenants_by_name(&master->tenants, name.at, name.len);
	struct record record = {.kind = RECORD_TENANT_REMOVE};

	if (tenant == NULL) {
		books_hold(master, master->tenants.batch);
		return STATUS_TENANT_NOT_FOUND;
	}
	if (tenant->id == TENANT_DEFAULT_ID)
		return STATUS_INVALID;
	if (!tenant_is_empty(tenant))
		return STATUS_TENANT_NOT_EMPTY;
	record.tenant_id = tenant->id;
	if (books_journal(master, &record) < 0)
		return STATUS_UNAVAILABLE;
	log_event(LOG_INFO, "tenant_gone", "tenant=%s", tenant->name);
	event_tell(master, EVENT_tenant_gone, tenant->id, "%s", tenant->name);
	master->tenants.batch = master->batch;
	tenants_drop(&master->tenants, tenant);
	counter_sub(&master->counters.tenants, 1);
	return STATUS_OK;
}

int
handle_tenant_delete(struct peer *peer, const struct msg_tenant_delete *msg, struct buf *out)
{
	uint32_t *statuses = handle_statuses(peer, msg->n_tenants);

	if (statuses == NULL)
		return STATUS_UNAVAILABLE;
	for (uint32_t i = 0; i < msg->n_tenants; i++)
		statuses[i] = delete_one(peer->master, msg->tenants[i].name);
	return handle_fates(out, statuses, msg->n_tenants);
}
