#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# readme.sh -- every folder has its page (one page), links lead somewhere, and the README's example is the tested one.
. "${0%/*}/files.inc"

for dir in core fs master master/proto transfer transfer/base sql man tests; do
	[ -f "$dir/README.md" ] || found "$dir/README.md: missing"
done
for file in $(files README.md | grep /); do
	[ "$(wc -l <"$file")" -le 150 ] || found "$file: more than a page"
done
[ -f README.md ] && [ -f ARCHITECTURE.md ] || found 'README.md or ARCHITECTURE.md: missing'

for file in $(files '*.md'); do
	for link in $(grep -oE '\]\([^)#:]+\)' "$file" | sed 's|](\(.*\))|\1|'); do
		[ -e "$(dirname "$file")/$link" ] || found "$file: $link leads nowhere"
	done
done

# Files named in passing ("core/put.c") are there, too.
for name in $(cat $(files '*.md') | grep -oE '`(core|fs|master|transfer|sql|man|tests)/[A-Za-z0-9_/.-]+\.[a-z]+`' | tr -d '`' | sort -u); do
	[ -e "$name" ] || found "$name: named in a README, and not there"
done

# between WORD FILE -- what stands between the marks, without the fences of code.
between() {
	sed -n "/^<!-- $1 -->\$/,/^<!-- end of $1 -->\$/p" "$2" | grep -v '^<!-- \|^```'
}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
between example README.md >"$dir/example"
cmp -s "$dir/example" tests/example/example.c || found 'README.md: its example is not tests/example/example.c'
[ -n "$(between session README.md)" ] || found 'README.md: no session'
finish "$(files '*.md' | wc -l) files"
