# SPDX-License-Identifier: Apache-2.0
#
# lib.sh -- what the scripts have in common; see README.md.
set -u

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
T=$(mktemp -d /tmp/tiffin-test.XXXXXX)
M=$T/mnt
DB=$T/master.db
MASTER=unix:$T/master.sock
LEASE=${LEASE:-5s}
TTL=${TTL:-10s}
MASTER_OPTIONS=${MASTER_OPTIONS:-}
MOUNT_OPTIONS=${MOUNT_OPTIONS:-}
TIFFINFS=${TIFFINFS:-tiffinfs}
SLOW=${SLOW:-1}          # how many times longer everything may take on this machine
WIRE_RDMA=${WIRE_RDMA:-} # an RDMA device's address: providers are reached by it alone
export TIFFIN_MASTER=$MASTER
mkdir -p "$M"

exec 5>&2 # what die says is seen, whatever the command beside it does with its own
die() {
	echo "FAILED: $*" >&5
	for log in "$T"/*.log; do
		[ -f "$log" ] || continue
		echo "--- $log" >&5
		tail -n 15 "$log" >&5
	done
	exit 1
}

t() { tiffin --master "$MASTER" "$@"; }
q() { sqlite3 -readonly "$DB" "$1"; }

wait_for() {
	tries=$(($1 * 20 * SLOW))
	shift
	while [ $tries -gt 0 ]; do
		if "$@" >/dev/null 2>&1; then return 0; fi
		sleep 0.05
		tries=$((tries - 1))
	done
	return 1
}

expect() {
	what=$1
	code=$2
	shift 2
	"$@"
	got=$?
	[ $got -eq "$code" ] || die "$what: exit $got, not $code: $*"
}

# is WHAT WANTED GOT
is() { [ "$2" = "$3" ] || die "$1: \"$3\", not \"$2\""; }

# at_most WHAT LIMIT GOT, at_least WHAT LIMIT GOT -- whole numbers; times ("..., ms") as the machine is slow.
at_most() {
	most=$2
	case $1 in *", ms" | *", us") most=$(($2 * SLOW)) ;; esac
	[ "$3" -le "$most" ] || die "$1: $3, more than $most"
}
at_least() { [ "$3" -ge "$2" ] || die "$1: $3, less than $2"; }

# value NAME FILE -- of its last "NAME=number"; 0 when there is none.
value() {
	found=$(tr ' ' '\n' <"$2" | sed -n "s/^$1=//p" | tail -n 1)
	echo "${found:-0}"
}

# told NAME -- a number of `tiffin status --json`, the master's counters included.
told() { t --json status | tr ',{}' '\n\n\n' | sed -n "s/^\"$1\"://p" | tail -n 1; }

now_ms() { date +%s%3N; }

# timed LIMIT_MS COMMAND... -- its exit code; $took_ms; dies when it takes longer, and ends it then.
timed() {
	limit_ms=$(($1 * SLOW))
	shift
	began_ms=$(now_ms)
	timeout -k 1 $((limit_ms / 1000 + 5)) "$@"
	code=$?
	took_ms=$(($(now_ms) - began_ms))
	[ $took_ms -le "$limit_ms" ] || die "took $took_ms ms, more than $limit_ms: $*"
	return $code
}

# objects WORDS... -- tool_objects; its line stays in $T/objects.
objects() {
	tool_objects "$@" >"$T/objects" 2>"$T/objects.log"
	code=$?
	[ $code -eq 0 ] || die "objects $*: exit $code, $(cat "$T/objects")"
}

pid_of() { cat "$T/$1.pid" 2>/dev/null; }

# end NAME SIGNAL -- and wait until it is gone.
end() {
	pid=$(pid_of "$1")
	[ -n "$pid" ] || return 0
	kill "-$2" "$pid" 2>/dev/null
	rm -f "$T/$1.pid"
	end_tries=400
	while kill -0 "$pid" 2>/dev/null && [ $end_tries -gt 0 ]; do
		sleep 0.05
		end_tries=$((end_tries - 1))
	done
	wait "$pid" 2>/dev/null
	[ $end_tries -gt 0 ] || echo "lib: $1 ($pid) does not end" >&2
}

# freeze NAME, thaw NAME -- SIGSTOP and SIGCONT, and wait until it is so.
is_stopped() { grep -q '^State:.T' "/proc/$1/status"; }
freeze() {
	kill -STOP "$(pid_of "$1")"
	wait_for 5 is_stopped "$(pid_of "$1")" || die "$1 does not stop"
}
thaw() { kill -CONT "$(pid_of "$1")"; }

# spawn NAME COMMAND... -- in the background, output in $T/NAME.out and $T/NAME.log.
spawn() {
	name=$1
	shift
	"$@" >"$T/$name.out" 2>"$T/$name.log" </dev/null &
	echo $! >"$T/$name.pid"
}

# finish NAME [SIGNAL] -- wait until it ends; its exit code.
finish() {
	pid=$(pid_of "$1")
	[ -z "${2:-}" ] || kill "-$2" "$pid" 2>/dev/null
	wait "$pid"
	code=$?
	rm -f "$T/$1.pid"
	return $code
}

# hold PREFIX COUNT SIZE -- somebody reads so many objects, until let_go.
hold() {
	spawn hold tool_objects hold "$@"
	wait_for 20 grep -q "^held $2\$" "$T/hold.out" || die "hold: $(cat "$T/hold.out")"
}
let_go() { finish hold TERM || die "hold: $(cat "$T/hold.out")"; }

# cpu_ms NAME -- processor time that it has used.
cpu_ms() {
	awk -v hz="$(getconf CLK_TCK)" '{sub(/.*\) /, ""); print int(($12 + $13) * 1000 / hz)}' \
		"/proc/$(pid_of "$1")/stat"
}

n_fds() { find "/proc/$(pid_of "$1")/fd" -mindepth 1 | wc -l; }

is_ready_or_gone() { is_ready "$1" || ! kill -0 "$(pid_of "$1")"; }
is_ready() { grep -q . "$T/$1.ready" 2>/dev/null; }

# start NAME PROGRAM OPTION... -- in the background, until it says that it is ready.
start() {
	name=$1
	shift
	: >"$T/$name.ready"
	"$@" --ready-fd=9 9>"$T/$name.ready" >>"$T/$name.log" 2>&1 &
	echo $! >"$T/$name.pid"
	wait_for 30 is_ready_or_gone "$name"
	is_ready "$name" || die "$name does not get ready"
}

master_start() {
	# shellcheck disable=SC2086
	start master tiffin-master --db="$DB" --listen="$MASTER" --lease-ms="$LEASE" --client-ttl-ms="$TTL" $MASTER_OPTIONS
}
master_kill() { end master KILL; }
master_stop() { end master TERM; }

provider_start() {
	provider=$1
	size=$2
	shift 2
	if [ -n "$WIRE_RDMA" ]; then # no Unix socket, so its memory is not handed out
		set -- --listen="$WIRE_RDMA:0" --insecure --rdma="$WIRE_RDMA:0" "$@"
	else
		set -- --listen="unix:$T/$provider.sock" "$@"
	fi
	start "$provider" tiffin-provider --master="$MASTER" --name="$provider" --size="$size" "$@"
}
provider_kill() { end "$1" KILL; }
provider_stop() { end "$1" TERM; }

mount_start() {
	: >"$T/fs.ready"
	# shellcheck disable=SC2086
	"$TIFFINFS" "$MASTER" "$M" -f --ready-fd=9 $MOUNT_OPTIONS "$@" 9>"$T/fs.ready" >>"$T/fs.log" 2>&1 &
	echo $! >"$T/fs.pid"
	wait_for 30 is_ready fs || die "the mount does not get ready"
}
mount_stop() {
	fusermount3 -u "$M" 2>/dev/null
	end fs TERM
}

up() {
	master_start
	provider_start p1 "${1:-256MiB}"
}

down() {
	mount_stop
	for pid in "$T"/*.pid; do
		[ -f "$pid" ] || continue
		name=$(basename "$pid" .pid)
		[ "$name" = master ] || end "$name" TERM
	done
	master_stop
}

check() {
	found=$(sqlite3 -readonly "$DB" <"$ROOT/sql/admin/check.sql" 2>&1) || die "check.sql: $found"
	[ -z "$found" ] || die "check.sql found: $found"
}

clean_up() {
	code=$?
	trap - EXIT INT TERM
	umount -f "$M" 2>/dev/null # ends what waits for it; lazily it would wait for ever when the daemon is gone
	fusermount3 -uz "$M" 2>/dev/null
	for pid in "$T"/*.pid; do
		[ -f "$pid" ] || continue
		kill -CONT "$(cat "$pid")" 2>/dev/null
		kill -KILL "$(cat "$pid")" 2>/dev/null
	done
	rm -rf --one-file-system "$T" # what is mounted below it is not ours to remove
	exit $code
}
trap clean_up EXIT
trap 'exit 130' INT TERM
