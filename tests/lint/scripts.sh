#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# scripts.sh -- every script is one for sh(1), and parses.
. "${0%/*}/files.inc"

list=$(files '*' | grep -v '^tests/fuzz/corpus/' | xargs grep -lIm 1 '^#!')
for file in $list; do
	case $(head -n 1 "$file") in
	'#!/bin/sh'*) found "$(sh -n "$file" 2>&1)" ;;
	'#!'*) found "$file: a script for something else than /bin/sh" ;;
	esac
done
finish "$(echo "$list" | wc -l) scripts"
