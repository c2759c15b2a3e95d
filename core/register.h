/* SPDX-License-Identifier: Apache-2.0 */

/* register.h -- memory that slices will point into, as the caller announced it. */
#ifndef CORE_REGISTER_H
#define CORE_REGISTER_H

#include "core/client.h"
#include "transfer/op.h"

/* register_forget_all -- at the end of the client. */
void register_forget_all(struct tiffin_client *client);

/* register_has_device -- does a slice of the op lie in a dmabuf? */
bool register_has_device(struct tiffin_client *client, const struct op *op);

/* register_check -- TIFFIN_E_INVALID when one does, for calls that must touch the bytes; or 0. */
int register_check(struct tiffin_client *client, const struct iovec *slices, size_t n_slices);

#endif
