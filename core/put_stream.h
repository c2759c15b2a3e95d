/* SPDX-License-Identifier: Apache-2.0 */

/* put_stream.h -- puts written piece by piece: what the client has to do for them now and then. */
#ifndef CORE_PUT_STREAM_H
#define CORE_PUT_STREAM_H

#include "core/client.h"

/* put_stream_renew -- extend the write lease of streams that lie idle; busy ones do it themselves. */
void put_stream_renew(struct tiffin_client *client);

#endif
