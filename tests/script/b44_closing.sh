#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b44 -- close with calls under way, Ctrl-C, the wrong order: hangs, crashes, leftovers.
#
# Right: close ends within 3 s and every call under way with a code; descriptors, threads, segments and puts are
# gone, and the master sees a clean leave at once; other clients notice nothing.
. "$(dirname "$0")/lib.sh"

TTL=60s
way() { timeout 60 tool_closing "$1" 2>"$T/said" || die "$1: exit $?, $(cat "$T/said")"; }
at_rest() { [ "$(told n_clients)" -eq 2 ] && [ "$(told n_segments)" -eq 1 ] && [ "$(told n_puts)" -eq 0 ]; }
rests() { wait_for 2 at_rest || die "after $1: $(told n_clients) clients, $(told n_segments) segments, $(told n_puts) puts"; }

# Two clients: the provider, and the one that asks.  By TCP only: memory that is mapped needs no answer.
master_start
start p1 tiffin-provider --master="$MASTER" --name=p1 --size=128MiB --listen=127.0.0.1:0
for i in 1 2 3; do
	spawn busy tool_closing busy
	wait_for 10 grep -q ready "$T/busy.out" || die "busy: $(cat "$T/busy.log")"
	freeze p1
	finish busy TERM || die "busy: $(cat "$T/busy.log")"
	thaw p1
done
rests busy
for name in cycles two; do
	way $name
	rests $name
done
way forgotten
# A process that ends without leaving: its connection tells, at the latest the time to live.
objects get k 1 100
is "sockets left" 0 "$(find "$T" -maxdepth 1 -name '*.sock' ! -name master.sock ! -name p1.sock | wc -l)"

# Ctrl-C, in a put, in a get, and at rest.
mkfifo "$T/pipe"
for signal in INT TERM; do
	spawn putting sh -c 'exec tiffin -q put slow - <"$1"' sh "$T/pipe"
	exec 7>"$T/pipe"
	head -c 20000000 /dev/zero >&7
	began=$(now_ms)
	kill -$signal "$(pid_of putting)"
	finish putting
	code=$?
	exec 7>&-
	at_most "a put that got $signal, ms" 3000 $(($(now_ms) - began))
	case $code in 130 | 143) ;; *) die "a put that got $signal: exit $code" ;; esac
	expect "of the put" 1 t -q stat slow 2>/dev/null
done
head -c 50000000 /dev/zero | t put big - || die "put big"
mkfifo "$T/out"
spawn getting sh -c 'exec tiffin -q cat big >"$1"' sh "$T/out"
exec 8<"$T/out"
began=$(now_ms)
head -c 1000 <&8 >/dev/null
finish getting INT
at_most "a get that got INT, ms" 3000 $(($(now_ms) - began))
exec 8<&-

# The master is stopped first, then its clients.
spawn orphan tool_closing orphan
wait_for 10 grep -q ready "$T/orphan.out" || die "orphan: $(cat "$T/orphan.log")"
master_stop
finish orphan TERM || die "orphan: $(cat "$T/orphan.log")"
began=$(now_ms)
provider_stop p1
at_most "the provider without its master ends after, ms" 5000 $(($(now_ms) - began))
master_start
check
down
