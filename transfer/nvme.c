/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/nvme.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/num.h"
#include "transfer/nvme_connect.h"
#include "transfer/sysfs.h"

#define SUBSYSTEMS  "/sys/class/nvme-subsystem"
#define CONTROLLERS "/sys/class/nvme"

/* The kernel's own, where it does not tell, or has none set: then the target has. */
#define KATO_S_DEFAULT 5
#define KATO_S_MAX     3600

bool
nvme_nqn_is_good(const char *nqn)
{
	size_t len = strlen(nqn);

	for (size_t i = 0; i < len; i++)
		if (nqn[i] <= ' ' || nqn[i] > '~')
			return false;
	return len > 4 && len <= NVME_NQN_MAX && strncmp(nqn, "nqn.", 4) == 0;
}

/* copy -- [from, to), if it is not empty and fits. */
static bool
copy(char *ret, size_t cap, const char *from, const char *to)
{
	size_t len = (size_t)(to - from);

	if (from >= to || len >= cap)
		return false;
	memcpy(ret, from, len);
	ret[len] = '\0';
	return true;
}

bool
nvme_where_parse(const char *text, struct nvme_where *ret_where)
{
	const char *address = strchr(text, ':'), *port = strrchr(text, ':'), *end;
	struct nvme_where where;

	if (address == NULL || port == address || port[1] == '\0' ||
	    port[1 + strspn(port + 1, "0123456789")] != '\0' ||
	    !copy(where.transport, sizeof(where.transport), text, address) ||
	    (strcmp(where.transport, "tcp") != 0 && strcmp(where.transport, "rdma") != 0) ||
	    !copy(where.port, sizeof(where.port), port + 1, port + strlen(port)))
		return false;
	address++;
	end = port;
	if (*address == '[' && end[-1] == ']') {
		address++;
		end--;
	} else if (memchr(address, ':', (size_t)(end - address)) != NULL) {
		return false;
	}
	/* The kernel takes it as a list of words with commas between them. */
	if (!copy(where.address, sizeof(where.address), address, end) ||
	    strpbrk(where.address, ", =\n[]") != NULL)
		return false;
	*ret_where = where;
	return true;
}

/* is_namespace -- "nvme0n1", and neither "nvme0" nor "nvme0c0n1", which is one of several ways. */
static bool
is_namespace(const char *name)
{
	unsigned controller, nsid;
	int end = -1;

	return sscanf(name, "nvme%un%u%n", &controller, &nsid, &end) == 2 && end > 0 &&
	       name[end] == '\0';
}

static bool
bears(const char *root, const char *dir, const char *name, const char *nqn)
{
	char text[NVME_NQN_MAX + 2];

	return sysfs_line(root, text, sizeof(text), "%s/%s/subsysnqn", dir, name) == 0 &&
	       strcmp(text, nqn) == 0;
}

/* look_in -- the namespaces that lie in one directory; found: how many fit so far. */
static int
look_in(const char *root, const char *dir, uint32_t nsid, struct nvme_namespace *ret,
	unsigned *n_found)
{
	char(*names)[SYSFS_NAME_MAX + 1];
	int n = sysfs_names(root, dir, &names);

	if (n < 0)
		return err_up(n);
	for (int i = 0; i < n; i++) {
		int64_t number;

		if (!is_namespace(names[i]) ||
		    sysfs_number(root, &number, "%s/%s/nsid", dir, names[i]) != 0)
			continue;
		if (number <= 0 || number > UINT32_MAX || (nsid != 0 && number != nsid))
			continue;
		if (*n_found > 0 && strcmp(ret->device, names[i]) == 0)
			continue;
		++*n_found;
		snprintf(ret->device, sizeof(ret->device), "%s", names[i]);
		ret->nsid = (uint32_t)number;
	}
	free(names);
	return 0;
}

/* A walk over one of the two classes: what bears the name is looked into. */
struct walk {
	const char *root, *nqn;
	uint32_t nsid;
	unsigned n_bearing, n_found;
};

static int
look(struct walk *walk, const char *class_dir, struct nvme_namespace *ret)
{
	char(*names)[SYSFS_NAME_MAX + 1];
	int n = sysfs_names(walk->root, class_dir, &names), r = 0;

	if (n < 0)
		return err_up(n);
	for (int i = 0; i < n && r == 0; i++) {
		char dir[128 + SYSFS_NAME_MAX];

		if (!bears(walk->root, class_dir, names[i], walk->nqn))
			continue;
		walk->n_bearing++;
		snprintf(dir, sizeof(dir), "%s/%s", class_dir, names[i]);
		r = look_in(walk->root, dir, walk->nsid, ret, &walk->n_found);
	}
	free(names);
	return err_up(r);
}

/* kato_ms -- of one way. */
static uint32_t
kato_ms(const char *root, const char *name)
{
	char transport[16] = "";
	int64_t s;

	(void)sysfs_line(root, transport, sizeof(transport), CONTROLLERS "/%s/transport", name);
	if (strcmp(transport, "pcie") == 0)
		return 0; /* it goes when the machine does */
	if (sysfs_number(root, &s, CONTROLLERS "/%s/kato", name) != 0 || s <= 0 || s > KATO_S_MAX)
		s = KATO_S_DEFAULT;
	return (uint32_t)s * 1000;
}

static int
count_paths(const char *root, const char *nqn, struct nvme_namespace *ret)
{
	char(*names)[SYSFS_NAME_MAX + 1];
	int n = sysfs_names(root, CONTROLLERS, &names);

	if (n < 0)
		return err_up(n);
	for (int i = 0; i < n; i++) {
		char state[32];

		if (!bears(root, CONTROLLERS, names[i], nqn))
			continue;
		if (ret->n_paths++ == 0)
			(void)sysfs_line(root, ret->transport, sizeof(ret->transport),
					 CONTROLLERS "/%s/transport", names[i]);
		ret->kato_ms = num_max(ret->kato_ms, kato_ms(root, names[i]));
		if (sysfs_line(root, state, sizeof(state), CONTROLLERS "/%s/state", names[i]) == 0)
			ret->n_live += strcmp(state, "live") == 0;
	}
	free(names);
	return 0;
}

int
nvme_find(const char *root, const char *nqn, uint32_t nsid, struct nvme_namespace *ret)
{
	struct walk walk = {.root = root, .nqn = nqn, .nsid = nsid};
	int r;

	*ret = (struct nvme_namespace){0};
	r = look(&walk, SUBSYSTEMS, ret);
	if (r == 0 && walk.n_found == 0) /* a kernel without multipath has them below controllers */
		r = look(&walk, CONTROLLERS, ret);
	if (r == 0)
		r = count_paths(root, nqn, ret);
	if (r < 0)
		return err_up(r);
	if (walk.n_bearing == 0)
		return NVME_E_NO_SUBSYSTEM;
	if (walk.n_found == 0)
		return NVME_E_NO_NAMESPACE;
	if (walk.n_found > 1)
		return NVME_E_SEVERAL;
	return ret->n_live == 0 ? NVME_E_NOT_LIVE : 0;
}
