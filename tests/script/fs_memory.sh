#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fs_memory -- the daemon's memory grows neither with the length of a file nor with the names of a directory.
#
# The provider is reached by TCP: mapped segments would count as memory of the daemon.  Where a memory cgroup can be
# made, the daemon has 256 MiB there.  --full [MIB]: so much, 10 GiB, and a million names; it wants 2 GiB more of memory.
. "$(dirname "$0")/lib.sh"

# from 64 MiB to so much, and from 20 000 names to so many
mib=384
names=80000
size=1GiB
[ "${1:-}" != --full ] || { mib=${2:-10240} names=1000000 size=$((${2:-10240} + 1024))MiB; }
TTL=120s

# peak_kib -- of the daemon since the last forget_peak, but for pages of files.
peak_kib() { awk '/^VmHWM/ {print $2}' "/proc/$(pid_of fs)/status"; }
forget_peak() { echo 5 >"/proc/$(pid_of fs)/clear_refs"; }

GROUP=/sys/fs/cgroup/memory/tiffin-test.$$
limit() {
	mkdir "$GROUP" 2>/dev/null || return 0
	echo 268435456 >"$GROUP/memory.limit_in_bytes" && pid_of fs >"$GROUP/cgroup.procs"
}
no_limit() {
	[ -d "$GROUP" ] || return 0
	cat "$GROUP/cgroup.procs" >/dev/null
	wait_for 5 rmdir "$GROUP"
}

master_start
start p1 tiffin-provider --master="$MASTER" --name=p1 --size="$size" --listen=127.0.0.1:0

echo "a long file"
mount_start -o timeout=60
limit
copy() { # MiB
	forget_peak
	fill "$1"
	rm "$M/f"
	fill $(($1 / 2))
	cp "$M/f" "$M/g" || die "copy of $(($1 / 2)) MiB"
	rm "$M/f" "$M/g"
}
fill() { # MiB
	dd if=/dev/zero of="$M/f" bs=1M count="$1" 2>/dev/null && dd if="$M/f" of=/dev/null bs=1M 2>/dev/null ||
		die "$1 MiB"
	is "length" $(($1 * 1048576)) "$(stat -c %s "$M/f")"
}
copy 64
small=$(peak_kib)
copy "$mib"
large=$(peak_kib)
echo "peak KiB: $small with 64 MiB, $large with $mib MiB"
at_most "peak with a long file, KiB, after $small" $((small + 32768)) "$large"
at_most "peak, KiB" 262144 "$large"

echo "a large directory"
mount_stop
no_limit
mount_start -o max_inodes=$((names / 8))
limit
walk() { # DIR NAMES
	forget_peak
	is "names of $1" "$2" "$(find "$M/$1" -type f -ls | wc -l)"
}
objects put few/ 20000 10 --batch 1000
objects put many/ "$names" 10 --batch 1000
walk few 20000
small=$(peak_kib)
walk many "$names"
large=$(peak_kib)
echo "peak KiB: $small with 20000 names, $large with $names"
at_most "peak with many names, KiB, after $small" $((small + 16384)) "$large"
at_most "peak, KiB" 262144 "$large"
mount_stop
no_limit
check
down
