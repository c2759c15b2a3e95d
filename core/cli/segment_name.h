/* SPDX-License-Identifier: Apache-2.0 */

/* segment_name.h -- which segment a word of the command line means: its name, or its id. */
#ifndef CORE_CLI_SEGMENT_NAME_H
#define CORE_CLI_SEGMENT_NAME_H

#include "core/cli/cli.h"

/* segment_named -- CLI_OK, or what is wrong has been said. */
int segment_named(struct cli *cli, const char *word, uint64_t *ret_segment_id) MUST_CHECK;

/* segments_named -- of words with commas between; at most cap.  CLI_OK, or what is wrong has been
 * said.  *n [in, out]: what it is, it grows by. */
int segments_named(struct cli *cli, const char *words, uint64_t *ids, size_t cap,
		   size_t *n) MUST_CHECK;

/* segment_show -- the name of that segment in buf, or its id in digits.  Gives buf. */
const char *segment_show(struct cli *cli, uint64_t segment_id, char *buf, size_t cap);

#endif
