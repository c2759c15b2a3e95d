/* SPDX-License-Identifier: Apache-2.0 */

/*
 * control_events.h -- .tiffin/events: a text that grows, so that tail -f follows it.
 *
 * What happened is asked of the master when somebody looks at the length or reads at the end.  From
 * 4 MiB on the text begins anew, as a log that is rotated: tail says so, and goes on.
 *
 * thread:  any.
 */
#ifndef FS_CONTROL_EVENTS_H
#define FS_CONTROL_EVENTS_H

#include "fs/fs.h"
#include "fs/tell.h"

struct fs_events;

int fs_events_new(struct fs *fs, struct fs_events **ret_events) MUST_CHECK;
void fs_events_free(struct fs_events *events);

/* fs_events_size -- of all that was told so far, the newest included as far as the master answers.
 */
uint64_t fs_events_size(struct fs_events *events);

/* fs_events_read -- as many bytes as there are; 0 at the end.  0 or -errno. */
int fs_events_read(struct fs_events *events, uint64_t offset_bytes, void *buf, size_t cap,
		   size_t *ret_n) MUST_CHECK;

/* fs_events_tell -- all that the master still has, as records.  0 or -errno. */
int fs_events_tell(struct fs *fs, struct fs_tell *tell) MUST_CHECK;

#endif
