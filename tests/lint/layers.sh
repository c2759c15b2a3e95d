#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# layers.sh -- an include may only point down, never up, never sideways.
#
#      fs --> core --> transfer --> transfer/base
#             core --> master/proto --> transfer/base
#             master --> master/proto, sql, transfer/base
#      man    only what is a list, and the protocol
#
# Includes of our own files are written from the root: "transfer/engine.h".
. "${0%/*}/files.inc"

own="^[ $tab]*#[ $tab]*include[ $tab]*\""

# points IN OUTSIDE ALLOWED -- own includes in files of IN, but not of OUTSIDE, that are not allowed.
points() {
	found "$(files '*.c' '*.h' '*.def' | grep -E "^($1)" | grep -vE "^($2)" | look "$own" |
		grep -vE "include[ $tab]*\"($3)")"
}

points 'transfer/base/' '-'             'transfer/base/'
points 'transfer/'      'transfer/base/' 'transfer/'
points 'master/proto/'  '-'             'master/proto/|transfer/base/'
points 'master/'        'master/proto/' 'master/|sql/sql_text\.h|transfer/base/'
points 'core/'          'core/cli/'     'core/[a-z_]+\.|master/proto/|transfer/'
points 'core/cli/'      '-'             'core/|master/proto/|transfer/'
points 'fs/'            '-'             'fs/|core/tiffin\.h|transfer/base/'
points 'man/'           '-'             'man/|[a-z_/]*\.def|master/proto/|transfer/base/'
finish
