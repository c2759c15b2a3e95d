/* SPDX-License-Identifier: Apache-2.0 */

/* Tenants: made, changed, told one by one, and deleted. */
#include <stdio.h>
#include <string.h>

#include "core/ask.h"
#include "core/statuses.h"
#include "core/why.h"

/* why_tenant -- what the master says of this one. */
static int
why_tenant(uint16_t type, const char *name, uint32_t status)
{
	int code = status == STATUS_TENANT_NOT_FOUND ? TIFFIN_E_NOT_FOUND : statuses_code(status);

	return why_set(code, "%s: tenant \"%s\": %s", msg_name(type), name, status_meaning(status));
}

/* name_check -- 0 or TIFFIN_E_INVALID: what the wire can't carry is no name. */
static int
name_check(const char *name)
{
	size_t len = strlen(name);
	bool is_fine = len >= 1 && len <= NAME_MAX_BYTES && name[0] != '_';

	for (size_t i = 0; is_fine && i < len; i++)
		is_fine = name[i] > ' ' && name[i] <= '~';
	return is_fine ? 0
		       : why_set(TIFFIN_E_INVALID,
				 "a tenant's name is 1 to %d printable characters without a "
				 "blank, the first of them not '_'",
				 NAME_MAX_BYTES);
}

/* ---- put ------------------------------------------------------------------------ */

static int
put(struct tiffin_client *client, struct rec_tenant_set *set, const char *name)
{
	const struct msg_tenant_put msg = {.n_tenants = 1, .tenants = set};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_tenant_put rep;
	int r = name_check(name);

	ask_init(&ask, client);
	if (r == 0)
		r = ask_call(&ask, MSG_tenant_put, msg_tenant_put_encode(&ask.payload, &msg),
			     client_until(client));
	if (r == 0)
		r = ask_read(&ask, rep_tenant_put_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		r = ask_count(&ask, rep.n_fates, 1);
	if (r == 0 && rep.fates[0].status != STATUS_OK)
		r = why_tenant(MSG_tenant_put, name, rep.fates[0].status);
	return r;
}

int
tiffin_tenant_put(struct tiffin_client *client, const char *name, const uint64_t *quota_bytes,
		  const uint64_t *quota_objects)
{
	struct rec_tenant_set set = {.name = span_of(name, strlen(name))};
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (quota_bytes != NULL) {
		set.flags |= TENANT_SET_BYTES;
		set.quota_bytes = *quota_bytes;
	}
	if (quota_objects != NULL) {
		set.flags |= TENANT_SET_OBJECTS;
		set.quota_objects = *quota_objects;
	}
	return client_leave(client, put(client, &set, name));
}

/* ---- list ----------------------------------------------------------------------- */

typedef int (*tenant_fn)(void *arg, const struct tiffin_tenant *tenant);

struct walk {
	char after[NAME_MAX_BYTES + 1]; /* the last one told */
	bool has_more;
	tenant_fn fn;
	void *arg;
};

static int
tell(struct walk *walk, const struct rec_tenant_state *rec)
{
	const struct tiffin_tenant tenant = {
		.name = walk->after,
		.quota_bytes = rec->quota_bytes,
		.quota_objects = rec->quota_objects,
		.charged_bytes = rec->charged_bytes,
		.resting_bytes = rec->resting_bytes,
		.object_bytes = rec->object_bytes,
		.n_objects = rec->n_objects,
		.n_puts = rec->n_puts,
		.n_clients = rec->n_clients,
		.is_over_quota = rec->is_over_quota != 0,
	};

	snprintf(walk->after, sizeof(walk->after), "%.*s", (int)rec->name.len,
		 (const char *)rec->name.at);
	return walk->fn(walk->arg, &tenant);
}

/* page -- those after walk->after, which moves on.  What fn says, or TIFFIN_E_*. */
static int
page(struct tiffin_client *client, struct walk *walk)
{
	const struct msg_tenant_list msg = {.after = span_of(walk->after, strlen(walk->after)),
					    .most = BATCH_MAX};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_tenant_list rep;
	int r;

	ask_init(&ask, client);
	r = ask_call(&ask, MSG_tenant_list, msg_tenant_list_encode(&ask.payload, &msg),
		     client_until(client));
	if (r == 0)
		r = ask_read(&ask,
			     rep_tenant_list_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r != 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < rep.n_tenants; i++)
		r = tell(walk, &rep.tenants[i]);
	walk->has_more = rep.has_more != 0 && rep.n_tenants > 0;
	return r;
}

int
tiffin_tenant_list(struct tiffin_client *client,
		   int (*fn)(void *arg, const struct tiffin_tenant *tenant), void *arg)
{
	struct walk walk = {.fn = fn, .arg = arg};
	int r = client_enter(client);

	if (r != 0)
		return r;
	do {
		r = page(client, &walk);
	} while (r == 0 && walk.has_more);
	return client_leave(client, r);
}

/* ---- delete --------------------------------------------------------------------- */

static int delete (struct tiffin_client *client, const char *name)
{
	struct rec_tenant_name one = {.name = span_of(name, strlen(name))};
	const struct msg_tenant_delete msg = {.n_tenants = 1, .tenants = &one};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_tenant_delete rep;
	int r = name_check(name);

	ask_init(&ask, client);
	if (r == 0)
		r = ask_call(&ask, MSG_tenant_delete, msg_tenant_delete_encode(&ask.payload, &msg),
			     client_until(client));
	if (r == 0)
		r = ask_read(&ask,
			     rep_tenant_delete_decode(ask.reply.payload, ask.reply.arena, &rep));
	if (r == 0)
		r = ask_count(&ask, rep.n_fates, 1);
	if (r == 0 && rep.fates[0].status != STATUS_OK)
		r = why_tenant(MSG_tenant_delete, name, rep.fates[0].status);
	return r;
}

int
tiffin_tenant_delete(struct tiffin_client *client, const char *name)
{
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, delete (client, name));
}
