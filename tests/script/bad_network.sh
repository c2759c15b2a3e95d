#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bad_network -- between clients and a provider everything comes late, drips, is cut off, swallowed, or has a bit turned.
#
# Right: every call ends in its time and a second more, no wrong byte is given out, what was acknowledged is
# there afterwards, and nothing of it stays behind.  BAD_SEEDS (200) seeds; each kind of trouble must have struck.
. "$(dirname "$0")/lib.sh"

master_start
start p1 tiffin-provider --master="$MASTER" --name=p1 --size=256MiB --listen=127.0.0.1:0
port=$(q "SELECT endpoint FROM segment" | tr ' ' '\n' | sed -n 's/^127.0.0.1://p')

timeout 300 fault_wires "$MASTER" "$port" "${BAD_SEEDS:-200}" >"$T/wires" 2>&1 || die "wires: $(cat "$T/wires")"
cat "$T/wires"
at_least "calls that went well" 500 "$(value ok "$T/wires")"
at_least "calls that failed" 50 "$(value failed "$T/wires")"
for kind in delay drip cut flip hole; do
	at_least "$kind" 10 "$(value $kind "$T/wires")"
done
check
down
