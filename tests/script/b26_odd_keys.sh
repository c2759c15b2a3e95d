#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b26 -- keys that are no path names: empty parts, dots, very long ones; they hide, climb out, or break the list.
#
# Right: refused, or stored and reached by an escaped name, through the command and through the mount; none is
# turned into another key, none leaves the mount or an export; too long a name is ENAMETOOLONG.
. "$(dirname "$0")/lib.sh"

up 64MiB
mount_start -o timeout=5
long() { printf "%${1}s" '' | tr ' ' "${2:-p}"; }

# Refused.
expect "an empty key" 2 t -q put '' /etc/passwd 2>/dev/null
expect "a key of 1025 bytes" 2 t -q put "$(long 1025)" /etc/passwd 2>/dev/null
expect "a key of 4097 bytes" 2 t -q put "$(long 4097)" /etc/passwd 2>/dev/null
is "nothing was stored" "" "$(t ls -R)"

: >"$T/keys"
keep() {
	printf '%s\n' "$1" >>"$T/keys"
	printf 'bytes of %s' "$1" | t put -- "$1" - || die "put '$1'"
}
for key in / /a a/ a//b . .. a/../b ./a a/. ../../etc/x %2F a%b '%@' '%_' '%+' ' ' '-x' '*' '\' "$(printf '\001\177\377')"; do
	keep "$key"
done
for n in 255 256 510 511 1024; do keep "$(long $n)"; done
keep "d/$(long 300 q)/e"
n_keys=$(wc -l <"$T/keys")

# Through the command.
is "keys in the list" "$n_keys" "$(t ls -R | wc -l)"
while IFS= read -r key; do
	is "cat '$key'" "bytes of $key" "$(t cat -- "$key")"
done <"$T/keys"

# Through the mount: as many files as keys, each with the bytes of a key of its own, none outside.
ls -laR "$M" >/dev/null || die "ls -laR"
find "$M" -type f >"$T/files" || die "find"
[ "$(wc -l <"$T/files")" -eq "$n_keys" ] || die "$(wc -l <"$T/files") files, $n_keys keys: $(cut -c 1-100 "$T/files")"
while IFS= read -r file; do cat "$file" && echo || die "cat '$file'"; done <"$T/files" | LC_ALL=C sort >"$T/seen"
sed 's/^/bytes of /' "$T/keys" | LC_ALL=C sort >"$T/wanted"
cmp -s "$T/seen" "$T/wanted" || die "through the mount: $(diff "$T/seen" "$T/wanted" | cut -c 1-200 | head -n 6)"
is "longest name" 255 "$(stat -f -c %l "$M")"
while IFS= read -r file; do
	name=$(basename "$file")
	at_most "name" 255 "$(printf %s "$name" | wc -c)"
done <"$T/files"

# An export stays within its directory, and comes back as it was.
mkdir -p "$T/out/deep"
t get -r '' "$T/out/deep/er" >/dev/null || die "get -r"
is "beside the export" "deep" "$(ls -A "$T/out")"
is "beside the export" "er" "$(ls -A "$T/out/deep")"
is "files exported" "$n_keys" "$(find "$T/out/deep/er" -type f | wc -l)"
(cd "$M" && find . -type f | LC_ALL=C sort) >"$T/by_mount"
(cd "$T/out/deep/er" && find . -type f | LC_ALL=C sort) >"$T/by_export"
cmp -s "$T/by_mount" "$T/by_export" || die "names differ: $(diff "$T/by_mount" "$T/by_export" | head -n 4)"

# Made through the mount.
echo x 2>/dev/null >"$M/$(long 256)" && die "a name of 256 bytes"
echo x | cp /dev/stdin "$M/$(long 256)" 2>"$T/said" && die "a name of 256 bytes"
grep -q "name too long" "$T/said" || die "a name of 256 bytes: $(cat "$T/said")"
mkdir -p "$M/$(long 200 u)/$(long 200 v)/$(long 200 w)/$(long 200 x)" || die "a path of 803 bytes"
cp /etc/passwd "$M/$(long 200 u)/$(long 200 v)/$(long 200 w)/$(long 200 x)/$(long 220 y)" || die "a key of 1024 bytes"
cp /etc/passwd "$M/$(long 200 u)/$(long 200 v)/$(long 200 w)/$(long 200 x)/$(long 221 y)" 2>"$T/said" &&
	die "a key of 1025 bytes"
grep -q "name too long" "$T/said" || die "a key of 1025 bytes: $(cat "$T/said")"
t stat "$(long 200 u)/$(long 200 v)/$(long 200 w)/$(long 200 x)/$(long 220 y)" >/dev/null || die "its key"
[ ! -e "$T/mnt/../etc" ] || die "climbed out"
ls -laR "$M" >/dev/null || die "ls -laR at the end"
rm -r "${M:?}"/* 2>"$T/said" || die "rm -r of all: $(sed "s/p\{20,\}/ppp/g" "$T/said" | head -n 5)"
check
down
