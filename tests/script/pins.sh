#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pins -- what is pinned stays when room is wanted: hard pins for ever, soft ones as long as anything
# else is left; all of it known after kill -9 of the master, and taken off again.
. "$(dirname "$0")/lib.sh"

MASTER_OPTIONS="--put-wait-ms=500ms --evict-high-pct=100 --evict-low-pct=99"
LEASE=500ms
up 32MiB
head -c 4000000 /dev/urandom >"$T/4m"
pin_of() { t --json stat "$1" | tr ',{' '\n\n' | sed -n 's/^"pin":"\(.*\)"$/\1/p'; }
gone() { ! t stat "$1" >/dev/null 2>&1; }

for i in 1 2 3 4 5 6; do t put "k$i" "$T/4m" || die "put k$i"; done
t pin k1 || die "pin k1"
t pin --soft --ttl 1h k2 || die "pin k2"
expect "pin of what is not there" 1 t pin none 2>/dev/null
expect "a hard pin with a time" 2 t pin --ttl 1h k3 2>/dev/null
expect "a pin of two days" 2 t pin --soft --ttl 48h k3 2>"$T/said"
is "pin of k1" hard "$(pin_of k1)"
is "pin of k2" soft "$(pin_of k2)"
is "pin of k3" none "$(pin_of k3)"

# Twice the room is put: both stay.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do t put "flood$i" "$T/4m" || die "put flood$i"; done
gone k3 || die "k3 is there"
t get k1 "$T/k1" && cmp "$T/k1" "$T/4m" || die "k1"
t stat k2 >/dev/null || die "k2 is gone"

# A restart knows them; the books tell them.
master_kill
master_start
is "pin of k1 after a restart" hard "$(pin_of k1)"
is "pin of k2 after a restart" soft "$(pin_of k2)"
is "pins in the books" "hard soft" "$(q "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM v_pin ORDER BY kind)")"
is "gauge" 1 "$(told pins_hard)"

# With nothing else left the soft one goes, the hard one never: then a put is told why.
t ls | while read -r key; do
	[ "$key" = k2 ] || t pin "$key" || die "pin $key"
done
can_put() { t put last "$T/4m" 2>/dev/null; }
wait_for 5 can_put || die "no room, though one may go"
gone k2 || die "k2 is there"
t pin last || die "pin last"
for i in 1 2 3 4; do
	t put "more$i" "$T/4m" 2>"$T/said" || break
	t pin "more$i" || die "pin more$i"
done
grep -q 'pinned' "$T/said" || die "not told of pins: $(cat "$T/said")"

# Unpinned they go as others; a pinned one can be removed.
t unpin k1 last || die "unpin"
is "pin of k1" none "$(pin_of k1)"
t pin last || die "pin last"
t rm last || die "rm of a pinned one"
check
down
