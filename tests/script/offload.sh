#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# offload -- with a segment on a disk nothing that has to leave memory is lost; what is wanted comes back.
. "$(dirname "$0")/lib.sh"

TTL=20000
LEASE=300
MASTER_OPTIONS=--promote-uses=1
settled() { [ "$(told "$1")" -ge "$2" ]; }

master_start
provider_start p1 64MiB
provider_start p2 512MiB --file="$T/disk"
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
	head -c 4194304 /dev/urandom >"$T/f$i"
	t put "k$i" "$T/f$i" || die "put of k$i"
done
wait_for 30 settled offloads 8 || die "nothing was moved: $(tiffin events | tail -3)"
for i in 1 5 9 13 17 21 24; do
	t get "k$i" "$T/g" || die "get of k$i"
	cmp -s "$T/f$i" "$T/g" || die "other bytes of k$i"
done
[ "$(told evictions)" -eq 0 ] || die "objects are gone"
check

# A place in memory, and the oldest is used: it comes back.  A use within four seconds of the last
# one does not count, and no command tells when those are over: so the script waits.
for i in 20 21 22 23 24; do t rm "k$i" >/dev/null || die "rm of k$i"; done
sleep 5
t get k1 "$T/g" || die "get of k1"
wait_for 20 settled promotions 1 || die "it does not come back: $(tiffin events | tail -3)"
t get k1 "$T/g" || die "get of what came back"
cmp -s "$T/f1" "$T/g" || die "other bytes of what came back"
check
