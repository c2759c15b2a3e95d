/* SPDX-License-Identifier: Apache-2.0 */

/*
 * mount.h -- memory of this process, lent as a segment.
 *
 *      open (lent.h) -> serve (serve.h) -> lend to our own engine -> tell the master
 *                                                                        |
 *      said again after every join, and when a ping names it as unknown <+
 *
 * thread:  any; the list is guarded by the client's lock.
 */
#ifndef CORE_MOUNT_H
#define CORE_MOUNT_H

#include "core/client.h"
#include "transfer/lent.h"
#include "transfer/serve.h"

struct mount {
	struct list_link at; /* in client->mounts */
	struct lent *lent;
	struct serve *serve; /* NULL: nobody else can reach it (tests) */
	char name[NAME_MAX_BYTES + 1];
	char endpoint[TARGET_ENDPOINT_MAX + 1];
	unsigned n_refs;    /* the list, and whoever works on it; under the client's lock */
	bool is_to_be_said; /* the master does not know it, or not any more */
	bool is_drained;    /* its disk fails, and the master has heard of that */
};

/*
 * mount_add -- lend what is open already.
 *
 * needs:   name is 1..255 printable characters without a blank.
 * takes:   *lent_taken, *serve_taken (either way; *serve_taken may be NULL).
 * result:  0 or TIFFIN_E_*; EXISTS: that name or id is mounted.
 */
int mount_add(struct tiffin_client *client, const char *name, struct lent **lent_taken,
	      struct serve **serve_taken, uint64_t until_ns);

/* Who may come in where the segment is served. */
struct mount_door {
	bool is_insecure; /* from other machines without a cluster key */
	mode_t unix_mode; /* of Unix sockets, 0: 0600 */
	const char *rdma; /* "off", addresses, or "auto" (NULL): by every RDMA device, if other
			     machines may come in at all */
};

/* mount_open -- tiffin_mount(), which is this with a door of zeros. */
int mount_open(struct tiffin_client *client, const struct tiffin_mount_options *options,
	       const struct mount_door *door, uint64_t *ret_segment_id);

#define MOUNT_DEVICE_MAX 80

/* mount_find_device -- of options->nof, as a path (mount_disk.c), and how long it is to rest after
 * an owner that did not close it.  0 or TIFFIN_E_*. */
int mount_find_device(const struct tiffin_mount_options *options,
		      char ret_path[MOUNT_DEVICE_MAX + 1], uint32_t *ret_rest_ms);

/* mount_why_lent -- what a failure of lent_open() means to whoever asked for it. */
int mount_why_lent(const struct tiffin_mount_options *options, int r);

/* mount_is_ours -- does the segment lie in this process? */
bool mount_is_ours(struct tiffin_client *client, uint64_t segment_id);

/* mount_forgotten -- the master wants to hear of it again, at the next tick. */
void mount_forgotten(struct tiffin_client *client, uint64_t segment_id);

/* mount_say_all -- after a new join: every one is to be said again. */
void mount_say_all(struct tiffin_client *client);

/*
 * mount_say -- tell the master of the segment (mount_say.c).
 *
 * is_again  the master may have granted room in it before, and not remember.
 * result:   0 or TIFFIN_E_*.
 */
int mount_say(struct tiffin_client *client, const struct mount *mount, bool is_again,
	      uint64_t until_ns);

/* mount_say_gone -- it will not be lent any more.  0 or TIFFIN_E_*. */
int mount_say_gone(struct tiffin_client *client, const struct mount *mount, uint64_t until_ns);

/* mount_failing -- a disk that refused a write gets no new data, and what lies there moves away, as
 * far as it can be read (mount_disk.c). */
void mount_failing(struct tiffin_client *client);

/* mount_fence -- say what is to be said, carry out fences, and report them at once. */
void mount_fence(struct tiffin_client *client);

/*
 * mount_close_all -- unmount every one as gracefully as can be before until_ns, then give them
 * back.
 *
 * Those in a named file are not unmounted: whoever owns the file next takes them over.
 * result:  were there such?
 */
bool mount_close_all(struct tiffin_client *client, uint64_t until_ns);

#endif
