#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# two_hosts -- two software RoCE devices whose packets to each other pass a cable, as between two machines.
#
#      rxea on tfa 10.77.0.1 ====== 10.77.0.2 tfb on rxeb
#
# Both addresses are this machine's, so its own routes would keep the packets inside: the rules ask the cable first, and
# know the way in by the end at which a packet arrives.
set -eu

ip link add tfa type veth peer name tfb
ip addr add 10.77.0.1/24 dev tfa
ip addr add 10.77.0.2/24 dev tfb
for end in tfa tfb; do
	echo 1 >/proc/sys/net/ipv4/conf/$end/accept_local
	echo 0 >/proc/sys/net/ipv4/conf/$end/rp_filter
	ip link set $end up
done
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
ip neigh replace 10.77.0.2 lladdr "$(cat /sys/class/net/tfb/address)" dev tfa nud permanent
ip neigh replace 10.77.0.1 lladdr "$(cat /sys/class/net/tfa/address)" dev tfb nud permanent

ip rule add pref 200 lookup local
ip rule del pref 0
ip rule add pref 10 iif tfa to 10.77.0.1 lookup local
ip rule add pref 11 iif tfb to 10.77.0.2 lookup local
ip rule add pref 20 to 10.77.0.2 lookup 77
ip rule add pref 21 to 10.77.0.1 lookup 78
ip route add 10.77.0.2 dev tfa src 10.77.0.1 table 77
ip route add 10.77.0.1 dev tfb src 10.77.0.2 table 78

rdma link add rxea type rxe netdev tfa
rdma link add rxeb type rxe netdev tfb
