#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pressure -- RDMA where memory is short: a client that may lock none, and a machine that has hardly any left.
. "$(dirname "$0")/../script/lib.sh"

SLOW=10
TTL=60s
LEASE=30s
master_start
start p1 tiffin-provider --master="$MASTER" --name=p1 --size=64MiB --listen="$LAB_ADDR:0" --insecure \
	--rdma="$LAB_ADDR:0" --log-level=debug

# Who may lock no memory goes another way, and loses nothing.
locks_none() { setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock prlimit --memlock=65536 "$@"; }
for verb in put get; do
	locks_none tool_objects $verb n/ 3 500001 >"$T/objects" 2>"$T/objects.log"
	is "$verb of who may lock no memory: $(cat "$T/objects" "$T/objects.log")" 3 "$(value ok "$T/objects")"
done
echo "no memory to lock: ok, $(grep -c rdma_device_unused "$T/objects.log") warnings"

# Most of the machine's memory is taken and given back, again and again, while bytes travel.
eat() { # MiB, times
	i=0
	while [ $i -lt "$2" ]; do
		head -c "$1m" /dev/zero | tail -c "$1m" >/dev/null
		i=$((i + 1))
	done
}
free_mib=$(awk '$1 == "MemAvailable:" {print int($2 / 1024)}' /proc/meminfo)
eat $((free_mib * 6 / 10)) 50 2>/dev/null &
eater=$!
for round in 1 2 3; do
	objects put "e$round/" 4 3000001
	is "put where memory is short" 4 "$(value ok "$T/objects")"
	objects get "e$round/" 4 3000001
	is "get where memory is short" 4 "$(value ok "$T/objects")"
	is "wrong bytes where memory is short" 0 "$(value wrong "$T/objects")"
	t rm -f "e$round/000000" >/dev/null || die "rm"
done
kill $eater
echo "memory is short: ok, $(awk '$1 == "MemAvailable:" {print int($2 / 1024)}' /proc/meminfo) MiB of $free_mib were left"
grep -q rdma_guest_gone "$T/p1.log" || die "nobody came by RDMA"
down
