#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fs_inside -- what the store knows of a file can be read and set on the mount; what users set is kept.
. "$(dirname "$0")/lib.sh"

says() { getfattr --absolute-names -n "user.tiffin.$1" --only-values "$2" 2>/dev/null; }
user() { getfattr --absolute-names -n "user.$1" --only-values "$2" 2>/dev/null; }

up 64MiB
mount_start

echo "user.tiffin.*"
echo hello >"$M/a"
is "key" a "$(says key "$M/a")"
is "state" complete "$(says state "$M/a")"
is "tenant" default "$(says tenant "$M/a")"
is "id" "$(t --json stat a | sed -n 's/.*"object_id":"\([0-9]*\)".*/\1/p')" "$(says id "$M/a")"
is "checksum" "$(t stat a | awk '/crc32c/ {print "crc32c:" $2}')" "$(says checksum "$M/a")"
is "copies" 1 "$(says replicas "$M/a" | grep -c '^p1 .* [0-9]*+[0-9]*$')"
is "json" a "$(says json "$M/a" | sed -n 's/^{"key":"\([a-z]*\)".*"segment":"p1".*/\1/p')"
is "nobody has a lease by looking" 0ms "$(says lease "$M/a")"
before=$(told gets)
says replicas "$M/a" >/dev/null && says json "$M/a" >/dev/null
is "looking is no use of it" "$before" "$(told gets)"
exec 3<"$M/a"
[ "$(says lease "$M/a")" != 0ms ] || die "an open file has no lease"
exec 3<&-
if says nothing "$M/a"; then die "a name that means nothing has a value"; fi
is "not listed" "" "$(getfattr --absolute-names -d -m - "$M/a")"

echo "pins"
setfattr -n user.tiffin.pin -v hard "$M/a" || die "pin"
is "hard" hard "$(says pin "$M/a")"
is "told by the CLI" hard "$(t --json stat a | sed -n 's/.*"pin":"\([a-z]*\)".*/\1/p')"
setfattr -n user.tiffin.pin -v 'soft 10m' "$M/a" || die "soft pin"
is "soft" soft "$(says pin "$M/a" | cut -d' ' -f1)"
setfattr -x user.tiffin.pin "$M/a" || die "unpin"
is "none" none "$(says pin "$M/a")"
if setfattr -n user.tiffin.id -v 1 "$M/a" 2>/dev/null; then die "an id was set"; fi

echo "user.*"
setfattr -n user.colour -v red "$M/a" && setfattr -n user.empty "$M/a" || die "setfattr"
is "kept" red "$(user colour "$M/a")"
is "listed" "user.colour user.empty" "$(getfattr --absolute-names -m - "$M/a" | grep '^user' | xargs)"
chmod 600 "$M/a" && echo more >>"$M/a" && mv "$M/a" "$M/b"
is "after chmod, a new version and mv" red "$(user colour "$M/b")"
: >"$M/b"
is "after it was cut to nothing" red "$(user colour "$M/b")"
setfattr -x user.colour "$M/b" && is "removed" "" "$(user colour "$M/b")"
head -c 4000 /dev/zero | tr '\0' x >"$T/large"
setfattr -n user.large -v "$(cat "$T/large")" "$M/b" || die "4000 bytes"
is "4000 bytes" "$(cat "$T/large")" "$(user large "$M/b")"
if setfattr -n user.more -v "$(cat "$T/large")" "$M/b" 2>/dev/null; then die "more than there is room for"; fi
mkdir "$M/d" && setfattr -n user.of -v "a directory" "$M/d" && is "of a directory" "a directory" "$(user of "$M/d")" || die "directory"
if setfattr -n trusted.x -v 1 "$M/b" 2>/dev/null; then die "trusted.x was set"; fi
cp -a "$M/b" "$M/copy" && is "cp -a" "$(cat "$T/large")" "$(user large "$M/copy")" || die "cp -a"
is "of no group" none "$(says group "$M/b")"
mount_stop
mount_start -o list_xattr,group=session-7,hot_cache=2MiB
echo one >"$M/of7" && is "of the mount's group" session-7 "$(says group "$M/of7")"
is "told by the CLI" 1 "$(t find --group session-7 | grep -c of7)"
says json "$M/of7" | grep -q '"group":"session-7"' || die "json: no group"
cat "$M/of7" >/dev/null && rm "$M/of7" || die "of7"
is "after a new mount" "$(cat "$T/large")" "$(user large "$M/b")"
is "listed when asked for" 11 "$(getfattr --absolute-names -d -m '^user.tiffin' "$M/b" | grep -c '^user.tiffin')"

mount_stop
mount_start -o pin=hard,threads=4
echo pinned >"$M/p" && is "pin=hard" hard "$(says pin "$M/p")" || die "pin=hard"
mount_stop
mount_start -o xattr=0
if setfattr -n user.x -v 1 "$M/b" 2>/dev/null; then die "xattr=0 keeps them"; fi
check
down
