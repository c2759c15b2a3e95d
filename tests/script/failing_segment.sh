#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# failing_segment -- a provider that pings the master, but does not answer its peers, goes on getting new data.
#
# Right: when a peer has had no answer, the segment gets no new data until nobody has complained for a while; an
# event says so; it serves again as soon as it answers.  Nobody need know its name for that.
. "$(dirname "$0")/lib.sh"

TTL=60s
MASTER_OPTIONS="--failing-rest-ms=4s"
export TOOL_TIMEOUT_MS=6000 TOOL_TRANSFER_MS=600
segment_of() { q "SELECT segment_id FROM segment WHERE name = '$1'"; }
state_of() { t segments | awk -v name="$1" '$0 ~ name {print}' | grep -oE 'ok|failing|suspect' | head -n 1; }
is_state() { [ "$(state_of "$1")" = "$2" ]; }

master_start
# By TCP only: on a Unix socket they would hand out their memory, and nobody would need them any more.
for p in p1 p2 p3; do
	start $p tiffin-provider --master="$MASTER" --name=$p --size=64MiB --listen=127.0.0.1:0
done
objects put a/ 4 500000 --segment "$(segment_of p1)"
is "p1" ok "$(state_of p1)"

# Its network is dead, it is not: it is stopped, and long before the master thinks so its peers know.
freeze p1
objects get a/ 1 500000
is "get of what lies there" 0 "$(value ok "$T/objects")"
wait_for 3 is_state p1 failing || die "it is not called failing: $(t segments)"
is "the others" "ok ok" "$(state_of p2) $(state_of p3)"
is "one" 1 "$(told segments_failing)"
objects put b/ 60 100000
is "puts" 60 "$(value ok "$T/objects")"
is "of those on it" 0 "$(q "SELECT count(*) FROM v_replica WHERE segment = 'p1' AND shown_key LIKE 'b/%'")"
tells() { t events | grep -q segment_failing; }
wait_for 5 tells || die "no event: $(t events)"

# It is back, and after a rest as good as any.
thaw p1
back() {
	objects get a/ 4 500000
	[ "$(value ok "$T/objects")" -eq 4 ]
}
wait_for 10 back || die "it does not serve again: $(cat "$T/objects")"
wait_for 15 is_state p1 ok || die "it rests for ever: $(t segments)"
objects put c/ 60 100000
is "puts" 60 "$(value ok "$T/objects")"
at_least "of those on it" 1 "$(q "SELECT count(*) FROM v_replica WHERE segment = 'p1' AND shown_key LIKE 'c/%'")"

# As an admin wishes: not at all.
t set failing_rest_ms 0 >/dev/null || die "set"
freeze p1
objects get a/ 1 500000
sleep 1 # of nothing that would come there is a sign
is "with 0" ok "$(state_of p1)"
thaw p1
check
down
