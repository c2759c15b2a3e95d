#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# netem -- a store whose bytes go by RDMA over a bad network: loss, delay, other order, and a cable that is out.
#
#      sh tests/lab/netem.sh NETDEV        where the packets between two addresses of $LAB_ADDR's device pass
#
# No op ends with wrong bytes, and none hangs; but while the cable is out all of them come through.
. "$(dirname "$0")/../script/lib.sh"

netdev=$1
SLOW=10
TTL=60s
LEASE=30s

weather() { # netem's words; none: fair
	tc qdisc del dev "$netdev" root 2>/dev/null
	[ $# -eq 0 ] || tc qdisc add dev "$netdev" root netem "$@" || die "netem $*"
}
dropped() { tc -s qdisc show dev "$netdev" | sed -n 's/.*dropped \([0-9]*\),.*/\1/p' | head -n 1; }
guests() { grep -c rdma_guest_gone "$T/p1.log"; }

modprobe sch_netem
echo 1 >/proc/sys/net/ipv4/tcp_syn_retries # siw waits for a connection in the middle of rdma_connect()
fair() { # the first thing that clean_up looks at is the exit code
	code=$?
	tc qdisc del dev "$netdev" root 2>/dev/null
	return $code
}
trap 'fair; clean_up' EXIT
master_start
start p1 tiffin-provider --master="$MASTER" --name=p1 --size=96MiB --listen="$LAB_ADDR:0" --insecure \
	--rdma="$LAB_ADDR:0" --log-level=debug

n=0
while read -r words; do
	n=$((n + 1))
	# shellcheck disable=SC2086
	weather $words
	objects put "w$n/" 4 700001
	is "put under $words: $(cat "$T/objects")" 4 "$(value ok "$T/objects")"
	objects get "w$n/" 4 700001
	is "get under $words" 4 "$(value ok "$T/objects")"
	is "wrong bytes under $words" 0 "$(value wrong "$T/objects")"
	echo "$words: ok, $(value all_ms "$T/objects") ms, $(dropped) packets dropped"
done <<'END'
loss 1%
delay 3ms 2ms
delay 2ms reorder 25% 50%
loss 3% duplicate 2%
END
[ "$(guests)" -gt 0 ] || die "nobody came by RDMA"

# The cable is out while they are at it, and then in again.
weather loss 100%
timed 60000 tool_objects get w1/ 4 700001 >"$T/objects" 2>/dev/null
is "wrong bytes while the cable is out" 0 "$(value wrong "$T/objects")"
echo "cable out: $(tr '\n' ' ' <"$T/objects")"
weather
objects get w1/ 4 700001
is "get when the cable is in again" 4 "$(value ok "$T/objects")"
spawn more tool_objects get w2/ 4 700001
weather loss 100%
sleep 2
weather
finish more
is "wrong bytes over a cable that was out for 2 s" 0 "$(value wrong "$T/more.out")"
objects get w3/ 4 700001
is "get after that" 4 "$(value ok "$T/objects")"
down
