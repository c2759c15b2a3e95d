/* SPDX-License-Identifier: Apache-2.0 */

/* order_pin.c -- a row of `pin`: as the requests pin and unpin, for the tenant that it names. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "master/books.h"
#include "master/pin.h"

static enum pin
pin_of(const struct order *order)
{
	if (strcmp(order->wish, "hard") == 0)
		return PIN_KIND_HARD;
	return strcmp(order->wish, "soft") == 0 ? PIN_KIND_SOFT : PIN_NONE;
}

/* refusal -- NULL: it is done. */
static const char *
refusal(struct master *master, const struct order *order, enum pin pin, uint64_t ttl_ms)
{
	struct tenant *tenant = tenants_by_name(&master->tenants, (const uint8_t *)order->name,
						strlen(order->name));
	struct object *object;

	if (tenant == NULL)
		return "no such tenant";
	if (order->key_len == 0 || !pin_is_sound(pin, ttl_ms))
		return "no key, or a time that no pin can have";
	object = books_find(master, tenant, order->key, order->key_len);
	if (object == NULL)
		return "no such object: a pin is for what is there";
	if (books_pin(master, object, pin_until_s(pin, ttl_ms, clock_wall_ms(master->clock))) < 0)
		return "out of memory: order it again";
	return NULL;
}

void
order_pin(struct master *master, const struct order *order)
{
	enum pin pin = pin_of(order);
	uint64_t ttl_ms = order->has_values[0] ? (uint64_t)order->values[0] : 0;
	struct order_outcome outcome = {.state = ORDER_REFUSED};
	const char *why = refusal(master, order, pin, ttl_ms);

	if (why != NULL) {
		snprintf(outcome.words, sizeof(outcome.words), "%s", why);
	} else {
		outcome.state = ORDER_DONE;
		snprintf(outcome.words, sizeof(outcome.words), "%s",
			 pin == PIN_NONE        ? "not pinned any more"
			 : pin == PIN_KIND_HARD ? "pinned hard"
						: "pinned soft");
		if (pin != PIN_KIND_HARD && !list_is_empty(&master->parked))
			master->has_new_room = true; /* it may be evicted now */
	}
	order_tell_committed(master, order, &outcome);
}
