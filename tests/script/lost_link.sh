#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lost_link -- a provider with two network cards loses one in the middle of many gets.
#
# Right: no get fails, and the longest takes 50 ms more than without (the middle of five cuts: this machine
# may be busy); the other card is used, and says so; a provider that is only stopped costs no more than its own.
. "$(dirname "$0")/lib.sh"

N=tiffin-link-$$
unshare -n true 2>/dev/null && ip netns add "$N" 2>"$T/said" || {
	echo "lost_link: no network of its own can be had; skipped: $(head -n 1 "$T/said" 2>/dev/null)"
	exit 0
}
drop_net() {
	ip netns del "$N" 2>/dev/null
	clean_up
}
trap drop_net EXIT
for i in 1 2; do
	ip link add "tl$i-$$" type veth peer name "p$i" netns "$N" || {
		echo "lost_link: no pair of cards can be made; skipped"
		exit 0
	}
	ip addr add "10.231.$i.1/24" dev "tl$i-$$"
	ip link set "tl$i-$$" up
	ip -n "$N" addr add "10.231.$i.2/24" dev "p$i"
	ip -n "$N" link set "p$i" up
done

master_start
start p1 ip netns exec "$N" tiffin-provider --master="$MASTER" --name=p1 --size=64MiB --insecure \
	--listen="10.231.1.2:7411 10.231.2.2:7411"
objects put k/ 10 100000
for i in $(seq 0 2999); do echo "k/00000$((i % 10))"; done >"$T/list"

# gets [I] -- the longest of many; meanwhile card I is lost.
gets() {
	spawn gets tool_objects get k/ 0 100000 --list "$T/list"
	if [ $# -gt 0 ]; then
		sleep 0.2
		ip -n "$N" link set "p$1" down
	fi
	finish gets || die "gets: $(cat "$T/gets.out" "$T/gets.log")"
	is "gets, all right: $(cat "$T/gets.out")" 3000 "$(value ok "$T/gets.out")"
	if [ $# -gt 0 ]; then
		ip -n "$N" link set "p$1" up
		sleep 1.2 # so long it may rest
	fi
	value max_ms "$T/gets.out"
}
middle() { sort -n | sed -n 3p; }
before=$(for i in 1 2 3 4 5; do gets; done | middle) || exit 1
after=$(for i in 1 1 1 1 1; do gets $i; done | middle) || exit 1
echo "longest get: $before ms in good times, $after ms when a card is lost"
at_most "longest get, ms, when a card is lost" $((before + 50)) "$after"

# Which way?
tiffin bench --size 64KiB --count 50 --paths >"$T/paths"
grep -q "^tcp *10\.231\.1\.2:7411 " "$T/paths" || die "paths: $(cat "$T/paths")"
ip -n "$N" link set p1 down
tiffin bench --size 64KiB --count 50 --paths >"$T/paths"
grep -q "^tcp *10\.231\.2\.2:7411 " "$T/paths" || die "paths: $(cat "$T/paths")"
ip -n "$N" link set p1 up
check
down
