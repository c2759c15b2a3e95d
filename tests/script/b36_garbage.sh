#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b36 -- a peer's bytes are believed: addresses, lengths, names; or a connection that says nothing is kept for ever.
#
# Right: whoever sends nonsense is hung up on; nobody crashes, spins, keeps descriptors, or serves others worse;
# what is stored does not change.  By default nothing listens beyond this machine.
. "$(dirname "$0")/lib.sh"

port_of() { # of a provider's TCP address
	q "SELECT endpoint FROM segment WHERE name = '$1'" | tr ' ' '\n' | grep '^127' | head -n 1
}
is_idle() { # NAME: hardly any processor time in half a second
	before=$(cpu_ms "$1")
	began=$(now_ms)
	half_a_second_later() { [ $(($(now_ms) - began)) -ge 500 ]; }
	wait_for 2 half_a_second_later
	[ $(($(cpu_ms "$1") - before)) -le 50 ]
}
few_fds() { [ "$(n_fds "$1")" -le "$2" ]; }
assail() { # NAME ADDRESS
	fds=$(n_fds "$1")
	timeout 60 tool_garbage "$2" >"$T/said" 2>&1 || die "garbage at $2: $(cat "$T/said")"
	kill -0 "$(pid_of "$1")" || die "$1 is dead after garbage at $2"
	wait_for 5 few_fds "$1" $((fds + 2)) || die "$1 keeps $(n_fds "$1") descriptors, had $fds, after garbage at $2"
	wait_for 5 is_idle "$1" || die "$1 spins after garbage at $2"
	objects get k/ 50 100000
	is "after garbage at $2" 50 "$(value ok "$T/objects")"
}

TTL=1s
MASTER_OPTIONS="--client-grace-ms=1s --ping-ms=200ms"
master_start
start p1 tiffin-provider --master="$MASTER" --name=p1 --size=64MiB --listen="unix:$T/p1.sock 127.0.0.1:0"
objects put k/ 50 100000
assail master "$MASTER"
assail p1 "unix:$T/p1.sock"
assail p1 "$(port_of p1)"
timed 20000 tool_garbage --silent "$MASTER" || die "the master keeps connections that say nothing"
at_least "connections that the master ended" 100 "$(told frames_bad)"
grep -qE 'assert|SIG|overflow' "$T/master.log" "$T/p1.log" && die "something is wrong in the logs"

# Beyond this machine only with a key.
timed 5000 tiffin-master --db="$T/other.db" --listen=0.0.0.0:0 2>"$T/said" && die "a master for everybody without a key"
grep -q key "$T/said" || die "a master for everybody: $(cat "$T/said")"
timed 5000 tiffin-provider --master="$MASTER" --name=p2 --size=1MiB --listen=0.0.0.0:0 2>"$T/said" &&
	die "a provider for everybody without a key"
grep -q key "$T/said" || die "a provider for everybody: $(cat "$T/said")"

# Objects whose bytes look like orders are only bytes.
printf 'cos\nsystem\n(S"touch %s"\ntR.' "$T/owned" | t put pickle - || die "put"
t cat pickle | grep -q cos || die "cat"
[ ! -e "$T/owned" ] || die "bytes were obeyed"
check
down
