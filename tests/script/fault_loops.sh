#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fault_loops -- the n-th allocation, system call or SQLite call of each program fails; some n of each.
#
# Two stores at a time, each with half of the walks: they mostly wait.  With words, those of
# `tests/fault/run.sh` alone; `--full` walks every n.
run=$(dirname "$0")/../fault/run.sh
[ $# -eq 0 ] || exec sh "$run" "$@"

log=$(mktemp /tmp/tiffin-fault-log.XXXXXX)
trap 'rm -f "$log"' EXIT
sh "$run" provider provider-start fs fs-start >"$log" 2>&1 &
other=$!
code=0
sh "$run" client master master-start || code=1
wait $other || code=1
cat "$log"
exit $code
