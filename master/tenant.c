/* SPDX-License-Identifier: Apache-2.0 */
#include "master/tenant.h"

#include <errno.h>
#include <string.h>

#include "master/warm.h"
#include "master/proto/limits.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

void
tenants_init(struct tenants *tenants)
{
	*tenants = (struct tenants){0};
	slab_init(&tenants->slab);
	map_init(&tenants->by_id);
	for (unsigned i = 0; i < TENANT_GRADES; i++)
		list_init(&tenants->grades[i]);
}

static void
warm_page(void *arg, void *at, size_t len_bytes)
{
	warm_ask(arg, at, len_bytes);
}

void
tenants_warm(struct tenants *tenants, struct warm *warm)
{
	tenants->warm = warm;
	slab_ahead(&tenants->slab, warm_page, warm);
}

static void
tenant_free(struct tenant *tenant)
{
	list_remove(&tenant->grade);
	ages_fini(&tenant->ages);
	index_free(tenant->index);
	index_free(tenant->groups);
	free(tenant->name);
	free(tenant);
}

void
tenants_fini(struct tenants *tenants)
{
	for (size_t i = 0; i < tenants->by_name.n; i++)
		tenant_free(tenants->by_name.at[i]);
	vec_fini(&tenants->by_name);
	map_fini(&tenants->by_id);
	if (tenants->warm != NULL)
		warm_rest(tenants->warm);
	slab_fini(&tenants->slab);
}

static int
compare(const struct tenant *tenant, const uint8_t *name, size_t name_len)
{
	size_t len = strlen(tenant->name);
	int order = memcmp(tenant->name, name, num_min(len, name_len));

	return order != 0 ? order : (len > name_len) - (len < name_len);
}

/* Where the first one stands that is not before this name. */
static size_t
place_of(const struct tenants *tenants, const uint8_t *name, size_t name_len)
{
	size_t from = 0, to = tenants->by_name.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (compare(tenants->by_name.at[mid], name, name_len) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static bool
is_at(const struct tenants *tenants, size_t at, const uint8_t *name, size_t name_len)
{
	return at < tenants->by_name.n && compare(tenants->by_name.at[at], name, name_len) == 0;
}

struct tenant *
tenants_by_name(const struct tenants *tenants, const uint8_t *name, size_t name_len)
{
	size_t at = place_of(tenants, name, name_len);

	return is_at(tenants, at, name, name_len) ? tenants->by_name.at[at] : NULL;
}

size_t
tenants_after(const struct tenants *tenants, const uint8_t *name, size_t name_len)
{
	size_t at = place_of(tenants, name, name_len);

	return at + is_at(tenants, at, name, name_len);
}

static int
tenant_new(struct slab *slab, uint64_t id, const uint8_t *name, size_t name_len,
	   struct tenant **ret_tenant)
{
	struct tenant *tenant = calloc(1, sizeof(*tenant));
	int r;

	if (tenant == NULL)
		return err_new(-ENOMEM);
	ages_init(&tenant->ages);
	list_link_init(&tenant->grade);
	tenant->id = id;
	tenant->slab = slab;
	tenant->name = strndup((const char *)name, name_len);
	r = tenant->name == NULL ? err_new(-ENOMEM) : index_new(slab, &tenant->index);
	if (r < 0) {
		free(tenant->name);
		free(tenant);
		return err_up(r);
	}
	*ret_tenant = tenant;
	return 0;
}

int
tenants_add(struct tenants *tenants, uint64_t id, const uint8_t *name, size_t name_len,
	    struct tenant **ret_tenant)
{
	size_t at = place_of(tenants, name, name_len);
	struct tenant *tenant = NULL;
	int r;

	assert(tenant_name_is_sound(name, name_len) && !is_at(tenants, at, name, name_len));
	id = id == 0 ? tenants->last_id + 1 : id;
	assert(tenants_by_id(tenants, id) == NULL);

	r = vec_reserve(&tenants->by_name, 1);
	if (r == 0)
		r = tenant_new(&tenants->slab, id, name, name_len, &tenant);
	if (r < 0)
		return err_up(r);
	r = map_put(&tenants->by_id, id, tenant);
	if (r < 0) {
		tenant_free(tenant);
		return err_new(-ENOMEM);
	}
	memmove(tenants->by_name.at + at + 1, tenants->by_name.at + at,
		(tenants->by_name.n - at) * sizeof(*tenants->by_name.at));
	tenants->by_name.at[at] = tenant;
	tenant->all = tenants;
	list_push_back(&tenants->grades[0], &tenant->grade);
	tenants->by_name.n++;
	tenants->last_id = num_max(tenants->last_id, id);
	*ret_tenant = tenant;
	return 0;
}

void
tenants_drop(struct tenants *tenants, struct tenant *tenant)
{
	size_t at = place_of(tenants, (const uint8_t *)tenant->name, strlen(tenant->name));

	assert(tenant_is_empty(tenant) && tenants->by_name.at[at] == tenant);

	tenants->by_name.n--;
	memmove(tenants->by_name.at + at, tenants->by_name.at + at + 1,
		(tenants->by_name.n - at) * sizeof(*tenants->by_name.at));
	map_take(&tenants->by_id, tenant->id);
	tenant_free(tenant);
}

bool
tenant_name_is_sound(const uint8_t *name, size_t name_len)
{
	if (name_len == 0 || name_len > NAME_MAX_BYTES || name[0] == '_')
		return false;
	for (size_t i = 0; i < name_len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return true;
}

bool
tenant_is_empty(const struct tenant *tenant)
{
	return tenant->n_objects == 0 && tenant->n_puts == 0 && tenant->charged_bytes == 0 &&
	       tenant->moving_bytes == 0 && tenant->n_clients == 0;
}

void
tenant_regrade(struct tenant *tenant, unsigned grade)
{
	assert(grade < TENANT_GRADES);

	tenant->at_grade = grade;
	if (tenant->all == NULL)
		return;
	list_remove(&tenant->grade);
	list_push_back(&tenant->all->grades[grade], &tenant->grade);
}

size_t
tenants_ram_bytes(const struct tenants *tenants)
{
	size_t bytes = 0;

	for (size_t i = 0; i < tenants->by_name.n; i++)
		bytes += index_ram_bytes(tenants->by_name.at[i]->index) +
			 ages_ram_bytes(&tenants->by_name.at[i]->ages);
	return bytes;
}
