#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b05 -- the look-up says "there", the load says "gone", for ever and with retries.
#
# Right: tiffin_exist() promises nothing (tiffin.h says so), so a get may miss: NOT_FOUND for that key, at
# once, and right bytes for all others.  After a provider's death a get ends within the time for transfers;
# a key once found lost is not reported there again until somebody puts it anew.
. "$(dirname "$0")/lib.sh"

LEASE=500ms
TTL=1s
MASTER_OPTIONS="--client-grace-ms=1s --ping-ms=200ms"
export TOOL_TIMEOUT_MS=8000
master_start
provider_start p1 32MiB
provider_start p2 32MiB

# Hits and loads, while another one puts three times what there is room for.
objects put hot/ 100 65536
spawn hits tool_objects hits hot/ 100 65536
objects put flood/ 192 1048576
finish hits TERM || die "wrong bytes: $(cat "$T/hits.out")"
[ "$(value ok "$T/objects")" -eq 192 ] || die "puts: $(cat "$T/objects")"
at_least "hits" 1 "$(value there "$T/hits.out")"
is "every hit was got or missed" "$(value there "$T/hits.out")" \
	$(($(value ok "$T/hits.out") + $(value NOT_FOUND "$T/hits.out")))
at_most "slowest get, ms" 5000 "$(value max_ms "$T/hits.out")"

# The provider of half the keys dies.
t rm --all -f >/dev/null || die "rm --all"
objects put k/ 100 65536
provider_kill p1
n_fast=0
objects get k/ 100 65536 --batch 100
at_most "a batch over a dead provider, ms" 8500 "$(value max_ms "$T/objects")"
n_fast=$(value ok "$T/objects")
at_least "keys of the living one: $(cat "$T/objects")" 1 "$n_fast"
all_told() {
	objects get k/ 100 65536
	[ $(($(value ok "$T/objects") + $(value NOT_FOUND "$T/objects"))) -eq 100 ]
}
wait_for 15 all_told || die "lost keys are not told: $(cat "$T/objects")"
lost=$(value NOT_FOUND "$T/objects")
at_least "lost keys" 1 "$lost"
for i in 1 2 3 4 5; do
	objects exist k/ 100 0
	is "not there, look $i" "$lost" "$(value NOT_FOUND "$T/objects")"
done
objects put k/ 100 65536
is "lost keys put anew" "$lost" "$(value ok "$T/objects")"
objects get k/ 100 65536
is "all are there again" 100 "$(value ok "$T/objects")"
check
down
