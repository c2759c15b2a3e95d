#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# b40 -- under load over TCP: a connection for each transfer until ports run out, crashes, late writes after a timeout.
#
# Right: connections are kept and shared (hardly any in TIME_WAIT), descriptors and threads are given back,
# a get that timed out never writes into its buffer afterwards, and all works again after hard times.
. "$(dirname "$0")/lib.sh"

time_waits() { # of the provider's port
	awk -v port="$(printf ':%04X' "$port")" '$4 == "06" && (index($2, port) || index($3, port))' /proc/net/tcp | wc -l
}

master_start
start p1 tiffin-provider --master="$MASTER" --name=p1 --size=128MiB --listen=127.0.0.1:0
port=$(q "SELECT endpoint FROM segment" | tr ' ' '\n' | sed -n 's/^127.0.0.1://p')
fds=$(n_fds p1)
objects put k/ 10 100000

# In good times nothing fails, and few connections are made.
timeout 60 tool_churn 64 30 >"$T/churn" 2>&1 || die "churn: $(cat "$T/churn")"
is "failures in good times: $(cat "$T/churn")" 0 "$(value failed "$T/churn")"
is "descriptors kept" 0 "$(value fds "$T/churn")"
is "threads kept" 0 "$(value threads "$T/churn")"
at_most "TIME_WAIT, after $(value opened "$T/churn") clients" $((100 + 2 * $(value opened "$T/churn"))) "$(time_waits)"
opened=$(value opened "$T/churn")

# Hard times: little patience, and a provider that stops again and again.
spawn churn env TOOL_TRANSFER_MS=20 TOOL_TIMEOUT_MS=400 tool_churn 16 25
is_stuck() { ! kill -0 "$(pid_of churn)" 2>/dev/null || grep -q '^State:.Z' "/proc/$(pid_of churn)/status"; }
rounds=0
while ! is_stuck && [ $rounds -lt 100 ]; do
	freeze p1
	wait_for 1 is_stuck
	thaw p1
	wait_for 1 is_stuck
	rounds=$((rounds + 1))
	[ $rounds -lt 4 ] || break
done
wait_for 60 is_stuck || die "churn does not end"
finish churn || die "churn in hard times: $(cat "$T/churn.out" "$T/churn.log")"
at_least "failures in hard times" 1 "$(value failed "$T/churn.out")"
is "descriptors kept" 0 "$(value fds "$T/churn.out")"
is "threads kept" 0 "$(value threads "$T/churn.out")"
few_fds() { [ "$(n_fds p1)" -le $((fds + 2)) ]; }
wait_for 5 few_fds || die "the provider keeps $(n_fds p1) descriptors, had $fds"
objects get k/ 10 100000
is "after hard times" 10 "$(value ok "$T/objects")"
at_least "clients opened meanwhile" 1 "$opened"
check
down
