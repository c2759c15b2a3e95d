/* SPDX-License-Identifier: Apache-2.0 */

/* fault.h, delay: decorators that stand in front of any transport, for tests and `tiffin bench`. */
#ifndef TRANSFER_FAULT_H
#define TRANSFER_FAULT_H

#include "transfer/base/rand.h"
#include "transfer/transport.h"

/* What goes wrong, in chances of one in 2^16 for each op. */
struct fault_plan {
	uint64_t seed;
	uint32_t lost;      /* completes with OP_E_LOST, nothing moved */
	uint32_t lost_late; /* the bytes are moved, the op is said to be lost */
	uint32_t timeout;
	uint32_t flip; /* one bit of what was moved is turned (READ: in the slices) */
};

int transport_fault_new(struct transport **inner_taken, const struct fault_plan *plan,
			struct transport **ret_t) MUST_CHECK;

/* transport_delay_new -- each op is handed on only after len_ns (by the engine's clock). */
int transport_delay_new(struct transport **inner_taken, uint64_t len_ns,
			struct transport **ret_t) MUST_CHECK;

#endif
