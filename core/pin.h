/* SPDX-License-Identifier: Apache-2.0 */

/* pin.h -- what the flags of a pin mean.  thread: any. */
#ifndef CORE_PIN_H
#define CORE_PIN_H

#include "core/tiffin.h"
#include "transfer/base/base.h"

#define PINS (TIFFIN_SOFT_PIN | TIFFIN_HARD_PIN)

/* pin_check -- one of PINS, or none, and a time that fits it.  0 or TIFFIN_E_INVALID. */
int pin_check(uint32_t pins, uint64_t ttl_ms) MUST_CHECK;

/* pin_kind -- as in the protocol. */
static inline uint8_t
pin_kind(uint32_t flags)
{
	return (flags & TIFFIN_HARD_PIN) != 0 ? 2 : (flags & TIFFIN_SOFT_PIN) != 0 ? 1 : 0;
}

#endif
