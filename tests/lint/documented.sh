#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# documented.sh -- every word that a user may say or meet stands in a manual page.
#
#      options, counters, messages, statuses    the lists (*.def)
#      commands and options of tiffin           core/cli, tiffin(1)
#      words and exit statuses of the daemons   their main files, section 8
. "${0%/*}/files.inc"

# has PAGE WHAT PATTERN -- (grep -E)
has() {
	[ -f "man/$1" ] || return 0 # pages.sh tells
	grep -qE -- "$3" "man/$1" || found "$2: not in man/$1"
}

# listed FILE WORD -- second argument of each WORD(...) in a list.
listed() {
	sed -n "s/^$2([A-Z0-9]*, *\([A-Za-z_]*\),.*/\1/p" "$1"
}

for def in master/options.def core/provider_options.def fs/options.def; do
	for name in $(listed $def OPTION); do
		has tiffin.conf.5 "$def: $name" "^\.It Ic $name "
	done
done
for name in $(listed fs/options.def OPTION); do
	has tiffinfs.8 "fs/options.def: $name" "(^|[^a-z_])$name([^a-z_]|\$)"
done
for name in $(sed -n 's/^COUNTER(\([a-z_]*\),.*/\1/p' master/counters.def); do
	has tiffin-metrics.7 "master/counters.def: $name" "^\.It Va $name\$"
done
for name in $(listed master/proto/status.def STATUS); do
	has tiffin-protocol.7 "status.def: $name" "^\.It [0-9]+ $name,"
done
for name in $(sed -n "s/^[ $tab]*MESSAGE([0-9]*, *\([a-z_]*\),.*/\1/p" master/proto/proto.def); do
	has tiffin-protocol.7 "proto.def: $name" "^\.Ss $name "
done

# The command line: names of commands, and their options by their long names.
for name in $(cat core/cli/cmd_*.c | tr '\n' ' ' | grep -oE "struct command cmd_[a-z_]+ = \{[ $tab]*\.name = \"[a-z]+\"" |
	sed 's/.*"\(.*\)"/\1/'); do
	has tiffin.1 "tiffin $name" "^\.It Cm $name( |\$)"
done
for name in $(cat core/cli/*.c | tr '\n' ' ' | grep -oE "\{(0|'.'|'\\\\0'),[ $tab]*\"[a-z-]+\",[ $tab]*ARG_" |
	sed 's/.*"\(.*\)".*/\1/' | sort -u); do
	has tiffin.1 "tiffin --$name" "(Fl Fl |--)$name([ ,=]|\$)"
done

# daemon PROGRAM FILE-OF-WORDS FILE-OF-EXITS
daemon() {
	for word in $(grep -oE "\"  --[a-z-]+" "$2" | sed 's/.*--//'); do
		has "$1.8" "$1 --$word" "(Fl Fl |--)$word( |=|,|\$)"
	done
	for number in $(sed -n "s/^[ $tab]*[A-Z_]*EXIT_[A-Z]* = \([0-9]*\),.*/\1/p" "$3"); do
		has "$1.8" "$1: exit status $number" "^\.It (Li )?$number( |\$)"
	done
}
daemon tiffin-master master/main.c master/main.c
daemon tiffin-provider core/provider_main.c core/provider_main.c
daemon tiffinfs fs/options.c fs/mount.h
finish
