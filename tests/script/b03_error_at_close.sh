#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b03 -- a copy through the mount "succeeds", but nothing was stored: the error came when nobody looked.
#
# Right: with no room, or with the only provider dead, cp, dd and cat fail with ENOSPC or EIO; no
# name, no key and no room is left; a second close does no harm.
. "$(dirname "$0")/lib.sh"

# refused WORDS COMMAND... -- the command fails within 15 s and says one of these words.
refused() {
	words=$1
	shift
	timed 15000 "$@" 2>"$T/said" && die "succeeded: $*"
	grep -qE "$words" "$T/said" || die "$*: $(cat "$T/said")"
}
nothing_of() {
	[ -z "$(ls -A "$M")" ] || die "$1 left a name: $(ls -A "$M")"
	expect "$1 left a key" 1 t -q stat "$1" 2>/dev/null
}
is_back() { [ "$(($(told used_bytes) + $(told resting_bytes)))" -eq "$1" ]; }

MASTER_OPTIONS="--put-wait-ms=200ms --ping-ms=200ms"
TTL=1s
up 64MiB
mount_start -o timeout=5,prefix=m
head -c 100000000 /dev/zero >"$T/big"

# Half of the room is taken and somebody reads it: nothing can be evicted.
objects put held/ 4 8388608
hold held/ 4 8388608
used=$(told used_bytes)
refused "No space" cp "$T/big" "$M/big"
nothing_of big
refused "No space" dd if="$T/big" of="$M/big" bs=1M conv=fsync
nothing_of big
# shellcheck disable=SC2016
refused "No space" sh -c 'cat "$1" >"$2"' sh "$T/big" "$M/big"
nothing_of big
timed 15000 tool_twice "$M/big" 100000000 >"$T/twice" || die "twice"
grep -q 'write=ENOSPC' "$T/twice" || die "twice: $(cat "$T/twice")"
nothing_of big
wait_for 10 is_back "$used" || die "room is lost: $(told used_bytes) used, $(told resting_bytes) rest, not $used"
cp /etc/passwd "$M/small" || die "a small file does not fit"
cmp -s /etc/passwd "$M/small" || die "small: other bytes"
rm "$M/small" || die "rm"
let_go
cp "$T/big" "$T/fits" && truncate -s 40000000 "$T/fits"
cp "$T/fits" "$M/fits" || die "no room though nobody reads any more"
cmp -s "$T/fits" "$M/fits" || die "fits: other bytes"
rm "$M/fits"

# The only provider is dead.
provider_kill p1
refused "Input/output error|No space" cp /etc/passwd "$M/small"
[ ! -e "$M/small" ] || die "small is there"
timed 15000 tool_twice "$M/small" 1048576 >"$T/twice" || die "twice"
grep -qE '=(EIO|ENOSPC|ETIMEDOUT)' "$T/twice" || die "twice: no error: $(cat "$T/twice")"
[ ! -e "$M/small" ] || die "small is there"
provider_start p2 64MiB
cp /etc/passwd "$M/small" || die "no copy though there is a provider again"
cmp -s /etc/passwd "$M/small" || die "small: other bytes"
check
down
