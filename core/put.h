/* SPDX-License-Identifier: Apache-2.0 */

/*
 * put.h -- whole objects out of slices: put_start, write to every copy, put_end.
 */
#ifndef CORE_PUT_H
#define CORE_PUT_H

#include "core/ask.h"
#include "core/writing.h"

/* One object on its way to the store. */
struct parcel {
	/* what is to be put */
	const char *key;
	const struct iovec *slices;
	size_t n_slices;
	const void *attr;
	size_t attr_bytes;
	const char *group; /* NULL or "": none */

	/* what came of it */
	int result; /* 0 or TIFFIN_E_* */
	uint64_t object_id;

	/* on the way */
	uint64_t len_bytes;
	bool is_started, may_retry, was_refused;
	struct writing writing;
	size_t first_op, n_ops, n_crc;
	uint32_t crc;
	bool has_crc; /* not when the bytes came from the memory of a device */
};

/* put_options_check -- judge what the caller says; NULL is fine.  0 or TIFFIN_E_INVALID. */
int put_options_check(const struct tiffin_put_options *options);

/* put_attr_check -- 0 or TIFFIN_E_INVALID. */
int put_attr_check(const void *attr, size_t attr_bytes);

/* put_group_check -- the same of a group's id; NULL and "" are fine. */
int put_group_check(const char *group);

/* put_why -- the sentence about an object that the master refused.  TIFFIN_E_*. */
int put_why(const char *key, uint32_t status);

/* put_refused -- the same of a place that put_start refused; why: what its reply says of that. */
int put_refused(const char *key, uint32_t status, struct span why);

/* Objects that put_start asks room for; options->group is not looked at. */
struct put_list {
	const struct rec_put *puts;
	const struct rec_group_id *groups; /* one each, or NULL: none has a group */
	size_t n;
};

/*
 * put_start -- ask for room for them.
 *
 * gives:   *ret_rep, living in ask; ask->asked_ns.
 * result:  0 or TIFFIN_E_*.
 */
int put_start(struct ask *ask, const struct tiffin_put_options *options,
	      const struct put_list *list, uint64_t until_ns, struct rep_put_start *ret_rep);

/*
 * put_run -- put them all.
 *
 * needs:   keys and slices were judged.
 * result:  0 when each has a result; else TIFFIN_E_*, and none has.
 */
int put_run(struct tiffin_client *client, struct parcel *parcels, size_t n,
	    const struct tiffin_put_options *options, uint64_t until_ns);

#endif
