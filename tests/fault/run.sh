#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh -- the n-th allocation, system call or SQLite call fails, for n = 1, 2, 3...
#
#      run.sh                   some n of each walk: about 90 seconds
#      run.sh --full            every n, until the story goes through untouched
#      run.sh [--full] PART...  client master-start master provider-start provider fs-start fs
#      run.sh PART:WHAT...      one walk: master:alloc
#      run.sh PART=SPEC...      one round: client=alloc:37 (page.h says what a SPEC is)
#
# TIFFIN_BUILD is the build directory; with one of the address sanitizer its reports count too.
# A round ends well when
#      nobody died by a signal; who ended by himself said why, with a status of his manual page
#      every call of the story had an answer in time, and what was read was right or an error
#      with the fault gone, all that was acknowledged is there
# and, after some rounds, when all can be removed and nothing stays used or resting, no descriptor
# is left open, and check.sql finds nothing.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
bin=${TIFFIN_BUILD:?the build directory}
T=$(mktemp -d /tmp/tiffin-fault.XXXXXX)
S=unix:$T/master.sock
DB=$T/master.db
M=$T/mnt
mkdir "$M"

full=
rounds=0
broken=0
round_specs=
began=$(date +%s)

shim=$bin/tiffin_fault.so
asan=$(ldd "$bin/fault_story" | sed -n 's/.*libasan.* => \([^ ]*\) .*/\1/p')
[ -z "$asan" ] || shim=$shim:$asan
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=1:exitcode=99:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:exitcode=99

say() { printf '[%3ds] %s\n' $(($(date +%s) - began)) "$*"; }

# ---- what is told of a round ------------------------------------------------------------

# places PROGRAM -- the addresses of standard input as names and lines.
places() {
	tr ' ' '\n' | sed -n "s/^$1+\(0x[0-9a-f]*\)\$/\1/p" | xargs -r addr2line -f -s -e "$bin/$1" 2>/dev/null |
		paste -d' ' - - | head -n 5 | sed 's/^/        /'
}

# bad PROGRAM WHY [LOG] -- the round is broken.
bad() {
	broken=$((broken + 1))
	say "BROKEN $part=$spec: $2"
	read -r _ _ place <"$T/shown" || place=
	echo "      at: ${place%% *}"
	echo "$place" | places "$1"
	[ -z "${3:-}" ] || tail -n "${LINES_OF_LOG:-8}" "$3" | sed 's/^/      | /'
}

show() { # PAGE -- seen and failed, and the place for bad()
	"$bin/fault_arm" "$T/$1.page" show >"$T/shown"
	read -r seen failed _ <"$T/shown"
}

# make_page NAME -- libfuse and the sanitizers are not on trial: there only calls of the program itself count.
make_page() {
	[ ! -f "$T/$1.page" ] || return 0
	"$bin/fault_arm" "$T/$1.page" make
	if [ -n "$asan" ] || [ "$1" = fs ]; then "$bin/fault_arm" "$T/$1.page" narrow; fi
}
off() { "$bin/fault_arm" "$T/$1.page" off; }
arm() { "$bin/fault_arm" "$T/$1.page" arm "$2" || exit 2; }

# ---- programs ----------------------------------------------------------------------------

wait_for() { # SECONDS COMMAND...
	tries=$(($1 * 50))
	shift
	while [ $tries -gt 0 ]; do
		if "$@" >/dev/null 2>&1; then return 0; fi
		sleep 0.02
		tries=$((tries - 1))
	done
	return 1
}

pid_of() { cat "$T/$1.pid" 2>/dev/null; }
lives() { kill -0 "$(pid_of "$1")" 2>/dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$(pid_of "$1")/status" 2>/dev/null; }
is_settled() { grep -q . "$T/$1.ready" || ! lives "$1"; }

# begin NAME SPEC PROGRAM OPTION... -- under the shim; SPEC "" leaves it unharmed.  Is it ready?
begin() {
	name=$1
	with=$2
	program=$3
	shift 3
	make_page "$name"
	off "$name"
	: >"$T/$name.ready"
	: >"$T/$name.log"
	env LD_PRELOAD="$shim" TIFFIN_FAULT_FILE="$T/$name.page" ${with:+"TIFFIN_FAULT=$with"} \
		"$bin/$program" --ready-fd=9 "$@" 9>"$T/$name.ready" >>"$T/$name.log" 2>&1 &
	echo $! >"$T/$name.pid"
	wait_for 30 is_settled "$name"
	grep -q . "$T/$name.ready" && lives "$name"
}

master() {
	begin master "$1" tiffin-master --db="$DB" --listen="$S" --lease-ms=100 --write-lease-ms=1s \
		--ping-ms=100 --client-ttl-ms=2s --client-grace-ms=2s --put-wait-ms=500 --wal-cap-bytes=1MiB
}
provider() { # NAME SIZE SPEC
	begin "$1" "$3" tiffin-provider --master="$S" --name="$1" --size="$2" --listen="unix:$T/$1.sock"
}
fs() { begin fs "$1" tiffinfs "$S" "$M" -f -o timeout=3s,auto_unmount; }

# end NAME SIGNAL -- $code is its status.
end() {
	kill "-$2" "$(pid_of "$1")" 2>/dev/null
	gone "$1"
}

# gone NAME -- wait until it is; $code is its status, 97 when it does not end.
gone() {
	code=97
	if wait_for 20 is_dead "$1"; then
		wait "$(pid_of "$1")" 2>/dev/null
		code=$?
	else
		kill -KILL "$(pid_of "$1")"
	fi
	rm -f "$T/$1.pid"
}
is_dead() { ! lives "$1"; }

# judge_end NAME PROGRAM WORST -- it ended by itself: a status up to WORST of its page, and a line that says why.
judge_end() {
	gone "$1"
	if [ "$code" -eq 97 ] || [ "$code" -eq 99 ] || [ "$code" -ge 128 ]; then
		bad "$2" "$2 died: $code" "$T/$1.log"
	elif [ "$code" -gt "$3" ] && [ "$code" -ne 32 ]; then
		bad "$2" "$2 ended with status $code, which is in no page" "$T/$1.log"
	elif [ "$code" -gt 0 ] && ! grep -q "^$2: ." "$T/$1.log"; then
		bad "$2" "$2 ended with status $code and said nothing" "$T/$1.log"
	fi
}

# story FAULTS PREFIX -- the ledger is $T/ledger; its words $T/story.
story() {
	timeout -k 5 120 "$bin/fault_story" run "$S" "$1" "$T/ledger" >"$T/story" 2>&1
}

# judge_story PROGRAM CODE -- with the fault gone, too.
judge_story() {
	[ "$2" -eq 0 ] || bad "$1" "the story ends with $2" "$T/story"
	if [ "$failed" -eq 0 ] && [ "$2" -eq 0 ] && ! grep -q ', 0 failed' "$T/story"; then
		bad "$1" "nothing was made to fail, but: $(tail -n 1 "$T/story")"
	fi
	if [ "$2" -eq 0 ] && ! timeout -k 5 60 "$bin/fault_story" verify "$S" "$T/ledger" >"$T/verify" 2>&1; then
		bad "$1" "after the story" "$T/verify"
	fi
}

# fds NAME -- how many descriptors; but for those of libfuse's threads, which come and go with the work.
fds() { ls -l "/proc/$(pid_of "$1")/fd" 2>/dev/null | grep -v '/dev/fuse$' | wc -l; }
has_fds() { [ "$(fds "$1")" -le "$2" ]; }
keep_fds() { eval "fds_$1=\$(fds $1)"; }

# settle PROGRAM -- nothing may be left: no object, no used or resting byte, no descriptor; check.sql.
settle() {
	if ! clear_all; then
		# Without memory to note where bytes rest, a master says that they stay taken until its restart.
		grep -qs 'error quarantine_no_memory' "$T/master.log" || bad "$1" "after $round_specs" "$T/cleared"
		end master TERM
		[ "$code" -eq 0 ] || bad tiffin-master "tiffin-master ends with $code after SIGTERM" "$T/master.log"
		master "" || give_up tiffin-master "$T/master.log"
		fds_master=
		clear_all || bad "$1" "after $round_specs and a restart" "$T/cleared"
	fi
	for name in master p1 fs; do
		eval "most=\${fds_$name:-}"
		if [ -z "$most" ] || ! lives $name; then continue; fi
		wait_for 10 has_fds $name "$most" ||
			bad "$1" "after $round_specs: $name has $(fds $name) descriptors, and had $most"
	done
	found=$(sqlite3 -readonly "$DB" <"$root/sql/admin/check.sql" 2>&1)
	[ -z "$found" ] || bad "$1" "after $round_specs: check.sql: $found"
	round_specs=
}
clear_all() { timeout -k 5 60 "$bin/fault_story" clear "$S" 15 1 >"$T/cleared" 2>&1; }

# warm_up -- who ended is started again, unharmed; after a story unharmed descriptors are counted.
warm_up() {
	if [ -z "$(pid_of master)" ]; then
		master "" || give_up tiffin-master "$T/master.log"
	fi
	if [ -z "$(pid_of p1)" ]; then
		provider p1 128MiB "" || give_up tiffin-provider "$T/p1.log"
	fi
	for try in 1 2 3; do
		story "warm$try/" && grep -q ', 0 failed' "$T/story" && break
		[ $try -lt 3 ] || give_up fault_story "$T/story"
	done
	clear_all || give_up fault_story "$T/cleared"
	if [ -n "$(pid_of fs)" ]; then
		n_refused=0
		tree "$M/warm"
		[ $n_refused -eq 0 ] || give_up tiffinfs "$T/fs.log"
	fi
	for name in master p1 fs; do
		[ -z "$(pid_of $name)" ] || eval "fds_$name=\$(fds $name)"
	done
}

mount_fs() {
	[ -n "$(pid_of fs)" ] || fs "" || give_up tiffinfs "$T/fs.log"
	warm_up
}

give_up() { # PROGRAM LOG
	bad "$1" "does not work unharmed" "$2"
	exit 1
}

# ---- rounds: one fault each; they set seen and failed -------------------------------------

round_client() {
	make_page client
	timeout -k 5 120 env LD_PRELOAD="$shim" TIFFIN_FAULT_FILE="$T/client.page" TIFFIN_FAULT="$spec" \
		"$bin/fault_story" run "$S" "$1" "$T/ledger" >"$T/story" 2>&1
	told=$?
	show client
	if [ $told -eq 127 ] && [ "$failed" -gt 0 ]; then return; fi # the loader itself got no memory
	judge_story fault_story $told
}

round_master() {
	arm master "$spec"
	story "$1"
	told=$?
	show master
	off master
	if ! lives master; then
		judge_end master tiffin-master 7
		master "" || give_up tiffin-master "$T/master.log"
		fds_master=
	fi
	judge_story tiffin-master $told
}

# start_under PROGRAM WORST NAME COMMAND... -- ready: a story, and it must end when it is told to.
start_under() {
	program=$1
	worst=$2
	name_under=$3
	shift 3
	"$@"
	is_up=$?
	if [ $is_up -eq 0 ]; then
		story "$prefix"
		told=$?
		show "$name_under"
		off "$name_under"
		lives "$name_under" && judge_story "$program" $told
	else
		show "$name_under"
	fi
	if lives "$name_under"; then
		[ $is_up -eq 0 ] || bad "$program" "$program is neither ready nor gone" "$T/$name_under.log"
		end "$name_under" TERM
		[ "$code" -eq 0 ] || bad "$program" "$program ends with $code after SIGTERM" "$T/$name_under.log"
	else
		judge_end "$name_under" "$program" "$worst"
		[ "$is_up$code" != 10 ] || bad "$program" "$program ended with 0 and was never ready" "$T/$name_under.log"
	fi
}

round_master_start() {
	prefix=$1
	[ -z "$(pid_of master)" ] || end master TERM
	: >"$T/ledger"
	start_under tiffin-master 7 master master "$spec"
	master "" || give_up tiffin-master "$T/master.log"
	fds_master=
	timeout -k 5 60 "$bin/fault_story" verify "$S" "$T/ledger" >"$T/verify" 2>&1 ||
		bad tiffin-master "after a clean start" "$T/verify"
}

round_provider() {
	arm p1 "$spec"
	story "$1"
	told=$?
	show p1
	off p1
	if ! lives p1; then
		judge_end p1 tiffin-provider 7
		[ $told -eq 0 ] || bad tiffin-provider "the story ends with $told" "$T/story"
		warm_up
		return
	fi
	judge_story tiffin-provider $told
}

round_provider_start() {
	prefix=$1
	start_under tiffin-provider 7 p2 provider p2 4MiB "$spec"
}

# tree DIR -- a story of files; a command may fail, but not hang, and what it made must be right.
tree() {
	: >"$T/acked"
	for file in empty small big; do
		if files_do cp "$T/src/$file" "$1-$file"; then echo "$file $1-$file" >>"$T/acked"; fi
	done
	files_do mkdir "$1-dir"
	files_do cp "$T/src/small" "$1-dir/f"
	files_do ls -lR "$M"
	if files_do mv "$1-small" "$1-moved"; then
		sed -i "s|$1-small\$|$1-moved|" "$T/acked"
	else
		sed -i "/^small /d" "$T/acked"
	fi
	compare
	files_do dd if="$T/src/big" of="$1-dir/g" bs=70000 status=none
	files_do rm -r "$1-dir"
	files_do stat -f "$M"
}

# files_do COMMAND... -- under a deadline.
files_do() {
	timeout -k 2 30 "$@" >"$T/files" 2>&1
	did=$?
	if [ $did -ge 124 ]; then bad tiffinfs "stuck, or killed: $*" "$T/fs.log"; fi
	[ $did -eq 0 ] || n_refused=$((n_refused + 1))
	return $did
}

# compare [must] -- what was acknowledged is right, or cannot be read just now.
compare() {
	while read -r file path; do
		files_do cmp "$T/src/$file" "$path" && continue
		if [ $did -eq 1 ] && ! grep -q 'error' "$T/files"; then
			bad tiffinfs "other bytes in $path: $(cat "$T/files")" "$T/fs.log"
		elif [ -n "${1:-}" ]; then
			bad tiffinfs "$path cannot be read: $(cat "$T/files")" "$T/fs.log"
		fi
	done <"$T/acked"
}

judge_tree() {
	if [ "$failed" -eq 0 ] && [ $n_refused -gt 0 ]; then
		bad tiffinfs "nothing was made to fail, but: $(cat "$T/files")" "$T/fs.log"
	fi
	compare must
}

round_fs() {
	n_refused=0
	arm fs "$spec"
	tree "$M/${1%/}"
	show fs
	off fs
	if lives fs; then
		judge_tree
	else
		judge_end fs tiffinfs 3
		fs "" || give_up tiffinfs "$T/fs.log"
		fds_fs=
		compare must
	fi
}

round_fs_start() {
	n_refused=0
	if fs "$spec"; then
		tree "$M/${1%/}"
		show fs
		off fs
		if lives fs; then
			judge_tree
			end fs TERM
			[ "$code" -eq 0 ] || bad tiffinfs "tiffinfs ends with $code after SIGTERM" "$T/fs.log"
		else
			judge_end fs tiffinfs 3
		fi
	else
		show fs
		judge_end fs tiffinfs 3
	fi
	if mountpoint -q "$M"; then
		bad tiffinfs "it left the mount behind" "$T/fs.log"
		fusermount3 -uz "$M"
	fi
}

# ---- walks --------------------------------------------------------------------------------

one() { # PART SPEC
	part=$1
	spec=$2
	rounds=$((rounds + 1))
	failed=0
	seen=0
	round_specs="$round_specs $spec"
	"round_$(echo "$part" | tr - _)" "r$rounds/"
}

program_of() {
	case $1 in
	master*) echo tiffin-master ;;
	provider*) echo tiffin-provider ;;
	fs*) echo tiffinfs ;;
	*) echo fault_story ;;
	esac
}

# walk PART WHAT MOST -- at most so many n, the first of them one by one; all of them with --full.
walk() {
	one "$1" "$2:1000000000"
	n_all=$seen
	[ "$n_all" -gt 0 ] || bad "$(program_of "$1")" "no call was counted"
	n=0
	n_rounds=0
	dense=$(($3 < 40 ? $3 / 2 : 20))
	step=$(((n_all - dense) / ($3 - dense) + 1))
	while :; do
		n=$((n + ((n >= dense && step > 1) && ${full:-0} == 0 ? step : 1)))
		one "$1" "$2:$n"
		n_rounds=$((n_rounds + 1))
		if [ "$failed" -eq 0 ] && [ $n -gt "$n_all" ]; then break; fi
		[ $((rounds % 12)) -ne 0 ] || settle "$(program_of "$1")"
	done
	settle "$(program_of "$1")"
	say "$1 $2: $n_rounds of $n_all, $broken broken so far"
}

# walks PART WHAT:MOST... -- or only the one that was asked for.
walks() {
	for each in $2; do
		case ${only:-${each%:*}} in
		"${each%:*}") walk "$1" "${each%:*}" "${each#*:}" ;;
		esac
	done
}

walk_part() { # PART or PART:WHAT
	only=
	case $1 in *:*) only=${1#*:} ;; esac
	set -- "${1%%:*}"
	warm_up
	[ "$1" != fs ] || mount_fs
	case $1 in
	client) walks client 'alloc:40 sys:40 intr:10 short:10' ;;
	master) walks master 'alloc:25 sys:20 sqlite:12 intr:6 short:6' ;;
	master-start) walks master-start 'alloc:14 sys:14 sqlite:10' ;;
	provider) walks provider 'alloc:10 sys:16 intr:6 short:6' ;;
	provider-start) walks provider-start 'alloc:12 sys:12' ;;
	fs) walks fs 'alloc:12 sys:12 intr:5 short:5' ;;
	fs-start) walks fs-start 'alloc:10 sys:10' ;;
	*)
		echo "run.sh: $1: no such part" >&2
		exit 2
		;;
	esac
	if [ "$1" = fs ]; then
		end fs TERM
		[ "$code" -eq 0 ] || bad tiffinfs "tiffinfs ends with $code after SIGTERM" "$T/fs.log"
	fi
}

clean_up() {
	code=$?
	trap - EXIT INT TERM
	fusermount3 -uz "$M" 2>/dev/null
	for file in "$T"/*.pid; do
		[ ! -f "$file" ] || kill -KILL "$(cat "$file")" 2>/dev/null
	done
	[ -n "${KEEP:-}" ] || rm -rf "$T"
	exit $code
}
trap clean_up EXIT
trap 'exit 130' INT TERM

mkdir "$T/src"
: >"$T/src/empty"
head -c 5000 /dev/urandom >"$T/src/small"
head -c 3000000 /dev/urandom >"$T/src/big"
: >"$T/acked"
part=none
spec=none
: >"$T/shown"

if [ "${1:-}" = --full ]; then
	full=1
	shift
fi
[ $# -gt 0 ] || set -- client master master-start provider provider-start fs fs-start
for word; do
	case $word in
	*=*)
		warm_up
		[ "${word%%=*}" != fs ] || mount_fs
		one "${word%%=*}" "${word#*=}"
		say "$word: seen $seen, failed $failed: $(cat "$T/shown")"
		[ ! -s "$T/story" ] || cat "$T/story"
		settle "$(program_of "${word%%=*}")"
		;;
	*) walk_part "$word" ;;
	esac
done
for name in p1 master; do
	end $name TERM
	[ "$code" -eq 0 ] || bad "$(program_of "$([ $name = p1 ] && echo provider || echo master)")" "$name ends with $code after SIGTERM" "$T/$name.log"
done
say "$rounds rounds, $broken broken"
[ $broken -eq 0 ]
