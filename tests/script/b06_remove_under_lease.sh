#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b06 -- remove while somebody reads: codes that differ, retries that loop, a clear-all that takes too much or too little.
#
# Right: HAS_LEASE (6), with -f done (0), then NOT_FOUND (1).  exist and stat take no lease.  Clearing a/
# touches nothing beside a/, its counts add up, a put under way is not disturbed, and whoever
# read what was removed by force has right bytes or an error.
. "$(dirname "$0")/lib.sh"

LEASE=1s
up 64MiB
objects put k 1 100000
hold k 1 100000
expect "rm of what is read" 6 t -q rm k000000 2>/dev/null
expect "rm -f of it" 0 t -q rm -f k000000
expect "rm of what is gone" 1 t -q rm k000000 2>/dev/null
let_go
is "wrong bytes" 0 "$(value wrong "$T/hold.out")"

objects put k 1 100000
t stat k000000 >/dev/null || die "stat"
objects exist k 1 0
expect "rm after exist and stat" 0 t -q rm k000000

objects put a/ 20 4096
objects put ab/ 20 4096
objects put a/leased/ 5 4096
hold a/leased/ 5 4096
mkfifo "$T/pipe"
spawn putting sh -c 'exec tiffin -q put a/unfinished - <"$1"' sh "$T/pipe"
exec 7>"$T/pipe"
head -c 20000000 /dev/zero | tr '\0' x >"$T/first"
cat "$T/first" >&7
is_under_way() { t puts | grep -q a/unfinished; }
wait_for 10 is_under_way || die "the put does not begin"

t rm -r a >"$T/said" 2>"$T/err"
code=$?
is "rm -r a" 6 "$code"
removed=$(sed -n 's/[^0-9]*\([0-9][0-9]*\).*/\1/p' "$T/said" | head -n 1)
is "removed, as told: $(cat "$T/said")" 20 "$removed"
grep -q 5 "$T/said" "$T/err" || die "the five that were skipped are not told: $(cat "$T/said" "$T/err")"
objects exist a/ 20 0
is "left in a/" 20 "$(value NOT_FOUND "$T/objects")"
objects exist ab/ 20 0
is "in ab/" 20 "$(value ok "$T/objects")"
objects exist a/leased/ 5 0
is "leased" 5 "$(value ok "$T/objects")"
is_under_way || die "the put under way was disturbed"
printf end >&7
exec 7>&-
finish putting || die "the put under way: $(cat "$T/putting.log")"
{ cat "$T/first" && printf end; } >"$T/whole"
t cat a/unfinished | cmp -s - "$T/whole" || die "the put under way: other bytes"

expect "rm -rf a" 0 t -q rm -rf a
objects exist a/leased/ 5 0
is "leased, after rm -rf" 5 "$(value NOT_FOUND "$T/objects")"
# What was removed under readers must not be given to others while they read.
objects put new/ 200 262144
let_go
is "wrong bytes" 0 "$(value wrong "$T/hold.out")"
objects exist ab/ 20 0
is "in ab/" 20 "$(value ok "$T/objects")"
check
down
