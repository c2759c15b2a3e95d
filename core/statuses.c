/* SPDX-License-Identifier: Apache-2.0 */
#include "core/statuses.h"

#include "core/tiffin.h"

static const int of_status[] = {
	[STATUS_OK] = 0,
	[STATUS_NOT_FOUND] = TIFFIN_E_NOT_FOUND,
	[STATUS_EXISTS] = TIFFIN_E_EXISTS,
	[STATUS_NO_SPACE] = TIFFIN_E_NO_SPACE,
	[STATUS_HAS_LEASE] = TIFFIN_E_LEASE,
	[STATUS_LEASE_EXPIRED] = TIFFIN_E_LEASE,
	[STATUS_INVALID] = TIFFIN_E_INVALID,
	[STATUS_NOT_YOURS] = TIFFIN_E_DENIED,
	[STATUS_SEGMENT_NOT_FOUND] = TIFFIN_E_NOT_FOUND,
	[STATUS_SEGMENT_EXISTS] = TIFFIN_E_EXISTS,
	[STATUS_NO_SEGMENT] = TIFFIN_E_NO_SPACE,
	[STATUS_TENANT_NOT_FOUND] = TIFFIN_E_DENIED,
	[STATUS_UNAVAILABLE] = TIFFIN_E_BUSY,
	[STATUS_VERSION] = TIFFIN_E_VERSION,
	[STATUS_DENIED] = TIFFIN_E_DENIED,
	[STATUS_NOT_JOINED] = TIFFIN_E_UNREACHABLE,
	[STATUS_TOO_MANY] = TIFFIN_E_BUSY,
	[STATUS_NOT_COMPLETE] = TIFFIN_E_UNREACHABLE,
	[STATUS_STRICT_FAILED] = TIFFIN_E_NO_SPACE,
	[STATUS_TENANT_NOT_EMPTY] = TIFFIN_E_NOT_EMPTY,
	[STATUS_QUOTA_EXCEEDED] = TIFFIN_E_QUOTA,
	[STATUS_TASK_NOT_FOUND] = TIFFIN_E_NOT_FOUND,
	[STATUS_TASK_BUSY] = TIFFIN_E_BUSY,
	[STATUS_NO_COPY] = TIFFIN_E_NOT_FOUND,
	[STATUS_CANCELLED] = TIFFIN_E_CLOSED,
	[STATUS_UNREACHABLE] = TIFFIN_E_UNREACHABLE,
	[STATUS_BAD_CHECKSUM] = TIFFIN_E_CHECKSUM,
	[STATUS_NO_WORKER] = TIFFIN_E_UNREACHABLE,
};

static const int of_link[] = {
	[LINK_E_TIMEOUT] = TIFFIN_E_TIMEOUT, [LINK_E_LOST] = TIFFIN_E_UNREACHABLE,
	[LINK_E_CLOSED] = TIFFIN_E_CLOSED,   [LINK_E_DENIED] = TIFFIN_E_DENIED,
	[LINK_E_VERSION] = TIFFIN_E_VERSION, [LINK_E_TENANT] = TIFFIN_E_DENIED,
};

static const int of_op[] = {
	[OP_DONE] = 0,
	[OP_E_PENDING] = TIFFIN_E_SYSTEM,
	[OP_E_LOST] = TIFFIN_E_UNREACHABLE,
	[OP_E_TIMEOUT] = TIFFIN_E_TIMEOUT,
	[OP_E_REFUSED] = TIFFIN_E_DENIED,
	[OP_E_INVALID] = TIFFIN_E_SYSTEM,
	[OP_E_IO] = TIFFIN_E_UNREACHABLE,
	[OP_E_CANCELLED] = TIFFIN_E_CLOSED,
};

int
statuses_code(uint32_t status)
{
	/* A status that this version does not know is a refusal of some kind: the master is newer.
	 */
	if (status >= array_len(of_status) || (status != STATUS_OK && of_status[status] == 0))
		return TIFFIN_E_VERSION;
	return of_status[status];
}

int
statuses_of_link(int outcome)
{
	assert(outcome > 0 && outcome < (int)array_len(of_link));
	return of_link[outcome];
}

int
statuses_of_op(enum op_result result)
{
	assert(result < array_len(of_op));
	return of_op[result];
}
