#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fs_calls -- exchange, copies within the mount, holes, room made beforehand, times.
. "$(dirname "$0")/lib.sh"

# refused ERRNO-WORDS COMMAND...
refused() {
	words=$1
	shift
	if "$@" >/dev/null 2>"$T/stderr"; then die "$*: succeeded"; fi
	grep -q "$words" "$T/stderr" || die "$*: $(cat "$T/stderr"), not \"$words\""
}

up 128MiB
mount_start
cd "$M" || die "cd"

echo "exchange"
echo one >a
mkdir d && echo two >d/b
exec 3<a
tool_files exchange a d/b || die "exchange"
is "one" two "$(cat a)"
is "the other" one "$(cat d/b)"
is "an open file goes on" one "$(cat <&3)"
exec 3<&-
is "seen by others" two "$(t cat a)"
refused "No such file" tool_files exchange a none
refused "Invalid argument" tool_files exchange a d
mkdir x y x/sub && echo 1 >x/one && echo 2 >x/both && echo 3 >y/both && echo 4 >y/four
exec 3<x/both
exec 4>x/half && echo new >&4 # what is being written goes along
tool_files exchange x y || die "exchange of directories"
is "names of x" "both four" "$(ls x | xargs)"
is "names of y" "both half one sub" "$(ls y | xargs)"
is "contents" "3 4 1 2 new" "$(cat x/both x/four y/one y/both y/half | xargs)"
is "an open file goes on" 2 "$(cat <&3)"
exec 3<&- 4>&-
is "seen by others" "3 1 new" "$(t cat x/both y/one y/half | xargs)"
mkdir e1 && tool_files exchange e1 y && [ -d y ] && is "with an empty one" "" "$(ls y)" || die "an empty directory"
is "its names" "both half one sub" "$(ls e1 | xargs)"
rm -r x y e1
mkdir many few && touch few/x && tool_objects put many/ 1024 1 --batch 500 >/dev/null && ls many >/dev/null || die "many"
refused "Invalid cross-device link" tool_files exchange many few
is "nothing has changed" 1024 "$(find many -type f | wc -l)"
rm -r many few
master_kill
master_start
wait_for 30 test -e a || die "the master does not come back"
is "after a restart" two "$(t cat a)"
is "after a restart" one "$(t cat d/b)"
check

echo "copies"
head -c 20000003 /dev/urandom >"$T/random"
cp "$T/random" big
cp --reflink=auto big copy && cmp "$T/random" copy || die "cp"
if cp copy copy 2>/dev/null; then die "cp onto itself"; fi
is "copied" 5000000 "$(tool_files copy big 3 part 0 5000000)"
tail -c +4 "$T/random" | head -c 5000000 | cmp - part || die "a part: other bytes"
is "into the middle" 1000 "$(tool_files copy big 0 part 4999500 1000)"
is "its length" 5000500 "$(stat -c %s part)"
is "to the end" 3 "$(tool_files copy big 20000000 end 0 100)"
is "seen by others" "$(md5sum <"$T/random")" "$(t cat copy | md5sum)"
is "from .tiffin" 1 "$(cp .tiffin/version v && grep -c tiffinfs v)"
rm -f big copy part end v

echo "holes"
truncate -s 100 sparse
is "data" 7 "$(tool_files seek sparse data 7)"
is "hole" 100 "$(tool_files seek sparse hole 0)"
refused "No such device or address" tool_files seek sparse data 100

echo "room"
fallocate -l 1000000 room || die "fallocate"
is "length" 1000000 "$(stat -c %s room)"
cmp -n 1000000 room /dev/zero || die "room is not zeros"
echo kept >room2 && fallocate -l 3 room2 && is "nothing is lost" kept "$(cat room2)" || die "fallocate within"
refused "unsupported" fallocate -p -o 0 -l 10 room
refused "unsupported" fallocate -n -l 2000000 room
refused "No space" fallocate -l 1GiB room3
[ ! -s room3 ] || die "room that there is not"

echo "times"
touch -d '2020-01-01 UTC' a
is "mtime" 1577836800 "$(stat -c %Y a)"
[ "$(stat -c %Z a)" -gt 1700000000 ] || die "ctime is set to the past"
chmod 600 a
is "chmod keeps mtime" 1577836800 "$(stat -c %Y a)"
cd /
check
down
