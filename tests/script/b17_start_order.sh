#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b17 -- started in the wrong order nothing works, and after a restart of the master it takes minutes to come back.
#
# Right: without a master a client gives up within its time and says so; one that is up two seconds late is found; after a
# restart work goes on within 5 s; a master that accepts and says nothing costs no more than the time
# given.  What cannot be done meanwhile is an error, not a crash.
. "$(dirname "$0")/lib.sh"

# Nobody there.
timed 3000 tiffin --timeout 1s -q ls 2>/dev/null
is "no master" 5 $?
start_failed() {
	timed 4000 tiffin-provider --master="$MASTER" --name=p0 --size=1MiB --wait-ms=1s 2>"$T/said"
}
start_failed && die "a provider without a master"
grep -q "master" "$T/said" || die "a provider without a master: $(cat "$T/said")"
timed 8000 tiffinfs "$MASTER" "$M" -f -o timeout=1 2>"$T/said" && die "a mount without a master"
grep -q . "$T/said" || die "a mount without a master says nothing"

# Late: provider and client wait, the master comes.
spawn waiting tiffin --timeout 10s ls
: >"$T/p1.ready"
tiffin-provider --master="$MASTER" --name=p1 --size=64MiB --listen="unix:$T/p1.sock" --wait-ms=15s --ready-fd=9 \
	9>"$T/p1.ready" >"$T/p1.log" 2>&1 &
echo $! >"$T/p1.pid"
began=$(now_ms)
two_seconds_later() { [ $(($(now_ms) - began)) -ge 2000 ]; }
wait_for 5 two_seconds_later
kill -0 "$(pid_of p1)" || die "the provider did not wait: $(cat "$T/p1.log")"
master_start
wait_for 3 is_ready p1 || die "the provider does not find a late master"
finish waiting || die "a client does not find a late master: $(cat "$T/waiting.log")"

# Restart under load.
spawn load tool_objects put load/ 100000 4096 --threads 2 --acked "$T/acked" --replace
lines() { [ "$(wc -l <"$T/acked")" -ge "$1" ]; }
wait_for 10 lines 100 || die "no load"
for round in 1 2; do
	if [ $round = 1 ]; then master_kill; else master_stop; fi
	master_start
	since=$(wc -l <"$T/acked")
	began=$(now_ms)
	wait_for 8 lines $((since + 10)) || die "no put after the restart"
	at_most "first puts after a restart, ms" 5000 $(($(now_ms) - began))
done
finish load TERM || die "the load: $(cat "$T/load.log")"
is "wrong" 0 "$(value wrong "$T/load.out")"

# It accepts connections and says nothing.
freeze master
timed 3000 tiffin --timeout 1s -q ls 2>/dev/null
is "a dumb master" 5 $?
timed 4000 tiffin-provider --master="$MASTER" --name=p0 --size=1MiB --wait-ms=1s 2>/dev/null && die "a provider at a dumb master"
thaw master
t ls >/dev/null || die "after it woke up"
# An address that leads nowhere (TEST-NET-1).
head -c 32 /dev/urandom >"$T/key"
chmod 600 "$T/key"
timed 3500 tiffin --key-file "$T/key" --master 192.0.2.1:7400 --timeout 1s -q ls 2>/dev/null && die "192.0.2.1 answers"
check
down
