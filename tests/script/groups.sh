#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# groups -- objects that were put with a group are found and removed by it, after kill -9 of the master,
# too, and go for room together.  Copies that nobody can give are refused with the reason, or told.
. "$(dirname "$0")/lib.sh"

MASTER_OPTIONS="--put-wait-ms=500ms --evict-high-pct=100 --evict-low-pct=99"
LEASE=500ms
up 32MiB
head -c 4000000 /dev/urandom >"$T/4m"
mkdir "$T/tree"
for i in 1 2 3; do echo "$i" >"$T/tree/$i"; done
members() { t find --group "$1" | tr '\n' ' '; }
group_of() { t --json stat "$1" | tr ',{' '\n\n' | sed -n 's/^"group":"\(.*\)"$/\1/p'; }

for i in 1 2 3; do t put --group a "a$i" "$T/4m" || die "put a$i"; done
t put x "$T/4m" || die "put x"
t put -r --group tree "$T/tree" tree || die "put -r"
is "group a" "a1 a2 a3 " "$(members a)"
is "group a, by name" "a2 " "$(t find --group a --name '*2' | tr '\n' ' ')"
is "group tree" "tree/1 tree/2 tree/3 " "$(members tree)"
is "no group" "" "$(members none)"
is "group of a1" a "$(group_of a1)"
is "group of x" "" "$(group_of x)"
t stat a1 | grep -q '^group *a$' || die "stat: $(t stat a1)"
t --json ls -R tree/ | grep -q '"group":"tree"' || die "ls --json"
expect "a group of 256 bytes" 2 t put --group "$(printf '%0256d' 0)" k "$T/4m" 2>"$T/said"

master_kill
master_start
is "group a after a restart" "a1 a2 a3 " "$(members a)"
is "groups in the books" "a tree" "$(q "SELECT group_concat(g, ' ') FROM (SELECT DISTINCT shown_group AS g FROM v_group ORDER BY 1)")"

# One of the group is the oldest: all of it goes, and what came later stays.
is_unread() { t stat a1 2>/dev/null | grep -q '^lease *none'; }
wait_for 10 is_unread || die "a1 is leased"
for i in 1 2 3 4 5; do t put "flood$i" "$T/4m" || die "put flood$i"; done
is "group a after a flood" "" "$(members a)"
t stat x >/dev/null || die "x is gone"

t rm --group tree tree/2 | grep -q '^removed 1$' || die "rm of one"
is "group tree" "tree/1 tree/3 " "$(members tree)"
t rm --group tree || die "rm --group"
is "group tree, removed" "" "$(members tree)"
expect "rm of no group" 1 t rm --group tree 2>/dev/null
expect "rm --group -r" 2 t rm -r --group tree x 2>/dev/null

# Nobody lends a segment of medium NOF.
t put --nof 1 both "$T/4m" || die "put --nof"
t stat both | grep -q '^copies *1' || die "copies: $(t stat both)"
expect "nof copies demanded" 4 t put --nof 1 --strict strict "$T/4m" 2>"$T/said"
grep -q 'no segment of nof namespaces left: 0 of them' "$T/said" || die "not told why: $(cat "$T/said")"
expect "no copies" 2 t put -n 0 k "$T/4m" 2>/dev/null
t set placement local_first || die "set placement"
t set | grep -q '^placement *local_first *free_ratio_first' || die "set: $(t set)"
expect "a placement that is none" 2 t set placement near 2>/dev/null
check
down
