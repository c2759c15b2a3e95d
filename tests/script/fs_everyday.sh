#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fs_everyday -- programs that know nothing of a store work on its mount.
. "$(dirname "$0")/lib.sh"

say() { printf '%s\n' "$*"; }

# is WHAT WANTED GOT
is() { [ "$2" = "$3" ] || die "$1: \"$3\", not \"$2\""; }

# fails WHAT COMMAND... -- and says why.
fails() {
	what=$1
	shift
	if "$@" 2>"$T/stderr"; then die "$what: succeeded"; fi
}

# refused ERRNO-WORDS COMMAND...
refused() {
	words=$1
	shift
	fails "$*" "$@"
	grep -q "$words" "$T/stderr" || die "$*: $(cat "$T/stderr"), not \"$words\""
}

same_tree() { diff -r --no-dereference "$1" "$2" >"$T/diff" 2>&1 || die "trees differ: $(head -n 5 "$T/diff")"; }

up 512MiB
mount_start -o timeout=5
mkdir "$M/w" || die "mkdir"
cd "$M/w" || die "cd"

say "files"
echo hello >a || die "write"
is "read back" hello "$(cat a)"
echo more >>a || die "append"
is "append" "hello
more" "$(cat a)"
: >empty
is "empty file" 0 "$(stat -c %s empty)"
[ -f empty ] || die "an empty file is none"
printf 'one\ntwo\nthree\n' >s
sed -i 's/two/2/' s || die "sed -i"
is "sed -i" "one 2 three" "$(tr '\n' ' ' <s | sed 's/ $//')"
touch -d '2020-02-03 04:05:06 UTC' s || die "touch -d"
is "mtime" 1580702706 "$(stat -c %Y s)"
chmod 640 s && is "mode" 640 "$(stat -c %a s)"
chown 12:34 s && is "owner" 12:34 "$(stat -c %u:%g s)"
is "blocks" 1 "$(stat -c %b s)"
printf 'x%.0s' 1 2 3 >blocks && truncate -s 1025 blocks && is "blocks of 1025" 3 "$(stat -c %b blocks)"
truncate -s 2 a && is "truncate" he "$(cat a)"
rm a s empty blocks || die "rm"
is "nothing left" "" "$(ls -A)"

say "dd"
dd if=/dev/urandom of="$T/random" bs=1M count=9 2>/dev/null
dd if="$T/random" of=big bs=1000003 2>/dev/null || die "dd with odd blocks"
cmp "$T/random" big || die "dd with odd blocks: other bytes"
cp "$T/random" "$T/patched"
printf 'PATCH' | dd of="$T/patched" bs=1 seek=1234567 conv=notrunc 2>/dev/null
printf 'PATCH' | dd of=big bs=1 seek=1234567 conv=notrunc 2>/dev/null || die "dd conv=notrunc"
cmp "$T/patched" big || die "dd conv=notrunc: other bytes"
dd if=/dev/zero of=sparse bs=1 count=1 seek=1048575 2>/dev/null || die "dd seek"
cmp -n 1048576 sparse /dev/zero || die "holes are not zeros"
dd if=big of="$T/direct" bs=1M iflag=direct 2>/dev/null || die "O_DIRECT"
cmp "$T/patched" "$T/direct" || die "O_DIRECT: other bytes"
is "sync" 0 "$(dd if=/dev/zero of=synced bs=64k count=3 conv=fsync 2>/dev/null; echo $?)"
rm big sparse synced

say "directories"
mkdir -p one/two/three || die "mkdir -p"
refused "File exists" mkdir one
refused "not empty" rmdir one
rmdir one/two/three || die "rmdir"
echo f >one/two/f
mv one other || die "mv of a directory"
is "mv of a directory" f "$(cat other/two/f)"
[ ! -e one ] || die "the old name is still there"
mkdir empty && mv empty emptied && rmdir emptied || die "an empty directory"
mkdir -p x/y && echo 1 >x/y/1 && mv x/y . && is "mv up" 1 "$(cat y/1)" && rmdir x || die "mv up"
rm -r other y || die "rm -r"
is "nothing left" "" "$(ls -A)"

say "rename"
echo new >n
echo old >o
mv n o || die "mv over"
is "mv over" new "$(cat o)"
mv -n o o2 && is "mv -n" new "$(cat o2)" || die "mv -n"
exec 3<o2
rm o2
is "an open file goes on" new "$(cat <&3)"
exec 3<&-
echo v1 >v && exec 3<v && echo v2 >v2 && mv v2 v
is "the version that was opened" v1 "$(cat <&3)"
is "the version that is there" v2 "$(cat v)"
exec 3<&-
rm v

say "links"
echo target >t1 && ln -s t1 l && is "readlink" t1 "$(readlink l)" && is "through it" target "$(cat l)" || die "ln -s"
ln -s /nowhere/at/all dangling && [ -L dangling ] && [ ! -e dangling ] || die "a dangling link"
refused "not permitted" ln t1 hard
refused "not permitted" mkfifo pipe
rm t1 l dangling

say "names"
for name in 'a b' 'tab	x' "new
line" 'ünïcode' '-dash' '#' '*' "$(printf '\377\376')" "$(printf 'x%.0s' $(seq 255))"; do
	echo "$name" >"./$name" || die "create \"$name\""
	is "\"$name\"" "$name" "$(cat "./$name")"
done
is "they are all listed" 9 "$(find . -mindepth 1 -print0 | tr -dc '\0' | wc -c)"
rm -- ./* || die "rm of odd names"
refused "File name too long" touch "$(printf 'x%.0s' $(seq 256))"
refused "Invalid argument" touch '50%'
refused "No such file" ls '50%'
echo p >'50%25' && is "key of 50%25" p "$(t cat 'w/50%')" && rm '50%25' || die "50%25"

say "keys that are odd paths"
printf 1 | t put w//x - >/dev/null || die "put w//x"
printf 2 | t put w/./y - >/dev/null || die "put w/./y"
printf 3 | t put w/k - >/dev/null || die "put w/k"
printf 4 | t put w/k/below - >/dev/null || die "put w/k/below"
printf 5 | t put "w/$(printf 'y%.0s' $(seq 300))" - >/dev/null || die "put of a long part"
is "empty part" 1 "$(cat %_/x)"
is "dot" 2 "$(cat %2E/y)"
is "a key and keys below it" 34 "$(cat k/%@ k/below)"
is "a long part" 5 "$(cat "$(printf 'y%.0s' $(seq 253))%+/$(printf 'y%.0s' $(seq 47))")"
is "files" 5 "$(find . -type f | wc -l)"
rm -r ./* || die "rm -r of odd keys"
is "nothing left" 0 "$(t ls -R w/ | grep -vc '^w/$')"

say "trees"
mkdir "$T/src"
cp -r /usr/include/linux "$T/src/linux"
mkdir "$T/src/none"
ln -s linux/types.h "$T/src/link"
cp -r "$T/src" copy || die "cp -r"
same_tree "$T/src" copy
tar -C "$T/src" -cf - . | (mkdir untar && tar -C untar -xf -) || die "tar x"
same_tree "$T/src" untar
tar -cf "$T/out.tar" untar && mkdir "$T/back" && tar -C "$T/back" -xf "$T/out.tar" || die "tar c"
same_tree "$T/src" "$T/back/untar"
cp -a untar "$T/again" || die "cp -a out"
same_tree "$T/src" "$T/again"
cp -a "$T/src" kept || die "cp -a in"
is "times of cp -a" "$(stat -c %Y "$T/src/linux/types.h")" "$(stat -c %Y kept/linux/types.h)"
is "find" "$(cd "$T/src" && find . | sort | md5sum)" "$(cd kept && find . | sort | md5sum)"
is "du" "$(find "$T/src" -type f -printf '%s\n' | awk '{s += $1} END {print s}')" \
	"$(find kept -type f -printf '%s\n' | awk '{s += $1} END {print s}')"
[ "$(du -s kept | cut -f1)" -gt 0 ] || die "du says 0"
if command -v rsync >/dev/null; then
	rsync -a "$T/src/" synced/ || die "rsync -a"
	same_tree "$T/src" synced
	echo changed >"$T/src/linux/types.h"
	rsync -a "$T/src/" synced/ || die "rsync -a again"
	same_tree "$T/src" synced
	rsync -a --inplace --delete "$T/src/none/" synced/none/ || die "rsync --inplace"
fi
mv untar moved || die "mv of a tree"
is "mv of a tree" 0 "$(diff -r --no-dereference kept moved >/dev/null; echo $?)"
find moved -delete || die "find -delete"
rm -rf copy kept synced || die "rm -rf"
is "nothing left" "" "$(ls -A)"

say "many names"
mkdir many && (cd many && seq 3000 | xargs touch) || die "touch of 3000"
is "names" 3000 "$(ls -f many | grep -vc '^\.')"
is "names by find" 3000 "$(find many -type f | wc -l)"
rm -r many || die "rm -r of 3000"

say "who else looks on"
printf before | t put w/other - >/dev/null || die "put"
is "put by another client" before "$(cat other)"
printf 'after, and longer' | t put --replace w/other - >/dev/null || die "put --replace"
wait_for 2 sh -c "[ \"\$(cat '$M/w/other')\" = 'after, and longer' ]" || die "a new version is not seen: $(cat other)"
t rm -f w/other >/dev/null || die "tiffin rm"
wait_for 2 sh -c "[ ! -e '$M/w/other' ]" || die "a removed object is still seen"
echo published >mine && is "seen by the CLI" published "$(t cat w/mine)" || die "tiffin cat"
mkfifo "$T/pipe" # not the shell itself: each of its redirections closes, and so publishes
cat "$T/pipe" >half &
writer=$!
exec 4>"$T/pipe"
echo half >&4
wait_for 5 grep -q half "$M/w/half" || die "a file being written is not seen by its own mount"
t cat w/half >"$T/half" 2>/dev/null
echo done >&4
exec 4>&-
wait $writer
[ ! -s "$T/half" ] || die "half a file is seen by others"
is "the whole" "half
done" "$(t cat w/half)"
rm mine half

say "errors"
refused "No such file" cat nothing
refused "Is a directory" sh -c ': >.'
refused "Not a directory" sh -c 'echo x >f; ls f/below'
fails "room" dd if=/dev/zero of=full bs=1M count=600
[ ! -s full ] || die "half of a file that did not fit is there"
rm -f full f

say "the master goes and comes"
echo survives >stay
exec 3<stay
master_kill
timeout 60 cat nothing-at-all 2>/dev/null
master_start
wait_for 30 test -e "$M/w/stay" || die "the mount does not come back"
is "after the master's restart" survives "$(cat stay)"
is "a file that stayed open" survives "$(cat <&3)"
exec 3<&-
# What old writers may still touch rests for a while, so there may be no room at first.
wait_for 60 sh -c "echo again >'$M/w/stay' && [ \"\$(cat '$M/w/stay')\" = again ]" || die "no writing after the restart"

say "the end"
cd /
[ "$(df --output=size "$M" | tail -n 1)" -gt 0 ] || die "df says 0"
check
mount_stop
if mountpoint -q "$M"; then die "the mount is still there"; fi
mount_start
is "after a new mount" again "$(cat "$M/w/stay")"
kill -KILL "$(pid_of fs)"
rm -f "$T/fs.pid"
mount_start
is "over a dead mount" again "$(cat "$M/w/stay")"
mount_stop
down
say "all well"
