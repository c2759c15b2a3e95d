#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# admin_sql -- each script of sql/admin, by somebody who may only read the files, while the master works under load.
#
# Right: readable columns with the numbers that are true, and a place for every script in this test; check.sql and
# orphans.sql find nothing on books that are well, and the damage on a copy that is not.
. "$(dirname "$0")/lib.sh"

MASTER_OPTIONS="--evict-high-pct=100"
lines() { [ "$(wc -l <"$T/acked")" -ge "$1" ]; }
seen="check"

as_reader() {
	if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

# shows SCRIPT COLUMNS PATTERN -- a header with all these columns, and a row (grep -E) that is true.
shows() {
	seen="$seen $1"
	timed 20000 as_reader_run "$1"
	for column in $2; do
		sed -n '2p' "$T/$1.out" | grep -qE "│ *$column *│" ||
			die "$1.sql: no column $column: $(head -n 3 "$T/$1.out")"
	done
	[ -z "$3" ] || grep -qE "$3" "$T/$1.out" || die "$1.sql: no row like $3: $(cat "$T/$1.out")"
}
timed() { # of a function, here
	limit_ms=$1
	shift
	began_ms=$(now_ms)
	"$@" || die "$*: exit $?: $(cat "$T/err")"
	at_most "$*, ms" "$limit_ms" $(($(now_ms) - began_ms))
}
as_reader_run() { as_reader sqlite3 -readonly "$DB" <"$ROOT/sql/admin/$1.sql" >"$T/$1.out" 2>"$T/err"; }

up 256MiB
provider_start p2 128MiB
expect 'a tenant' 0 t tenants put blue --quota 100MiB --objects 1000 >/dev/null
head -c 5000000 /dev/zero >"$T/big"
t put big/one "$T/big" || die "put"
printf 'x' >"$T/small"
t put 'odd/a|b' "$T/small" || die "put"
objects put k/ 3000 4096 --batch 100
spawn load tool_objects put load/ 1000000 2048 --threads 2 --acked "$T/acked"
wait_for 10 lines 4000 || die "no load"
chmod 755 "$T"
chmod 644 "$DB" "$DB-wal" "$DB-shm"
chmod a-w "$T"

shows usage "objects bytes stored lent segments master_epoch" "384.0 MiB"
shows segments "segment_id name host medium lent used full extents" "p1 .*DRAM.* 256.0 MiB"
shows tenants "tenant objects objects_quota stored bytes_quota used note" "blue +│ 0 +│ 1000 +│ 0.0 MiB +│ 100.0 MiB "
shows prefixes "tenant prefix objects bytes longest newest" "default +│ k/ +│ 3000 "
shows ages "tenant age objects bytes of_tenant" "default +│ under a minute +│ [0-9]+ "
shows hottest "tenant prefix put_in_a_minute of_bytes put_in_an_hour newest" "default +│ load/ +│ [0-9]+ "
shows largest "len len_bytes tenant shown_key put_at object_id" "4.8 MiB +│ 5000000 +│ default +│ big/one "
shows objects "object_id tenant shown_key len_bytes put_at crc copies_on" "load/.*│ p[12]"
shows fragmentation "segment host holes free longest in_longest pieces" "p1 .*MiB"
shows chunks "segment segment_id open_chunks first last" "p[12] "
shows events "event_id at kind count bytes subject words" "segment_mounted"
for nothing in check orphans; do
	seen="$seen $nothing"
	timed 20000 as_reader_run $nothing
	[ ! -s "$T/$nothing.out" ] || die "$nothing.sql finds: $(cat "$T/$nothing.out")"
done
chmod u+w "$T"
finish load TERM || die "the load: $(cat "$T/load.log")"
is "puts refused" 0 "$(value BUSY "$T/load.out")"

# Another script needs a line above.
for script in "$ROOT"/sql/admin/*.sql; do
	name=$(basename "$script" .sql)
	case " $seen " in *" $name "*) ;; *)
		shows "$name" "" ""
		;;
	esac
	grep -q '^\.timeout [0-9]' "$script" || die "$name.sql has no timeout of its own"
	sed -n 2p "$script" | grep -q "^-- $name.sql -- ." || die "$name.sql does not say what it shows"
done

# orphans.sql has no law of its own: each stands in check.sql, in the same words.
grep -o "SELECT '[a-z ]*'" "$ROOT/sql/admin/orphans.sql" | grep -v restored >"$T/laws"
at_least "laws of orphans.sql" 6 "$(wc -l <"$T/laws")"
while read -r law; do
	grep -qF "$law" "$ROOT/sql/admin/check.sql" || die "check.sql lacks a law of orphans.sql: $law"
done <"$T/laws"

# Damage, on a copy.
master_stop
for what in "DELETE FROM segment WHERE name = 'p1'|a replica has no segment" \
	"DELETE FROM object WHERE CAST(key AS TEXT) = 'big/one'|a replica has no object" \
	"DELETE FROM replica WHERE replica_id = (SELECT min(replica_id) FROM replica)|an object has no replica" \
	"INSERT INTO extent VALUES (32768 * 99999999, 0, 512, 0)|an extent has no replica" \
	"INSERT INTO open_chunk VALUES (77, 1)|an open chunk has no segment" \
	"UPDATE object SET tenant_id = 99|an object has no tenant" \
	"UPDATE segment SET trusted_epoch = 0|restored"; do
	cp "$DB" "$T/copy.db"
	sqlite3 "$T/copy.db" "${what%|*}" || die "${what%|*}"
	sqlite3 -readonly "$T/copy.db" <"$ROOT/sql/admin/orphans.sql" >"$T/said" 2>&1
	grep -q "${what#*|}" "$T/said" || die "orphans.sql after ${what%|*}: $(cat "$T/said")"
	sqlite3 -readonly "$T/copy.db" <"$ROOT/sql/admin/check.sql" >"$T/said" 2>&1
	[ "${what#*|}" = restored ] || grep -q "${what#*|}" "$T/said" || die "check.sql after ${what%|*}: $(cat "$T/said")"
done
down
