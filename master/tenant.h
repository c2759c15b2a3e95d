/* SPDX-License-Identifier: Apache-2.0 */

/* tenant.h -- a key space of its own; what it holds is counted. */
#ifndef MASTER_TENANT_H
#define MASTER_TENANT_H

#include "master/index.h"

struct tenant {
	uint64_t id; /* 1: "default" */
	const char *name;
	struct index *index;
	uint64_t n_objects, bytes; /* in the index */
};

#endif
