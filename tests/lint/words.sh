#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# words.sh -- what stands nowhere: promises without a name, dead code, unbounded copies, places of one machine.
. "${0%/*}/files.inc"

# never PATTERN WHY NAMES... -- in no file of these names (this folder apart).
never() {
	pattern=$1
	why=$2
	shift 2
	found "$(files "$@" | grep -v '^tests/lint/' | look "$pattern" "$why")"
}

# never_shipped PATTERN WHY -- in no C file but those of tests, which sanitizers watch.
never_shipped() {
	found "$(files '*.c' '*.h' | grep -v '^tests/' | look "$1" "$2")"
}

calls='(^|[^_a-zA-Z0-9>.])'
set -f
texts='*.c *.h *.def *.sql *.sh *.cmake CMakeLists.txt *.md *.[1-8] run quickstart'
never '(^|[^A-Za-z_])(TODO|FIXME|XXX|HACK|BRINGUP)([^A-Za-z_]|$)' 'a promise without a name' $texts
never '^[ ]*#[ ]*if[ ]+0' 'dead code' '*.c' '*.h'
never_shipped "${calls}(strcpy|strcat|stpcpy|sprintf|vsprintf|gets|strtok|tmpnam|mktemp|alloca) *\\(" 'no bound'
never_shipped "${calls}(atoi|atol|atoll|atof) *\\(" 'blind to what is wrong'
never_shipped "${calls}(system|popen) *\\(" 'a shell'
never '(^|[^A-Za-z0-9_.}])/(work|root|home/[a-z]+)/|/tmp/b-' 'a place of one machine' $texts
never 'Permission is hereby granted|Licensed under the Apache' 'longer than its SPDX line' '*.c' '*.h'
# In codec.h the typedefs are what makes proto.def a list: wire_ and the name of a type.
found "$(files "*.c" "*.h" | grep -v "^master/proto/codec\.h\$" | look "^typedef[ ]+(struct|union)" "hides a struct")"
found "$(files '*' | grep -av '^tests/fuzz/corpus/' | grep -aE '(^|/)[^/]*(util|helper|manager|misc|service)[^/]*$' |
	sed 's|$|    <- a name that says nothing|')"
finish
