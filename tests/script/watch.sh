#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# watch -- changes are told as they happen, to who comes back too, and a restart of the master is an overflow.
. "$(dirname "$0")/lib.sh"

has() { grep -q "^$1\$" "$T/$2.out"; }
lines() { wc -l <"$T/$1.out"; }
position_of() { sed -n 's/.*"position":"\([0-9.]*\)".*/\1/p' "$1" | tail -1; }

up 64MiB
echo one >"$T/one"

# A line each, of the prefix alone.
spawn w tiffin watch a/
heard() { t put --replace a/0 "$T/one" && [ "$(lines w)" -gt 0 ]; }
wait_for 5 heard || die "nothing is told: $(cat "$T/w.log")"
t put b "$T/one" || die "put"
t put a/1 "$T/one" || die "put"
t mv a/1 a/2 || die "mv"
t rm a/2 || die "rm"
wait_for 5 has "removed  a/2" w || die "not all is told: $(cat "$T/w.out")"
is "the last of it" "put      a/1removed  a/1put      a/2removed  a/2" "$(tail -4 "$T/w.out" | tr -d '\n')"
grep -q " b\$" "$T/w.out" && die "another prefix is told"
finish w INT
is "Ctrl-C" 130 $?
grep -q "to go on from here: --after [0-9]*\.[0-9]" "$T/w.log" || die "no position: $(cat "$T/w.log")"

# Behind a position: what was missed, once.
after=$(sed -n 's/.*--after //p' "$T/w.log")
t put a/3 "$T/one" || die "put"
t rm a/3 || die "rm"
t -q --json watch --after "$after" -n 2 a/ >"$T/missed" || die "watch --after: $?"
grep -q '"kind":"put","key":"a/3".*"position":"[0-9.]*"' "$T/missed" || die "missed: $(cat "$T/missed")"
after=$(position_of "$T/missed")
t put a/4 "$T/one" || die "put"
is "and only that" "put a/4" "$(t -q -0 watch --after "$after" -n 1 a/ | tr -d '\0')"
is "no such position" overflow "$(t -q watch --after 1.99999 -n 1 a/)"
expect "no position at all" 2 t -q watch --after yesterday a/ 2>/dev/null

# A restart of the master: it does not know any more what was missed, and says so once.
heard() { t put --replace a/heard "$T/one" && has "put      a/heard" w; }
spawn w tiffin watch a/
wait_for 15 heard || die "it does not watch: $(cat "$T/w.out" "$T/w.log")"
master_kill
master_start
wait_for 15 has overflow w || die "no overflow: $(cat "$T/w.out" "$T/w.log")"
wait_for 15 t put a/5 "$T/one" || die "put after the restart"
wait_for 5 has "put      a/5" w || die "no watch after the restart: $(cat "$T/w.out")"
is "overflows" 1 "$(grep -c overflow "$T/w.out")"
finish w INT
check
down
