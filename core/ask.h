/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ask.h -- one request to the master, from encoding to the answer, in the words of tiffin.h.
 *
 *      cleanup_with(ask_fini) struct ask ask;
 *
 *      ask_init(&ask, client);
 *      r = ask_call(&ask, MSG_stat, msg_stat_encode(&ask.payload, &msg), until_ns);
 *      if (r == 0)
 *              r = ask_read(&ask, rep_stat_decode(ask.reply.payload, ask.reply.arena, &rep));
 *
 * The decoded reply lives until ask_fini().
 */
#ifndef CORE_ASK_H
#define CORE_ASK_H

#include "core/client.h"

struct ask {
	struct tiffin_client *client;
	struct buf payload;
	struct link_reply reply;
	bool has_reply;
	uint64_t asked_ns; /* just before it went out: promises count from here */
};

void ask_init(struct ask *ask, struct tiffin_client *client);
void ask_fini(struct ask *ask);

/* ask_again -- ready for another request; the former reply is gone. */
void ask_again(struct ask *ask);

/*
 * ask_call -- send the payload, wait for the answer.
 *
 * encoded  result of the encoder: 0 or CODEC_E_NO_MEMORY.
 * result:  0: the answer is OK; else TIFFIN_E_*.  A master that can't write its books is asked
 *          again for a moment.
 */
int ask_call(struct ask *ask, uint16_t type, int encoded, uint64_t until_ns);

/* ask_read -- judge what the decoder said.  0, TIFFIN_E_SYSTEM, TIFFIN_E_VERSION (malformed). */
int ask_read(struct ask *ask, int decoded);

/* ask_post -- send, wait for nothing. */
void ask_post(struct ask *ask, uint16_t type, int encoded);

/* ask_count -- judge that a reply has as many records as were asked for. */
int ask_count(struct ask *ask, uint32_t n_told, size_t n_asked);

#endif
