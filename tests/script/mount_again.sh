#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# mount_again -- whatever became of the daemon, the same command mounts again, and soon.
#
# KILLS (20): how often it is killed under load.
. "$(dirname "$0")/lib.sh"

KILLS=${KILLS:-20}
TTL=60s
n_tiffin() { grep -c " $M fuse.tiffin " /proc/mounts; }
is_dead() { ! stat "$M" >/dev/null 2>&1; }
daemon_is_gone() { ! kill -0 "$(pid_of fs)" 2>/dev/null || grep -q '^State:.Z' "/proc/$(pid_of fs)/status"; }

# again LIMIT_MS WHAT -- mounts as mount_start does, within that time.
again() {
	began=$(now_ms)
	mount_start -o timeout=30,attr_timeout=0,entry_timeout=0
	at_most "mounted again after $2, ms" "$1" $(($(now_ms) - began))
	is "mounts there after $2" "${3:-1}" "$(n_tiffin)"
	[ "$(cat "$M/kept")" = kept ] || die "after $2: $(cat "$M/kept")"
}

master_start
start p1 tiffin-provider --master="$MASTER" --name=p1 --size=256MiB --listen=127.0.0.1:0
mount_start -o timeout=30,attr_timeout=0,entry_timeout=0
echo kept >"$M/kept"
objects put d/ 40 4194304

echo "killed under load, $KILLS times"
head -c 8000000 /dev/urandom >"$T/load.src"
# shellcheck disable=SC2016
spawn load sh -c 'while [ ! -e "$1/stop" ]; do
	cp "$1/load.src" "$2/half" 2>/dev/null
	cat "$2/d/00000"* >/dev/null 2>&1
	ls -l "$2/d" >/dev/null 2>&1
done' sh "$T" "$M"
i=0
while [ $i -lt "$KILLS" ]; do
	is_busy() { [ "$(find "$M/half" 2>/dev/null)" ] || [ $i -gt 0 ]; }
	wait_for 20 is_busy || die "no load"
	[ $((i % 3)) -eq 0 ] || sleep "0.0$i"
	kill -KILL "$(pid_of fs)"
	wait_for 10 daemon_is_gone || die "the daemon does not end"
	finish fs
	again 10000 "kill -9"
	t cat half >"$T/half" 2>/dev/null && { cmp -s "$T/load.src" "$T/half" || die "half of a file was published"; }
	i=$((i + 1))
done
: >"$T/stop"
finish load
objects get d/ 40 4194304

echo "dead mounts upon each other"
tiffinfs "$MASTER" "$M" --pidfile="$T/upper.pid" || die "a mount on a mount that lives"
is "mounts" 2 "$(n_tiffin)"
for name in upper fs; do kill -KILL "$(pid_of $name)"; done
wait_for 10 is_dead || die "not dead"
rm -f "$T/upper.pid"
finish fs
again 10000 "two kills"

echo "a mount that lives is left alone"
tiffinfs "$MASTER" "$M" --pidfile="$T/upper.pid" || die "a mount on a mount that lives"
is "mounts" 2 "$(n_tiffin)"
umount "$M" || die "umount of the upper"
is "the lower one" kept "$(cat "$M/kept")"

echo "killed while a notice to the kernel waits"
# The provider is stopped: a reader waits for bytes.  The watch breaks and comes back, so the kernel is to forget
# pages, also those that the reader waits for; what waits for a page can't be killed.
freeze p1
cat "$M/d/000030" >/dev/null 2>&1 &
echo $! >"$T/reader.pid"
is_reading() { grep -q folio "/proc/$(pid_of reader)/wchan"; }
wait_for 10 is_reading || die "the reader does not wait: $(cat "/proc/$(pid_of reader)/wchan")"
master_kill
master_start
notice_waits() { grep -ql folio "/proc/$(pid_of fs)/task/"*/wchan; }
wait_for 20 notice_waits || die "no notice waits"
kill -KILL "$(pid_of fs)"
wait_for 5 daemon_is_gone || die "the daemon does not become a zombie"
timeout -k 1 2 stat -f "$M" >/dev/null 2>&1 && die "the mount answers"
thaw p1
tiffinfs unix:"$T/nobody" "$M" -f 2>"$T/said" && die "mounted without a master"
is "while the master does not answer it stays" 1 "$(n_tiffin)"
finish_later=$(pid_of fs)
rm "$T/fs.pid"
again 40000 "a kill with a notice waiting"
wait "$finish_later"
wait "$(pid_of reader)" && die "the reader got all"
rm "$T/reader.pid"

echo "stopped"
stopped=$(pid_of fs)
freeze fs
rm "$T/fs.pid"
again 40000 "SIGSTOP"
kill -TERM "$stopped"
kill -CONT "$stopped"
wait "$stopped"
is "the one that woke up leaves it alone" 1 "$(n_tiffin)"
is "and it works" kept "$(cat "$M/kept")"

echo "nothing of ours: refused"
echo file >"$T/file"
expect "a file" 32 tiffinfs "$MASTER" "$T/file" 2>"$T/said"
grep -q "Not a directory" "$T/said" || die "said: $(cat "$T/said")"
expect "nothing" 32 tiffinfs "$MASTER" "$T/none" 2>"$T/said"
grep -q "No such file" "$T/said" || die "said: $(cat "$T/said")"
check
down
