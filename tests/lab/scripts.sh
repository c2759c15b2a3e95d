#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# scripts -- those of tests/script whose objects travel, once more, by RDMA alone.
#
#      sh tests/lab/scripts.sh ADDRESS NAME...      short: some of them, in a few minutes; all
#
# Left out are those that are about the books (no byte travels), other wires, disks, or installing.
# One whose device has sent nothing has failed: it went another way.
set -u

address=$1
shift
here=$(dirname "$0")/../script
short="b02_two_writers b11_copies_apart b32_sizes lease"
all="$short provider_restart b03_error_at_close b05_hit_then_miss b06_remove_under_lease b07_wrong_bytes b08_fragments
	b09_eviction b13_freeing_much b14_dead_owner b21_kill_master b22_books_and_memory
	b24_key_and_prefix b26_odd_keys b34_stuck_backend b36_garbage b43_batches_and_buffers b44_closing
	cli drain events fs_calls fs_control fs_everyday fs_inside fs_two_mounts groups main_job orders pins
	remove_many tenants watch"
case $* in
short) set -- $short ;;
all) set -- $all ;;
esac

# packets -- that the software device has sent so far.
packets() { cat /sys/class/infiniband/rxe*/ports/1/hw_counters/sent_pkts | awk '{s += $1} END {print s + 0}'; }

failed=0
for name in "$@"; do
	began=$(date +%s)
	before=$(packets)
	WIRE_RDMA=$address SLOW=10 timeout -k 5 "${SCRIPT_SECONDS:-300}" sh "$here/$name.sh" >"/tmp/$name.log" 2>&1
	code=$?
	sent=$(($(packets) - before))
	[ $code -ne 0 ] || [ "$sent" -gt 20 ] || code="0, but went another way"
	if [ "$code" = 0 ]; then
		echo "ok   $name ($(($(date +%s) - began)) s, $sent packets)"
	else
		failed=$((failed + 1))
		echo "FAIL $name (exit $code, $(($(date +%s) - began)) s, $sent packets)"
		{
			grep FAILED "/tmp/$name.log"
			tail -n 20 "/tmp/$name.log"
		} | sed 's/^/      /'
	fi
done
[ $failed -eq 0 ]
