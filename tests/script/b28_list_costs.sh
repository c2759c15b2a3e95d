#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b28 -- `ls -l` costs a request for each name, or more than that.
#
# Right: at most one request for a hundred names, and time that grows with their number only.
. "$(dirname "$0")/lib.sh"

up 128MiB
objects put d/ 5000 100 --batch 500
objects put e/ 10000 100 --batch 500
mount_start
remount() {
	mount_stop
	mount_start
}
listed() { # dir, names, limit in ms
	before=$(told requests)
	timed "$3" ls -l "$M/$1" >"$T/listing" || die "ls -l $1"
	is "names in $1" "$2" "$(grep -c '^-' "$T/listing")"
	requests=$(($(told requests) - before))
	at_most "requests of ls -l $1" $(($2 / 100 + 20)) $requests # 20: pings, and those of `status` itself
}

listed d 5000 3000
small_ms=$took_ms
listed e 10000 3000
at_most "twice as many names: ms, after $small_ms" $((small_ms * 5 / 2 + 300)) "$took_ms"
listed e 10000 3000 # warm
remount
listed e 10000 3000 # cold

before=$(told requests)
n=$(find "$M/e" -name '0001*' | wc -l)
is "names that match" 100 "$n"
at_most "requests of find" 140 $(($(told requests) - before))
before=$(told requests)
# shellcheck disable=SC2012
is "as a shell completes" 100 "$(ls -d "$M"/e/0001* | wc -l)"
at_most "requests of completion" 360 $(($(told requests) - before))
down
