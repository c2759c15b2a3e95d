#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh -- every rule that can be said in a script, one line each: ok or FAIL.
#
#      sh tests/lint/run.sh            all of them; 1 when any fails
#      sh tests/lint/run.sh sizes      these only
#
# A script ends with 0 when all is well, or with 1 after what it has found.
set -u
here=${0%/*}
[ $# -gt 0 ] || set -- $(cd "$here" && ls ./*.sh | sed 's|^\./||; s|\.sh$||' | grep -vx run)

code=0
for name in "$@"; do
	found=$(sh "$here/$name.sh" 2>&1)
	case $? in
	0) echo "ok   lint/$name${found:+ ($found)}" ;;
	*)
		echo "FAIL lint/$name"
		echo "$found" | sed 's/^/     /'
		code=1
		;;
	esac
done
exit $code
