#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cli -- every command of tiffin: what it does, what it says, and its exit status.
. "$(dirname "$0")/lib.sh"

MASTER=unix:$T/run/master.sock
export TIFFIN_MASTER=$MASTER
DB=$T/state/master.db

# lib.sh ends what has a pid file of its own; these two are `tiffin up`'s.
raise() { tiffin up -q --run "$T/run" --state "$T/state" --size 256MiB "$@"; }
lower() { tiffin down -q --run "$T/run" "$@"; }
trap 'code=$?; lower --lazy >/dev/null 2>&1; (exit $code); clean_up' EXIT

ok() { expect "$*" 0 "$@" >"$T/out" 2>"$T/err"; }
no() {
	code=$1
	shift
	expect "$*" "$code" "$@" >"$T/out" 2>"$T/err"
	[ -s "$T/err" ] || die "says nothing: $*"
}
says() { grep -qF -- "$1" "$T/out" || die "'$1' is not in: $(cat "$T/out")"; }
tells() { grep -qF -- "$1" "$T/err" || die "'$1' is not in: $(cat "$T/err")"; }

cd "$T" || exit 1

# ---- nothing runs yet -----------------------------------------------------------

no 5 tiffin --timeout 200ms ls
no 2 tiffin
no 2 tiffin lss
tells "did you mean 'ls'"
no 2 tiffin put --nonsense k
tells "unknown option '--nonsense'"
no 2 tiffin put
no 2 tiffin ls a b
ok tiffin help
for command in $(tiffin help --words | grep -v '^-'); do
	ok tiffin help "$command"
	cp out help
	ok tiffin "$command" --help
	cmp -s out help || die "help $command is not $command --help"
done
ok lower
ok tiffin topology
says "CARD"
ok tiffin topology --json
says '"cards":['
no 2 tiffin topology --root "$T/none"
tells "there is no $T/none/sys"

# ---- up and down ----------------------------------------------------------------

no 9 tiffin up --run "$T/run" --state /proc/none
no 9 raise --listen nonsense
tells "tiffin-master did not start"
no 9 raise --size 100PiB
tells "tiffin-provider did not start"
no 5 tiffin --timeout 200ms ls
ok raise
ok tiffin up --run "$T/run" --state "$T/state"
says "running already"
ok tiffin status
says "segments  1"
ok tiffin status --json
says '"n_segments":1'
ok tiffin doctor

# ---- objects --------------------------------------------------------------------

echo hello >h
ok tiffin put a/h h
no 3 tiffin put a/h h
ok tiffin put --replace a/h h
ok tiffin cat a/h a/h
says hello
no 1 tiffin cat a/h none
ok tiffin get a/h got
cmp -s h got || die "get: other bytes"
ok tiffin get --range 1:3 a/h -
[ "$(cat out)" = ell ] || die "range: $(cat out)"
no 2 tiffin get --range 12 a/h -
no 1 tiffin get none kept-out
[ ! -e kept-out ] || die "get: a file without an object"
no 9 tiffin get a/h none/got
no 2 tiffin put '' h
no 2 tiffin put "$(printf 'k%.0s' $(seq 1025))" h
no 9 tiffin put k none
ok tiffin stat a/h
says "size        6 bytes"
no 1 tiffin stat a
tells "keys below"
ok tiffin cp a/h b/h
no 3 tiffin cp a/h b/h
no 3 tiffin mv a/h b/h
ok tiffin mv b/h c/h
no 1 tiffin stat b/h
ok tiffin mv --replace c/h a/h
no 1 tiffin --json get none -
tells '"error":"NOT_FOUND"'

head -c 20000000 /dev/urandom >big
ok tiffin put big big
ok tiffin cp big big2
ok tiffin get big2 got
cmp -s big got || die "big: other bytes"
cat big | tiffin put --replace big - || die "put from standard input"
tiffin cat big | cmp -s - big || die "big from standard input: other bytes"
tiffin cat big | head -c 10 >/dev/null

# ---- keys of any bytes ------------------------------------------------------------

odd=$(printf 'odd/\377 \001\n"\\')
ok tiffin put "$odd" h
ok tiffin ls -R odd
# shellcheck disable=SC1003
says 'odd/\xff \x01\n"\\'
ok tiffin ls -R --json odd
says '"key_base64":"b2RkL/8gAQoiXA=="'
tiffin ls -R -0 odd | tiffin rm -0 || die "rm -0"
no 1 tiffin stat "$odd"

# ---- trees ----------------------------------------------------------------------

mkdir -p tree/d/e
for i in $(seq 300); do head -c $((i * 7)) big >"tree/d/$i"; done
cp big tree/d/e/big
: >tree/empty
ln -s empty tree/link
ok tiffin put -r tree t
says "stored 302 files"
says "passed over 1"
no 3 tiffin put -r tree t
ok tiffin put --replace -r tree/ t/
ok tiffin get -r t back
rm tree/link
diff -r tree back || die "the tree came back otherwise"
ok tiffin get -r t back
no 1 tiffin get -r none back2
for key in a a-b a/b a/b/c ../../up /abs x//y dir/ 100%; do echo "$key" | tiffin put "n/$key" || die "put n/$key"; done
: | tiffin put n/marked/ || die "put n/marked/"
ok tiffin get -r n names
for path in a/%@ a-b a/b/%@ a/b/c %2E%2E/%2E%2E/up %_/abs x/%_/y dir/%_ 100%25; do
	[ -f "names/$path" ] || die "names: $path is missing: $(find names)"
done
[ -d names/marked ] || die "names: no directory for its marker"
ok tiffin put -r --exported names m
ok tiffin get -r m names2
rmdir names/marked
diff -r names names2 || die "exported names came back otherwise"
ok tiffin find --name '*0' --min-size 1KiB t/
says t/d/300
ok tiffin rm -r n
ok tiffin rm --prefix m
no 1 tiffin rm -r n
ok tiffin ls -R t

# ---- the store ------------------------------------------------------------------

for command in segments clients puts; do
	ok tiffin $command
	ok tiffin $command --json
done
ok tiffin bench --size 8,4KiB,1MiB --count 20 --threads 2 --verify
no 2 tiffin bench --size 4
no 2 tiffin bench transfers
no 2 tiffin bench transfer --transport pigeon
tells "'pigeon' is not local, shm, file, rdma or tcp"
no 2 tiffin bench transfer --depth 0
no 2 tiffin bench transfer --op erase
no 1 tiffin bench transfer --segment none
ok tiffin bench transfer --size 8,64KiB --count 20 --depth 1,4 --verify
for way in local shm tcp; do says " $way "; done
ok tiffin bench transfer --size 64KiB --count 10 --transport shm --op read --json
says '"transport":"shm","op":"read","size_bytes":65536,"depth":8,"n_ops":10'
no 5 tiffin bench transfer --transport file
tells "no segment is reached"
ok tiffin puts
[ "$(wc -l <out)" -le 1 ] || die "bench leaves a put behind: $(cat out)"
ok tiffin ls
! grep -q tiffin-bench out || die "bench leaves objects behind"
ok tiffin check --db "$DB" --deep
echo "SELECT 'something';" >finds.sql
expect "check that finds" 1 tiffin check --db "$DB" --script finds.sql >out
says something
no 9 tiffin check --db none
no 2 tiffin check --no-books

# ---- what goes wrong ------------------------------------------------------------

head -c 300000000 /dev/zero | no 4 tiffin put toolong -
ok tiffin puts --json
[ "$(cat out)" = "[]" ] || die "a put that failed is still under way"
mkfifo pipe
tiffin put slow - <pipe 2>/dev/null &
putting=$!
exec 8>pipe
wait_for 10 test -e "/proc/$putting/fd/0" || die "put does not start"
sleep 0.2
kill -INT $putting
wait $putting
code=$?
exec 8>&-
[ $code -eq 130 ] || die "interrupted put: $code"
no 1 tiffin stat slow

ok tiffin put last h
kill -9 "$(cut -d' ' -f1 run/tiffin-provider.pid)"
no 5 tiffin --timeout 2s get last last
[ ! -e last ] || die "half a file"
ok raise
ok tiffin rm --all -f
ok lower
ok tiffin down --run "$T/run"
says "nothing was running"
[ ! -e run/tiffin-master.pid ] || die "down leaves a pid file"
find "$T" -name '.tiffin-*' | grep . && die "a file is left over"
exit 0
