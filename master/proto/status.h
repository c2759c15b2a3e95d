/* SPDX-License-Identifier: Apache-2.0 */

/* status.h -- the master's answers, made from status.def. */
#ifndef MASTER_PROTO_STATUS_H
#define MASTER_PROTO_STATUS_H

#include "transfer/base/base.h"

enum status {
#define STATUS(number, name, retry, meaning) STATUS_##name = number,
#include "master/proto/status.def"
#undef STATUS
};

/* status_name -- "NOT_FOUND"; "UNKNOWN" for a number that is none.  status_meaning -- in words. */
const char *status_name(uint32_t status);
const char *status_meaning(uint32_t status);
bool status_may_retry(uint32_t status);

enum exist_flags { EXIST_LEASE = 1 };
enum put_flags { PUT_REPLACE = 1, PUT_STRICT = 2, PUT_SAME_NODE = 4 };
enum tenant_set_flags { TENANT_SET_BYTES = 1, TENANT_SET_OBJECTS = 2 };
enum rename_flags {
	RENAME_NOREPLACE_FLAG = 1,
	RENAME_EXCHANGE_FLAG = 2,
	RENAME_EXCHANGE_ANY_FLAG = 4, /* of a pair, one may have no object */
};
enum medium { MEDIUM_DRAM = 1, MEDIUM_FILE = 2, MEDIUM_NOF = 3 };

#endif
