/* SPDX-License-Identifier: Apache-2.0 */

/*
 * doctor.h -- what of this machine Tiffin needs, one examination each.
 *
 *      OK      fine
 *      WARN    works, but slower or with less than it could
 *      BAD     something will not work
 *
 * An examination looks and changes nothing.
 */
#ifndef CORE_CLI_DOCTOR_H
#define CORE_CLI_DOCTOR_H

#include "core/cli/cli.h"

enum doctor_level { DOCTOR_OK, DOCTOR_WARN, DOCTOR_BAD };

struct doctor_finding {
	enum doctor_level level;
	char text[512]; /* what was seen */
	char cure[512]; /* what to do; "" when nothing */
};

struct doctor_examination {
	const char *name;
	void (*look)(struct cli *cli, struct doctor_finding *ret_finding);
};

/* doctor_at -- the i-th examination, NULL behind the last one. */
const struct doctor_examination *doctor_at(size_t i);

#endif
