/* SPDX-License-Identifier: Apache-2.0 */

/* statuses.h -- answers of the master, the link and the engine, in the words of tiffin.h. */
#ifndef CORE_STATUSES_H
#define CORE_STATUSES_H

#include "core/link.h"
#include "transfer/op.h"

/* statuses_code -- TIFFIN_E_* for a status of the master; 0 for OK. */
int statuses_code(uint32_t status);

/* statuses_of_link -- for an outcome of the link.  needs: outcome > 0. */
int statuses_of_link(int outcome);

/* statuses_of_op -- for the end of an op; 0 for OP_DONE. */
int statuses_of_op(enum op_result result);

#endif
