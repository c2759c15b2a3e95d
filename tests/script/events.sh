#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# events -- what happened, told by request, while it happens, and by SQL.
#
# Right: a storm of evictions is one event a second with counts and bytes; the ring keeps its size; events
# outlive a restart, their ids grow, and who follows hears of them across it.
. "$(dirname "$0")/lib.sh"

LEASE=200ms
TTL=2s
MASTER_OPTIONS="--client-grace-ms=1s --ping-ms=200ms --events-max=40 --evict-high-pct=60 --evict-low-pct=50"
told() { t --json events -n 0 | grep -o '"kind":"[a-z_]*"' | cut -d'"' -f4; }
has() { told | grep -q "^$1\$"; }
follower_has() { grep -q "  $1 " "$T/follow.out"; }

up 64MiB
spawn follow tiffin events -f -n 0
wait_for 5 has segment_mounted || die "no mount: $(t events)"
wait_for 5 follower_has segment_mounted || die "the follower heard nothing: $(cat "$T/follow.out" "$T/follow.log")"

# A storm: thousands of evictions within some seconds.
objects put storm/ 6000 65536 --batch 100
wait_for 5 has evicted || die "no evictions: $(t events)"
sleep 1.2
n=$(q "SELECT sum(count) FROM event WHERE kind = 'evicted'")
rows=$(q "SELECT count(*) FROM event WHERE kind = 'evicted'")
at_least "evictions told" 1000 "$n"
at_most "events for $n of them" 15 "$rows"
is "and counted the same" "$(q "SELECT sum(count) FROM event WHERE kind = 'evicted'")" "$n"
at_least "their bytes" $((n * 65536)) "$(q "SELECT sum(bytes) FROM event WHERE kind = 'evicted'")"

# A table, JSON, SQL.
t events | grep -q "KIND .*COUNT" || die "no table: $(t events)"
t --json events -n 1 | grep -q '^{"event_id":".*"words":.*}$' || die "json: $(t --json events -n 1)"
t -0 events -n 2 >"$T/nul" || die "-0: $?"
tr '\0' '|' <"$T/nul" | grep -q '^[0-9]* [a-z_]* .*|[0-9]* [a-z_]* .*|$' || die "-0: $(t -0 events -n 2)"
is "only one" 1 "$(t --json events -n 1 | grep -o event_id | wc -l)"
sqlite3 -readonly "$DB" <"$ROOT/sql/admin/events.sql" | grep -q "segment_mounted" || die "events.sql"

# Across a restart.
last=$(q "SELECT max(event_id) FROM event")
master_kill
master_start
started() { [ "$(q "SELECT count(*) FROM event WHERE kind = 'master_started' AND event_id > $last")" = 1 ]; }
wait_for 10 started || die "a start is no event: $(t events)"
two() { [ "$(grep -c "  master_started " "$T/follow.out")" -ge 1 ]; }
wait_for 15 two || die "the follower lost its master: $(cat "$T/follow.out" "$T/follow.log")"

# The ring keeps its size, and ids never go back.
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
	t stat nothing >/dev/null 2>&1
	sleep 0.5
done
at_most "events kept" 40 "$(q 'SELECT count(*) FROM event')"
at_least "ids grow" $((last + 5)) "$(q 'SELECT max(event_id) FROM event')"

# A provider that dies.
provider_kill p1
wait_for 15 has client_lost || die "a lost client is no event: $(t events)"
wait_for 15 has segment_gone || die "a segment that is gone is no event: $(t events)"
finish follow INT
is "follow, Ctrl-C" 130 $?
check
down
