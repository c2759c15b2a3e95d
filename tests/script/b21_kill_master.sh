#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b21 -- killed in the middle, or with a damaged database, the master does not start, loops, or forgets.
#
# Right: it starts within 5 s, and every put that was acknowledged is there with its bytes.  A damaged file is
# refused with one line that names what helps.  Without its -wal it starts or refuses, never
# loops.  A second master on the same file is refused and disturbs nothing.
. "$(dirname "$0")/lib.sh"

TTL=20s
MASTER_OPTIONS="--evict-high-pct=100"
lines() { [ "$(wc -l <"$T/acked")" -ge "$1" ]; }
start_on() { # db: a master of its own, which must refuse within 5 s
	timed 5000 tiffin-master --db="$1" --listen="unix:$T/other.sock" >"$T/said" 2>&1
}

up 512MiB
: >"$T/acked"
spawn load tool_objects put k/ 100000 4096 --threads 4 --acked "$T/acked"
for round in 1 2 3 4 5 6 7 8 9 10; do
	since=$(wc -l <"$T/acked")
	wait_for 10 lines $((since + 200)) || die "round $round: no puts: $(cat "$T/load.out" "$T/load.log")"
	master_kill
	began=$(now_ms)
	master_start
	at_most "start, ms" 5000 $(($(now_ms) - began))
done
finish load TERM
sort -u "$T/acked" >"$T/keys"
objects get x 0 4096 --list "$T/keys" --batch 100
is "acknowledged and there: $(cat "$T/objects")" "$(wc -l <"$T/keys")" "$(value ok "$T/objects")"
check

# A second master.
start_on "$DB" && die "a second master on one database"
is "a second master: exit status" 5 $code
grep -q . "$T/said" || die "a second master says nothing"
objects get x 0 4096 --list "$T/keys" --batch 100
is "after the second master" "$(wc -l <"$T/keys")" "$(value ok "$T/objects")"

# A page cut off; a page of nonsense; not a database.
master_stop
for what in short nonsense text; do
	cp "$DB" "$T/bad.db"
	bytes=$(stat -c %s "$T/bad.db")
	case $what in
	short) truncate -s $((bytes - 4096)) "$T/bad.db" ;;
	nonsense) dd if=/dev/urandom of="$T/bad.db" bs=4096 seek=1 count=8 conv=notrunc status=none ;;
	text) echo "not a database, only text that is long enough to be looked at" >"$T/bad.db" ;;
	esac
	cp "$T/bad.db" "$T/bad.copy"
	start_on "$T/bad.db" && die "$what: it starts"
	is "$what: exit status" 6 $code
	grep -q "bad.db" "$T/said" || die "$what: the line does not name the file: $(cat "$T/said")"
	grep -qE "tiffin |sqlite3 |restore|recover" "$T/said" || die "$what: no command that helps: $(cat "$T/said")"
	cmp -s "$T/bad.db" "$T/bad.copy" || die "$what: the file was changed"
	rm -f "$T"/bad.db*
done

# Killed, and its -wal is gone.
master_start
objects put late/ 100 4096
master_kill
rm -f "$DB-wal"
: >"$T/master.ready"
tiffin-master --db="$DB" --listen="$MASTER" --lease-ms="$LEASE" --client-ttl-ms="$TTL" --ready-fd=9 \
	9>"$T/master.ready" >>"$T/master.log" 2>&1 &
echo $! >"$T/master.pid"
wait_for 5 is_ready_or_gone master || die "without -wal: neither ready nor gone"
if is_ready master; then
	objects get x 0 4096 --list "$T/keys" --batch 100
	is "without -wal, wrong bytes" 0 "$(value wrong "$T/objects")"
	check
fi
down
