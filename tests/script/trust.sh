#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# trust -- who may reach what.
#
#      TCP             the cluster key: right, wrong, none; a key that others can read is refused;
#                      listening beyond the machine without one is refused, unless --insecure
#      Unix sockets    0600, whatever the umask, and so is every file
#      another user    reaches nothing; with --socket-mode=0666 it uses the store, but never holds
#                      the memory for writing
#
# In a network of its own, so that nothing is open to others.
if [ "${1:-}" != inside ]; then
	unshare -n true 2>/dev/null || { echo "trust: no network of its own can be had; skipped"; exit 0; }
	exec unshare -n sh "$0" inside
fi
. "$(dirname "$0")/lib.sh"
umask 000
chmod 0711 "$T"
PATH=$PATH:/usr/sbin:/sbin
ip link set lo up || die "the loopback does not come up"
ip address add 10.9.9.1/24 dev lo || die "no address"
FAR=10.9.9.1:7411

far() { tiffin --master "$FAR" "$@"; }
says() { grep -q -e "$2" "$T/said" || die "$1: $(cat "$T/said")"; }
mode_of() { stat -c %a "$1"; }

# nobody COMMAND... -- as another user of this machine, without any privilege.
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --no-new-privs "$@"; }

# --- keys

tiffin-master --new-key="$T/key" || die "new key"
tiffin-master --new-key="$T/other" || die "another key"
is "mode of a new key" 600 "$(mode_of "$T/key")"
tiffin-master --new-key="$T/key" 2>"$T/said" && die "a key was replaced"
cp "$T/key" "$T/shown" && chmod 0644 "$T/shown"
head -c 300000 /dev/urandom >"$T/bytes"

tiffin-master --db="$T/none.db" --listen=0.0.0.0:7411 2>"$T/said"
is "a master for everybody, without a key" 4 $?
says "its cure" "--key-file"
says "its other cure" "--insecure"
tiffin-master --db="$T/none.db" --listen=0.0.0.0:7411 --key-file="$T/shown" 2>"$T/said" && die "a shown key was taken"
says "a key that others can read" "chmod\|0600\|mode\|others"

start master tiffin-master --db="$DB" --listen="0.0.0.0:7411 $MASTER" --key-file="$T/key"
start p1 tiffin-provider --master="$FAR" --name=p1 --size=32MiB --listen=0.0.0.0:7412 --key-file="$T/key"
far --key-file="$T/key" put a "$T/bytes" || die "put with the key"
far --key-file="$T/key" get a "$T/back" || die "get with the key"
cmp -s "$T/bytes" "$T/back" || die "other bytes"
expect "put with another key" 8 far -q --key-file="$T/other" put b "$T/bytes" 2>"$T/said"
expect "put without a key" 8 far -q put b "$T/bytes" 2>"$T/said"
expect "put without a key, by the loopback" 8 tiffin --master 127.0.0.1:7411 -q put b "$T/bytes" 2>"$T/said"
far -q --key-file="$T/shown" ls >"$T/said" 2>&1 && die "the client took a shown key"
says "a client's key that others can read" "chmod\|0600\|mode\|others"
expect "get without a key" 8 far -q get a "$T/none" 2>"$T/said"
is "objects" 1 "$(q 'SELECT count(*) FROM object')"
t get a "$T/again" || die "a Unix socket asks for no key"

for key in "--key-file=$T/other" ""; do
	# shellcheck disable=SC2086
	timeout 20 tiffin-provider --master="$FAR" --name=p2 --size=1MiB --listen=127.0.0.1:0 $key 2>"$T/said"
	is "a provider with the wrong key ($key)" 6 $?
done
timeout 20 tiffin-provider --master="$MASTER" --name=p2 --size=1MiB --listen=0.0.0.0:0 2>"$T/said"
is "a provider for everybody, without a key" 6 $?
says "the cure" "key_file\|key-file"
is "segments" 1 "$(q 'SELECT count(*) FROM segment')"
provider_stop p1
master_stop

# --- without a key, because somebody said so

start master tiffin-master --db="$DB" --listen=0.0.0.0:7411 --insecure
start p1 tiffin-provider --master="$FAR" --name=p1 --size=32MiB --listen=0.0.0.0:7412 --insecure
far put --replace a "$T/bytes" || die "put to an insecure master"
far get a "$T/back" && cmp -s "$T/bytes" "$T/back" || die "get from an insecure master"
expect "a key, but a master that has none" 8 far -q --key-file="$T/key" ls 2>"$T/said"
provider_stop p1
master_stop

# --- files and sockets, under umask 000

FILE=/dev/shm/$(basename "$T")
trap 'code=$?; rm -f "$FILE"; (exit $code); clean_up' EXIT
start master tiffin-master --db="$DB" --listen="$MASTER" --pidfile="$T/master.pidfile"
provider_start p1 32MiB --path="$FILE" --pidfile="$T/p1.pidfile"
t put --replace a "$T/bytes" || die "put"
for file in "$T/master.sock" "$T/p1.sock" "$DB" "$DB-wal" "$DB-shm" "$DB.lock" "$DB.reserve" "$FILE"; do
	is "mode of $file" 600 "$(mode_of "$file")"
done
for file in "$T/master.pidfile" "$T/p1.pidfile"; do
	is "mode of $file" 644 "$(mode_of "$file")"
done

provider_start p2 1MiB
memfd=$(find "/proc/$(pid_of p2)/fd" -lname '/memfd:tiffin*' | head -n 1)
[ -n "$memfd" ] || die "no anonymous memory is seen"
is "mode of anonymous memory" 600 "$(stat -L -c %a "$memfd")"
provider_stop p2

if [ "$(id -u)" != 0 ] || ! nobody true 2>/dev/null; then
	down
	echo "trust: not root: another user could not be tried"
	exit 0
fi

# --- another user

nobody test -x "$(command -v tiffin)" || die "another user can't even run tiffin here"
nobody tiffin --master "$MASTER" -q ls >"$T/said" 2>&1 && die "another user reaches the master"
for file in "$DB" "$DB-wal" "$FILE" "$T/key"; do
	nobody cat "$file" >/dev/null 2>&1 && die "another user reads $file"
done
nobody ls "/proc/$(pid_of p1)/fd" >/dev/null 2>&1 && die "another user sees the provider's descriptors"
nobody sqlite3 -readonly "$DB" 'SELECT 1 FROM object' >/dev/null 2>&1 && die "another user reads the books"
provider_kill p1
master_stop

# The master's socket is for all; memory is to be had by TCP on this machine alone.
start master tiffin-master --db="$DB" --listen="$MASTER" --socket-mode=0666
is "mode of a wide socket" 666 "$(mode_of "$T/master.sock")"
provider_start p1 32MiB --path="$FILE"
nobody tiffin --master "$MASTER" ls >"$T/said" || die "another user, though it may: $(cat "$T/said")"
nobody tiffin --master "$MASTER" -q get a - >/dev/null 2>"$T/said" && die "memory without a way to it"
provider_kill p1
provider_start p1 32MiB --path="$FILE" --listen="unix:$T/p1.sock 127.0.0.1:0"
nobody tiffin --master "$MASTER" get a - >"$T/back" || die "get by TCP, as another user"
cmp -s "$T/bytes" "$T/back" || die "other bytes, as another user"
is "what another user borrows by TCP" 0 "$(nobody env TIFFIN_MASTER="$MASTER" tool_borrow a | sed -n 's/^borrowed=\([01]\).*/\1/p')"

# The provider's socket is for all, too: reading by a mapping, writing through the provider.
provider_kill p1
provider_start p1 32MiB --path="$FILE" --socket-mode=0666
is "mode of the provider's wide socket" 666 "$(mode_of "$T/p1.sock")"
is "mode of the memory" 600 "$(mode_of "$FILE")"
nobody env TIFFIN_MASTER="$MASTER" tool_borrow a >"$T/borrow.out" || die "borrow: $(cat "$T/borrow.out")"
is "borrowed" 1 "$(value borrowed "$T/borrow.out")"
is "shared and writable" 0 "$(value writable "$T/borrow.out")"
grep -q "protect=EACCES" "$T/borrow.out" || die "made writable: $(cat "$T/borrow.out")"
grep -q "reopen=E" "$T/borrow.out" || die "opened again for writing: $(cat "$T/borrow.out")"
nobody tiffin --master "$MASTER" put b - <"$T/bytes" || die "put as another user"
t get b "$T/back2" && cmp -s "$T/bytes" "$T/back2" || die "what another user put"
grep -q "$FILE" /proc/[0-9]*/maps 2>/dev/null || die "the provider's own mapping is not seen"
down
check
