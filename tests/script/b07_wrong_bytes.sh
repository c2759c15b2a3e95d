#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b07 -- wrong bytes reach the reader and nobody notices.
#
# Right: one byte changed in the segment: get says CHECKSUM (7), reading through the mount EIO (what the kernel
# copies out of this host's own memory is compared with -o verify_local only).  A range is not summed
# (tiffin.h says so); one that the byte does not lie in is right.  With two copies the good one is
# served.  A second owner of the same memory is refused, and nothing is changed by it.
. "$(dirname "$0")/lib.sh"

shm=/dev/shm/$(basename "$T")
trap 'code=$?; rm -f "$shm".*; (exit $code); clean_up' EXIT

# spoil KEY COPY AT -- one byte of that copy, AT bytes behind its beginning.
spoil() {
	at=$(q "SELECT offset_bytes FROM v_extent JOIN object USING (object_id)
		WHERE key = CAST('$1' AS BLOB) AND copy = $2 AND piece = 0")
	file=$(q "SELECT segment FROM v_replica WHERE shown_key = '$1' AND copy = $2")
	[ -n "$at" ] && [ -f "$shm.$file" ] || die "$1, copy $2: at '$at' in '$file'"
	at=$((at + 4096 + $3)) # the header of the file
	byte=$(od -An -tu1 -j $at -N 1 "$shm.$file" | tr -d ' ')
	# shellcheck disable=SC2059
	printf "\\$(printf %o $((byte ^ 1)))" | dd of="$shm.$file" bs=1 seek=$at conv=notrunc status=none
}

master_start
provider_start p1 32MiB --path="$shm.p1"
mount_start
head -c 8388608 /dev/urandom >"$T/k"
t put k "$T/k" || die "put"
t get k "$T/back" && cmp -s "$T/k" "$T/back" || die "get before"
cat "$M/k" | cmp -s - "$T/k" || die "cat before"
rm "$T/back"
spoil k 0 5000000
expect "get of wrong bytes" 7 t -q get k "$T/back" 2>/dev/null
[ ! -e "$T/back" ] || die "get left a file"
expect "cat of wrong bytes" 7 t -q cat k >"$T/out" 2>/dev/null
fails_to_cat() { # key
	cat "$M/$1" >"$T/out" 2>"$T/said" && die "cat $1 through the mount succeeded"
	grep -q "Input/output error" "$T/said" || die "cat $1 through the mount: $(cat "$T/said")"
}
mount_stop
mount_start -o verify_local
fails_to_cat k
fails_to_cat k
t get --range 0:4MiB k "$T/back" || die "range without the wrong byte"
head -c 4194304 "$T/k" | cmp -s - "$T/back" || die "range: other bytes"
objects put other 1 100000
objects get other 1 100000
is "an object beside it" 1 "$(value ok "$T/objects")"

# Bytes that do not lie in memory of this host are compared without being asked for.
mount_stop
start p0 tiffin-provider --master="$MASTER" --name=p0 --size=32MiB --path="$shm.p0" --listen=127.0.0.1:0
mount_start
objects put far/ 1 8388608 --segment "$(q "SELECT segment_id FROM segment WHERE name = 'p0'")"
cat "$M/far/000000" >/dev/null || die "cat before"
spoil far/000000 0 5000000
mount_stop
mount_start
fails_to_cat far/000000
expect "get of wrong bytes by TCP" 7 t -q get far/000000 "$T/back" 2>/dev/null
t rm -f far/000000 || die "rm of wrong bytes"

# Two copies: the good one is served.
provider_start p2 32MiB --path="$shm.p2"
objects put two/ 2 1000000 --replicas 2
is "copies" 4 "$(q "SELECT count(*) FROM v_replica WHERE shown_key GLOB 'two/*'")"
spoil two/000000 0 77
spoil two/000001 1 77
objects get two/ 2 1000000
is "with one good copy" 2 "$(value ok "$T/objects")"
objects get two/ 2 1000000 --batch 2
is "in a batch" 2 "$(value ok "$T/objects")"

# A second owner of the same memory, by its file and by its name.
timeout 20 tiffin-provider --master="$MASTER" --name=p3 --size=32MiB --path="$shm.p1" --listen="unix:$T/p3.sock" \
	2>"$T/said" && die "a second owner of one file"
grep -q . "$T/said" || die "a second owner says nothing"
timeout 20 tiffin-provider --master="$MASTER" --name=p1 --size=32MiB --listen="unix:$T/p3.sock" \
	2>"$T/said" && die "a second segment of one name"
grep -q p1 "$T/said" || die "a second segment of one name: $(cat "$T/said")"
objects get other 1 100000
is "after the second owner" 1 "$(value ok "$T/objects")"
check
down
