#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# programs -- rsync, git, cmake, sqlite3, vim, fio and their like do on the mount what they do elsewhere.
#
# What cp, tar, dd, sed, find and rm do is in script/fs_everyday.  A program that is not installed is named, and
# left out.
. "$(dirname "$0")/../script/lib.sh"

say() { echo "[$(($(date +%s) - began))s] $*"; }
began=$(date +%s)
has() { command -v "$1" >/dev/null || { echo "without $1: it is not installed"; return 1; }; }
same() { diff -r --no-dereference "$1" "$2" >"$T/diff" 2>&1 || die "$3: $(head -n 5 "$T/diff")"; }

up 768MiB
mount_start
export HOME="$T" GIT_CONFIG_NOSYSTEM=1
cd "$M" || die "cd"

# A tree of our own sources, a few links and odd modes.
mkdir "$T/src"
cp -a "$ROOT/fs" "$ROOT/transfer" "$T/src/"
ln -s fs/main.c "$T/src/link"
mkdir "$T/src/empty" && chmod 700 "$T/src/empty"
printf 'x' >"$T/src/odd name
with a newline"
chmod 604 "$T/src/fs/README.md"

say "cp -a"
cp -a "$T/src" copied || die "cp -a"
same "$T/src" copied "cp -a"
is "modes and times of cp -a" "$(cd "$T/src" && find . -type f -printf '%p %m %u %Ts\n' | sort)" \
	"$(cd copied && find . -type f -printf '%p %m %u %Ts\n' | sort)"
rm -rf copied || die "rm -rf"

if has rsync; then
	say "rsync -a, twice"
	rsync -a "$T/src/" synced/ || die "rsync -a"
	same "$T/src" synced "rsync -a"
	rsync -ai "$T/src/" synced/ >"$T/moved" || die "rsync -a again"
	is "moved by the second rsync" "" "$(cat "$T/moved")"
	echo changed >>"$T/src/fs/README.md"
	rsync -ai --delete "$T/src/" synced/ >"$T/moved" || die "rsync -a of a change"
	is "moved by the third rsync" 1 "$(grep -c '^>f' "$T/moved")"
	rsync -a synced/ "$T/back" && same "$T/src" "$T/back" "rsync out"
fi

say "tar in and out"
tar -C "$T/src" -cf - . | (mkdir untarred && tar -C untarred -xpf -) || die "tar x"
same "$T/src" untarred "tar x"
tar -czf packed.tar.gz untarred && mkdir "$T/unpacked" && tar -C "$T/unpacked" -xzf packed.tar.gz || die "tar c"
same "$T/src" "$T/unpacked/untarred" "tar c"
find untarred -delete || die "find -delete"
rm -rf synced packed.tar.gz

if has git; then
	say "git"
	git() { command git -c user.name=test -c user.email=test@localhost -c init.defaultBranch=main -c gc.auto=0 "$@"; }
	(cd "$T/src" && git init -q && git add -A && git commit -qm one && echo two >two && git add two && git commit -qm two) ||
		die "git elsewhere"
	git clone -q "file://$T/src" cloned || die "git clone"
	cd cloned || die "cd"
	is "status after clone" "" "$(git status --porcelain)"
	git checkout -q HEAD~1 || die "git checkout"
	[ ! -e two ] || die "git checkout left a file"
	git checkout -q main || die "git checkout back"
	git checkout -qb topic && echo three >three && git add three && git commit -qm three || die "git commit"
	git checkout -q main && git merge -q --no-ff -m merged topic || die "git merge"
	git gc -q --prune=now || die "git gc"
	git fsck --full --strict >"$T/fsck" 2>&1 || die "git fsck: $(cat "$T/fsck")"
	is "commits" 4 "$(git log --oneline | wc -l)"
	is "status at the end" "" "$(git status --porcelain)"
	cd .. && rm -rf cloned || die "rm -rf of a clone"
fi

if has cmake && has ninja; then
	say "cmake"
	mkdir built && cd built || die "mkdir"
	for i in 1 2 3 4; do echo "int f$i(void); int f$i(void) { return $i; }" >f$i.c; done
	printf '%s\n' 'int f1(void), f2(void), f3(void), f4(void);' 'int main(void) { return f1() + f2() + f3() + f4() - 10; }' >main.c
	printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(p C)' 'add_library(f STATIC f1.c f2.c f3.c f4.c)' \
		'add_executable(p main.c)' 'target_link_libraries(p f)' >CMakeLists.txt
	cmake -G Ninja -B out >"$T/cmake" 2>&1 || die "cmake: $(tail -n 5 "$T/cmake")"
	ninja -C out >"$T/ninja" 2>&1 || die "ninja: $(tail -n 5 "$T/ninja")"
	out/p || die "what was built does not run"
	ninja -C out >"$T/ninja" 2>&1
	grep -q 'no work to do' "$T/ninja" || die "built again: $(cat "$T/ninja")"
	echo "int f5(void); int f5(void) { return 5; }" >>f4.c
	ninja -C out >"$T/ninja" 2>&1 && grep -q f4 "$T/ninja" || die "a change is not built"
	cd .. && rm -rf built || die "rm -rf of a build"
fi

say "sqlite3"
sq() { sqlite3 -bail base.db "$1" 2>"$T/sqlite" || die "sqlite3: $1: $(cat "$T/sqlite")"; }
sq "PRAGMA journal_mode=DELETE; CREATE TABLE t (n INTEGER PRIMARY KEY, v BLOB);" >/dev/null
sq "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000) INSERT INTO t SELECT x, randomblob(300) FROM c;"
sq "BEGIN; UPDATE t SET v = x'00'; ROLLBACK;"
is "after a rollback" 2000 "$(sq "SELECT count(*) FROM t WHERE length(v) = 300")"
for i in 1 2 3 4 5 6 7 8 9 10; do sq "UPDATE t SET v = randomblob(200) WHERE n % 10 = $i % 10; DELETE FROM t WHERE n = $i;"; done
sq "VACUUM;"
is "rows" 1990 "$(sq "SELECT count(*) FROM t")"
is "integrity" ok "$(sq "PRAGMA integrity_check")"
[ ! -e base.db-journal ] || die "a journal is left"
cp base.db "$T/base.db" && is "integrity of the copy" ok "$(sqlite3 "$T/base.db" "PRAGMA integrity_check")" || die "cp of a database"
rm base.db

if has vim; then
	say "vim"
	printf 'one\ntwo\nthree\n' >text
	vim -u NONE -es -c '%s/two/2/' -c 'wq' text </dev/null || die "vim"
	is "vim" "one 2 three" "$(xargs <text)"
	vim -u NONE -es -c 'set backup writebackup backupcopy=no backupdir=. backupskip=' -c '$s/three/3/' -c 'wq' text </dev/null || die "vim, backup"
	is "vim with a backup" "one 2 3" "$(xargs <text)"
	is "its backup" "one 2 three" "$(xargs <text~)"
	rm -f text text~
fi
printf 'one\ntwo\n' >text && sed -i.bak 's/one/1/' text && is "sed -i.bak" "1 two/one two" "$(xargs <text)/$(xargs <text.bak)" || die "sed -i"
rm text text.bak

if has fio; then
	say "fio"
	for how in "rw=randwrite bs=4k" "rw=write bs=1m" "rw=randrw bs=16k" "rw=write bs=4095"; do
		# shellcheck disable=SC2086
		fio --name=v --directory="$M" --size=8m --ioengine=psync --verify=crc32c --verify_fatal=1 --do_verify=1 --verify_state_save=0 --fsync_on_close=1 \
			--output="$T/fio" $(for word in $how; do printf -- '--%s ' "$word"; done) >/dev/null 2>&1 || die "fio $how: $(cat "$T/fio")"
		rm -f v.*
	done
fi

say "tail -f"
: >log && echo first >>log
spawn tail tail -n +1 -f -s 0.1 log
for i in 1 2 3 4 5; do echo "line $i" >>log; done
wait_for 10 grep -q 'line 5' "$T/tail.out" || die "tail -f: $(cat "$T/tail.out")"
end tail TERM
is "tail -f" "$(cat log)" "$(cat "$T/tail.out")"
rm log

say "the end"
is "nothing left" "" "$(ls -A)"
cd /
check
down
