#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fs_stopped -- master or provider stop at a bad moment; what b34_stuck_backend does not try.
#
# Right: close, fsync, reading what is mapped and unmounting end in bounded time, readers can be killed, and nothing of
# a file is published whose close failed.
. "$(dirname "$0")/lib.sh"

TTL=60s
MASTER_OPTIONS="--client-grace-ms=60s"
LEASE=30s
fs_is_gone() { ! kill -0 "$(pid_of fs)" 2>/dev/null || grep -q '^State:.Z' "/proc/$(pid_of fs)/status"; }
is_waiting() { grep -q '^State:.[SD]' "/proc/$(pid_of "$1")/status" && grep -qE 'fuse|folio' "/proc/$(pid_of "$1")/wchan"; }
works() { cat "$M/d/000001" >/dev/null && cp /etc/passwd "$M/again" && cmp -s /etc/passwd "$M/again"; }
master_start
start p1 tiffin-provider --master="$MASTER" --name=p1 --size=128MiB --listen=127.0.0.1:0
objects put d/ 40 1048576
mount_start -o timeout=2,attr_timeout=0,entry_timeout=0

# inside WHO FILE CALL -- WHO stops between the last write of FILE and its CALL, close or sync.
inside() {
	# shellcheck disable=SC2016
	timed 9000 sh -c 'exec 4>"$1" && head -c 3000000 /dev/zero >&4 && kill -STOP "$2" || exit 9
		if [ "$3" = sync ]; then sync -d "$1"; else exec 4>&-; fi' sh "$M/$2" "$(pid_of "$1")" "$3" 2>/dev/null
	thaw "$1"
	wait_for 20 works || die "the mount does not work after $1 woke up"
}
echo "inside close and fsync"
inside master at_close close
inside master at_sync sync
inside p1 at_close2 close
for name in at_close at_sync at_close2; do
	[ ! -e "$M/$name" ] || is "all of $name, or nothing" 3000000 "$(t cat "$name" | wc -c)"
done

echo "what is mapped"
freeze p1
timed 15000 tool_files mapped "$M/d/000010" >"$T/mapped" 2>&1 && die "read all of what is mapped: $(cat "$T/mapped")"
case $code in 124 | 137) die "hangs" ;; esac
spawn reader cat "$M/d/000011"
wait_for 5 is_waiting reader || die "the reader does not wait"
began=$(now_ms)
finish reader KILL
at_most "a reader dies, ms" 9000 $(($(now_ms) - began))
thaw p1
wait_for 20 works || die "the mount does not work after p1 woke up"

echo "unmounting"
freeze p1
freeze master
timed 10000 umount "$M" || die "umount"
wait_for 15 fs_is_gone || die "the daemon does not end"
finish fs
thaw master
thaw p1
mount_start -o timeout=30
freeze p1
spawn reader cat "$M/d/000012"
wait_for 5 is_waiting reader || die "the reader does not wait"
umount "$M" 2>/dev/null && die "unmounted under a reader"
timed 10000 umount -f "$M" 2>/dev/null
began=$(now_ms)
finish reader && die "the reader got all"
at_most "the reader ends, ms" 5000 $(($(now_ms) - began))
thaw p1
umount "$M" 2>/dev/null
wait_for 15 fs_is_gone || die "the daemon does not end"
finish fs

echo "its own files within the mount"
mount_start -o "log_file=$M/log,pidfile=$M/pid,log_level=debug"
wait_for 20 works || die "it does not work"
timed 10000 umount "$M" || die "umount"
wait_for 15 fs_is_gone || die "the daemon does not end"
finish fs
rm -f "$M/log"
check
down
