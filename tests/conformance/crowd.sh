#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# crowd -- many processes at the same names: files are whole, errors are those of a race, nothing is lost.
#
#      crowd.sh [SEED WORKERS CALLS FILES [MOUNTS]]      that run only
#
# Environment: CROWD_SEEDS (4)
. "$(dirname "$0")/two.inc"

# run SEED WORKERS CALLS FILES DIR...
run() { timeout 300 conform_crowd "$@" >"$T/said" 2>&1 || die "crowd $*: exit $?: $(cat "$T/said")"; }

up 512MiB
mount_start
other_start
if [ $# -ge 4 ]; then
	if [ "${5:-1}" = 1 ]; then run "$1" "$2" "$3" "$4" "$M"; else run "$1" "$2" "$3" "$4" "$M" "$N"; fi
else
	for seed in $(seq "${CROWD_SEEDS:-4}"); do
		run "$seed" 8 300 6 "$M"
		run "$((seed + 1000))" 8 300 6 "$M" "$N"
	done
	run 3001 8 400 1 "$M" "$N" # all at the same three
	run 2001 24 60 6 "$M" "$N"
fi
is "keys left" "" "$(t ls -R '')"
both_down
