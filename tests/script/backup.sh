#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# backup -- the books are copied while the master works under load, and put back.
#
# Right: the copy is whole and obeys every law; putting it back never gives wrong bytes, whatever was written
# since, and whoever still reads it under a lease that is longer than any the copy knows; ids and epochs are never
# given out again; nothing is replaced by accident, and no master starts on
# files that are half changed.
. "$(dirname "$0")/lib.sh"

LEASE=500ms
TTL=2s
MASTER_OPTIONS="--client-grace-ms=1s --ping-ms=200ms --evict-high-pct=100"
B=$T/books.backup
lines() { [ "$(wc -l <"$T/acked")" -ge "$1" ]; }
next_id() { q "SELECT next_object_id FROM cluster"; }
epoch() { q "SELECT master_epoch FROM cluster"; }
is_here() { t --json segments | grep -q '"state":"ok"'; }
none_left() { [ "$(q "SELECT count(*) FROM object WHERE CAST(key AS TEXT) GLOB '$1*'")" = 0 ]; }
no_litter() { [ -z "$(find "$T" -name '*.backup.*' -o -name 'master.db.*' ! -name '*.lock' ! -name '*.reserve' ! -name '*.before*')" ]; }

up 64MiB
objects put k/ 200 100000
: >"$T/acked"
spawn load tool_objects put load/ 1000000 4096 --threads 2 --acked "$T/acked"
wait_for 10 lines 500 || die "no load"

# ---- while the master works ----
since=$(wc -l <"$T/acked")
expect "backup" 0 t backup --db "$DB" "$B" >"$T/said"
grep -q "objects of .* on 1 segments, checked" "$T/said" || die "backup says: $(cat "$T/said")"
lines "$since" || die "puts stood still"
is "mode" 600 "$(stat -c %a "$B")"
is "its own laws" "" "$(sqlite3 -readonly "$B" <"$ROOT/sql/admin/check.sql")"
at_least "objects in it" 700 "$(sqlite3 -readonly "$B" 'SELECT count(*) FROM object')"
[ ! -e "$B-wal" ] && [ ! -e "$B-journal" ] || die "the backup is not one file"
expect "a second one of that name" 3 t backup --db "$DB" "$B" 2>/dev/null
expect "by force" 0 t --json backup --db "$DB" --force "$B" >"$T/said"
grep -q '"master_was_stopped":false' "$T/said" || die "json: $(cat "$T/said")"
expect "restore under a master" 6 t restore --db "$DB" "$B" 2>"$T/said"
grep -q "stop it first" "$T/said" || die "restore says: $(cat "$T/said")"
finish load TERM || die "the load: $(cat "$T/load.log")"
is "puts refused" 0 "$(value BUSY "$T/load.out")"
no_litter || die "left behind: $(ls "$T")"

# ---- put back after everything was overwritten ----
was_next=$(sqlite3 -readonly "$B" "SELECT next_object_id FROM cluster")
was_epoch=$(epoch)
expect "remove" 0 t rm -r k/ load/ >/dev/null
sleep 0.7
objects put new/ 500 100000
at_least "new ones" 400 "$(value ok "$T/objects")"
master_kill
expect "restore" 0 t restore --db "$DB" "$B" >/dev/null 2>"$T/said"
grep -q "objects with bytes are dropped" "$T/said" || die "it does not say what it costs: $(cat "$T/said")"
[ -s "$DB.before" ] || die "the former database is gone"
no_litter || die "left behind: $(ls "$T")"
master_start
at_least "epoch" $((was_epoch + 1000000)) "$(epoch)"
at_least "next id" $((was_next + 1000000000000)) "$(next_id)"
objects get k/ 200 100000
is "old keys, wrong bytes: $(cat "$T/objects")" 0 "$(value wrong "$T/objects")"
is "old keys that can be read" 0 "$(value ok "$T/objects")"
wait_for 15 is_here || die "the segment does not come back"
wait_for 15 none_left k/ || die "dropped objects stay in the books"
objects put again/ 300 100000
is "puts after it: $(cat "$T/objects")" 300 "$(value ok "$T/objects")"
objects get again/ 300 100000
is "and read" 300 "$(value ok "$T/objects")"
objects get new/ 500 100000
is "keys from after the backup: $(cat "$T/objects")" 500 "$(value NOT_FOUND "$T/objects")"
check

# ---- with the master stopped: nothing was lent since, so everything is as it says ----
master_stop
rm "$B"
expect "backup of a stopped one" 0 t --json backup --db "$DB" "$B" >"$T/said"
grep -q '"master_was_stopped":true' "$T/said" || die "json: $(cat "$T/said")"
rm -f "$DB"*
expect "restore" 0 t restore --db "$DB" "$B" >/dev/null
master_start
wait_for 15 is_here || die "the segment does not come back"
objects get again/ 300 100000
is "all of it: $(cat "$T/objects")" 300 "$(value ok "$T/objects")"
check

# ---- the same file once more, after a master has lent the segment again ----
objects remove again/ 300 0
sleep 0.7
objects put other/ 300 100000
master_stop
expect "restore" 0 t restore --db "$DB" "$B" >/dev/null
master_start
wait_for 15 is_here || die "the segment does not come back"
objects get again/ 300 100000
is "overwritten meanwhile, wrong bytes: $(cat "$T/objects")" 0 "$(value wrong "$T/objects")"
is "overwritten meanwhile, read" 0 "$(value ok "$T/objects")"
wait_for 15 none_left again/ || die "dropped objects stay in the books"

# ---- what is no backup, and what was broken off ----
master_stop
cp "$DB" "$T/plain.db"
expect "a database that is no backup" 2 t restore --db "$DB" "$T/plain.db" 2>/dev/null
echo "no database, but some text that is long enough" >"$T/text"
t restore --db "$DB" "$T/text" 2>/dev/null && die "text became a database"
cp "$B" "$T/bad.backup"
sqlite3 "$T/bad.backup" "DELETE FROM segment"
expect "a backup that breaks laws" 1 t restore --db "$DB" "$T/bad.backup" 2>/dev/null
cmp -s "$DB" "$T/plain.db" || die "the database was changed by what was refused"
touch "$DB.restoring"
timed 5000 tiffin-master --db="$DB" --listen="$MASTER" 2>"$T/said" && die "starts on half a restore"
grep -q "run tiffin restore again" "$T/said" || die "it says: $(cat "$T/said")"
expect "again" 0 t restore --db "$DB" "$B" >/dev/null
master_start

# ---- leases have become longer since: the memory knows, these books do not ----
longest() { q "SELECT longest_lease_ms FROM cluster"; }
is_longest() { [ "$(longest)" = "$1" ]; }
master_stop
LEASE=3s
master_start
wait_for 15 is_here || die "the segment does not come back"
is "longest lease" 3000 "$(longest)"
objects put long/ 50 100000
objects get long/ 50 100000
is "read under long leases" 50 "$(value ok "$T/objects")"
master_kill
LEASE=500ms
expect "restore" 0 t restore --db "$DB" "$B" >/dev/null
is "longest lease that the backup knows" 500 "$(longest)"
master_start
wait_for 15 is_longest 3000 || die "the memory's longest lease is not in the books: $(longest)"
wait_for 15 is_here || die "the segment does not come back"
at_least "ms until its room is lent again" 3000 "$(q "SELECT mounted_at_ms - started_at_ms FROM segment, cluster")"
wait_for 15 is_longest 500 || die "a lease that is over for long still counts: $(longest)"
check

# ---- a backup that was only copied to its place ----
master_stop
rm -f "$DB"*
cp "$B" "$DB"
master_start
wait_for 15 is_here || die "the segment does not come back"
objects get again/ 300 100000
is "copied by hand, wrong bytes" 0 "$(value wrong "$T/objects")"
check
down
