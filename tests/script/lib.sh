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
export TIFFIN_MASTER=$MASTER
mkdir -p "$M"

die() {
	echo "FAILED: $*" >&2
	for log in "$T"/*.log; do
		[ -f "$log" ] || continue
		echo "--- $log" >&2
		tail -n 15 "$log" >&2
	done
	exit 1
}

t() { tiffin --master "$MASTER" "$@"; }
q() { sqlite3 -readonly "$DB" "$1"; }

wait_for() {
	tries=$(($1 * 20))
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

pid_of() { cat "$T/$1.pid" 2>/dev/null; }

# end NAME SIGNAL -- and wait until it is gone.
end() {
	pid=$(pid_of "$1")
	[ -n "$pid" ] || return 0
	kill "-$2" "$pid" 2>/dev/null
	rm -f "$T/$1.pid"
	n=400
	while kill -0 "$pid" 2>/dev/null && [ $n -gt 0 ]; do
		sleep 0.05
		n=$((n - 1))
	done
	wait "$pid" 2>/dev/null
	[ $n -gt 0 ] || echo "lib: $1 ($pid) does not end" >&2
}

is_ready() { grep -q . "$T/$1.ready" 2>/dev/null; }

# start NAME PROGRAM OPTION... -- in the background, until it says that it is ready.
start() {
	name=$1
	shift
	: >"$T/$name.ready"
	"$@" --ready-fd=9 9>"$T/$name.ready" >>"$T/$name.log" 2>&1 &
	echo $! >"$T/$name.pid"
	wait_for 30 is_ready "$name" || die "$name does not get ready"
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
	start "$provider" tiffin-provider --master="$MASTER" --name="$provider" --size="$size" \
		--listen="unix:$T/$provider.sock" "$@"
}
provider_kill() { end "$1" KILL; }
provider_stop() { end "$1" TERM; }

mount_start() {
	: >"$T/fs.ready"
	tiffinfs "$MASTER" "$M" -f --ready-fd=9 "$@" 9>"$T/fs.ready" >>"$T/fs.log" 2>&1 &
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
	fusermount3 -uz "$M" 2>/dev/null
	for pid in "$T"/*.pid; do
		[ -f "$pid" ] || continue
		kill -CONT "$(cat "$pid")" 2>/dev/null
		kill -KILL "$(cat "$pid")" 2>/dev/null
	done
	rm -rf "$T"
	exit $code
}
trap clean_up EXIT
trap 'exit 130' INT TERM
