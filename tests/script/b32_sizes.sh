#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b32 -- du says 0, df says nonsense.
#
# Right: blocks are ceil(size / 512); df: size is what is lent, used what objects take, available never above
# size; inodes are objects; without a provider all is 0 and no error; times are of the put and stay.
. "$(dirname "$0")/lib.sh"

TTL=1s
MASTER_OPTIONS="--client-grace-ms=500ms --ping-ms=200ms"
up 64MiB
mount_start -o timeout=3
began=$(date +%s)
: >"$M/0"
printf x >"$M/1"
head -c 513 /dev/zero >"$M/513"
head -c 1048576 /dev/zero | t put 1048576 - || die "put"
for bytes in 0 1 513 1048576; do
	is "stat of $bytes" "$bytes $(((bytes + 511) / 512)) 512" "$(stat -c '%s %b %B' "$M/$bytes")"
	is "links of $bytes" 1 "$(stat -c %h "$M/$bytes")"
	is "du of $bytes" $(((bytes + 511) / 512 * 512)) "$(du -B1 "$M/$bytes" | cut -f1)"
	mtime=$(stat -c %Y "$M/$bytes")
	at_least "time of $bytes" $((began - 1)) "$mtime"
	at_most "time of $bytes" "$(date +%s)" "$mtime"
done
is "du of all" $((1 + 513 + 1048576)) "$(du -sb --apparent-size "$M" | cut -f1)"
before=$(stat -c '%Y %Z %i' "$M/513")
mount_stop
mount_start -o timeout=3
is "times and inode after a new mount" "$before" "$(stat -c '%Y %Z %i' "$M/513")"

df_of() { df -B1 --output="$1" "$M" | tail -n 1 | tr -d ' '; }
is "df size" 67108864 "$(df_of size)"
used=$(df_of used)
at_least "df used" 1048576 "$used"
at_most "df used" 2097152 "$used"
at_most "df available and used" 67108864 $((used + $(df_of avail)))
is "inodes used" 4 "$(df_of iused)"
objects put more/ 10 1048576
grown() { [ "$(df_of used)" -ge $((used + 10485760)) ]; }
wait_for 3 grown || die "df used does not grow: $(df_of used), was $used"
is "inodes used" 14 "$(df_of iused)"
t rm --all -f >/dev/null || die "rm"
empty() { [ "$(df_of used)" -eq 0 ]; }
wait_for 10 empty || die "df used after removing all: $(df_of used)"

provider_stop p1
none() { [ "$(df_of size)" -eq 0 ]; }
wait_for 5 none || die "df size with no provider: $(df_of size)"
is "df with no provider" "0 0 0" "$(df_of size) $(df_of used) $(df_of avail)"
df "$M" >/dev/null || die "df fails"
ls "$M" >/dev/null || die "ls fails"
down
