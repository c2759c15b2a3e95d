#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# rdma_store -- a store whose bytes go by RDMA: put and get by two processes, a killed provider.
#
# Runs where there is a device; $LAB_ADDR is its address.
. "$(dirname "$0")/../script/lib.sh"

# packets -- that the software device has sent so far; 0: it does not count them.
packets() { cat /sys/class/infiniband/rxe*/ports/1/hw_counters/sent_pkts 2>/dev/null | awk '{s += $1} END {print s + 0}'; }

master_start
start p1 tiffin-provider --master="$MASTER" --name=p1 --size=96MiB --listen="$LAB_ADDR:0" --insecure \
	--rdma="$LAB_ADDR:0" --log-level=debug
t --json segments | grep -q "rdma:$LAB_ADDR:" || die "the endpoint does not name the device"
t segments | grep -q 'rdma' || die "segments does not show the protocol"

before=$(packets)
objects put r/ 8 1000003
[ "$(value ok "$T/objects")" = 8 ] || die "put: $(cat "$T/objects")"
grep -q 'rdma_guest_gone .*' "$T/p1.log" || die "nobody came by RDMA"
objects get r/ 8 1000003
[ "$(value ok "$T/objects")" = 8 ] || die "get: $(cat "$T/objects")"
after=$(packets)
if [ "$after" -gt 0 ]; then at_least "packets of the device" 3000 $((after - before)); fi

# two processes at once, each with keys of its own, and both with those of the other
spawn a tool_objects put a/ 10 300000
spawn b tool_objects put b/ 10 200001
finish a || die "a: $(cat "$T/a.out")"
finish b || die "b: $(cat "$T/b.out")"
spawn a tool_objects get b/ 10 200001
spawn b tool_objects get a/ 10 300000
finish a || die "a: $(cat "$T/a.out")"
finish b || die "b: $(cat "$T/b.out")"

# sizes from a byte on, through the command line
for size in 1 4095 4096 65537 3000001; do
	head -c $size /dev/urandom >"$T/in"
	t put "s/$size" "$T/in" || die "put of $size"
	t get "s/$size" "$T/out" || die "get of $size"
	cmp "$T/in" "$T/out" || die "$size bytes came back otherwise"
	rm -f "$T/out"
done

# a provider that is killed: its objects can't be read, and that is said in time
provider_kill p1
timed 60000 tiffin --master "$MASTER" get s/1 "$T/out" && die "a killed provider's object was read"
down
