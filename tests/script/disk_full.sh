#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# disk_full -- the disk of the master's books fills up, whoever fills it: while it works, before a start, under a
# backup, under an order.
#
# Right: what would need room is refused with one clear error, at once; what was acknowledged is there and is read;
# removals go on; a start goes on; with room again everything works, and check.sql finds nothing.
. "$(dirname "$0")/lib.sh"

MASTER_OPTIONS="--put-wait-ms=500ms"
mkdir "$T/disk"
mount -t tmpfs -o size=16m tiffin-test "$T/disk" 2>"$T/said" || {
	echo "skipped: no file system may be mounted here: $(head -n 1 "$T/said")"
	exit 0
}
trap 'code=$?; end master KILL; umount -l "$T/disk" "$T/small" 2>/dev/null; (exit $code); clean_up' EXIT
DB=$T/disk/master.db

# fill -- all that is left but N KiB.  empty -- somebody makes room.
fill() {
	rm -f "$T/disk/other"
	left=$(df --output=avail -k "$T/disk" | tail -n 1)
	[ "$left" -le "$1" ] || dd if=/dev/zero of="$T/disk/other" bs=1024 count=$((left - $1)) 2>/dev/null ||
		die "filling the disk"
}
empty() { rm -f "$T/disk/other"; }

up 64MiB
head -c 1000 /dev/urandom >"$T/some"
objects put kept/ 500 1000
is "kept" 500 "$(value ok "$T/objects")"
for key in a b c; do t -q put gone/$key "$T/some" || die "put"; done

# ---- while it works ----
is_folded() { [ ! -s "$DB-wal" ]; }
wait_for 20 is_folded || die "the log is not folded in: $(ls -l "$T/disk")"
fill 64
objects put more/ 150 100 --threads 16
ok=$(value ok "$T/objects")
at_least "puts before it was full" 1 "$ok"
[ "$ok" -lt 150 ] || die "the disk was never full"
timed 12000 tiffin --master "$MASTER" put full/one "$T/some" 2>"$T/said" && die "a put on a full disk"
grep -q 'full' "$T/said" || die "no clear error: $(cat "$T/said")"
objects get kept/ 500 1000
is "read while it is full" 500 "$(value ok "$T/objects")"
timed 3000 tiffin --master "$MASTER" rm gone/a || die "a removal on a full disk"
expect "what was removed" 1 t -q get gone/a "$T/out"
grep -q "store_stalled.*full" "$T/master.log" || die "the log does not tell: $(tail -n 5 "$T/master.log")"

# ---- a backup onto a disk that is too small, and elsewhere ----
mkdir "$T/small"
mount -t tmpfs -o size=64k tiffin-test "$T/small" || die "a second file system"
t backup --db="$DB" "$T/small/backup.db" 2>"$T/said" && die "a backup onto a full disk"
grep -qi 'full' "$T/said" || die "backup says: $(cat "$T/said")"
[ -z "$(ls "$T/small")" ] || die "a torso of a backup: $(ls "$T/small")"
umount "$T/small"
t backup --db="$DB" "$T/backup.db" 2>"$T/said" || die "a backup elsewhere: $(cat "$T/said")"

# ---- a start, after a crash, and an order ----
master_kill
master_start
wait_for 20 t -q get gone/c "$T/out" || die "read after a start on a full disk: $(t get gone/c "$T/out" 2>&1)"
timed 3000 tiffin --master "$MASTER" rm gone/b || die "a removal after a start on a full disk"
sqlite3 "$T/disk/orders.db" "INSERT INTO setting (name, value) VALUES ('put_wait_ms', 3000)" 2>"$T/said" || {
	grep -q 'full' "$T/said" || die "an order: $(cat "$T/said")"
}
objects get kept/ 500 1000
is "read after the start" 500 "$(value ok "$T/objects")"

# ---- room again ----
empty
can_put() { t -q put full/after "$T/some"; }
wait_for 20 can_put || die "a put once there is room: $(t put full/after "$T/some" 2>&1)"
t get full/after "$T/out" && cmp -s "$T/some" "$T/out" || die "other bytes"
objects get kept/ 500 1000
is "read in the end" 500 "$(value ok "$T/objects")"
expect "what was removed" 1 t -q get gone/a "$T/out"
check
master_stop
master_start
wait_for 20 t -q get full/after "$T/out" || die "lost by an orderly stop"
check
down
