#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b23 -- scripts of the administrator block the store, or need the right to write; backups that can't be put back.
#
# Right: every script in sql/admin runs while puts go on, also for somebody who may only read the files; one
# that is stopped in the middle blocks nobody.  Each of twenty backups taken meanwhile is one whole file
# that holds no less than there was when it began; one that is killed leaves nothing under its name.
. "$(dirname "$0")/lib.sh"

run_scripts() { # command to run them with
	for script in "$ROOT"/sql/admin/*.sql; do
		timed 20000 "$@" sqlite3 -readonly "$DB" <"$script" >"$T/said" 2>&1 || die "$script: $(cat "$T/said")"
		! grep -qiE 'error|locked' "$T/said" || die "$script: $(cat "$T/said")"
	done
}

up 512MiB # for all that is put: nothing goes for room while backups are counted
objects put k/ 5000 4096 --batch 100
spawn load tool_objects put load/ 1000000 4096 --threads 2 --acked "$T/acked"
lines() { [ "$(wc -l <"$T/acked")" -ge "$1" ]; }
wait_for 10 lines 100 || die "no load"
run_scripts env
t check --db "$DB" >/dev/null || die "tiffin check"

# Backups, each moved away from what is beside it.
n_objects() { sqlite3 -readonly "$1" 'SELECT count(*) FROM object'; }
mkdir "$T/elsewhere"
for i in $(seq 20); do
	before=$(n_objects "$DB")
	t -q backup --db "$DB" "$T/copy.db" || die "backup $i"
	mv "$T/copy.db" "$T/elsewhere/copy.db" || die "backup $i: no file"
	is "backup $i: beside it" "" "$(find "$T" -maxdepth 1 -name 'copy.db*')"
	is "backup $i" ok "$(sqlite3 -readonly "$T/elsewhere/copy.db" 'PRAGMA integrity_check')"
	at_least "backup $i: objects" "$before" "$(n_objects "$T/elsewhere/copy.db")"
	rm -f "$T"/elsewhere/copy.db*
done
for i in 1 2 3 4 5; do
	tiffin -q backup --db "$DB" "$T/half.db" 2>/dev/null &
	backup=$!
	sleep 0.0$i
	kill -KILL $backup 2>/dev/null
	wait $backup 2>/dev/null
	if [ -e "$T/half.db" ]; then # it was quicker: then it is whole
		is "half a backup" ok "$(sqlite3 -readonly "$T/half.db" 'PRAGMA integrity_check')"
		rm -f "$T"/half.db*
	fi
done
t -q backup --db "$DB" "$T/half.db" || die "a backup after those that were killed"

# Who may read the files and nothing else.
chmod 755 "$T"
chmod 644 "$DB" "$DB-wal" "$DB-shm"
chmod a-w "$T"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	run_scripts setpriv --reuid=65534 --regid=65534 --clear-groups
fi
chmod u+w "$T"

# One is stopped in the middle.
mkfifo "$T/sql"
spawn script sh -c 'exec sqlite3 -readonly "$1" <"$2"' sh "$DB" "$T/sql"
exec 7>"$T/sql"
echo 'BEGIN; SELECT count(*) FROM object;' >&7
wait_for 5 test -s "$T/script.out" || die "the script does not run: $(cat "$T/script.log")"
freeze script
since=$(wc -l <"$T/acked")
began=$(now_ms)
wait_for 5 lines $((since + 500)) || die "a stopped script blocks puts"
echo x | t put fresh - && t rm fresh || die "a stopped script blocks removals"
thaw script
exec 7>&-
finish script || die "the script: $(cat "$T/script.log")"
finish load TERM || die "the load: $(cat "$T/load.log")"
is "puts refused: $(cat "$T/load.out")" 0 "$(value BUSY "$T/load.out")"
check
down
