/* SPDX-License-Identifier: Apache-2.0 */

/* sock_addr.c -- addresses as text and as the kernel's; getaddrinfo() is met here only. */
#include "transfer/base/sock.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "transfer/base/num.h"

static const char unix_prefix[] = "unix:";

/* parse_unix -- a path that does not fit would be cut by the kernel into another one. */
static int
parse_unix(const char *path, struct sock_addr *ret_addr)
{
	struct sock_addr addr = {.un.sun_family = AF_UNIX};
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(addr.un.sun_path))
		return SOCK_E_BAD_ADDRESS;

	memcpy(addr.un.sun_path, path, len + 1);
	addr.len_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	*ret_addr = addr;
	return 0;
}

/* split -- "[::1]:7400" or "host:7400" into host, without brackets, and port. */
static bool
split(const char *text, char host[SOCK_ADDR_TEXT_MAX], const char **ret_port)
{
	const char *first = text, *end;

	if (text[0] == '[') {
		first = text + 1;
		end = strchr(first, ']');
		if (end == NULL || end[1] != ':')
			return false;
		*ret_port = end + 2;
	} else {
		end = strchr(text, ':');
		if (end == NULL || strchr(end + 1, ':') != NULL)
			return false; /* two colons without brackets: where would the port begin? */
		*ret_port = end + 1;
	}
	if (end == first || (size_t)(end - first) >= SOCK_ADDR_TEXT_MAX)
		return false;

	memcpy(host, first, (size_t)(end - first));
	host[end - first] = '\0';
	return true;
}

static int
parse_tcp(const char *text, struct sock_addr *ret_addr)
{
	struct addrinfo hints = {
		.ai_family = text[0] == '[' ? AF_INET6 : AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	char host[SOCK_ADDR_TEXT_MAX];
	struct addrinfo *found = NULL;
	struct sock_addr addr = {0};
	const char *port;
	uint64_t port_number;

	if (!split(text, host, &port) || num_parse(port, &port_number) != 0 ||
	    port_number > UINT16_MAX)
		return SOCK_E_BAD_ADDRESS;

	/* A number is a number; only if it is none, somebody is asked. */
	if (getaddrinfo(host, port, &hints, &found) != 0) {
		hints.ai_flags = AI_NUMERICSERV;
		if (text[0] == '[' || getaddrinfo(host, port, &hints, &found) != 0)
			return SOCK_E_BAD_ADDRESS;
	}
	memcpy(&addr.storage, found->ai_addr, found->ai_addrlen);
	addr.len_bytes = found->ai_addrlen;
	freeaddrinfo(found);
	*ret_addr = addr;
	return 0;
}

int
sock_addr_parse(const char *text, struct sock_addr *ret_addr)
{
	if (strncmp(text, unix_prefix, strlen(unix_prefix)) == 0)
		return parse_unix(text + strlen(unix_prefix), ret_addr);

	return parse_tcp(text, ret_addr);
}

const char *
sock_addr_show(const struct sock_addr *addr, char *buf, size_t cap)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (sock_addr_is_unix(addr)) {
		snprintf(buf, cap, "%s%.*s", unix_prefix, (int)sizeof(addr->un.sun_path),
			 addr->un.sun_path);
		return buf;
	}
	if (getnameinfo(&addr->any, addr->len_bytes, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
		snprintf(buf, cap, "?");
		return buf;
	}
	snprintf(buf, cap, addr->any.sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return buf;
}

bool
sock_addr_is_unix(const struct sock_addr *addr)
{
	return addr->any.sa_family == AF_UNIX;
}

/* last_four -- an IPv4 address, whether it stands alone or within ::ffff:0:0/96. */
static bool
is_loopback_v4(const void *last_four)
{
	return *(const uint8_t *)last_four == 127;
}

bool
sock_addr_is_local(const struct sock_addr *addr)
{
	if (sock_addr_is_unix(addr))
		return true;

	if (addr->any.sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)&addr->storage;

		return is_loopback_v4(&in->sin_addr);
	}
	if (addr->any.sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)&addr->storage;

		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
		       (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) &&
			is_loopback_v4(&in6->sin6_addr.s6_addr[12]));
	}
	return false;
}
