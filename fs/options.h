/* SPDX-License-Identifier: Apache-2.0 */

/* options.h -- settings of one mount, from options.def and the words of the command line. */
#ifndef FS_OPTIONS_H
#define FS_OPTIONS_H

#include <stdio.h>
#include <sys/types.h>

#include "transfer/base/base.h"
#include "transfer/base/log.h"
#include "transfer/base/options.h"

/* In the order of the words of option `control`. */
enum fs_control_shown { FS_CONTROL_HIDDEN, FS_CONTROL_LISTED, FS_CONTROL_OFF };

/* In the order of the words of option `pin`. */
enum fs_pinned { FS_PIN_NONE, FS_PIN_SOFT, FS_PIN_HARD };

struct fs_options {
#define OPTION(kind, field, unit, def, min, max, help) OPTION_FIELD_##kind(field)
#include "fs/options.def"
#undef OPTION
	/* What stands beside the list; texts are owned. */
	char *source; /* the master's address; "": this user's own */
	char *dir;
	char *mount_words; /* for the kernel: "nosuid,nodev" */
	bool is_foreground, is_debug, is_single, is_fake;
	bool wants_help, wants_version;
	int ready_fd; /* -1: nobody waits */

	/* Read from texts. */
	uid_t uid_is;
	gid_t gid_is;
	mode_t umask_is;
	enum log_level log_level_is;
};

/* fs_options_init -- defaults.  0 or -ENOMEM. */
int fs_options_init(struct fs_options *opts) MUST_CHECK;
void fs_options_fini(struct fs_options *opts);

/*
 * fs_options_args -- "SOURCE DIR -o a,b=c ...", as a person, mount(8) or fstab writes it.
 *
 * SOURCE is "unix:PATH", "HOST:PORT" or "HOST:PORT/PREFIX", or left out; -o master=SOURCE is the
 * same.  Called as mount.NAME, the
 * flags are those that mount(8) gives to its helpers.
 *
 * result:  0; -EINVAL or -ENOMEM with one line in why that names the word.
 */
int fs_options_args(struct fs_options *opts, int argc, char **argv, char *why,
		    size_t why_cap) MUST_CHECK;

/* fs_options_each -- every option of the list, as it could be written. */
void fs_options_each(const struct fs_options *opts,
		     void (*fn)(void *arg, const char *name, const char *text), void *arg);

void fs_options_print_help(FILE *to);

#endif
