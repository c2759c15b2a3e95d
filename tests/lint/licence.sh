#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# licence.sh -- one SPDX line within the first three lines of every source, and the licence itself.
. "${0%/*}/files.inc"

spdx='SPDX-License-Identifier: Apache-2\.0'
[ "$(grep -c . LICENSE)" -ge 160 ] || found 'LICENSE: not the whole text of Apache-2.0'

# without -- of the paths of standard input those without the line.
without() {
	xargs awk -v spdx="$spdx" '
		FNR == 1 { if (last != "" && !has) print last ": no SPDX line"; last = FILENAME; has = 0 }
		FNR <= 3 && $0 ~ spdx { has = 1 }
		END { if (last != "" && !has) print last ": no SPDX line" }'
}
set -f
found "$(files '*.c' '*.h' '*.def' '*.sql' '*.sh' '*.inc' '*.cmake' '*.map' '*.[1-8]' CMakeLists.txt \
	'*.bash-completion' '*.allow' | without)"
set +f
found "$(files '*' | grep '^tests/' | xargs grep -lI '^#!' | without)"
finish
