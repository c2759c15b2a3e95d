/* SPDX-License-Identifier: Apache-2.0 */

/* sock_route.c -- which card a packet would leave by: the kernel is asked, nothing is sent. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/sock.h"

static bool
is_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
	return a->sa_family == AF_INET6 &&
	       memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
		      &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
		      sizeof(struct in6_addr)) == 0;
}

/* own_address -- that a packet to there would bear.  0, SOCK_E_LOST, -errno. */
static int
own_address(const struct sock_addr *addr, struct sock_addr *ret_own)
{
	cleanup_with(fd_close_at) int fd =
		socket(addr->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_new(-errno);
	if (connect(fd, &addr->any, addr->len_bytes) < 0)
		return SOCK_E_LOST;
	ret_own->len_bytes = sizeof(ret_own->storage);
	return getsockname(fd, &ret_own->any, &ret_own->len_bytes) < 0 ? err_new(-errno) : 0;
}

int
sock_route(const struct sock_addr *addr, char *ret_netdev, size_t cap)
{
	struct ifaddrs *all;
	struct sock_addr own;
	int r;

	if (sock_addr_is_unix(addr))
		return SOCK_E_LOST;
	r = own_address(addr, &own);
	if (r != 0)
		return err_up(r);
	if (getifaddrs(&all) < 0)
		return err_new(-errno);
	r = SOCK_E_LOST;
	for (const struct ifaddrs *one = all; one != NULL && r != 0; one = one->ifa_next) {
		if (one->ifa_addr == NULL || !is_same_host(one->ifa_addr, &own.any) ||
		    strlen(one->ifa_name) >= cap)
			continue;
		snprintf(ret_netdev, cap, "%s", one->ifa_name);
		r = 0;
	}
	freeifaddrs(all);
	return r;
}
