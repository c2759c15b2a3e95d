/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/ask.h"
#include "core/why.h"

static int
rename_all(struct tiffin_client *client, const struct msg_rename *msg)
{
	cleanup_with(ask_fini) struct ask ask;

	ask_init(&ask, client);
	lease_keeper_flush(client);
	return ask_call(&ask, MSG_rename, msg_rename_encode(&ask.payload, msg),
			client_until(client));
}

/* flags_of -- as the master knows them; 0xff: not to be had. */
static uint8_t
flags_of(uint32_t flags)
{
	switch (flags) {
	case 0:
		return 0;
	case TIFFIN_NOREPLACE:
		return RENAME_NOREPLACE_FLAG;
	case TIFFIN_EXCHANGE:
		return RENAME_EXCHANGE_FLAG;
	case TIFFIN_EXCHANGE_ANY:
		return RENAME_EXCHANGE_ANY_FLAG;
	default:
		return 0xff;
	}
}

/* judge -- all keys and flags.  Fills in the pairs. */
static int
judge(const char *const *from, const char *const *to, struct msg_rename *msg, uint32_t flags)
{
	int r = 0;

	msg->flags = flags_of(flags);
	if (msg->flags == 0xff)
		return why_set(TIFFIN_E_INVALID,
			       "rename knows one of NOREPLACE, EXCHANGE and EXCHANGE_ANY");
	for (uint32_t i = 0; i < msg->n_pairs && r == 0; i++) {
		r = client_key_check(from[i]);
		if (r == 0)
			r = client_key_check(to[i]);
		if (r == 0)
			msg->pairs[i] = (struct rec_rename_pair){span_of(from[i], strlen(from[i])),
								 span_of(to[i], strlen(to[i]))};
	}
	return r;
}

int
tiffin_rename_batch(struct tiffin_client *client, const char *const *from, const char *const *to,
		    size_t n_pairs, uint32_t flags)
{
	struct rec_rename_pair one;
	struct msg_rename msg = {.n_pairs = (uint32_t)n_pairs, .pairs = &one};
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (n_pairs > BATCH_MAX || (n_pairs > 0 && (from == NULL || to == NULL)))
		return client_leave(
			client,
			why_set(TIFFIN_E_INVALID, "rename takes 1 to %d pairs of keys", BATCH_MAX));
	if (n_pairs == 0)
		return client_leave(client, 0);

	if (n_pairs > 1)
		msg.pairs = malloc(n_pairs * sizeof(one));
	r = msg.pairs == NULL ? why_no_memory() : judge(from, to, &msg, flags);
	if (r == 0)
		r = rename_all(client, &msg);
	if (msg.pairs != &one)
		free(msg.pairs);
	return client_leave(client, r);
}

int
tiffin_rename(struct tiffin_client *client, const char *from, const char *to, uint32_t flags)
{
	return tiffin_rename_batch(client, &from, &to, 1, flags);
}
