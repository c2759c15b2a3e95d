/* SPDX-License-Identifier: Apache-2.0 */

/* register.h -- memory that slices will point into, as the caller announced it. */
#ifndef CORE_REGISTER_H
#define CORE_REGISTER_H

#include "core/client.h"

/* register_forget_all -- at the end of the client. */
void register_forget_all(struct tiffin_client *client);

#endif
