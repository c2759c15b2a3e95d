#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# killed -- the daemon is killed again and again while files are written: a file is there whole or not at all,
# and the same command mounts again.
#
#      killed.sh [TIMES | --full]      (12; --full: 1000)
#
# Each writer puts files that repeat their own name, and notes those whose close succeeded.
. "$(dirname "$0")/../script/lib.sh"

case ${1:-12} in
--full) times=1000 ;;
*) times=${1:-12} ;;
esac

# content NAME -- what a file of this name has: its name, over and over.
content() { yes "$1" | head -c $((${1##*.} % 7 * 40000 + 1000)); }

# write_files WORKER TURN -- until the daemon is gone.
write_files() {
	n=0
	cd "$M/d$1" || return # of this mount: the next one is another
	while [ $n -lt 500 ]; do
		n=$((n + 1))
		name=w$1.$2.$n
		content "$name" >"$T/source.$1"
		cp "$T/source.$1" "$name.new" 2>/dev/null || return
		mv "$name.new" "$name" 2>/dev/null || return
		echo "$name" >>"$T/closed.$1"
		[ $((n % 3)) -ne 0 ] || rm "w$1.$2.$((n - 1))" 2>/dev/null || return
		[ $((n % 3)) -ne 0 ] || echo "w$1.$2.$((n - 1))" >>"$T/removed.$1"
	done
}

judge() { # file, in full or under its temporary name
	name=$(basename "$1" .new)
	content "$name" | cmp -s - "$1" || die "after $turn kills: $1 is not whole"
}

up 512MiB
mount_start -o pin=hard # what rests after so many deaths may want all the room: nothing must go for its sake
mkdir "$M/d1" "$M/d2"
turn=0
while [ $turn -lt "$times" ]; do
	turn=$((turn + 1))
	: >"$T/closed.1" && : >"$T/closed.2" && : >"$T/removed.1" && : >"$T/removed.2"
	write_files 1 $turn &
	first=$!
	write_files 2 $turn &
	second=$!
	# Until there was something to lose; then a while that differs from turn to turn.
	wait_for 20 test -s "$T/closed.1"
	sleep "0.$((turn * 37 % 10))$((turn * 13 % 10))"
	kill -KILL "$(pid_of fs)"
	wait "$(pid_of fs)" 2>/dev/null
	rm -f "$T/fs.pid"
	# Who waits for a daemon that was killed just then may wait until the next one takes the mount away.
	mount_start -o pin=hard
	wait $first $second
	for worker in 1 2; do
		for file in "$M/d$worker"/*; do
			[ ! -e "$file" ] || judge "$file"
		done
		while read -r name; do
			[ -e "$M/d$worker/$name" ] || grep -qx "$name" "$T/removed.$worker" ||
				[ "$name" = "$(tail -n 2 "$T/closed.$worker" | head -n 1)" ] || # its rm was under way
				die "after $turn kills: $name was closed, and is not there"
		done <"$T/closed.$worker"
		rm -f "$M/d$worker"/*
	done
	[ $((turn % 50)) -ne 0 ] || echo "$turn kills"
done
is "names left" "" "$(ls -A "$M/d1" "$M/d2" | grep -v : | xargs)"
# What half-written puts had taken comes back when their leases are over.
nothing_taken() { [ "$(told used_bytes)" -lt 100000 ]; }
wait_for 60 nothing_taken || die "room is lost: $(told used_bytes)"
check
down
