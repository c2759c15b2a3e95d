/* SPDX-License-Identifier: Apache-2.0 */

/*
 * home.h -- where Tiffin keeps its things on this machine, when nobody says otherwise.
 *
 *                 root                        others
 *      run        /run/tiffin                 /run/user/UID/tiffin, or /tmp/tiffin-UID
 *      state      /var/lib/tiffin             ~/.local/state/tiffin
 *      master     unix:RUN/master.sock        the same
 *
 * The environment is not read: ~ is what the user database says.
 */
#ifndef TRANSFER_BASE_HOME_H
#define TRANSFER_BASE_HOME_H

#include <sys/types.h>

#include "transfer/base/base.h"

#define HOME_DIR_MAX 256

struct home {
	char run[HOME_DIR_MAX];
	char state[HOME_DIR_MAX];
	char master[HOME_DIR_MAX + 32]; /* an address */
};

/* home_init -- of that user.  Makes nothing. */
void home_init(struct home *home, uid_t uid);

/*
 * home_make -- the directory and what leads to it, mode 0700, ours.
 *
 * result:  0; -EPERM when it belongs to somebody else or is open to others' writing; -errno.
 */
int home_make(const char *dir) MUST_CHECK;

#endif
