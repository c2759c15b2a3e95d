#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fs_two_mounts -- what one mount does the other sees, whole and soon.
. "$(dirname "$0")/lib.sh"

N=$T/other
mkdir "$N"

# other_start -- a second mount at $N.
other_start() { start other tiffinfs "$MASTER" "$N" -f "$@"; }
is() { [ "$2" = "$3" ] || die "$1: \"$3\", not \"$2\""; }
soon() { wait_for 2 sh -c "$2" || die "$1: not seen within 2 s"; }

up 256MiB
mount_start
other_start
trap 'code=$?; fusermount3 -uz "$N" 2>/dev/null; (exit $code); clean_up' EXIT

mkdir "$M/d"
echo one >"$M/d/f"
soon "a new file" "[ \"\$(cat '$N/d/f')\" = one ]"
echo 'two, longer' >"$M/d/f"
soon "a longer version" "[ \"\$(cat '$N/d/f')\" = 'two, longer' ]"
echo 3 >"$N/d/f"
soon "a shorter version from the other side" "[ \"\$(cat '$M/d/f')\" = 3 ]"
chmod 600 "$M/d/f"
soon "a mode" "[ \"\$(stat -c %a '$N/d/f')\" = 600 ]"
mv "$M/d/f" "$M/d/g"
soon "a new name" "[ -e '$N/d/g' ] && [ ! -e '$N/d/f' ]"
rm "$N/d/g"
soon "that it is gone" "[ ! -e '$M/d/g' ]"
rmdir "$N/d"
soon "that the directory is gone" "[ ! -e '$M/d' ]"
is "and is not listed" "" "$(ls -A "$M")"

# An open file is one version: the old one to its end, whatever comes.
dd if=/dev/zero of="$M/big" bs=1M count=8 2>/dev/null
exec 3<"$N/big"
dd if=/dev/zero bs=1M count=4 2>/dev/null | tr '\0' 'x' >"$M/big.new"
mv "$M/big.new" "$M/big"
soon "the replacement" "[ \$(stat -c %s '$N/big') = 4194304 ]"
is "bytes of the version that was opened" 8388608 "$(cat <&3 | tr -d x | wc -c)"
exec 3<&-
is "bytes of the version that is there" 4194304 "$(tr -dc x <"$N/big" | wc -c)"

# A reader never sees a mixture, while versions of one letter each follow each other.
for letter in a b c d e f g h i j k l m n o p q r s t; do
	head -c 300000 /dev/zero | tr '\0' "$letter" >"$T/letter"
	cp "$T/letter" "$M/turn.new" && mv "$M/turn.new" "$M/turn" || exit 1
done &
writer=$!
while kill -0 $writer 2>/dev/null; do
	if cat "$N/turn" >"$T/read" 2>/dev/null && [ -s "$T/read" ]; then
		is "letters in one version" 1 "$(fold -w 1 <"$T/read" | sort -u | wc -l)"
		is "length of one version" 300000 "$(stat -c %s "$T/read")"
	fi
done
wait $writer || die "the writer failed"
soon "the last version" "[ \"\$(head -c 1 '$N/turn')\" = t ]"

# What both set on one file and one directory at once is there in the end, whoever was faster.
if command -v setfattr >/dev/null; then
	echo x >"$M/attrs"
	mkdir "$M/attrs.d"
	soon "the file" "[ -e '$N/attrs' ] && [ -d '$N/attrs.d' ]"
	for side in M N; do
		[ $side = M ] && at=$M || at=$N
		for i in $(seq 40); do
			setfattr -n "user.$side$i" -v "$i" "$at/attrs" || echo "$side$i"
			setfattr -n "user.$side$i" -v "$i" "$at/attrs.d" || echo "$side$i of the directory"
			[ $((i % 8)) -ne 0 ] || chmod 6$((i % 8))0 "$at/attrs" || echo "chmod $i"
		done >"$T/set$side" 2>&1 &
		eval "setting_$side=\$!"
	done
	wait "$setting_M" "$setting_N"
	is "setfattr failed" "" "$(cat "$T/setM" "$T/setN")"
	for name in attrs attrs.d; do
		is "attributes of $name" 80 "$(getfattr --absolute-names -d -m '^user\.[MN][0-9]+$' "$M/$name" | grep -c '^user')"
	done
fi

# Only one of two creates the same name exclusively.
won=$( (cd "$M" && set -C && : >lock) 2>/dev/null && echo M)$( (cd "$N" && set -C && : >lock) 2>/dev/null && echo N)
is "winner of O_EXCL" M "$won"

# A file that is open for appending here was replaced there: nothing is lost without a word.
echo mine >"$M/log"
exec 4>>"$M/log"
soon "the log" "[ -e '$N/log' ]"
echo theirs >"$N/log.new" && mv "$N/log.new" "$N/log"
if (echo more >&4) 2>/dev/null; then
	exec 4>&-
	grep -q more "$N/log" || die "an append that succeeded is not there"
else
	exec 4>&-
	is "the version of the other" theirs "$(cat "$N/log")"
fi

mount_stop
fusermount3 -u "$N"
end other TERM
check
down
