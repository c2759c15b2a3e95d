#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# metrics -- what monitors and integrations read by HTTP, from real programs.
#
#      pages     names and statuses; the whole text of /metrics has the shape Prometheus wants
#      door      only GET and HEAD; no foreign names; an address beyond the machine is refused
#      load      pages are read while puts go on; `tiffin top` shows what moves
. "$(dirname "$0")/lib.sh"

PORT=$((20000 + $$ % 20000))
AT=http://127.0.0.1:$PORT
page() { curl -s --max-time 20 "$AT$1"; }
status_of() { curl -s --max-time 20 -o /dev/null -w '%{http_code}' "$@"; }

MASTER_OPTIONS="--http=127.0.0.1:$PORT"
master_start
is "ready without a segment" 503 "$(status_of "$AT/ready")"
provider_start p1 64MiB
echo hello | t put greeting - || die "put"
echo hello | t put "with blank" - || die "put"

# --- pages

is health "OK" "$(page /health)"
is ready 200 "$(status_of "$AT/ready")"
is segments p1 "$(page /get_all_segments)"
is keys "greeting with%20blank" "$(page /get_all_keys | tr '\n' ' ' | sed 's/ $//')"
page "/query_key?key=with%20blank" | grep -q '"length":6,' || die "query_key"
is "no such key" 404 "$(status_of "$AT/query_key?key=none")"
is "no argument" 400 "$(status_of "$AT/query_key")"
is "no such page" 404 "$(status_of "$AT/none")"
page /metrics >"$T/metrics"
grep -qx 'tiffin_master_objects 2' "$T/metrics" || die "objects: $(grep objects "$T/metrics")"
grep -qx 'tiffin_master_segment_size_bytes{segment="p1"} 67108864' "$T/metrics" || die "segment"
odd=$(grep -vcE '^(# (HELP|TYPE) tiffin_master_[a-z_]+ .*|tiffin_master_[a-z_]+(\{[^}]*\})? [0-9.e+-]+)$' "$T/metrics")
is "lines of another shape" 0 "$odd"
is "families told twice" "" "$(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$T/metrics" | sort | uniq -d)"

# --- door

is "another method" 405 "$(status_of -X POST "$AT/metrics")"
is "a foreign name" 403 "$(status_of -H 'Host: example.com' "$AT/metrics")"
is "a name of this machine" 200 "$(status_of -H 'Host: localhost:1' "$AT/metrics")"
expect "taken" 4 tiffin-master --db="$T/other.db" --listen="unix:$T/other.sock" \
	--http="127.0.0.1:$PORT" 2>"$T/said"
grep -q "listens there already" "$T/said" || die "taken: $(cat "$T/said")"
expect "open to all" 4 tiffin-master --db="$T/other.db" --listen="unix:$T/other.sock" \
	--http=0.0.0.0:0 2>"$T/said"
grep -q -e "--insecure" "$T/said" || die "open: $(cat "$T/said")"

# --- load

spawn writer tool_objects put many/ 2000 100
for i in 1 2 3 4 5 6; do
	page /metrics | grep -q '^tiffin_master_store_stalled 0$' || die "metrics under load"
	page /get_all_keys >"$T/keys" || die "keys under load"
	LC_ALL=C sort -c "$T/keys" || die "keys are not in order"
done
t top -n 2 -d 200ms >"$T/top" || die "top"
is "screens" 2 "$(grep -c '^space ' "$T/top")"
grep -q '^p1 .* ok ' "$T/top" || die "top: $(cat "$T/top")"
is "screens in JSON" 2 "$(t --json top -n 2 -d 100ms | grep -c '^{"size_bytes":67108864,.*"a_second":{.*}}$')"
expect "a delay out of range" 2 t top -d 1ms 2>"$T/said"
finish writer || die "the writer: $(cat "$T/writer.log")"
is "keys in the end" 2002 "$(page /get_all_keys | wc -l)"
down
