#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b14 -- a dead provider is still offered; one that comes back under its name serves old ranges of new memory.
#
# Right: its keys give an error at once and NOT_FOUND when it is given up, gone also from lists and mount; under
# the same name it can lend again at once, old keys never give bytes of the new memory; providers
# that start together have addresses of their own; one that leaves cleanly is gone at once.
. "$(dirname "$0")/lib.sh"

TTL=1s
LEASE=500ms
MASTER_OPTIONS="--client-grace-ms=1s --ping-ms=200ms"
export TOOL_TIMEOUT_MS=6000 TOOL_TRANSFER_MS=2000
segment_of() { q "SELECT segment_id FROM segment WHERE name = '$1'"; }

master_start
provider_start p1 64MiB
provider_start p2 64MiB
mount_start -o timeout=6
objects put a/ 50 100000 --segment "$(segment_of p1)"
objects put b/ 50 100000 --segment "$(segment_of p2)"
is "where a/ lies" 50 "$(q "SELECT count(*) FROM v_replica WHERE segment = 'p1'")"

# It dies and comes back under its name, within the time to live.
provider_kill p1
objects get a/ 1 100000
is "one of a dead one: $(cat "$T/objects")" 0 "$(value ok "$T/objects")"
at_most "told after, ms" 7000 "$(value max_ms "$T/objects")"
provider_start p1 64MiB
objects put new/ 100 200000 --segment "$(q "SELECT segment_id FROM segment WHERE name = 'p1' ORDER BY mounted_at_ms DESC LIMIT 1")"
is "puts at once: $(cat "$T/objects")" 100 "$(value ok "$T/objects")"
objects get a/ 50 100000 --batch 50
is "old keys: $(cat "$T/objects")" 0 "$(value ok "$T/objects")"
objects get b/ 50 100000
is "keys of the other" 50 "$(value ok "$T/objects")"
a_is_gone() {
	objects exist a/ 50 0
	[ "$(value NOT_FOUND "$T/objects")" -eq 50 ]
}
wait_for 10 a_is_gone || die "keys of the dead one stay: $(cat "$T/objects")"
is "in the list" "" "$(t ls -R a/)"
wait_for 3 test ! -e "$M/a" || die "in the mount: $(ls "$M/a")"
objects get new/ 100 200000
is "new keys" 100 "$(value ok "$T/objects")"

# Eight start in the same moment, without addresses.
for i in 1 2 3 4 5 6 7 8; do
	tiffin-provider --master="$MASTER" --size=1MiB >>"$T/many$i.log" 2>&1 &
	echo $! >"$T/many$i.pid"
done
ten() { [ "$(told n_segments)" -eq 10 ]; }
wait_for 15 ten || die "not all are there: $(t segments)"
is "addresses that differ" 10 "$(q "SELECT count(DISTINCT endpoint) FROM segment")"
is "names that differ" 10 "$(q "SELECT count(DISTINCT name) FROM segment")"
for i in 1 2 3 4 5 6 7 8; do end "many$i" TERM; done
two() { [ "$(told n_segments)" -eq 2 ]; }
wait_for 5 two || die "who left is still there: $(t segments)"

# One leaves cleanly while others read from it.
spawn reader tool_objects hits new/ 100 200000
wait_for 5 test -s "/proc/$(pid_of reader)/stat"
provider_stop p1
new_is_gone() {
	objects exist new/ 100 0
	[ "$(value NOT_FOUND "$T/objects")" -eq 100 ]
}
wait_for 3 new_is_gone || die "keys of who left: $(cat "$T/objects")"
finish reader TERM || die "reader: wrong bytes: $(cat "$T/reader.out" "$T/reader.log")"
objects get b/ 50 100000
is "keys of the other" 50 "$(value ok "$T/objects")"
is "segments" 1 "$(told n_segments)"
check
down
