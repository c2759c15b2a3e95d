#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b39 -- a process forks after it opened its client: children hang or crash, or take the parent's session down with them.
#
# Right: a child's call gives TIFFIN_E_FORKED at once, and it may open its own client; however it ends, the
# parent's session, its segment and its objects stay.
. "$(dirname "$0")/lib.sh"

TTL=2s
MASTER_OPTIONS="--ping-ms=200ms"
master_start
timeout 60 tool_forked 2>"$T/said" || die "$(cat "$T/said")"
no_segment() { [ "$(told n_segments)" -eq 0 ]; }
wait_for 2 no_segment || die "the segment stays after the unmount"
is "clients lost" 0 "$(told clients_lost)"
check
down
