#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b34 -- a stuck master or provider makes processes that can't be killed, and a mount that won't go.
#
# Right: every call ends within the mount's timeout and 2 s, with an error; readers die of signals; what needs no
# bytes does not wait behind stuck reads; unmounting works all the time; after SIGCONT the same mount works.
. "$(dirname "$0")/lib.sh"

TTL=60s
MASTER_OPTIONS="--client-grace-ms=60s"
master_start
start p1 tiffin-provider --master="$MASTER" --name=p1 --size=64MiB --listen=127.0.0.1:0
mount_start -o timeout=1,attr_timeout=0,entry_timeout=0
objects put d/ 60 1048576
cat "$M/d/000000" >/dev/null || die "cat before"
# Each call of the kernel may take a second: mv makes three.
limit=4500

# The master.
freeze master
for call in "ls $M/d" "cat $M/d/000001" "cp /etc/passwd $M/new" "df $M" "find $M" "rm $M/d/000002" "mv $M/d/000003 $M/x" "stat $M/d/000004"; do
	# shellcheck disable=SC2086
	timed $limit $call >/dev/null 2>"$T/said" && [ "${call%% *}" != df ] && die "$call succeeded with a stopped master"
	case $code in 124 | 137) die "$call: killed" ;; esac
done
# Readers die of signals.
for signal in INT KILL; do
	spawn reader cat "$M/d/000005"
	is_waiting() { grep -qE '^State:.[SD]' "/proc/$(pid_of reader)/status" && grep -q fuse "/proc/$(pid_of reader)/wchan"; }
	wait_for 1 is_waiting
	began=$(now_ms)
	finish reader $signal
	at_most "a reader dies of $signal, ms" $limit $(($(now_ms) - began))
done
thaw master
works() { cat "$M/d/000001" >/dev/null && cp /etc/passwd "$M/again"; }
wait_for 5 works || die "the mount does not work after the master woke up"
cmp -s /etc/passwd "$M/again" || die "again: other bytes"

# The provider: fifty readers wait for bytes, names don't wait.
freeze p1
i=10
while [ $i -lt 60 ]; do
	timeout 20 cat "$M/d/0000$i" >/dev/null 2>&1 &
	echo $! >"$T/cat$i.pid"
	i=$((i + 1))
done
timed 1500 ls -l "$M/d" >/dev/null || die "ls behind stuck reads"
timed 1500 stat "$M/d/000007" >/dev/null || die "stat behind stuck reads"
began=$(now_ms)
i=10
while [ $i -lt 60 ]; do
	wait "$(pid_of cat$i)"
	case $? in 124 | 137) die "a reader hangs" ;; esac
	rm "$T/cat$i.pid"
	i=$((i + 1))
done
at_most "fifty readers, ms" 14000 $(($(now_ms) - began))
timed $((limit + 4000)) cp "$T/p1.log" "$M/stuck" 2>/dev/null && die "cp to a stopped provider"
thaw p1
wait_for 8 works || die "the mount does not work after the provider woke up"

# Unmounting, with everything stopped.
freeze p1
freeze master
timeout 20 cat "$M/d/000008" >/dev/null 2>&1 &
echo $! >"$T/cat.pid"
timed 10000 fusermount3 -uz "$M" || die "unmount"
kill -TERM "$(pid_of fs)"
fs_is_gone() { ! kill -0 "$(pid_of fs)" 2>/dev/null || grep -q '^State:.Z' "/proc/$(pid_of fs)/status"; }
wait_for 10 fs_is_gone || die "the daemon does not end"
finish fs
finish cat
thaw master
thaw p1
mount_start -o timeout=2
works || die "a new mount"
check
down
