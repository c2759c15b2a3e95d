/* SPDX-License-Identifier: Apache-2.0 */

/*
 * house.h -- what `tiffin up` has built and `tiffin down` takes away: directories, programs, mount.
 *
 *      RUN/master.sock, RUN/NAME.pid, RUN/mount      STATE/master.db, STATE/NAME.log
 */
#ifndef CORE_CLI_HOUSE_H
#define CORE_CLI_HOUSE_H

#include <limits.h>

#include "core/cli/cli.h"
#include "core/cli/daemon.h"

/* In the order in which they start; they stop in the opposite one. */
enum house_daemon { HOUSE_MASTER, HOUSE_PROVIDER, HOUSE_MOUNT, HOUSE_N_DAEMONS };

#define HOUSE_DIR_MAX 2048

struct house {
	char run[HOUSE_DIR_MAX], state[HOUSE_DIR_MAX];
	char master[HOUSE_DIR_MAX + 32]; /* its address */
	char mount[PATH_MAX];            /* "": none */
	struct daemon daemons[HOUSE_N_DAEMONS];
};

/*
 * house_init -- run and state NULL: this user's own.  Recalls the mount of an earlier `up`.
 *
 * result:  CLI_OK, or it has been said.  The directories need not exist yet.
 */
int house_init(struct house *house, const struct cli *cli, const char *run,
	       const char *state) MUST_CHECK;

/* house_make -- the directories, for us alone. */
int house_make(const struct house *house, const struct cli *cli) MUST_CHECK;

/* house_choose_mount -- the directory is made when it is missing; another one may not be mounted.
 */
int house_choose_mount(struct house *house, const struct cli *cli, const char *dir) MUST_CHECK;

/* house_remember_mount -- for `down`. */
int house_remember_mount(const struct house *house, const struct cli *cli) MUST_CHECK;

/* house_stop -- one of them; lazy: a mount goes away even when it is in use.  It has been said. */
int house_stop(const struct house *house, const struct cli *cli, enum house_daemon which,
	       bool lazy);

#endif
