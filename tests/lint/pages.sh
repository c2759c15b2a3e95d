#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pages.sh -- every manual page is what mandoc(1) likes; those made from lists are up to date; references lead somewhere.
. "${0%/*}/files.inc"

command -v mandoc >/dev/null || skip 'mandoc is missing'
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/man3"

# write PROGRAM FILES... -- compile it.
write() {
	program=$1
	shift
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -o "$dir/$program" "man/$program.c" man/mdoc.c "$@" ||
		found "man/$program.c: does not compile"
}

# same PROGRAM PAGE -- the page in the tree is what the program writes.
same() {
	"$dir/$1" >"$dir/page" && cmp -s "$dir/page" "man/$2" ||
		found "man/$2: not what man/$1.c writes; ninja pages"
}

write protocol_page
same protocol_page tiffin-protocol.7
write metrics_page
same metrics_page tiffin-metrics.7
write conf_page transfer/base/num.c
same conf_page tiffin.conf.5
write api_pages man/api_header.c
"$dir/api_pages" core/tiffin.h tests/example/example.c "$dir/man3" >/dev/null || found 'core/tiffin.h: no pages'

# That a reference leads somewhere is judged here: mandoc would look at what is installed.
pages=$(find man "$dir/man3" -name '*.[1-8]' -type f | sort)
found "$({ # its two outputs, one behind the other: written into one they tear each other's lines
	mandoc -Tlint $pages 2>"$dir/errors"
	cat "$dir/errors"
} | grep -vE 'manual not|found: Xr|makewhatis' | sed "s|$dir/||")"
names=$(find man "$dir/man3" -name '*.[1-8]' | sed 's|.*/||')
found "$(grep -hoE '\.Xr tiffin[a-z_.-]* [1-8]|\.It Xr tiffin[a-z_.-]* [1-8]' $pages | sed 's|.*Xr ||; s| |.|' | sort -u |
	while read -r name; do
		echo "$names" | grep -qx "$name" || echo "$name: referred to, and not there"
	done)"
for name in tiffin.1 tiffin.conf.5 tiffin.7 tiffin-protocol.7 tiffin-sql.7 tiffin-metrics.7 tiffin-master.8 \
	tiffin-provider.8 tiffinfs.8; do
	[ -f "man/$name" ] || found "man/$name: missing"
done
finish "$(echo "$names" | wc -l) pages"
