#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fs_control -- .tiffin shows the store as files, hides from who does not ask for it, and can't be written.
. "$(dirname "$0")/lib.sh"

# json FILE -- is it JSON, as far as sqlite3 judges?
json() { [ "$(sqlite3 :memory: "SELECT json_valid(CAST(readfile('$1') AS TEXT))")" = 1 ]; }
refuses() { if "$@" 2>/dev/null; then die "$*: succeeded"; fi; }

up 64MiB
mount_start
C=$M/.tiffin
mkdir "$M/d"
echo hello >"$M/d/a"
echo more >"$M/b"

echo "files"
is "not listed" "b d" "$(ls -A "$M" | xargs)"
is "found" "by-segment clients clients.json events events.json metrics metrics.json options options.json paths paths.json puts puts.json segments segments.json status status.json tasks tasks.json tenants tenants.json transfers transfers.json version version.json" "$(LC_ALL=C ls "$C" | xargs)"
for name in clients events metrics options paths puts segments status tasks tenants transfers version; do
	cat "$C/$name" >"$T/text" || die "$name"
	cp "$C/$name.json" "$T/json" || die "$name.json"
	json "$T/json" || die "$name.json: $(cat "$T/json")"
done
is "status" 1 "$(sed -n 's/^n_segments=//p' "$C/status")"
is "segments" p1 "$(sed -n 's/^name=\([^ ]*\) state=ok medium=dram .*/\1/p' "$C/segments")"
is "options" 30000ms "$(sed -n 's/^timeout=//p' "$C/options")"
is "metrics" "$(told puts_ended)" "$(sed -n 's/^puts_ended=//p' "$C/metrics")"
mkfifo "$T/pipe"
cat "$T/pipe" >"$M/writing" &
exec 4>"$T/pipe" && head -c 3000000 /dev/zero >&4 # so much that it is begun at the master, too
wait_for 5 grep -q "key=writing" "$C/puts" || die "puts: $(cat "$C/puts") $(t puts)"
exec 4>&-
wait $!

echo "events"
spawn tail tail -f -s 0.1 "$C/events"
t segments >/dev/null
provider_start p2 16MiB
wait_for 10 grep -q 'kind=segment_mounted .*p2' "$T/tail.out" || die "tail -f: $(cat "$T/tail.out" "$T/tail.log")"
end tail TERM
is "each once" "$(sort -u "$T/tail.out" | wc -l)" "$(wc -l <"$T/tail.out")"
if grep -q truncated "$T/tail.log"; then die "tail: $(cat "$T/tail.log")"; fi
[ "$(stat -c %s "$C/events")" -ge "$(wc -c <"$T/tail.out")" ] || die "the length of events"

echo "by-segment"
is "segments" "p1 p2" "$(ls "$C/by-segment" | xargs)"
n_there=$({ ls "$C/by-segment/p1"; ls "$C/by-segment/p2"; } | wc -l)
is "all objects" "$(t ls -R '' | grep -vc '/$')" "$n_there"
where=$(getfattr --absolute-names --only-values -n user.tiffin.replicas "$M/d/a" | cut -d' ' -f1)
is "through a link" hello "$(cat "$C/by-segment/$where/d%2Fa")"
is "its target" ../../../d/a "$(readlink "$C/by-segment/$where/d%2Fa")"
long=$(printf 'y%.0s' $(seq 300))
echo deep | t put "$long" - >/dev/null
where=$(ls "$C/by-segment/p1" "$C/by-segment/p2" | awk '/^\//{dir=$0} /^yyy/{sub(":", "", dir); print dir "/" $0}')
is "a long key" deep "$(cat "$where")"
refuses cat "$C/by-segment/p1/nothing"
refuses ls "$C/by-segment/p3"
objects put many/ 3000 100 --batch 100
is "many" "$(t ls -R '' | grep -vc '/$')" "$({ ls -U "$C/by-segment/p1"; ls -U "$C/by-segment/p2"; } | wc -l)"

echo "disturbs nothing"
is "no lease" 0ms "$(getfattr --absolute-names --only-values -n user.tiffin.lease "$M/b")"
refuses mkdir "$C/x"
refuses touch "$C/x"
refuses sh -c "echo x >'$C/status'"
refuses rm "$C/status"
refuses mv "$C/status" "$M/status"
refuses mv "$M/b" "$C/b"
refuses ln -s x "$C/x"
refuses chmod 777 "$C/status"
refuses mkdir "$M/.tiffin"
is "find does not come in" 0 "$(find "$M" -path '*.tiffin*' | wc -l)"

echo "keys of that name"
echo mine | t put .tiffin/status - >/dev/null
is "a key" mine "$(cat "$M/%2Etiffin/status")"
is "listed" 1 "$(ls -A "$M" | grep -c '^%2Etiffin$')"
mkdir "$M/d/.tiffin" && echo deep >"$M/d/.tiffin/x" && is "further down" deep "$(t cat d/.tiffin/x)" || die "d/.tiffin"
mount_stop

echo "options"
mount_start -o control=listed,prefix=d
is "listed" ".tiffin a" "$(ls -A "$M" | grep -v '^%2E' | xargs)"
is "a key of that name below a prefix" deep "$(cat "$M/%2Etiffin/x")"
is "only what is below" 2 "$(ls -AU "$C/by-segment/p1" "$C/by-segment/p2" | grep -c '^a$\|^.tiffin%2Fx$')"
mount_stop
mount_start -o control=off
refuses ls "$C"
mount_stop
fails=$(tiffinfs "$MASTER" "$M" -o control=maybe 2>&1) && die "control=maybe"
is "one line" 1 "$(echo "$fails" | wc -l)"
check
down
