/* SPDX-License-Identifier: Apache-2.0 */

/*
 * client.h -- one process that joined, over as many connections as it takes.
 *
 *      join -> OK <---> SUSPECT (silent for client_ttl) ---> gone (silent for the grace, too)
 *              |                                              ^
 *              +------------------- leave --------------------+
 *
 * The clients hang on one list in the order in which they were heard last, so
 * the silent ones stand at its front and nobody looks for them.
 *
 * Answers of requests that changed something are remembered for a while: a
 * request that comes again after a lost connection gets the same answer.
 *
 *      made -> (waits for the journal) -> sent -> (forgotten when newer ones need the room)
 *
 * thread:  the loop's.
 */
#ifndef MASTER_CLIENT_H
#define MASTER_CLIENT_H

#include "master/tenant.h"
#include "transfer/base/buf.h"
#include "transfer/base/list.h"

struct peer;

enum client_state { CLIENT_OK = 1, CLIENT_SUSPECT, CLIENT_GONE };

struct client {
	uint64_t id;
	enum client_state state;
	char *name, *host; /* owned */
	struct tenant *tenant;
	struct peer *peer; /* its connection now, or NULL */
	uint32_t uid;      /* of its first join, as in struct peer: nobody else goes by its id */
	uint64_t heard_ms, stalled_ms;          /* when, and the master's own stalls up to then */
	uint64_t clock_there_ms, clock_here_ms; /* its clock as last told, and when we heard it */
	struct list_link at_heard;
	struct list segments; /* struct segment.at_client */
	struct list puts;     /* struct put.at_client */
	struct list answers;  /* struct answer.at_client, oldest first */
	struct list offers;   /* struct task.at_list: tasks that wait until it fetches them */
	uint64_t offer_bytes; /* of their objects */
	uint32_t n_segments, n_puts, n_answers, n_offers;
	uint32_t n_empty_puts;           /* of those puts, without room yet */
	bool has_worker;                 /* it carries out tasks, as its last ping says */
	uint64_t newest_request_id;      /* no answer is of a later one */
	size_t answer_bytes, held_bytes; /* of all answers; of those that wait to be committed */
};

struct answer {
	struct list_link at_client;
	struct list_link at_held; /* master.held, while it waits */
	struct client *client;
	uint64_t request_id;
	uint64_t batch;
	uint64_t since_ns; /* its request came */
	uint16_t type;
	bool needs_sync; /* waits until the batch is synced, not only committed */
	bool is_lasting; /* remembered after it was sent */
	struct buf frame;
};

#define ANSWERS_MAX      256
#define ANSWER_BYTES_MAX (1u << 20)

int client_new(uint64_t id, struct client **ret_client) MUST_CHECK;

/* client_free -- its segments and puts must be gone. */
void client_free(struct client *client);

/* client_set_words -- what join says.  0 or -ENOMEM. */
int client_set_words(struct client *client, const uint8_t *name, uint32_t name_len,
		     const uint8_t *host, uint32_t host_len) MUST_CHECK;

/*
 * client_answer_new -- remember an answer; its frame is filled in by the caller.
 * Older ones that are sent are forgotten to keep within the limits.  0 or -ENOMEM.
 */
int client_answer_new(struct client *client, uint64_t request_id,
		      struct answer **ret_answer) MUST_CHECK;

/* client_answer -- the answer remembered for that request, or NULL. */
struct answer *client_answer(const struct client *client, uint64_t request_id);
void answer_free(struct answer *answer);

DEFINE_CLEANUP(struct client, client_free);

#endif
