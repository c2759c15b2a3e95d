#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh -- every rule that can be said in a script, one line each: ok, FAIL or skip.
#
#      sh tests/lint/run.sh            all of them; 1 when any fails
#      sh tests/lint/run.sh sizes      these only
#
# A script prints what it finds and ends with 0 (fine), 1 (not) or 77 (can't look here).
set -u
here=${0%/*}
[ $# -gt 0 ] || set -- $(cd "$here" && ls ./*.sh | sed 's|^\./||; s|\.sh$||' | grep -vx run)

code=0
for name in "$@"; do
	found=$(sh "$here/$name.sh" 2>&1)
	case $? in
	0) echo "ok   lint/$name${found:+ ($found)}" ;;
	77) echo "skip lint/$name ($found)" ;;
	*)
		echo "FAIL lint/$name"
		echo "$found" | sed 's/^/     /'
		code=1
		;;
	esac
done
exit $code
