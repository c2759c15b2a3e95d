#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# errnos -- each call of errnos.tab, as root and as nobody, gives what it says, here and on tmpfs.
. "$(dirname "$0")/../script/lib.sh"

R=$(mktemp -d /dev/shm/tiffin-test.XXXXXX)
trap 'code=$?; rm -rf "$R"; (exit $code); clean_up' EXIT
up 64MiB
mount_start -o allow_other
mkdir "$M/tree" "$R/tree"
conform_errnos "$(dirname "$0")/errnos.tab" "$M/tree" "$R/tree" >"$T/said" || die "$(cat "$T/said")"
check
down
