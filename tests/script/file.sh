#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# file -- a segment on a disk outlives its provider, is read straight from the file, and is one provider's at a time.
. "$(dirname "$0")/lib.sh"

FILE=$T/disk0
lend() { provider_start p1 64MiB --file="$FILE" "$@"; }

# refused CODE WORDS ARGS... -- a provider that ends so, with one line that says so.
refused() {
	code=$1
	words=$2
	shift 2
	tiffin-provider --master="$MASTER" --name=other --listen="unix:$T/other.sock" --wait-ms=300 "$@" 2>"$T/refused"
	got=$?
	[ "$got" -eq "$code" ] || die "exit $got, not $code: $(cat "$T/refused")"
	grep -q "$words" "$T/refused" || die "says: $(cat "$T/refused")"
}

master_start
lend
head -c 5000001 /dev/urandom >"$T/f"
t put k "$T/f" || die "put"
t get k "$T/g" || die "get"
cmp -s "$T/f" "$T/g" || die "other bytes"
tiffin --json segments | grep -q '"medium":"file"' || die "the medium is not told"
refused 5 "another process" --size=64MiB --file="$FILE"

provider_kill p1
lend
t get k "$T/g" || die "get after the provider was killed"
cmp -s "$T/f" "$T/g" || die "other bytes after the provider was killed"
t put k2 "$T/f" || die "put into the adopted file"
provider_stop p1
refused 8 "no segment of" --size=32MiB --file="$FILE"
echo "a diary" >"$T/diary"
refused 8 "no segment of" --size=64MiB --file="$T/diary"
[ "$(cat "$T/diary")" = "a diary" ] || die "somebody else's file was changed"
refused 2 "not both" --size=64MiB --file="$T/x" --path="$T/y"
lend --file-sync
for k in k k2; do
	t get $k "$T/g" || die "get of $k"
	cmp -s "$T/f" "$T/g" || die "other bytes of $k"
done
t put k3 "$T/f" || die "put, synced"
check
