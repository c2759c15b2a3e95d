#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# drain -- copies, moves and drains of the real programs: right bytes at the end, whoever is killed meanwhile.
. "$(dirname "$0")/lib.sh"

master_start
provider_start p1 128MiB
mkdir "$T/in" "$T/out"
i=0
while [ $i -lt 40 ]; do
	head -c $((i * 37000 + 1)) /dev/urandom >"$T/in/$i"
	t put "k/$i" "$T/in/$i" || die "put"
	i=$((i + 1))
done
head -c 20000000 /dev/urandom >"$T/in/big"
t put k/big "$T/in/big" || die "put of many pieces"

# same WHAT -- every object has the bytes that were put.
same() {
	for f in "$T"/in/*; do
		name=${f##*/}
		t get "k/$name" "$T/out/$name" || die "$1: get of $name"
		cmp -s "$f" "$T/out/$name" || die "$1: other bytes of $name"
		rm -f "$T/out/$name"
	done
}
# on SEGMENT -- copies that lie there, as the books say.
on() { q "SELECT count(*) FROM replica JOIN segment USING (segment_id) WHERE name = '$1'"; }
state_of() { t --json segments | tr '{' '\n' | sed -n "s/.*\"name\":\"$1\".*\"state\":\"\([a-z]*\)\".*/\1/p"; }

# One copy more, and one elsewhere.
expect "copy to nowhere" 1 t -q copy k/1 nobody
provider_start p2 128MiB
t copy --wait k/1 p2 || die "copy"
is "copies of k/1" 2 "$(q "SELECT count(*) FROM v_replica WHERE shown_key = 'k/1'")"
expect "the same copy again" 3 t -q copy k/1 p2
t move --wait k/big p1 p2 || die "move of many pieces"
is "the place of k/big" p2 "$(q "SELECT segment FROM v_replica WHERE shown_key = 'k/big'")"
expect "a move of what is not there" 1 t -q move k/big p1
same "after copy and move"
t --json task | grep -q '"kind":"move"' || die "tiffin task does not tell of the move"
check

# Everything, with the master killed in the midst of it; its tenant is at its quota, so that a copy is refused.
charged() { t --json tenants | tr '{' '\n' | sed -n 's/.*"name":"default".*"charged_bytes":\([0-9]*\).*/\1/p'; }
is_at_rest() { [ "$(t --json status | sed -n 's/.*"resting_bytes":\([0-9]*\).*/\1/p')" = 0 ]; }
wait_for 20 is_at_rest || die "something rests still"
quota=$(charged)
t tenants put default --quota="$quota" || die "quota"
t -q copy --wait k/2 p2 2>"$T/said" && die "a copy above the quota"
t drain --concurrency=4 p1 || die "drain"
is "its state" draining "$(state_of p1)"
master_kill
master_start
wait_for 60 sh -c "tiffin --json task | grep -q '\"kind\":\"drain\",\"state\":\"succeeded\"'" || die "the drain did not go on"
is "copies left" 0 "$(on p1)"
is "its state" drained "$(state_of p1)"
[ "$(charged)" -le "$quota" ] || die "$(charged) bytes are charged, of a quota of $quota"
same "after the drain"
t tenants put default --quota=0 || die "no quota"
check
provider_stop p1
same "without p1"

# The provider that gets the copies is killed: those that it had are lost, others are not touched.
provider_start p3 128MiB
provider_start p4 128MiB
t drain --to=p3,p4 --concurrency=2 p2 || die "second drain"
provider_kill p3
wait_for 60 sh -c "tiffin --json task | grep -q '\"kind\":\"drain\",\"state\":\"running\"' && exit 1 || exit 0" || die "the second drain does not end"
is "copies left" 0 "$(on p2)"
for f in "$T"/in/*; do
	name=${f##*/}
	t -q get "k/$name" "$T/out/$name" || continue # it lay on p3 alone
	cmp -s "$f" "$T/out/$name" || die "other bytes of $name"
done
check

# Nowhere to go: it says so, and undo lets new data in again.
expect "a drain of the last one" 6 t -q drain --wait --to=p2 p4
t drain --undo p2 p4 || die "undo"
is "its state" ok "$(state_of p4)"
check
