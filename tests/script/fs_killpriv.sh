#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fs_killpriv -- set-user-id goes when others write, and asking for it costs no request a write.
. "$(dirname "$0")/lib.sh"

up 64MiB
mount_start -d -o attr_timeout=60
dd if=/dev/zero of="$M/many" bs=4096 count=1000 2>/dev/null || die "dd"
at_least "writes" 1000 "$(grep -c 'opcode: WRITE' "$T/fs.log")"
at_most "questions of 1000 writes" 5 "$(grep -c 'opcode: GETXATTR' "$T/fs.log")"
getfattr -n user.tiffin.id "$M/many" >/dev/null 2>&1 || die "user.tiffin.id can't be read"
setfattr -n user.mine -v 1 "$M/many" || die "setfattr"
mount_stop

mount_start -o allow_other,suid,attr_timeout=0
[ "$(id -u)" -eq 0 ] || exit 0
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
chmod 755 "$T"

# mode_after WANTED MODE COMMAND... -- what becomes of a file of that mode; FILE is its name.
mode_after() {
	wanted=$1
	rm -f "$M/f"
	echo some text >"$M/f"
	chmod "$2" "$M/f"
	is "before" "$2" "$(stat -c %a "$M/f")"
	shift 2
	"$@" || die "$*"
	is "$*" "$wanted" "$(stat -c %a "$M/f")"
	sync "$M/f"
	is "$*, later" "$wanted" "$(stat -c %a "$M/f")"
}
# shellcheck disable=SC2016
append() { "$@" sh -c 'echo more >>"$1"' sh "$M/f"; }
# shellcheck disable=SC2016
cut() { "$@" sh -c ': >"$1"' sh "$M/f"; }
mode_after 777 6777 append nobody
mode_after 2767 6767 append nobody
mode_after 6777 6777 append env
mode_after 777 6777 cut nobody
mode_after 777 6777 nobody truncate -s 3 "$M/f"
mode_after 777 6777 nobody fallocate -l 100 "$M/f"
mode_after 777 6777 nobody cp /etc/passwd "$M/f"
mode_after 777 6777 chown 65534 "$M/f"
mode_after 2767 6767 chgrp 65534 "$M/f"
echo "$M" >"$M/from" && chmod 644 "$M/from"
mode_after 777 6777 nobody tool_files copy "$M/from" 0 "$M/f" 0 3 >/dev/null
check
down
