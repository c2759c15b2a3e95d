/* SPDX-License-Identifier: Apache-2.0 */

/*
 * interrupt.h -- Ctrl-C, SIGTERM and SIGHUP: finish the piece under way, tidy up, exit 130.
 *
 * The first one only leaves a mark, and loops look at it between pieces.  A call
 * of the library may wait long for a peer that is gone: two seconds after the mark
 * (unless interrupt_be_patient() was called), or at the second signal, the process
 * ends at once.  Nothing half remains then either: a file without a name goes with
 * the process, and a put that nobody commits is nobody's.
 */
#ifndef CORE_CLI_INTERRUPT_H
#define CORE_CLI_INTERRUPT_H

#include <sys/types.h>

#include "transfer/base/base.h"

/* interrupt_install -- before threads start. */
void interrupt_install(void);

/* interrupt_be_patient -- this command tidies up by itself, however long that takes. */
void interrupt_be_patient(void);

/* interrupt_pass_to -- a command runs under this one: it gets what we get, however often, and we go
 * on until it has ended.  0: none does any more. */
void interrupt_pass_to(pid_t pid);

/* interrupted -- did a signal ask us to stop? */
bool interrupted(void);

#endif
