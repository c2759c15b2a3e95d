/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/nvme_connect.h"

int
nvme_connect(const char *nqn, const struct nvme_where *where, int *ret_errno)
{
	(void)nqn;
	(void)where;
	(void)ret_errno;
	return NVME_CONNECT_E_NOT_BUILT;
}

const char *
nvme_connect_why(int e)
{
	(void)e;
	return "";
}
