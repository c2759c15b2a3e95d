#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# install -- what `cmake --install` leaves behind is enough to build and run a program of one's own.
. "$(dirname "$0")/lib.sh"

BUILD=${TIFFIN_BUILD:-$ROOT/build}
usr=$T/usr
cmake --install "$BUILD" --prefix "$usr" >"$T/install.log" 2>&1 || die "cmake --install"

has() { find "$usr" -path "*/$1" | grep -q . || die "not installed: $1"; }
for file in bin/tiffin bin/tiffin-master bin/tiffin-provider bin/tiffinfs include/tiffin.h libtiffin.so \
	pkgconfig/tiffin.pc cmake/tiffin/tiffin-config.cmake man1/tiffin.1 man3/tiffin.3 man3/tiffin_put.3 \
	man5/tiffin.conf.5 man7/tiffin.7 man8/tiffin-master.8 bash-completion/completions/tiffin \
	share/tiffin/sql/admin/check.sql share/tiffin/sql/backup/copy.sql; do
	has "$file"
done

for name in tiffinfs.service tiffinfs@.service; do
	has "lib/systemd/system/$name"
	unit=$usr/lib/systemd/system/$name
	grep -q '^ExecStart=/.*/bin/tiffinfs ' "$unit" || die "$name does not start tiffinfs"
	if grep '@[A-Z_]*@' "$unit"; then die "$name was not filled in"; fi
done

"$usr/sbin/mount.fuse.tiffin" --version >"$T/version" || die "mount.fuse.tiffin --version"
grep -q '^tiffinfs [0-9]' "$T/version" || die "mount.fuse.tiffin is not tiffinfs"

# Nothing but what the header promises is visible.
lib=$(find "$usr" -name libtiffin.so)
others=$(nm -D --defined-only "$lib" | awk '$2 != "A" { print $3 }' | grep -v '^tiffin_')
[ -z "$others" ] || die "libtiffin.so shows more than tiffin_*: $others"

# By pkg-config.
PKG_CONFIG_PATH=$(dirname "$(find "$usr" -name tiffin.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror -o "$T/by_pkgconfig" "$ROOT/tests/example/example.c" \
	$(pkg-config --define-prefix --cflags --libs tiffin) || die "the example does not build by pkg-config"

# By CMake.
mkdir "$T/project"
cat >"$T/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(example LANGUAGES C)
find_package(tiffin 0.1 REQUIRED)
add_executable(by_cmake $ROOT/tests/example/example.c)
target_link_libraries(by_cmake PRIVATE tiffin::tiffin)
END
cmake -S "$T/project" -B "$T/project/build" -DCMAKE_PREFIX_PATH="$usr" >"$T/cmake.log" 2>&1 &&
	cmake --build "$T/project/build" >>"$T/cmake.log" 2>&1 || die "the example does not build by CMake"

LD_LIBRARY_PATH=$(dirname "$lib")
export LD_LIBRARY_PATH
PATH=$usr/bin:$PATH
up 64MiB
for program in "$T/by_pkgconfig" "$T/project/build/by_cmake"; do
	said=$("$program") || die "$program"
	[ "$said" = "got 12 bytes: hello, world" ] || die "$program says: $said"
done
[ -z "$(t ls)" ] || die "the example leaves something behind"
unset TIFFIN_MASTER
master_kill
TIFFIN_MASTER=unix:$T/nobody.sock timeout 60 "$T/by_pkgconfig" 2>"$T/err" && die "a put without a master"
grep -q "can't be reached" "$T/err" || die "what is said without a master: $(cat "$T/err")"
