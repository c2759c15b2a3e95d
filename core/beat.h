/* SPDX-License-Identifier: Apache-2.0 */

/*
 * beat.h -- the pulse of a client: a ping now and then, and what comes back with it.
 *
 *      ping    our clock, fences carried out, segments that failed  ------>
 *              <------  fences to be carried out, segments to be mounted again
 */
#ifndef CORE_BEAT_H
#define CORE_BEAT_H

#include "core/client.h"

/* beat_start -- a thread that calls client_tick() at the master's pace.  0 or -errno. */
int beat_start(struct tiffin_client *client) MUST_CHECK;

/* beat_stop -- end it and wait for it; fine when there is none. */
void beat_stop(struct tiffin_client *client);

/* beat_hurry -- let the next round begin at once. */
void beat_hurry(struct tiffin_client *client);

/* beat_ping -- one ping; keeps its answer in the client.  A master that is silent is no failure. */
void beat_ping(struct tiffin_client *client);

/* beat_ping_until -- as above.  0 or TIFFIN_E_*. */
int beat_ping_until(struct tiffin_client *client, uint64_t until_ns);

#endif
