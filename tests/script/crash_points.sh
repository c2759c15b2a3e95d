#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# crash_points -- kill -9 of the master at its n-th system call, of each kind that leaves a trace.
#
#      crash_points.sh                     some 40 points, spread over all
#      crash_points.sh --full              every one: some five thousand, an hour
#      crash_points.sh --full 3/50         every 50th of them, beginning with the third
#      crash_points.sh MODE CALL N...      these
#
# One user's steps (tools/steps.c) go on over the master's death: fresh, beginning with a start without files and
# ending with an orderly stop; or again, beginning with a start after a kill -9 whose log is not folded in yet.
#
# Right: the master starts again; what was acknowledged is there with its bytes, what was removed stays removed, what
# was under way is old or new, but whole; check.sql finds nothing.
. "$(dirname "$0")/lib.sh"

CALLS="openat,pwrite64,write,fsync,fdatasync,ftruncate,fallocate,fchmod,unlink,rename,sendmsg,sendto,writev,recvmsg,recvfrom,mmap,munmap,fcntl,flock,accept4,epoll_ctl,bind,close"
STEPS=250
LEASE=200ms
TTL=20s
MASTER_OPTIONS="--write-lease-ms=2s --ping-ms=50 --evict-high-pct=100 --pidfile=$T/master.pid-file"
export TOOL_OPEN_MS=30000

skip() {
	echo "skipped: $*"
	exit 0
}
command -v strace >/dev/null || skip "strace is not installed (tests/packages)"
strace -f -qq -o /dev/null true 2>"$T/said" || skip "strace may not trace here: $(head -n 1 "$T/said")"

is_gone() { ! kill -0 "$1" 2>/dev/null; }

# trace OPTION... -- the master under strace, not waited for; $tracer.
trace() {
	: >"$T/traced.ready"
	# shellcheck disable=SC2086
	strace -f -qq "$@" tiffin-master --db="$DB" --listen="$MASTER" --lease-ms="$LEASE" --client-ttl-ms="$TTL" \
		$MASTER_OPTIONS --ready-fd=9 9>"$T/traced.ready" >>"$T/master.log" 2>&1 &
	tracer=$!
	echo $tracer >"$T/tracer.pid"
}

# untrace -- what strace traces would outlive it.
untrace() { [ ! -s "$T/tracer.pid" ] || pkill -KILL -P "$(cat "$T/tracer.pid")"; }
trap 'code=$?; untrace; (exit $code); clean_up' EXIT

empty() {
	untrace
	for name in steps tracer p1 master; do end "$name" KILL; done
	rm -f "$DB"* "$T"/*.log "$T"/*.sock "$T/ledger" "$T/master.pid-file"
}

lend() {
	: >"$T/p1.ready"
	tiffin-provider --master="$MASTER" --name=p1 --size=32MiB --listen="unix:$T/p1.sock" --ready-fd=9 \
		9>"$T/p1.ready" >>"$T/p1.log" 2>&1 &
	echo $! >"$T/p1.pid"
}

# begin MODE -- up to where the tracing begins.
begin() {
	empty
	[ "$1" = again ] || return 0
	master_start
	lend
	tool_steps run 7 60 "$T/ledger" >"$T/steps.out" 2>"$T/steps.log" || die "$point: before: $(cat "$T/steps.log")"
	master_kill
}

# revive -- if the traced master has died: it is started as usual.
revive() {
	is_gone $tracer || return 1
	rm -f "$T/tracer.pid"
	[ -z "${1:-}" ] || kill -USR1 "$1" 2>/dev/null
	master_start
}

starts_or_gone() { is_gone $tracer || grep -q . "$T/traced.ready"; }

# live -- the steps, through one death of the master, an orderly stop and a start.  $died: when.
live() {
	died=
	wait_for 10 starts_or_gone || die "$point: neither ready nor gone"
	if ! grep -q . "$T/traced.ready" && revive; then died="in the start"; fi
	[ -s "$T/p1.pid" ] || lend
	tool_steps run 11 $STEPS "$T/ledger" >"$T/steps.out" 2>"$T/steps.log" &
	steps=$!
	echo $steps >"$T/steps.pid"
	while ! is_gone $steps; do
		if [ -z "$died" ] && revive $steps; then died="in the steps"; fi
		sleep 0.01
	done
	wait $steps || die "$point: $(cat "$T/steps.log")"
	rm -f "$T/steps.pid"
	[ -z "$died" ] || return 0
	pkill -TERM -P $tracer
	wait $tracer 2>/dev/null && died=never
	rm -f "$T/tracer.pid"
	died=${died:-at the end}
	master_start
}

# crash MODE CALL N -- one point.
crash() {
	point="$1 $2 $3"
	begin "$1"
	trap '' USR1
	trace -o /dev/null -e trace="$2" -e inject="$2:signal=SIGKILL:when=$3"
	live
	tool_steps check "$T/ledger" >"$T/steps.out" 2>"$T/steps.log" || die "$point: afterwards: $(cat "$T/steps.log")"
	check
	echo "$died" >>"$T/deaths"
	empty
}

# count MODE -- into $T/points: "MODE CALL N" for every call, as often as the busiest thread makes it.
count() {
	point="$1 counted"
	begin "$1"
	trace -o "$T/trace" --seccomp-bpf -e trace="$CALLS" -e signal=none
	live
	[ "$died" = never ] || die "$1: the counted master died $died"
	sed -n 's/^\([0-9]*\) *\([a-z0-9_]*\)(.*/\1 \2/p' "$T/trace" | sort | uniq -c |
		awk -v mode="$1" '$1 > most[$3] { most[$3] = $1 }
			END { for (call in most) for (n = 1; n <= most[call]; n++) print mode, call, n }' |
		sort -k2,2 -k3,3n >>"$T/points"
}

# walk FILE -- the points in it; one that fails does not keep the others from being tried.
walk() {
	n_failed=0
	: >"$T/deaths"
	while read -r mode call n; do
		(crash "$mode" "$call" "$n") </dev/null || n_failed=$((n_failed + 1))
	done <"$1"
	empty
	echo "points=$(wc -l <"$1") failed=$n_failed, died:"
	sort "$T/deaths" | uniq -c
	[ $n_failed -eq 0 ] || die "$n_failed points"
}

if [ $# -ge 3 ]; then
	mode=$1
	call=$2
	shift 2
	for n in "$@"; do echo "$mode $call $n"; done >"$T/chosen"
	walk "$T/chosen"
	exit
fi

count fresh
count again
all=$(wc -l <"$T/points")
at_least "points" 1000 "$all"
every=$((all / 40))
from=$((every / 2))
if [ "${1:-}" = --full ]; then
	share=${2:-1/1}
	from=${share%/*}
	every=${share#*/}
fi
awk -v every="$every" -v from="$from" 'NR % every == from % every' "$T/points" >"$T/chosen"
echo "all=$all chosen=$(wc -l <"$T/chosen")"
walk "$T/chosen"
