#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# remove_many -- removal by prefix and by pattern, and finding by pattern, with real programs.
#
#      counts    what goes and what stays is told; a reader's object stays unless forced
#      patterns  nonsense, the empty one and costly ones are refused and change nothing
#      copies    one of two copies goes, the object stays
. "$(dirname "$0")/lib.sh"

up 64MiB
objects put a/ 3000 16
objects put b/ 10 16

n_keys() { t find "$1" | wc -l; }

is found 30 "$(t find --regex '[0-9]99$' a/ | wc -l)"
is "found by prefix and pattern" 0 "$(t find --regex '^b' a/ | wc -l)"
expect nonsense 2 t find --regex 'a(' 2>"$T/said"
grep -q "at byte 2" "$T/said" || die "nonsense: $(cat "$T/said")"
expect empty 2 t rm --regex '' 2>"$T/said"
echo x | t put aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa - || die "put"
expect costly 2 t rm --regex '(a|aa)+$(?<!a)' 2>"$T/said"
grep -q "too many ways" "$T/said" || die "costly: $(cat "$T/said")"
is "nothing has gone" 3011 "$(n_keys '')"

is "removed by pattern" "removed 30" "$(t rm --regex '[0-9]99$' a/)"
is "left" 2970 "$(n_keys a/)"
hold b/ 3 16
t rm --prefix b/ >"$T/said"
is "exit of a removal that kept some" 6 $?
grep -q "kept 3 that are being read" "$T/said" || die "leased: $(cat "$T/said")"
is "removed by force" "removed 3" "$(t rm -f --prefix b/)"
let_go
is "all" "removed 2971" "$(t rm --all)"
is "none is left" 0 "$(n_keys '')"

provider_start p2 64MiB
echo twice | t put -n 2 twice - || die "two copies"
expect "a copy" 0 t rm --on p1 twice
is "copies left" 1 "$(t --json stat twice | tr ',{}' '\n\n\n' | sed -n 's/^"n_replicas"://p')"
is "still right" twice "$(t cat twice)"
expect "no copy there" 1 t rm --on p1 twice 2>"$T/said"
expect "no such segment" 1 t rm --on p9 twice 2>"$T/said"
expect "the last copy, by the segment's id" 0 t rm --on "$(q "SELECT segment_id FROM segment WHERE name = 'p2'")" twice
expect "the object" 1 t stat twice 2>"$T/said"
check
down
