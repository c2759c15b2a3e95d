#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b19 -- a reader that forgot to end its transaction makes the write-ahead log grow for ever, and it stays so big.
#
# Right: a warning while a reader is in the way; once it is gone the log is below its cap again within 10 s,
# with no restart; the database of the same thousand keys does not grow; puts stay as quick as before.
. "$(dirname "$0")/lib.sh"

MASTER_OPTIONS="--wal-cap-bytes=1MiB"
LEASE=500ms
wal_bytes() { stat -c %s "$DB-wal" 2>/dev/null || echo 0; }
churn() { # rounds: a thousand keys put and removed
	for i in $(seq "$1"); do
		objects put c/ 1000 512 --batch 100
		is "puts" 1000 "$(value ok "$T/objects")"
		put_ms=$(value all_ms "$T/objects")
		objects remove c/ 1000 0 --batch 100 --force
		is "removes" 1000 "$(value ok "$T/objects")"
	done
}

up 64MiB
churn 3
before_ms=$put_ms

mkfifo "$T/sql"
spawn reader sh -c 'exec sqlite3 -readonly "$1" <"$2"' sh "$DB" "$T/sql"
exec 7>"$T/sql"
echo 'BEGIN; SELECT count(*) FROM object; SELECT 1;' >&7
wait_for 5 test -s "$T/reader.out" || die "the reader does not read: $(cat "$T/reader.log")"
churn 15
grown=$(wal_bytes)
at_least "the log, with a reader in the way" 1048576 "$grown"
at_most "puts meanwhile, ms" $((before_ms * 3 + 300)) "$put_ms"
grep -qiE 'warn.*(wal|checkpoint|reader)' "$T/master.log" || die "no warning about the log"
exec 7>&-
finish reader || die "the reader: $(cat "$T/reader.log")"
objects put one/ 1 512
below_cap() { [ "$(wal_bytes)" -le 1200000 ]; }
wait_for 10 below_cap || die "the log stays at $(wal_bytes) bytes (was $grown)"
file=$(stat -c %s "$DB")
churn 15
wait_for 10 below_cap || die "the log: $(wal_bytes) bytes"
at_most "the database, bytes" $((file * 3)) "$(stat -c %s "$DB")"
# Idle, no statement of the master's own keeps a snapshot: a checkpoint of everything succeeds.
at_most "the log as told" 1200000 "$(told store_wal_bytes)"
check
down
