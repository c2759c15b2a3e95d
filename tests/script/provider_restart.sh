#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# provider_restart -- a provider with a file is stopped in good order and started again: nothing is lost.
# Without a file its objects go with it, at once and not after the time of silence.
. "$(dirname "$0")/lib.sh"

FILE=/dev/shm/$(basename "$T").seg
trap 'code=$?; rm -f "$FILE"; (exit $code); clean_up' EXIT

master_start
provider_start p1 64MiB --path="$FILE"
head -c 5000000 /dev/urandom >"$T/f"
t put k "$T/f" || die "put"
provider_stop p1
provider_start p1 64MiB --path="$FILE"
t get k "$T/g" || die "get after the provider's restart"
cmp -s "$T/f" "$T/g" || die "other bytes"
t put k2 "$T/f" || die "put after the provider's restart"
check

provider_start p2 64MiB
t put k3 "$T/f" --replicas 2 || die "put on both"
provider_stop p2
t get k3 "$T/g" || die "get of the other copy"
cmp -s "$T/f" "$T/g" || die "other bytes of the other copy"
wait_for 3 sh -c "tiffin --json segments | grep -q p2 && exit 1 || exit 0" || die "p2 is still a segment"
check
