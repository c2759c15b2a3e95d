#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lease -- objects stay while a command runs, or for a time; looking alone keeps nothing; puts that pin.
. "$(dirname "$0")/lib.sh"

up 64MiB
echo one >"$T/one"
t put a "$T/one" || die "put"
t put b "$T/one" || die "put"
held() { t --json stat "$1" | grep -q '"lease_left_ms":[1-9]'; }
free_again() { ! held "$1"; }

# Looking takes none: all that admins do.
t ls -l >/dev/null && t find >/dev/null && t stat a b >/dev/null && t check --db "$DB" >/dev/null || die "looking"
held a && die "who only looks holds a lease: $(t --json stat a)"

is "exist" "a" "$(t exist a none)"
is "exist -v" "none" "$(t exist -v a none)"
expect "one that is missing" 1 t exist a none >/dev/null
is "exist -0" "a|b|" "$(printf 'a\0none\0b\0' | t -0 exist | tr '\0' '|')"
t --json exist a none | grep -q '{"key":"none","exists":false}' || die "exist --json: $(t --json exist a none)"
held a && die "exist takes a lease unasked"
t exist --lease 5s a >/dev/null || die "exist --lease"
held a || die "exist --lease takes none"
expect "rm of what was asked for" 6 t -q rm a 2>/dev/null
t put --replace a "$T/one" || die "put --replace"

# While a command runs.
expect "its status" 7 t lease a b -- sh -c 'exit 7'
expect "a word with dashes" 0 t lease a -- test x = x
t lease a b -- sh -c 'tiffin rm b; echo $?' >"$T/inside" 2>/dev/null || die "lease: $?"
is "rm of what is held" 6 "$(cat "$T/inside")"
wait_for 5 free_again b || die "held after the command: $(t --json stat b)"
expect "no such command" 9 t -q lease a -- "$T/nothing" 2>/dev/null
expect "no such key" 1 t -q lease a none -- touch "$T/ran" 2>/dev/null
[ -e "$T/ran" ] && die "the command ran though a lease was refused"
expect "no key" 2 t -q lease -- true 2>/dev/null
expect "a time and a command" 2 t -q lease --for 1s a -- true 2>/dev/null

# Signals are the command's: it ends as it likes, and keeps what it has until then.
for signal in TERM INT HUP; do
	rm -f "$T/ready" "$T/go"
	spawn l tiffin lease a -- sh -c "trap 'echo got \$signal; until [ -e $T/go ]; do sleep 0.05; done; exit 9' $signal
		: >$T/ready; while :; do sleep 0.05; done"
	wait_for 5 test -e "$T/ready" || die "the command does not run: $(cat "$T/l.log")"
	kill -$signal "$(pid_of l)"
	wait_for 5 grep -q got "$T/l.out" || die "$signal is not passed on: $(cat "$T/l.log")"
	held a || die "$signal: given back before the command has ended"
	: >"$T/go"
	finish l
	is "status after $signal" 9 $?
done
wait_for 5 free_again a || die "held after a signal"

# For a time, keys from standard input.
printf 'a\0b\0' | timed 4000 tiffin --json -0 lease --for 300ms >"$T/json" || die "lease --for: $?"
is "json" '{"n_held":2,"n_lost":0}' "$(cat "$T/json")"
spawn l tiffin lease a
wait_for 5 held a || die "not held: $(cat "$T/l.log")"
finish l INT
is "Ctrl-C" 130 $?
wait_for 5 free_again a || die "not given back"

# Over a restart of the master it goes on, for the object is the same.
spawn l tiffin lease a
wait_for 5 held a || die "not held: $(cat "$T/l.log")"
master_kill
master_start
wait_for 15 held a || die "not held after a restart: $(cat "$T/l.log")"
finish l INT

# A put that pins.
t put --pin hard p1 "$T/one" || die "put --pin hard"
t --json stat p1 | grep -q '"pin":"hard"' || die "not pinned: $(t --json stat p1)"
t put --pin soft --pin-ttl 1h p2 <"$T/one" || die "put --pin soft"
t --json stat p2 | grep -q '"pin":"soft","pin_left_ms":3[0-9]*' || die "not pinned: $(t --json stat p2)"
mkdir "$T/tree" && cp "$T/one" "$T/tree/x"
t put -r --pin hard "$T/tree" tree || die "put -r --pin"
t --json stat tree/x | grep -q '"pin":"hard"' || die "not pinned: $(t --json stat tree/x)"
expect "neither" 2 t -q put --pin firm p3 "$T/one" 2>/dev/null
expect "a hard one does not end" 2 t -q put --pin hard --pin-ttl 1h p3 "$T/one" 2>/dev/null
check
down
