#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b09 -- the store is fuller than its mark, and yet nothing is evicted and every put fails.
#
# Right: at full speed and after a restart of the master every put succeeds, what was not used for longest goes
# first, and the store is below its mark within a second.  With everything read by somebody: NO_SPACE
# quickly, the master idle, and puts again within a second of the readers' end.
. "$(dirname "$0")/lib.sh"

LEASE=1s
MASTER_OPTIONS="--evict-high-pct=80 --evict-low-pct=70 --put-wait-ms=2s"
below_the_mark() { [ "$(told used_bytes)" -le $((64 * 1048576 * 80 / 100)) ]; }
flood() { # prefix
	objects put "$1" 150 4194304 --threads 2
	is "$1 puts: $(cat "$T/objects")" 150 "$(value ok "$T/objects")"
	wait_for 1 below_the_mark || die "above the mark: $(told used_bytes)"
	objects exist "$1" 140 0
	at_least "$1 oldest gone: $(cat "$T/objects")" 130 "$(value NOT_FOUND "$T/objects")"
	t stat "${1}000149" >/dev/null || die "$1: the last one is gone"
}

up 64MiB
flood one/
at_least "evictions" 100 "$(told evictions)"
check
master_kill
master_start
flood two/
check

# Everything is read by somebody.
t rm --all -f >/dev/null || die "rm --all"
is_empty() { [ "$(($(told used_bytes) + $(told resting_bytes)))" -eq 0 ]; }
wait_for 5 is_empty || die "not empty: $(told resting_bytes) rest"
objects put held/ 12 4194304
hold held/ 12 4194304
before=$(cpu_ms master)
objects put full/ 3 20971520
is "puts when all is read: $(cat "$T/objects")" 3 "$(value NO_SPACE "$T/objects")"
at_most "slowest, ms" 3500 "$(value max_ms "$T/objects")"
at_most "processor time of the master meanwhile, ms" 300 $(($(cpu_ms master) - before))
objects get held/ 12 4194304
is "what is read stays" 12 "$(value ok "$T/objects")"
let_go
can_put() {
	objects put full/ 1 20971520 --replace
	[ "$(value ok "$T/objects")" -eq 1 ]
}
wait_for 2 can_put || die "no room though nobody reads: $(cat "$T/objects")"
check
down
