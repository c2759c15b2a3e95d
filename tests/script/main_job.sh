#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# main_job -- a tree goes in through the mount and comes out right, whatever happens to the master.
#
#      main_job.sh            a tree of some thousand files
#      main_job.sh --full     /usr/lib and /usr/share: at least 10 000 files and 1 GiB
. "$(dirname "$0")/lib.sh"

began=$(date +%s)
say() { printf '%4ds %s\n' $(($(date +%s) - began)) "$*"; }

SRC=$T/src
mkdir "$SRC"
if [ "${1:-}" = --full ]; then
	cp -r --preserve=mode,ownership /usr/lib "$SRC/lib"
	cp -r --preserve=mode,ownership /usr/share "$SRC/share"
	SIZE=${SIZE:-8GiB}
else
	mkdir "$SRC/share"
	cp -r --preserve=mode,ownership /usr/share/doc "$SRC/share/doc"
	cp -r --preserve=mode,ownership /usr/include "$SRC/include"
	SIZE=${SIZE:-1GiB}
fi
# The store has no hard links, device files or sockets, and a tree that hangs on nothing outside it.
find "$SRC" \( -type b -o -type c -o -type p -o -type s \) -delete
n_files=$(find "$SRC" -type f | wc -l)
n_bytes=$(du -sb --apparent-size "$SRC" | cut -f1)
say "tree: $n_files files, $n_bytes bytes"

# What ls -lR says but for times, links counts, directory sizes and the free inode order of blocks.
facts() { # dir
	(cd "$1" && find . -type f -printf '%p %s %m %u %g\n' -o -type l -printf '%p -> %l\n' -o -type d -printf '%p/\n' |
		LC_ALL=C sort)
}
sums() { (cd "$1" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum); }
sizes() { (cd "$1" && find . -type f -print0 | du -b --files0-from=- | LC_ALL=C sort -k2); }
listing() { (cd "$1" && ls -lR . | awk '/^[-l]/ {$2 = ""; $6 = $7 = $8 = ""; print} /^\./ {print}'); }

same() { # what, function, dir, dir
	"$2" "$3" >"$T/a" || die "$1: cannot read $3"
	"$2" "$4" >"$T/b" || die "$1: cannot read $4"
	cmp -s "$T/a" "$T/b" || die "$1 differ: $(diff "$T/a" "$T/b" | head -n 10)"
	say "$1 agree"
}

agree() { # dir, dir
	same names facts "$1" "$2"
	same listings listing "$1" "$2"
	same sizes sizes "$1" "$2"
	same sums sums "$1" "$2"
}

up "$SIZE"
mount_start

cp -r --preserve=mode,ownership "$SRC/." "$M/" || die "cp -r"
say "copied in"
agree "$SRC" "$M"

# Outside the mount a symbolic link is an object whose bytes are its target: only true files are compared.
t get -r "" "$T/out" >/dev/null || die "tiffin get -r"
out_sums() { (cd "$SRC" && find . -type f -print0 | LC_ALL=C sort -z) | (cd "$1" && xargs -0 sha256sum); }
same "sums by the CLI" out_sums "$SRC" "$T/out"
rm -rf "$T/out"
tool_readback "$MASTER" "$SRC" || die "the C API reads other bytes"
say "bytes by the C API agree"

master_kill
master_start
say "master killed and started"
agree "$SRC" "$M"
t check --db "$DB" || die "tiffin check"
check

half=$(find "$SRC" -mindepth 2 -maxdepth 2 | LC_ALL=C sort | awk 'NR % 2' | sed "s|^$SRC/||")
echo "$half" | while read -r path; do rm -r "$M/$path" || exit 1; done || die "rm -r of half of it"
say "half removed"
echo "$half" | while read -r path; do [ ! -e "$M/$path" ] || exit 1; done || die "what was removed is there"
echo "$half" | while read -r path; do
	cp -r --preserve=mode,ownership "$SRC/$path" "$M/$path" || exit 1
done || die "put it again"
say "put again"
agree "$SRC" "$M"
check
mount_stop
down
say "all well: $n_files files, $n_bytes bytes"
