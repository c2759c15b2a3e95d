/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pin.h -- objects that their users want kept when room is wanted.
 *
 *      soft   goes for room only when nothing else is left that may go (and not even then with
 *             the option evict_soft_pins = 0), until its time is over
 *      hard   never goes for room
 *
 * A pin is about room, not about permission: whoever may remove or replace the object still may.
 * The end of a soft pin is kept as wall-clock time, in seconds, so that it means the same after a
 * restart.  Unlike a lease it is no promise to anybody: should the clock be set, pins end earlier
 * or later, and nothing worse happens.  What has ended is noticed when room is wanted, or when it
 * is asked for.
 *
 * thread:  the loop's.
 */
#ifndef MASTER_PIN_H
#define MASTER_PIN_H

#include "master/object.h"
#include "master/proto/limits.h"

#define PIN_HARD UINT32_MAX /* as struct object.pinned_until_s */

enum pin { PIN_NONE, PIN_KIND_SOFT, PIN_KIND_HARD };

/* pin_is_sound -- such a wish can be fulfilled.  kind: enum pin. */
static inline bool
pin_is_sound(unsigned kind, uint64_t ttl_ms)
{
	return kind <= PIN_KIND_HARD && (kind == PIN_KIND_SOFT || ttl_ms == 0) &&
	       ttl_ms <= PIN_TTL_MAX_MS;
}

/* pin_until_s -- as struct object.pinned_until_s.  needs: pin_is_sound(). */
static inline uint32_t
pin_until_s(unsigned kind, uint64_t ttl_ms, uint64_t now_wall_ms)
{
	uint64_t until_ms = now_wall_ms + (ttl_ms == 0 ? PIN_TTL_DEFAULT_MS : ttl_ms);

	if (kind == PIN_NONE)
		return 0;
	return kind == PIN_KIND_HARD ? PIN_HARD : (uint32_t)((until_ms + 999) / 1000);
}

/* pin_now -- the pin that holds now: enum pin. */
static inline enum pin
pin_now(const struct object *object, uint64_t now_wall_ms)
{
	if (object->pinned_until_s == PIN_HARD)
		return PIN_KIND_HARD;
	return object->pinned_until_s * 1000ull > now_wall_ms ? PIN_KIND_SOFT : PIN_NONE;
}

#endif
