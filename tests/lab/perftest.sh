#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# perftest -- one run of perftest over the device with that address; says the average in MiB/s.
#
#      sh tests/lab/perftest.sh ib_read_bw|ib_write_bw ADDRESS SIZE COUNT
set -u

program=$1
address=$2
size=$3
count=$4
out=$(mktemp)
trap 'rm -f "$out"' EXIT

device=$(rdma link | sed -n 's|^link \(rxe[^/]*\)/.*|\1|p' | head -n 1)
is_listening() { rdma resource show cm_id | grep -q ':18515 .*LISTEN\|LISTEN.*:18515'; }

"$program" -d "$device" -R -F -s "$size" -n "$count" >/dev/null 2>&1 &
server=$!
tries=600
until is_listening || [ $tries -eq 0 ]; do
	sleep 0.05
	tries=$((tries - 1))
done
timeout 120 "$program" -d "$device" -R -F -s "$size" -n "$count" "$address" >"$out" 2>&1
code=$?
kill $server 2>/dev/null
wait $server 2>/dev/null
[ $code -eq 0 ] || {
	cat "$out" >&2
	exit 1
}
awk -v size="$size" '$1 == size {print $4}' "$out"
