#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b15 -- a peer that is stopped, not dead, hangs whoever speaks with it.
#
# Right: gets from it end within the time for transfers, and of a batch only its items fail; lists and stat go
# on; when it wakes up, nothing comes late into buffers that were given back, and it serves again.
. "$(dirname "$0")/lib.sh"

LEASE=2s
TTL=60s
export TOOL_TIMEOUT_MS=6000 TOOL_TRANSFER_MS=800
segment_of() { q "SELECT segment_id FROM segment WHERE name = '$1'"; }

master_start
# By TCP only: on a Unix socket it would hand out its memory, and nobody would need it any more.
start p1 tiffin-provider --master="$MASTER" --name=p1 --size=64MiB --listen=127.0.0.1:0
start p2 tiffin-provider --master="$MASTER" --name=p2 --size=64MiB --listen=127.0.0.1:0
mount_start -o timeout=2
objects put a/ 4 1000000 --segment "$(segment_of p1)"
objects put b/ 4 1000000 --segment "$(segment_of p2)"
is "where a/ lies" 4 "$(q "SELECT count(*) FROM v_replica WHERE segment = 'p1'")"

objects put late/ 1 16777216 --segment "$(segment_of p1)"

# Late bytes, in mid-transfer.
spawn late tool_late late/000000 16777216
wait_for 10 grep -q ready "$T/late.out" || die "late: $(cat "$T/late.log")"
freeze p1
kill -USR1 "$(pid_of late)"
wait_for 15 grep -q failed "$T/late.out" || die "a get from a stopped provider does not end: $(cat "$T/late.out")"
at_most "it ended after, ms" 5500 "$(value took_ms "$T/late.out")"

# Everything else.
objects get a/ 1 1000000
is "get: $(cat "$T/objects")" 0 "$(value ok "$T/objects")"
at_most "get, ms" 2600 "$(value max_ms "$T/objects")"
for i in 0 1 2 3; do printf 'a/00000%s\nb/00000%s\n' $i $i; done >"$T/both"
tool_objects get x 0 1000000 --list "$T/both" --batch 8 >"$T/mixed" 2>&1
is "items of the living one: $(cat "$T/mixed")" 4 "$(($(value ok "$T/mixed")))"
at_most "batch, ms" 2600 "$(value max_ms "$T/mixed")"
objects put p/ 1 1000000 --segment "$(segment_of p1)"
at_most "put, ms: $(cat "$T/objects")" 6000 "$(value max_ms "$T/objects")"
timed 6500 cat "$M/a/000001" >/dev/null 2>"$T/said" && die "cat of a stopped provider's object"
timed 1000 ls -l "$M/a" >/dev/null || die "ls"
timed 1000 tiffin stat a/000000 >/dev/null || die "stat"
timed 1000 cat "$M/b/000000" >/dev/null || die "cat of the other"

thaw p1
back() {
	objects get a/ 4 1000000
	[ "$(value ok "$T/objects")" -eq 4 ]
}
wait_for 10 back || die "it does not serve again: $(cat "$T/objects")"
kill -USR1 "$(pid_of late)"
finish late || die "late: $(cat "$T/late.out" "$T/late.log")"
timed 9000 cat "$M/a/000001" >/dev/null || die "cat after it woke up"

# The master.
freeze master
timed 4000 env TOOL_OPEN_MS=1000 tool_objects get b/ 1 1000000 >"$T/said" 2>&1 && die "open with a stopped master"
timed 9000 tiffin --timeout 1500ms -q stat b/000000 >/dev/null 2>&1
is "stat" 5 $?
thaw master

# Stopped in the midst of puts: each is asked again, and done once.
spawn puts tool_objects put once/ 2000 4096 --threads 4 --acked "$T/acked"
lines() { [ "$(wc -l <"$T/acked")" -ge "$1" ]; }
for round in 1 2 3; do
	wait_for 10 lines $((round * 100)) || die "no puts: $(cat "$T/puts.log")"
	freeze master
	since=-1
	is_still() { # nothing new since the last look
		last=$since
		since=$(wc -l <"$T/acked")
		[ "$since" -eq "$last" ]
	}
	wait_for 5 is_still || die "puts go on without a master"
	thaw master
done
finish puts || die "puts: $(cat "$T/puts.log")"
is "puts: $(cat "$T/puts.out")" 2000 "$(value ok "$T/puts.out")"
objects get once/ 2000 4096 --batch 100
is "of those" 2000 "$(value ok "$T/objects")"
objects get b/ 4 1000000
is "after it woke up" 4 "$(value ok "$T/objects")"
check
down
