#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# open_file_goes_on -- an open file whose object loses one of its copies while the master is away gives ESTALE or EIO.
#
# Right: who has it open reads on from the other copy, the same version to its end; a lease without a file goes on, too.
. "$(dirname "$0")/lib.sh"

LEASE=500ms
TTL=1s
MASTER_OPTIONS="--client-grace-ms=1s --ping-ms=200ms"
master_start
provider_start p1 64MiB
provider_start p2 64MiB
mount_start -o timeout=10
head -c 16777216 /dev/urandom >"$T/f"
t put -n 2 f "$T/f" || die "put"
copies() { t stat f | grep -q "^copies *$1"; }
copies 2 || die "not two copies: $(t stat f)"
spawn held tiffin lease f
exec 3<"$M/f"
dd bs=1M count=1 iflag=fullblock <&3 >"$T/read" 2>/dev/null || die "the first piece"

master_kill
provider_kill p1
master_start
wait_for 20 copies 1 || die "the lost copy stays: $(t stat f)"
cat <&3 >>"$T/read" 2>"$T/said" || die "the rest: $(cat "$T/said")"
exec 3<&-
cmp -s "$T/f" "$T/read" || die "other bytes"
expect "rm of what is held" 6 t -q rm f 2>/dev/null
finish held INT
is "the lease" 130 $?

# Another version is another version: who has the old one open is told so, or has its bytes.
exec 3<"$M/f"
dd bs=1M count=1 iflag=fullblock <&3 >"$T/read" 2>/dev/null || die "the first piece of it"
master_kill
master_start
echo new | t put --replace f - || die "replace"
if cat <&3 >>"$T/read" 2>/dev/null; then
	cmp -s "$T/f" "$T/read" || die "a mixture of two versions"
fi
exec 3<&-
is "the new one" new "$(cat "$M/f")"
check
down
