/* SPDX-License-Identifier: Apache-2.0 */

/*
 * work.h -- tasks of the master, carried out by a client that lends memory.
 *
 *      ping says that some wait -> fetch_tasks -> read a piece, write a piece, ... -> report_task
 *
 * A thread of its own, so that no ping waits for it; one buffer of WORK_PIECE_BYTES, whatever the
 * size of the object.  The piece is read from whichever copy answers, under the read lease that
 * came with the task, and written under its write lease, which is extended at its half.  The lease
 * on the object is given back before the report, so that the master may let go of a copy at once.
 */
#ifndef CORE_WORK_H
#define CORE_WORK_H

#include "core/client.h"

#define WORK_PIECE_BYTES (4ull << 20)

/* work_start -- the thread, unless it runs; only a client with a beat has one.  0 or -errno. */
int work_start(struct tiffin_client *client) MUST_CHECK;

/* work_stop -- end it and wait for it; fine when there is none.  needs: client->is_closing. */
void work_stop(struct tiffin_client *client);

/* work_hint -- the master has tasks for us. */
void work_hint(struct tiffin_client *client);

/*
 * work_some -- fetch some tasks, carry them out, report them.
 *
 * buf      WORK_PIECE_BYTES.
 * result:  were there any?
 */
bool work_some(struct tiffin_client *client, uint8_t *buf);

#endif
