#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# nof -- a namespace of the kernel's own target, over TCP: lent, put to, lost to a kill and to the target's absence,
# and found again.  Runs as root in a machine that may be thrown away (tests/lab): it makes a target and connects.
. "$(dirname "$0")/../script/lib.sh"

NQN=nqn.2026-01.org.tiffin:lab
CFG=/sys/kernel/config/nvmet
BYTES=$((48 * 1048576))

target_up() {
	mkdir -p $CFG/subsystems/$NQN/namespaces/3 $CFG/ports/1
	echo 1 >$CFG/subsystems/$NQN/attr_allow_any_host
	echo "$1" >$CFG/subsystems/$NQN/namespaces/3/device_path
	echo 1 >$CFG/subsystems/$NQN/namespaces/3/enable
	echo tcp >$CFG/ports/1/addr_trtype
	echo ipv4 >$CFG/ports/1/addr_adrfam
	echo 127.0.0.1 >$CFG/ports/1/addr_traddr
	echo 4420 >$CFG/ports/1/addr_trsvcid
	ln -s $CFG/subsystems/$NQN $CFG/ports/1/subsystems/$NQN
}
connect() { # more words for the kernel
	echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=$NQN,reconnect_delay=1${1:-}" >/dev/nvme-fabrics
}
disconnect() {
	for controller in /sys/class/nvme/nvme*/delete_controller; do echo 1 >"$controller"; done
	wait_for 30 is_gone || die "the way does not go: $(state)"
}
state() { cat /sys/class/nvme/nvme*/state 2>/dev/null; }
is_live() { state | grep -q live; }
is_gone() { ! ls /sys/class/nvme/nvme* >/dev/null 2>&1; }
is_lost() { state | grep -qv live; }
lend() { provider_start p1 "$BYTES" --nof="$NQN" --wait-ms=20s "$@"; }

modprobe -a nvmet nvmet-tcp nvme-tcp loop 2>/dev/null
TTL=60000
head -c $((BYTES + 4096)) /dev/zero >"$T/disk"
target_up "$(losetup -f --show "$T/disk")" || die "no target"

master_start
tiffin-provider --master="$MASTER" --name=p0 --size="$BYTES" --nof="$NQN" 2>"$T/why" && die "lent what is not connected"
grep -q "not connected" "$T/why" || die "says: $(cat "$T/why")"
connect || die "connect"
wait_for 30 is_live || die "the way does not open: $(state)"
lend --nof-nsid=3
tiffin --json segments | grep -q '"medium":"nof"' || die "the medium is not told"

head -c 3000001 /dev/urandom >"$T/f"
provider_start p2 16MiB
t put k "$T/f" || die "put"
t move --wait k p2 p1 >/dev/null || die "move to the namespace"
provider_stop p2
t get k "$T/g" || die "get"
cmp -s "$T/f" "$T/g" || die "other bytes"
provider_kill p1
began=$(date +%s)
lend
grep -q "segment_rests .*ms=15000" "$T/p1.log" || die "a killed provider's namespace does not rest"
at_least "seconds of rest" 15 $(($(date +%s) - began))
t get k "$T/g" || die "get after the provider was killed"
cmp -s "$T/f" "$T/g" || die "other bytes after the provider was killed"

# The target goes and comes back: requests wait, and nothing is lost.
rm $CFG/ports/1/subsystems/$NQN
wait_for 30 is_lost || die "the loss is not seen: $(state)"
ln -s $CFG/subsystems/$NQN $CFG/ports/1/subsystems/$NQN
wait_for 60 is_live || die "the way does not come back: $(state)"
t get k "$T/g" || die "get after the way came back"
cmp -s "$T/f" "$T/g" || die "other bytes after the way came back"
check

# Nobody is connected: the provider has the kernel do it, where it was built to.
provider_stop p1
disconnect
tiffin-provider --master="$MASTER" --name=p0 --size="$BYTES" --nof="$NQN" --nof-connect=tcp:127.0.0.1:4421 \
	2>"$T/why" && die "connected where nobody listens"
if grep -q "built without libnvme" "$T/why"; then
	echo "not connecting: $(cat "$T/why")"
else
	grep -q "connecting to tcp:127.0.0.1:4421 failed" "$T/why" || die "says: $(cat "$T/why")"
	lend --nof-connect=tcp:127.0.0.1:4420
	t get k "$T/g" || die "get after the provider connected"
	cmp -s "$T/f" "$T/g" || die "other bytes after the provider connected"
	echo "connecting: ok"
fi
check

# The target stays away until the kernel gives up: what lies there can't be read, which is said in time.  When it is back
# the provider is started anew, and has it all.
[ -z "$(pid_of p1)" ] || provider_stop p1
disconnect
connect ,ctrl_loss_tmo=2 || die "connect once more"
wait_for 30 is_live || die "the way does not open once more: $(state)"
lend
t get k "$T/g" || die "get before the long loss"
rm $CFG/ports/1/subsystems/$NQN
wait_for 60 is_gone || die "the kernel does not give up: $(state)"
SLOW=2 timed 60000 tiffin --master "$MASTER" get k "$T/g" 2>"$T/why" && die "read from a namespace that is not there"
echo "lost: $(tail -n 1 "$T/why")"
provider_kill p1
ln -s $CFG/subsystems/$NQN $CFG/ports/1/subsystems/$NQN
connect || die "connect after the long loss"
wait_for 60 is_live || die "the way does not open after the long loss: $(state)"
lend
t get k "$T/g" || die "get after the long loss"
cmp -s "$T/f" "$T/g" || die "other bytes after the long loss"
check
