#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b43 -- batches and destination buffers: larger than the object refused, lists read past their end, one bad item
# that spoils the others.
#
# Right: too small: an error and nothing written; larger: the exact length, nothing written behind it; memory
# may be registered or not; in a batch each item has its own result, in order.
. "$(dirname "$0")/lib.sh"

# Both ways to the bytes: mapped memory, and TCP.
up 128MiB
timeout 60 tool_buffers 2>"$T/said" || die "mapped: $(cat "$T/said")"
provider_stop p1
t rm --all -f >/dev/null || die "rm"
start p2 tiffin-provider --master="$MASTER" --name=p2 --size=128MiB --listen=127.0.0.1:0
timeout 60 tool_buffers 2>"$T/said" || die "TCP: $(cat "$T/said")"
check
down
