/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/nvme_connect.h"

#include <errno.h>
#include <libnvme.h>
#include <stdio.h>
#include <unistd.h>

#include "transfer/base/err.h"

#define FABRICS "/dev/nvme-fabrics"

/* may_connect -- said before anything is tried: what libnvme tells is one error for all. */
static int
may_connect(void)
{
	if (access(FABRICS, F_OK) < 0)
		return NVME_CONNECT_E_NO_MODULE;
	return access(FABRICS, W_OK) < 0 ? NVME_CONNECT_E_NOT_ALLOWED : 0;
}

/* own_host -- as nvme connect has it: by its files, else by what the machine says of itself. */
static nvme_host_t
own_host(nvme_root_t root)
{
	char *nqn = nvmf_hostnqn_from_file(), *id = nvmf_hostid_from_file();
	nvme_host_t host = NULL;

	if (nqn == NULL)
		nqn = nvmf_hostnqn_generate();
	if (nqn != NULL)
		host = nvme_lookup_host(root, nqn, id);
	free(nqn);
	free(id);
	return host;
}

static int
connect_in(nvme_root_t root, const char *nqn, const struct nvme_where *where, int *ret_errno)
{
	struct nvme_fabrics_config config;
	nvme_host_t host = own_host(root);
	nvme_ctrl_t way = NULL;

	if (host != NULL)
		way = nvme_create_ctrl(root, nqn, where->transport, where->address, NULL, NULL,
				       where->port);
	if (way == NULL)
		return err_new(-ENOMEM);
	nvmf_default_config(&config);
	errno = 0;
	if (nvmf_add_ctrl(host, way, &config) == 0 || errno == ENVME_CONNECT_ALREADY)
		return 0;
	*ret_errno = errno;
	nvme_free_ctrl(way);
	return errno == EPERM || errno == EACCES ? NVME_CONNECT_E_NOT_ALLOWED
						 : NVME_CONNECT_E_REFUSED;
}

int
nvme_connect(const char *nqn, const struct nvme_where *where, int *ret_errno)
{
	int r = may_connect();
	nvme_root_t root;
	FILE *nowhere;

	*ret_errno = 0;
	if (r != 0)
		return r;
	nowhere = fopen("/dev/null", "we"); /* a library says nothing on standard error */
	root = nvme_create_root(nowhere, /* log_level: errors */ 3);
	r = root == NULL ? err_new(-ENOMEM) : connect_in(root, nqn, where, ret_errno);
	if (root != NULL)
		nvme_free_tree(root);
	if (nowhere != NULL)
		fclose(nowhere);
	return r;
}

const char *
nvme_connect_why(int e)
{
	return nvme_errno_to_string(e);
}
