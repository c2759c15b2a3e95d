#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fs_passthrough -- where the kernel reads by itself, nobody can tell but by the clock.
#
# Where it can't (an older libfuse or kernel, no privilege) the same is tried all the same: then files are read the
# other way.  WANTS_PASSTHROUGH=1: that would be a failure.
. "$(dirname "$0")/lib.sh"

say() { printf '%s\n' "$*"; }
status() { sed -n "s/^$1=//p" "$M/.tiffin/status"; }
random() { head -c "$2" /dev/urandom >"$T/$1"; } # NAME BYTES
put() { t put "$1" "$T/$1" >/dev/null || die "put $1"; }
same() { cmp "$T/$1" "$2" || die "$2: other bytes than $1"; }
same_fd() { cmp "$T/$1" - <&"$2" || die "descriptor $2: other bytes than $1"; } # once each
# counted NAME WANTED -- where passthrough is in use.
counted() { [ "$passes" = no ] || is "$1" "$2" "$(status "$1")"; }

up 512MiB
for name in a b c d e f; do random $name 3000001; done
random large 5242881
random small 4095
for name in a b c d e f large small; do put $name; done
mount_start -o arena=20MiB,arena_min=4096,timeout=5
passes=$(status passthrough)
say "passthrough: $passes $(status passthrough_why_not)"
[ "$passes" = yes ] || [ -z "${WANTS_PASSTHROUGH:-}" ] || die "it is not in use"

say "reading"
same a "$M/a"
counted arena_fills 1
same a "$M/a"
counted arena_fills 1
counted arena_hits 1
is "size" 3000001 "$(stat -c %s "$M/a")"
dd if="$M/a" of="$T/direct" bs=1M iflag=direct 2>/dev/null || die "O_DIRECT"
same a "$T/direct"
exec 3<"$M/b" 4<"$M/b"
same_fd b 3
same_fd b 4
is "size while open" 3000001 "$(stat -Lc %s /proc/self/fd/3)"
cp "$M/b" "$M/copy" || die "cp within the mount"
same b "$M/copy"
exec 3<&- 4<&-

say "too long, too short, empty"
before=$(status arena_fills)
same large "$M/large"
same small "$M/small"
: >"$T/nothing" && put nothing
same nothing "$M/nothing"
counted arena_fills "$before"

if [ "$passes" = yes ]; then
	say "nobody is asked"
	exec 3<"$M/c"
	freeze fs
	dd bs=64k <&3 >"$T/got" 2>/dev/null &
	reader=$!
	is_read() { cmp -s "$T/c" "$T/got"; }
	wait_for 20 is_read || die "reading waits for the daemon"
	thaw fs
	wait $reader || die "dd"
	exec 3<&-
fi

say "a version that is open stays, whatever becomes of the object"
exec 3<"$M/c"
if [ "$passes" = yes ]; then
	wait_for 3 t rm c || die "its lease has not ended"
	wait_for 5 [ ! -e "$M/c" ] || die "it is still there"
	same_fd c 3
fi
exec 3<&- 3<"$M/d" 4<"$M/d"
random new 2500000
t put --replace d "$T/new" >/dev/null || die "put --replace"
is_new() { cmp -s "$T/new" "$M/d"; }
wait_for 5 is_new || die "the new version is not seen"
same_fd d 3
rm "$M/d" || die "rm"
same_fd d 4
exec 3<&- 4<&-

say "a writer comes"
exec 3<"$M/e"
cp "$T/e" "$T/e2"
echo more >>"$M/e" || die "append"
echo more >>"$T/e2"
same e2 "$M/e"
[ "$passes" = no ] || same_fd e 3
exec 3<&- 3<"$M/f"
cp "$T/f" "$T/f2"
perl -e 'truncate($ARGV[0], 1000) or die $!' "$M/f" || die "truncate by name"
truncate -s 1000 "$T/f2"
same f2 "$M/f"
is "its size" 1000 "$(stat -c %s "$M/f")"
[ "$passes" = no ] || is "the size of who had it open" 3000001 "$(stat -Lc %s /proc/self/fd/3)"
exec 3<&- 3<"$M/b"
random over 3500000
cp "$T/over" "$M/b" || die "written over while open"
same over "$M/b"
exec 3<&-
printf '%010000d tail\n' 0 >"$M/log"
tail -f "$M/log" >"$T/tail" 2>/dev/null &
tail_pid=$!
wait_for 5 grep -q tail "$T/tail" || die "tail -f"
echo grows >>"$M/log"
wait_for 5 grep -q grows "$T/tail" || die "tail -f does not see what is written here"
kill $tail_pid

say "more files than there is room for"
for name in 1 2 3 4 5 6; do
	random r$name 4194304
	put r$name
done
exec 3<"$M/r1" 4<"$M/r2" 6<"$M/r3" 7<"$M/r4" 8<"$M/r5"
same r6 "$M/r6"
[ "$passes" = no ] || at_least "opens without room" 1 "$(status arena_refused)"
same_fd r1 3
same_fd r2 4
same_fd r3 6
same_fd r4 7
same_fd r5 8
exec 3<&- 4<&- 6<&- 7<&- 8<&-

say "many open it at once: one copies, the others wait for that"
random many 4194304
put many
before=$(status arena_fills)
pids=
for reader in 1 2 3 4 5; do
	cmp "$T/many" "$M/many" &
	pids="$pids $!"
done
for pid in $pids; do wait "$pid" || die "a reader saw other bytes"; done
counted arena_fills $((before + 1))

say "a mapping outlives its file, and who is copied in after it"
mkfifo "$T/go"
tool_mapped "$M/r1" >"$T/mapped" 2>"$T/mapped.said" <"$T/go" &
mapper=$!
exec 9>"$T/go"
wait_for 10 grep -q mapped "$T/mapped.said" || die "tool_mapped"
for round in 1 2; do
	for name in 2 3 4 5 6; do same r$name "$M/r$name"; done
done
exec 9>&-
wait $mapper || die "tool_mapped: $(cat "$T/mapped.said")"
same r1 "$T/mapped"

say "the end"
[ "$passes" = no ] || at_most "room" $((20 * 1048576)) "$(status arena_used_bytes)"
mount_stop
mount_start -o arena=0
is "arena=0" no "$(status passthrough)"
same a "$M/a"
down
check
