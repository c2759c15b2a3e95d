/* SPDX-License-Identifier: Apache-2.0 */

/*
 * server.h -- the master on sockets: one thread, one loop.
 *
 *      turn:  wait -> read every ready connection -> master_receive() each whole frame
 *                  -> master_turn() -> write what each peer has got
 *
 * A connection that does not read what it asked for is not read from either, and is
 * ended when OUT_BYTES_MAX waits for it.
 */
#ifndef MASTER_SERVER_H
#define MASTER_SERVER_H

#include <sys/types.h>

#include "master/master.h"

struct server;

struct server_config {
	struct loop *loop;
	struct master *master;
	const char *listen; /* addresses, blank between */
	mode_t socket_mode; /* of Unix sockets */
	unsigned connections_max;
	bool is_insecure; /* addresses beyond this machine without a cluster key */
};

enum server_outcome {
	SERVER_E_BAD_ADDRESS = 1,
	SERVER_E_IN_USE,
	SERVER_E_NO_KEY, /* an address beyond this machine, and no cluster key */
};

/* server_new -- listen everywhere.  why: one line for outcomes and failures.  0, server_outcome,
 * -errno. */
int server_new(const struct server_config *config, struct server **ret_server, char *why,
	       size_t why_cap) MUST_CHECK;
void server_free(struct server *server);

/* server_turn -- one turn.  0 or -errno, which ends the program. */
int server_turn(struct server *server) MUST_CHECK;

/* server_addresses -- where it listens, with real ports, blank between. */
const char *server_addresses(const struct server *server);

DEFINE_CLEANUP(struct server, server_free);

#endif
