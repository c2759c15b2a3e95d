#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b08 -- a put fails though enough bytes are free, only not in one run; or because a buffer is short for a moment.
#
# Right: puts succeed, in several runs when need be; where it can't be, "no space" tells how long the longest
# free run is.  Many writers at once wait for each other, they don't fail.
. "$(dirname "$0")/lib.sh"

MASTER_OPTIONS="--evict-high-pct=100 --evict-low-pct=99 --put-wait-ms=10s"
up 64MiB
objects put k/ 62 1048576
is "filled" 62 "$(value ok "$T/objects")"
for i in $(seq 0 2 61); do printf 'k/%06d\0' "$i"; done | t -q rm -0 || die "rm of every second"
gone() { [ "$(told used_bytes)" -le 33000000 ] && [ "$(told resting_bytes)" -eq 0 ]; }
wait_for 20 gone || die "removed bytes stay: $(told used_bytes) used, $(told resting_bytes) rest"
before=$(told evictions)
objects put big/ 15 2097152
is "puts into the gaps" 15 "$(value ok "$T/objects")"
is "evicted, though there was room" "$before" "$(told evictions)"
objects get big/ 15 2097152
is "read back" 15 "$(value ok "$T/objects")"
objects get k/ 62 1048576
is "neighbours" 31 "$(value ok "$T/objects")"
t segments --json | grep -q '"hole_bytes":' || die "the longest free run is not told"
check

# And where nothing may go: free bytes, the largest hole, and what holds the rest, in the command's own line.
t set put_wait_ms 0 >/dev/null || die "set"
head -c 4194304 /dev/zero >"$T/4m"
t find | xargs -d '\n' tiffin pin || die "pin all"
t put refused "$T/4m" 2>"$T/said" && die "there was room"
grep -qE 'no room for 4.0 MiB: of 64.0 MiB in 1 segments of memory, [0-9.]+ [KM]iB free \(largest hole [0-9.]+ [KM]iB\), .* leased, 61.0 MiB pinned' \
	"$T/said" || die "why: $(cat "$T/said")"
t set put_wait_ms 10s >/dev/null || die "set back"
t find | xargs -d '\n' tiffin unpin || die "unpin all"

# 64 writers at once, of more than there is room for.
objects put many/ 128 4194304 --threads 64
is "many writers: $(cat "$T/objects")" 128 "$(value ok "$T/objects")"
objects get many/ 128 4194304 --threads 8
is "wrong or lost" 128 $(($(value ok "$T/objects") + $(value NOT_FOUND "$T/objects")))
at_least "read back" 10 "$(value ok "$T/objects")"
check
down
