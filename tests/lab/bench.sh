#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench -- speed against the programs of the field, where the devices are; tests/bench/run asks for it.
#
#      sh tests/lab/bench.sh [--short] rdma_read|rdma_write|nof_read...
set -u

here=$(dirname "$0")
short=
if [ "${1:-}" = --short ]; then
	short=1
	shift
fi
n() { if [ -n "$short" ]; then echo "$2"; else echo "$1"; fi; } # LONG SHORT

# A namespace in memory, by the kernel's own target over TCP.  Both ends are in one kernel, and a 6.1 falls over bytes
# there that run from one huge page of the sender's into the next.
connect_nof() {
	nqn=nqn.2026-01.org.tiffin:bench
	cfg=/sys/kernel/config/nvmet
	modprobe -a nvmet nvmet-tcp nvme-tcp loop 2>/dev/null
	echo never >/sys/kernel/mm/transparent_hugepage/enabled
	head -c $((80 * 1048576)) /dev/zero >/dev/shm/bench.disk
	mkdir -p $cfg/subsystems/$nqn/namespaces/1 $cfg/ports/7
	echo 1 >$cfg/subsystems/$nqn/attr_allow_any_host
	losetup -f --show /dev/shm/bench.disk >$cfg/subsystems/$nqn/namespaces/1/device_path
	echo 1 >$cfg/subsystems/$nqn/namespaces/1/enable
	echo tcp >$cfg/ports/7/addr_trtype
	echo ipv4 >$cfg/ports/7/addr_adrfam
	echo 127.0.0.1 >$cfg/ports/7/addr_traddr
	echo 4427 >$cfg/ports/7/addr_trsvcid
	ln -s $cfg/subsystems/$nqn $cfg/ports/7/subsystems/$nqn
	echo "transport=tcp,traddr=127.0.0.1,trsvcid=4427,nqn=$nqn" >/dev/nvme-fabrics
	tries=300
	while [ ! -b /dev/nvme0n1 ] && [ $tries -gt 0 ]; do
		sleep 0.1
		tries=$((tries - 1))
	done
}

failed=0
for name in "$@"; do
	case $name in
	rdma_read | rdma_write)
		if ! command -v ib_read_bw >/dev/null; then
			echo "bench=$name skipped: perftest is missing"
			continue
		fi
		bench_rdma "$name" "$RDMA_LAB_RXE_ADDR" 65536 "$(n 512 256)" || failed=1
		bench_rdma "$name" "$RDMA_LAB_RXE_ADDR" 1048576 "$(n 64 32)" || failed=1
		;;
	nof_read)
		if ! command -v fio >/dev/null; then
			echo "bench=$name skipped: fio is missing"
			continue
		fi
		connect_nof
		bench_file "$name" "$(n 64 16)" /dev/nvme0n1 || failed=1
		;;
	*)
		echo "usage: bench.sh [--short] rdma_read|rdma_write|nof_read..." >&2
		exit 2
		;;
	esac
done
exit $failed
