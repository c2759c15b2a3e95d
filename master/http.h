/* SPDX-License-Identifier: Apache-2.0 */

/*
 * http.h -- what monitors and scripts read by HTTP: GET and HEAD alone, nothing changes anything.
 *
 *      /metrics                      Prometheus text                       (tiffin-metrics(7))
 *      /health                       200 while the loop turns
 *      /ready                        200 while puts can be taken; else 503 and why
 *      /get_all_segments             names of the segments, a line each
 *      /query_segment?segment=NAME   what it holds
 *      /get_all_keys                 keys, a line each, in order; odd bytes as %XX
 *      /query_key?key=KEY            where its copies are, as JSON
 *      /batch_query_keys?keys=A,B    the same for many
 *
 * The last five are what integrations of other stores of this kind ask for, under the names they
 * use; "tenant=NAME" may be added to those about keys.  No lease is granted.
 *
 * thread:  one of its own, which asks the loop's (ask.h).
 */
#ifndef MASTER_HTTP_H
#define MASTER_HTTP_H

#include "master/ask.h"

struct http;

enum http_outcome {
	HTTP_E_BAD_ADDRESS = 1, /* not host:port */
	HTTP_E_IN_USE,
	HTTP_E_OPEN, /* an address beyond this machine: nobody is asked for a key here */
};

/*
 * http_new -- serve at `listen` ("127.0.0.1:9003"; port 0: any).
 *
 * why:     one line for outcomes and failures.
 * result:  0, http_outcome, -errno.
 */
int http_new(struct asks *asks, const char *listen, bool is_insecure, struct http **ret_http,
	     char *why, size_t why_cap) MUST_CHECK;

/* http_free -- needs: asks_close() was called, or the loop still turns. */
void http_free(struct http *http);

/* http_port -- the real one. */
uint16_t http_port(const struct http *http);

DEFINE_CLEANUP(struct http, http_free);

#endif
