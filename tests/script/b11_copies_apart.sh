#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b11 -- two copies on one segment, or the number of copies that was asked for never reaches the put.
#
# Right: copies lie on segments that differ; after the death of one provider the other serves at once.
# With one segment: one copy and the true count told, or NO_SPACE when all were demanded.  Every way to
# ask for copies (program, command, mount) takes effect, and a wrong number is an error.
. "$(dirname "$0")/lib.sh"

TTL=1s
MASTER_OPTIONS="--client-grace-ms=1s --ping-ms=200ms"
export TOOL_TIMEOUT_MS=8000
copies() { q "SELECT count(DISTINCT segment_id) FROM v_replica WHERE shown_key = '$1'"; }

master_start
provider_start p1 64MiB
provider_start p2 64MiB
objects put two/ 50 100000 --replicas 2 --batch 10
is "put" 50 "$(value ok "$T/objects")"
is "segments of all" 50 "$(q "SELECT count(*) FROM (SELECT object_id FROM v_replica GROUP BY object_id
	HAVING count(*) = 2 AND count(DISTINCT segment_id) = 2)")"
head -c 1000000 /dev/urandom >"$T/f"
t put -n 2 by_command "$T/f" || die "put -n 2"
is "by the command" 2 "$(copies by_command)"
t stat by_command | grep -q '^copies *2' || die "stat: $(t stat by_command)"
mount_start -o replicas=2
cp "$T/f" "$M/by_mount" || die "cp"
is "by the mount" 2 "$(copies by_mount)"
mount_stop
expect "no copies" 2 t -q put -n 0 k "$T/f" 2>/dev/null
expect "nine copies" 2 t -q put -n 9 k "$T/f" 2>/dev/null
tiffinfs "$MASTER" "$M" -f -o replicas=0 2>/dev/null && die "a mount with no copies"
check

provider_kill p1
objects get two/ 50 100000
is "after a death: $(cat "$T/objects")" 50 "$(value ok "$T/objects")"
at_most "slowest get, ms" 8500 "$(value max_ms "$T/objects")"
t cat by_command | cmp -s - "$T/f" || die "by_command: other bytes"

# Only one segment is left.
one_left() { [ "$(told n_segments)" -eq 1 ]; }
wait_for 10 one_left || die "the dead one stays"
objects put one/ 1 1000 --replicas 2
is "two wanted, one to be had" 1 "$(value ok "$T/objects")"
is "copies told" 1 "$(copies one/000000)"
t stat one/000000 | grep -q '^copies *1' || die "stat: $(t stat one/000000)"
objects put strict/ 1 1000 --replicas 2 --strict
is "two demanded" 1 "$(value NO_SPACE "$T/objects")"
expect "nothing of it" 1 t -q stat strict/000000 2>/dev/null
check
down
