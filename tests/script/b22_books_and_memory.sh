#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b22 -- after a restart of the master the books and the memory disagree: two keys on one range, dead rows, lost addresses.
#
# Right: no two ranges overlap; each key gives its own bytes or NOT_FOUND; keys of a provider that was restarted
# too are gone; the mount shows what can be read; no rows of unknown segments stay.
. "$(dirname "$0")/lib.sh"

LEASE=500ms
TTL=1s
MASTER_OPTIONS="--client-grace-ms=1s --ping-ms=200ms"
master_start
provider_start p1 64MiB
provider_start p2 64MiB
mount_start -o timeout=10

readable() { # prefix, how many
	objects get "$1" "$2" 50000
	is "$1 wrong" 0 "$(value wrong "$T/objects")"
	is "$1: $(cat "$T/objects")" "$2" $(($(value ok "$T/objects") + $(value NOT_FOUND "$T/objects")))
	n_ok=$(value ok "$T/objects")
}

objects put k0/ 200 50000
for round in 1 2 3; do
	case $round in
	1) master_stop ;;
	2) master_kill ;;
	3)
		master_kill
		provider_kill p1
		;;
	esac
	master_start
	[ $round != 3 ] || provider_start p1 64MiB
	objects put "k$round/" 200 50000
	is "round $round: puts: $(cat "$T/objects")" 200 "$(value ok "$T/objects")"
	check
done

# Keys of the old p1 are told to be gone once it is given up.
rows() { q "SELECT count(*) FROM replica WHERE segment_id NOT IN (SELECT segment_id FROM segment)"; }
two_segments() { [ "$(q 'SELECT count(*) FROM segment')" -eq 2 ]; }
wait_for 15 two_segments || die "the old segment stays in the books: $(q 'SELECT * FROM v_segment')"
is "rows of unknown segments" 0 "$(rows)"
all=0
for prefix in k0/ k1/ k2/ k3/; do
	readable $prefix 200
	all=$((all + n_ok))
	if [ $prefix = k3/ ]; then is "put after everything" 200 "$n_ok"; fi
	if [ $prefix = k0/ ]; then at_most "keys, half of them on the lost one" 199 "$n_ok"; fi
done
at_least "keys" 400 $all
same_number() { [ "$(find "$M" -type f | wc -l)" -eq $all ]; }
wait_for 5 same_number || die "the mount shows $(find "$M" -type f | wc -l) files, $all can be read"
is "in the books" $all "$(q 'SELECT count(*) FROM object')"
find "$M" -type f -print0 | xargs -0 cat >/dev/null || die "a file in the mount can't be read"
check
down
