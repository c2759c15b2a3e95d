#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# format.sh -- .clang-format decides.
. "${0%/*}/files.inc"

command -v clang-format >/dev/null || skip 'clang-format is missing'
found "$(files '*.c' '*.h' | xargs clang-format --dry-run 2>&1 |
	sed -n 's/^\([^: ]*\):[0-9]*:.*clang-format-violations.*/\1/p' | uniq -c | awk '{ print $2 ": " $1 " places" }')"
finish "$(files '*.c' '*.h' | wc -l) files"
