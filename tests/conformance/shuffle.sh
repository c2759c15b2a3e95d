#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# shuffle -- random calls on one file are what they are on memory: at one mount, and at two of one store.
#
#      shuffle.sh [SEED CALLS MAX_BYTES [MOUNTS]]      that run only
#
# Environment: SHUFFLE_SEEDS (6)
. "$(dirname "$0")/two.inc"

# run SEED CALLS MAX_BYTES DIR...
run() { timeout 300 conform_shuffle "$@" >"$T/said" 2>&1 || die "shuffle $*: exit $?: $(cat "$T/said")"; }

up 256MiB
mount_start
other_start
if [ $# -ge 3 ]; then
	if [ "${4:-1}" = 1 ]; then run "$1" "$2" "$3" "$M"; else run "$1" "$2" "$3" "$M" "$N"; fi
else
	for seed in $(seq "${SHUFFLE_SEEDS:-6}"); do
		run "$seed" 400 1000000 "$M"
		run "$((seed + 1000))" 400 1000000 "$M" "$N"
	done
	run 2001 200 20000000 "$M"
	run 2002 150 20000000 "$M" "$N"
	run 2003 1500 9000 "$M" "$N"
fi
both_down
