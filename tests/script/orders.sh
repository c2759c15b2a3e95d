#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# orders -- an administrator orders by plain SQL, and people by `tiffin set`.
#
# Right: the master obeys within a second or so and writes the outcome into the row; nonsense is refused where it
# is written; a database that is locked or damaged holds up nobody, and is told.
. "$(dirname "$0")/lib.sh"

O=$T/orders.db
MASTER_OPTIONS="--put-wait-ms=1s"
order() { sqlite3 -cmd ".timeout 2000" "$O" "$1" 2>"$T/sql.err"; }
value_of() { t --json set | tr '{' '\n' | grep "\"name\":\"$1\"" | sed 's/.*"value":\([0-9]*\).*/\1/'; }
value_is() { [ "$(value_of "$1")" = "$2" ]; }
outcome_is() { [ "$(order "SELECT coalesce(outcome, '-') FROM $1 WHERE $2")" = "$3" ]; }
has() { t --json events -n 0 | grep -q "\"kind\":\"$1\""; }
refused() { # words, statement
	order "$2" && die "taken: $2"
	grep -q "$1" "$T/sql.err" || die "$2: $(cat "$T/sql.err")"
}

up 64MiB
wait_for 5 test -s "$O" || die "no orders.db"
is "mode" 600 "$(stat -c %a "$O")"
known() { [ "$(order 'SELECT count(*) FROM known_setting')" -ge 5 ]; }
wait_for 5 known || die "no known settings"

# ---- by SQL ----
began=$(now_ms)
order "INSERT INTO setting (name, value) VALUES ('put_wait_ms', 3000)" || die "$(cat "$T/sql.err")"
wait_for 5 outcome_is setting "name = 'put_wait_ms'" done || die "no outcome: $(order 'SELECT * FROM setting')"
at_most "until it was obeyed, ms" 3000 $(($(now_ms) - began))
value_is put_wait_ms 3000 || die "not in force: $(t set)"
wait_for 5 has setting_changed || die "no event: $(t events)"
wait_for 5 has order_done || die "no event: $(t events)"
order "UPDATE setting SET value = 4000" || die "$(cat "$T/sql.err")"
wait_for 5 value_is put_wait_ms 4000 || die "an update is not obeyed: $(t set)"
wait_for 5 outcome_is setting "name = 'put_wait_ms'" done || die "no outcome of the update"
order "BEGIN; INSERT INTO setting (name, value) VALUES ('evict_high_pct', 60);
	INSERT INTO setting (name, value) VALUES ('evict_low_pct', 50); COMMIT" || die "$(cat "$T/sql.err")"
wait_for 5 value_is evict_low_pct 50 || die "two that belong together: $(t set)"
wait_for 5 value_is evict_high_pct 60 || die "two that belong together: $(t set)"
order "UPDATE setting SET value = 70 WHERE name = 'evict_low_pct'" || die "$(cat "$T/sql.err")"
wait_for 5 outcome_is setting "name = 'evict_low_pct'" refused || die "low above high: $(order 'SELECT * FROM setting')"
is "why" 1 "$(order "SELECT words LIKE '%must be below%' FROM setting WHERE name = 'evict_low_pct'")"
value_is evict_low_pct 50 || die "a refused one is in force"
order "DELETE FROM setting WHERE name LIKE 'evict%'"
wait_for 5 value_is evict_high_pct 95 || die "without its row it is not as configured: $(t set)"

# ---- quotas ----
order "INSERT INTO quota (tenant, quota_bytes, quota_objects) VALUES ('red', 1048576, 10)" || die "$(cat "$T/sql.err")"
wait_for 5 outcome_is quota "tenant = 'red'" done || die "no outcome: $(order 'SELECT * FROM quota')"
is "in the books" "1048576|10" "$(q "SELECT quota_bytes, quota_objects FROM tenant WHERE name = 'red'")"
order "UPDATE quota SET quota_objects = NULL, quota_bytes = 2097152" || die "$(cat "$T/sql.err")"
wait_for 5 outcome_is quota "tenant = 'red'" done || die "no outcome of the update"
is "in the books" "2097152|10" "$(q "SELECT quota_bytes, quota_objects FROM tenant WHERE name = 'red'")"
order "INSERT INTO quota (tenant, quota_bytes) VALUES ('a b', 1)" || die "$(cat "$T/sql.err")"
wait_for 5 outcome_is quota "tenant = 'a b'" refused || die "a name with a blank: $(order 'SELECT * FROM quota')"
wait_for 5 has order_refused || die "no event: $(t events)"
i=0
while [ $i -lt 600 ]; do
	echo "INSERT INTO quota (tenant, quota_bytes) VALUES ('t$i', $i);"
	i=$((i + 1))
done >"$T/many.sql"
order "BEGIN; $(cat "$T/many.sql") COMMIT" || die "$(cat "$T/sql.err")"
none_open() { [ "$(order 'SELECT count(*) FROM quota WHERE outcome IS NULL')" = 0 ]; }
wait_for 15 none_open || die "600 at once: $(order 'SELECT count(*) FROM quota WHERE outcome IS NULL') are open"
is "600 in the books" 602 "$(q 'SELECT count(*) FROM tenant')"

# ---- pins ----
head -c 100000 /dev/urandom >"$T/one"
t put k/1 "$T/one" || die "put"
order "INSERT INTO pin (key, kind) VALUES ('k/1', 'hard'), (CAST('k/2' AS BLOB), 'hard')" || die "$(cat "$T/sql.err")"
wait_for 5 outcome_is pin "key = 'k/1'" done || die "a pin: $(order 'SELECT * FROM pin')"
wait_for 5 outcome_is pin "CAST(key AS TEXT) = 'k/2'" refused || die "a pin of nothing: $(order 'SELECT * FROM pin')"
t --json stat k/1 | grep -q '"pin":"hard"' || die "not pinned: $(t --json stat k/1)"

# ---- drains ----
provider_start p2 64MiB
order "INSERT INTO drain (segment, concurrency) VALUES ('p1', 4)" || die "$(cat "$T/sql.err")"
wait_for 30 outcome_is drain "segment = 'p1'" done || die "a drain: $(order 'SELECT * FROM drain')"
is "what it says" "1|0|nothing lies there any more" "$(order 'SELECT n_done, n_left, words FROM drain')"
wait_for 5 has drain_done || die "no event: $(t events)"
t get k/1 "$T/back" || die "get after the drain"
cmp "$T/one" "$T/back" || die "other bytes after the drain"
order "UPDATE drain SET wish = 'cancel'" || die "$(cat "$T/sql.err")"
wait_for 5 outcome_is drain "segment = 'p1'" cancelled || die "a drain is not undone: $(order 'SELECT * FROM drain')"
t segments | grep -q drain && die "it is drained still: $(t segments)"
order "INSERT INTO drain (segment) VALUES ('p7')" || die "$(cat "$T/sql.err")"
wait_for 5 outcome_is drain "segment = 'p7'" refused || die "a drain of nothing: $(order 'SELECT * FROM drain')"

# ---- nonsense is refused where it is written ----
refused "no setting of that name" "INSERT INTO setting (name, value) VALUES ('lease_ms', 3000)"
refused "out of range" "INSERT INTO setting (name, value) VALUES ('evict_high_pct', 400)"
refused "out of range" "UPDATE setting SET value = -1 WHERE name = 'put_wait_ms'"
refused "master alone" "INSERT INTO setting (name, value, outcome) VALUES ('evict_high_pct', 80, 'done')"
refused "name stays" "UPDATE setting SET name = 'evict_high_pct'"
refused "cannot store TEXT" "INSERT INTO setting (name, value) VALUES ('evict_high_pct', 'much')"
refused "CHECK" "INSERT INTO quota (tenant, quota_bytes) VALUES ('x', -5)"
refused "CHECK" "INSERT INTO quota (tenant) VALUES ('x')"

# ---- by request ----
expect "set" 0 t set put_wait_ms 5s
value_is put_wait_ms 5000 || die "set by request: $(t set)"
kept() { [ "$(order "SELECT value FROM setting WHERE name = 'put_wait_ms'")" = 5000 ]; }
wait_for 5 kept || die "it is no row: $(order 'SELECT * FROM setting')"
expect "no such" 1 t set lease_ms 5s 2>/dev/null
expect "out of range" 2 t set evict_high_pct 1000 2>/dev/null
expect "no value" 2 t set evict_high_pct 2>/dev/null
t set | grep -q "put_wait_ms *5.0 s" || die "no table: $(t set)"
master_kill
master_start
wait_for 5 value_is put_wait_ms 5000 || die "after a restart: $(t set)"
expect "as configured" 0 t set put_wait_ms ""
wait_for 5 value_is put_wait_ms 1000 || die "as configured: $(t set)"
gone() { [ "$(order "SELECT count(*) FROM setting WHERE name = 'put_wait_ms'")" = 0 ]; }
wait_for 5 gone || die "its row stays"

# ---- somebody keeps it locked: nobody waits ----
mkfifo "$T/sql"
spawn locker sh -c 'exec sqlite3 "$1" <"$2"' sh "$O" "$T/sql"
exec 7>"$T/sql"
echo "BEGIN EXCLUSIVE; SELECT 'locked';" >&7
wait_for 5 grep -q locked "$T/locker.out" || die "the locker: $(cat "$T/locker.log")"
timed 2000 tiffin set put_wait_ms 2s || die "set while it is locked"
objects put k/ 500 4096
at_most "a put, ms" 1000 "$(value max_ms "$T/objects")"
wait_for 15 has orders_unreadable || die "nobody tells that it is locked: $(t events)"
grep -q orders_busy "$T/master.log" || die "no line in the log"
exec 7>&-
finish locker
order_2s() { [ "$(order "SELECT value FROM setting WHERE name = 'put_wait_ms'")" = 2000 ]; }
wait_for 5 order_2s || die "what was set meanwhile is no row"
value_is put_wait_ms 2000 || die "what was set meanwhile: $(t set)"

# ---- damaged, and replaced ----
echo "not a database at all, just some text, longer than a header of SQLite would be, and so on, and so on" >"$T/bad"
mv "$T/bad" "$O"
wait_for 5 grep -q orders_damaged "$T/master.log" || die "damage is not told"
objects put l/ 100 4096
is "puts" 100 "$(value ok "$T/objects")"
value_is put_wait_ms 2000 || die "what was ordered before is forgotten"
rm "$O"
wait_for 5 known || die "it is not made anew"
order "INSERT INTO setting (name, value) VALUES ('events_max', 100)" || die "$(cat "$T/sql.err")"
wait_for 5 value_is events_max 100 || die "the new one is not obeyed: $(t set)"
check
down
