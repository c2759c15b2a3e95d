/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pin.h"

#include "core/each.h"
#include "core/why.h"

int
pin_check(uint32_t pins, uint64_t ttl_ms)
{
	if (pins == PINS)
		return why_set(TIFFIN_E_INVALID, "a pin is soft or hard, not both");
	if (ttl_ms > 0 && pins != TIFFIN_SOFT_PIN)
		return why_set(TIFFIN_E_INVALID, "only a soft pin ends by itself");
	if (ttl_ms > PIN_TTL_MAX_MS)
		return why_set(TIFFIN_E_INVALID, "a soft pin lasts 24 hours at most");
	return 0;
}

/* How long stands in each.arg. */
#define FOR_EVER UINT64_MAX

static int
encode_pin(struct buf *to, const struct rec_key_only *keys, uint32_t n_keys, uint64_t ttl_ms)
{
	const struct msg_pin msg = {.pin = ttl_ms == FOR_EVER ? 2 : 1,
				    .pin_ttl_ms = ttl_ms == FOR_EVER ? 0 : ttl_ms,
				    .n_keys = n_keys,
				    .keys = (struct rec_key_only *)keys};

	return msg_pin_encode(to, &msg);
}

static int
encode_unpin(struct buf *to, const struct rec_key_only *keys, uint32_t n_keys, uint64_t arg)
{
	const struct msg_unpin msg = {.n_keys = n_keys, .keys = (struct rec_key_only *)keys};

	(void)arg;
	return msg_unpin_encode(to, &msg);
}

int
tiffin_pin_batch(struct tiffin_client *client, const char *const *keys, size_t n_keys,
		 uint32_t flags, uint64_t ttl_ms, int *ret_results)
{
	struct each each = {.type = MSG_pin, .encode = encode_pin, .arg = FOR_EVER};
	int r = client_enter(client);

	if (r != 0)
		return r;
	r = pin_check(flags & PINS, ttl_ms);
	if (r == 0 && (flags == 0 || (flags & ~(uint32_t)PINS) != 0))
		r = why_set(TIFFIN_E_INVALID, "a pin is SOFT_PIN or HARD_PIN");
	if (r != 0)
		return client_leave(client, r);
	if (flags == TIFFIN_SOFT_PIN)
		each.arg = ttl_ms;
	return client_leave(client, each_run(client, &each, keys, n_keys, ret_results));
}

int
tiffin_unpin_batch(struct tiffin_client *client, const char *const *keys, size_t n_keys,
		   int *ret_results)
{
	const struct each each = {.type = MSG_unpin, .encode = encode_unpin};
	int r = client_enter(client);

	return r != 0 ? r
		      : client_leave(client, each_run(client, &each, keys, n_keys, ret_results));
}

int
tiffin_pin(struct tiffin_client *client, const char *key, uint32_t flags, uint64_t ttl_ms)
{
	int result = 0;
	int r = tiffin_pin_batch(client, &key, 1, flags, ttl_ms, &result);

	return r != 0 ? r : result;
}

int
tiffin_unpin(struct tiffin_client *client, const char *key)
{
	int result = 0;
	int r = tiffin_unpin_batch(client, &key, 1, &result);

	return r != 0 ? r : result;
}
