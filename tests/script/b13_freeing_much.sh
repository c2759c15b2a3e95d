#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b13 -- freeing much stops everyone else, and what it leaves behind grows.
#
# Right: while 20 000 keys are cleared, and while a provider with half of them is given up, others' questions
# are answered (p99 below 50 ms, none above 500 ms) and nobody is lost; memory and database level off.
. "$(dirname "$0")/lib.sh"

TTL=1s
LEASE=500ms
MASTER_OPTIONS="--client-grace-ms=500ms --ping-ms=200ms --wal-cap-bytes=4MiB"
n=20000

probe_start() { spawn probe tool_objects probe probe/ 100 0; }
probe_end() { # what
	finish probe TERM || die "$1: probe: $(cat "$T/probe.out" "$T/probe.log")"
	at_least "$1: probes" 20 "$(value n "$T/probe.out")"
	at_most "$1: p99, us" 50000 "$(value p99_us "$T/probe.out")"
	at_most "$1: longest, us" 500000 "$(value max_us "$T/probe.out")"
	is "$1: answers" "$(value n "$T/probe.out")" "$(value NOT_FOUND "$T/probe.out")"
}
rss_kb() { awk '/^VmRSS/ {print $2}' "/proc/$(pid_of master)/status"; }
n_left() { [ "$(told n_objects)" -eq "$1" ]; }

master_start
provider_start p1 128MiB
provider_start p2 128MiB
objects put k/ $n 4096 --batch 500
is "puts" $n "$(value ok "$T/objects")"
lost=$(told clients_lost)
probe_start
t rm --all -f >/dev/null || die "rm --all"
wait_for 10 n_left 0 || die "not cleared: $(told n_objects)"
probe_end "clear"
is "clients lost" "$lost" "$(told clients_lost)"

objects put k/ $n 4096 --batch 500
on_p1=$(q "SELECT count(*) FROM v_replica WHERE segment = 'p1'")
at_least "keys on p1" 1000 "$on_p1"
probe_start
provider_kill p1
wait_for 10 n_left $((n - on_p1)) || die "not given up: $(told n_objects) left of $n, $on_p1 on p1"
probe_end "death of a provider"
is "clients lost" $((lost + 1)) "$(told clients_lost)"

# Put and evict, again and again: levels off.
cycle() { # salt: the store is full several times over
	for i in 1 2 3; do objects put "cycle$1$i/" $n 4096 --batch 500; done
}
cycle a
cycle b
rss=$(rss_kb)
file=$(stat -c %s "$DB")
cycle c
cycle d
at_most "memory of the master, kB" $((rss * 12 / 10 + 1000)) "$(rss_kb)"
at_most "database, bytes" $((file * 12 / 10 + 1000000)) "$(stat -c %s "$DB")"
check
down
