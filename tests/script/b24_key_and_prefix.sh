#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b24 -- `foo` and `foo/bar` are both keys: one of them is listed twice, hidden, or breaks the list.
#
# Right: the directory has the plain name and the shadowed object is `foo/%@`; every key has exactly one path;
# neighbours (ab, a-b) are never merged; making the clash through the mount is ENOTDIR.
. "$(dirname "$0")/lib.sh"

up 64MiB
mount_start -o timeout=5
for key in a a/b a/b/c ab/x a-b b; do printf 'bytes of %s' "$key" | t put "$key" - || die "put $key"; done
ls -la "$M" >/dev/null || die "ls"
(cd "$M" && find . -type f | LC_ALL=C sort) >"$T/found"
printf './%s\n' a-b a/%@ a/b/%@ a/b/c ab/x b | LC_ALL=C sort >"$T/wanted"
cmp -s "$T/found" "$T/wanted" || die "paths: $(cat "$T/found")"
is "names in the root" "a a-b ab b" "$(LC_ALL=C ls "$M" | tr '\n' ' ' | sed 's/ $//')"
is "names twice" "" "$(ls "$M" "$M/a" "$M/a/b" | grep -v : | grep . | LC_ALL=C sort | uniq -d | grep -v '^b$' | grep -v %@)"
same() { is "$1" "bytes of $2" "$(cat "$M/$1")"; }
same a/%@ a
same a/b/%@ a/b
same a/b/c a/b/c
same ab/x ab/x
same a-b a-b
same b b

# What shadows goes: the plain name comes back.
rm "$M/a/b/c" || die "rm a/b/c"
plain() { [ -f "$M/a/b" ] && [ ! -e "$M/a/b/%@" ]; }
wait_for 5 plain || die "a/b is no plain file: $(find "$M/a")"
same a/b a/b
expect "a/b/c by its key" 1 t -q stat a/b/c 2>/dev/null
rm "$M/a/b" || die "rm a/b"
reachable() { [ -e "$M/a/%@" ] || [ -f "$M/a" ]; }
wait_for 2 reachable || die "a is lost: $(find "$M")" # until the kernel forgets the directory
t cat a >/dev/null || die "a by its key"
wait_for 5 test -f "$M/a" || die "a is no plain file"
same a a

# The clash through the mount.
echo x | cp /dev/stdin "$M/a/b/c" 2>"$T/said" && die "a file below a file"
grep -q "Not a directory" "$T/said" || die "a file below a file: $(cat "$T/said")"
mkdir "$M/a" 2>"$T/said" && die "a directory over a file"
grep -q "File exists" "$T/said" || die "a directory over a file: $(cat "$T/said")"
mkdir "$M/dir" && cp /etc/passwd "$M/dir/f" || die "a directory"
mv "$M/b" "$M/dir/f/b" 2>/dev/null && die "into a file"
cp "$M/b" "$M/dir" || die "cp into a directory"
cmp -s /etc/passwd "$M/dir/f" || die "dir/f: other bytes"
# The same clash made by others while the mount looks on.
echo below | t put ab/x/y - || die "put ab/x/y"
both() { [ -f "$M/ab/x/y" ] && [ -f "$M/ab/x/%@" ]; }
wait_for 5 both || die "ab/x and ab/x/y: $(find "$M/ab")"
same ab/x/%@ ab/x

# Both go, by one who knows nothing of this, again and again: a directory is there until it is removed.
for i in $(seq 40); do
	echo 1 | t put r/k - && echo 2 | t put r/k/below - || die "put r/k"
	wait_for 5 test -f "$M/r/k/%@" || die "r/k/%@"
	rm -r "$M/r/k" 2>"$T/said" || die "rm -r, round $i: $(cat "$T/said")"
done
is "left of r" "" "$(t ls -R r/ | grep -v '^r/$')"
is "number of files" "$(t ls -R | grep -vc '/$')" "$(find "$M" -type f | wc -l)"
check
down
