#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [SECONDS [TARGET...]] -- build the fuzz targets and run each for SECONDS.
#
# Two a processor at a time, and more when there are many: all of them take five rounds at most.
# So a target has at least SECONDS on the clock, whatever share of a processor that is; for a long
# search name few.
#
# Each begins with the corpus kept in tests/fuzz/corpus/TARGET; what it finds beyond that stays
# in the build directory.  Closes with one line a target, and with 1 if any of them found a fault;
# the input that shows it lies in BUILD/fuzz/found/ and is run again with
#
#      BUILD/fuzz/TARGET BUILD/fuzz/found/TARGET-crash-...
#
# Environment: TIFFIN_FUZZ_BUILD   build directory (build/fuzz beside the sources)
set -eu

# one -- run one target; its line goes to OUT/TARGET.line, all it says to OUT/TARGET.log.
one() { # build directory, corpus directory, seconds, target
    out=$1/fuzz/out
    mkdir -p "$1/fuzz/corpus/$4" "$1/fuzz/found"
    fate=ok
    UBSAN_OPTIONS=print_stacktrace=1 "$1/fuzz/$4" -max_total_time="$3" -timeout=20 \
        -rss_limit_mb=1024 -max_len=16384 -print_final_stats=1 \
        -artifact_prefix="$1/fuzz/found/$4-" "$1/fuzz/corpus/$4" "$2/$4" \
        >"$out/$4.log" 2>&1 || fate=FAULT
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$4.log")
    echo "$4: $fate runs=${runs:-0} seconds=$3" >"$out/$4.line"
    [ "$fate" = ok ] || { tail -n 40 "$out/$4.log" >&2; return 1; }
}
if [ "${1:-}" = --one ]; then
    shift
    one "$@"
    exit
fi

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${TIFFIN_FUZZ_BUILD:-$root/build/fuzz}
seconds=${1:-30}
case $seconds in
'' | *[!0-9]* | 0)
    echo "run.sh: SECONDS must be a whole number above 0, not '$seconds'" >&2
    exit 2
    ;;
esac
[ $# -eq 0 ] || shift

mkdir -p "$build"
cmake -G Ninja -S "$root" -B "$build" -DCMAKE_C_COMPILER=clang -DTIFFIN_FUZZ=ON \
    -DTIFFIN_SANITIZE=fuzzer-no-link,address,undefined >"$build/cmake.log" 2>&1 ||
    { cat "$build/cmake.log" >&2; exit 2; }
ninja -C "$build" fuzz >"$build/ninja.log" 2>&1 || { tail -n 40 "$build/ninja.log" >&2; exit 2; }

# Which targets: those named, or all that were built.
[ $# -gt 0 ] || set -- $(cd "$build/fuzz" && find . -maxdepth 1 -type f -name 'fuzz_*' | sed 's|^\./||' | sort)
for target in "$@"; do
    [ -x "$build/fuzz/$target" ] || { echo "run.sh: no such target: $target" >&2; exit 2; }
done

rm -rf "$build/fuzz/out"
mkdir -p "$build/fuzz/out"
bad=0
at_once=$((2 * $(nproc)))
[ $(($# / at_once)) -lt 5 ] || at_once=$((($# + 4) / 5))
printf '%s\n' "$@" |
    xargs -P $at_once -I TARGET sh "$0" --one "$build" "$root/tests/fuzz/corpus" "$seconds" TARGET || bad=1
for target in "$@"; do
    cat "$build/fuzz/out/$target.line" || bad=1
done
exit $bad
