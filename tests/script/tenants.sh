#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tenants -- key spaces of their own, and quotas that hold: by command line, library and mount.
. "$(dirname "$0")/lib.sh"

MASTER_OPTIONS="--put-wait-ms=300ms"
LEASE=1s
up 256MiB
of() { # TENANT COMMAND...
	tenant=$1
	shift
	t --tenant "$tenant" "$@"
}
# field TENANT NAME -- a number of `tiffin tenants --json`.
field() {
	t --json tenants | sed -n "s/.*\"name\":\"$1\",\(.*\)}.*/\1/p" | tr ',' '\n' |
		sed -n "s/^\"$2\"://p"
}

# Key spaces.
echo "of a" | of a put k - || die "put k of a"
expect "k of b" 1 of b cat k 2>/dev/null
echo "of b" | of b put k - || die "put k of b"
is "k of a" "of a" "$(of a cat k)"
is "k of b" "of b" "$(of b cat k)"
of b rm -f k || die "rm k of b"
is "k of a, b's being gone" "of a" "$(of a cat k)"

# A quota in bytes: to the last one, then its own oldest goes, and nobody else's.
t tenants put a --quota=8MiB || die "quota"
head -c 4194304 /dev/urandom >"$T/4m"
for i in 1 2 3 4 5; do of a put "big$i" "$T/4m" || die "put big$i"; done
expect "oldest of a" 1 of a stat big1 2>/dev/null
of a stat big5 >/dev/null || die "big5"
at_most "bytes of a" 8388608 "$(field a charged_bytes)"
for i in 1 2 3 4 5; do of c put "big$i" "$T/4m" || die "put big$i of c"; done
is "objects of c" 5 "$(field c n_objects)"
head -c 9000000 /dev/zero >"$T/9m"
expect "more than the quota" 4 of a put huge "$T/9m" 2>"$T/said"
grep -q 'tenant "a" wants .* of its quota of 8.0 MiB' "$T/said" || die "says: $(cat "$T/said")"
t tenants put c --objects=5 || die "quota of objects"
of c put six "$T/4m" || die "put six"
is "objects of c" 5 "$(field c n_objects)"
is "quota that was not named" 0 "$(field c quota_bytes)"

# A quota below what is there: read on, and room is made by the next put.
t tenants put c --quota=9MiB || die "lower"
is "over quota" true "$(field c is_over_quota)"
t tenants | grep -q '^c .*over quota' || die "tenants: $(t tenants)"
of c cat six | cmp -s - "$T/4m" || die "six can't be read"
sleep 1.5
of c put seven "$T/4m" || die "put seven"
is "over quota" false "$(field c is_over_quota)"

# The mount: as large as its tenant may be, and EDQUOT.
t tenants put m --quota=16MiB || die "quota of m"
mount_start -o tenant=m
is "size of the mount" 16384 "$(df -k --output=size "$M" | tail -n 1 | tr -d ' ')"
head -c 20000000 /dev/zero >"$T/20m"
cp "$T/20m" "$M/big" 2>"$T/said" && die "cp beyond the quota"
grep -q 'quota exceeded' "$T/said" || die "cp: $(cat "$T/said")"
no_big() { [ ! -e "$M/big" ]; }
wait_for 3 no_big || die "big is there"
cp "$T/9m" "$M/fits" || die "cp within the quota"
at_most "free of the mount" 8000 "$(df -k --output=avail "$M" | tail -n 1 | tr -d ' ')"
cmp -s "$T/9m" "$M/fits" || die "fits: other bytes"
mount_stop

# Names, and the end of a tenant.
expect "a name that is kept" 2 t tenants put _x 2>/dev/null
expect "default" 2 t tenants rm default 2>/dev/null
expect "nobody" 1 t tenants rm nobody 2>/dev/null
expect "holds something" 6 t tenants rm a 2>"$T/said"
of a rm --all -f >/dev/null || die "rm --all"
gone() { t -q tenants rm a; }
wait_for 20 gone || die "rm a: $(t tenants rm a 2>&1)"
expect "gone" 1 t tenants rm a 2>/dev/null
has_event() { t events | grep -q "$1"; }
wait_for 5 has_event 'tenant_gone.* a$' || die "events: $(t events | grep tenant)"
wait_for 5 has_event put_over_quota || die "events: $(t events)"
for i in 1 2 3; do
	sqlite3 "$DB" ".read $ROOT/sql/admin/tenants.sql" >"$T/admin" && break
	sleep "0.$i"
done
grep -q ' c .*9.0 MiB' "$T/admin" || die "tenants.sql: $(cat "$T/admin")"

# The master comes back with all of it; strict, it makes none.
check
master_kill
MASTER_OPTIONS="--put-wait-ms=300ms --tenants=strict"
master_start
is "quota after a restart" 9437184 "$(field c quota_bytes)"
expect "not there" 8 of newcomer ls 2>"$T/said"
grep -q 'tiffin tenants put newcomer' "$T/said" || die "says: $(cat "$T/said")"
t tenants put newcomer || die "put newcomer"
of newcomer ls || die "ls of newcomer"
check
down
