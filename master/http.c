/* SPDX-License-Identifier: Apache-2.0 */
#include "master/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/http_page.h"
#include "transfer/base/err.h"
#include "transfer/base/sock.h"

#define ASK_WAIT_MS     5000
#define CONNECTIONS_MAX 64
#define IDLE_S          30
#define BLOCK_BYTES     65536

struct http {
	struct MHD_Daemon *daemon;
	struct asks *asks;
	uint16_t port;
	bool is_local; /* only names of this machine are served: a web page can't ask by its own */
};

/* ---- a page on its way out ---- */

struct reading {
	struct asks *asks;
	struct http_page page;
	int result; /* of the last piece */
};

static bool
make_piece(void *arg, struct master *master)
{
	struct reading *reading = arg;
	int r = http_page_gather(&reading->page, master);

	reading->result = r < 0 ? r : 0;
	return r != HTTP_PAGE_WAITS;
}

/* more -- have bytes waiting, or the end reached.  0 or -errno. */
static int
more(struct reading *reading)
{
	while (buf_len(&reading->page.text) == 0 && !reading->page.is_whole) {
		int r = asks_put(reading->asks, make_piece, reading, ASK_WAIT_MS);

		if (r == 0)
			r = reading->result;
		if (r == 0)
			r = http_page_write(&reading->page);
		if (r < 0)
			return r;
	}
	return 0;
}

static ssize_t
read_some(void *arg, uint64_t at, char *to, size_t cap)
{
	struct reading *reading = arg;
	size_t n;

	(void)at;
	if (more(reading) < 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	n = buf_len(&reading->page.text);
	if (n == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n > cap)
		n = cap;
	memcpy(to, buf_first(&reading->page.text), n);
	buf_consume(&reading->page.text, n);
	return (ssize_t)n;
}

static void
reading_free(void *arg)
{
	struct reading *reading = arg;

	http_page_fini(&reading->page);
	free(reading);
}

/* ---- requests ---- */

static enum MHD_Result
say(struct MHD_Connection *conn, unsigned status, const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (response == NULL)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
	result = MHD_queue_response(conn, status, response);
	MHD_destroy_response(response);
	return result;
}

/* A browser that was led here by a name of somebody else's is not served. */
static bool
is_host_ours(const struct http *http, struct MHD_Connection *conn)
{
	const char *host = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, "Host");
	size_t len;

	if (!http->is_local || host == NULL)
		return true;
	len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	return (len == 9 && strncasecmp(host, "localhost", len) == 0) ||
	       (len == 5 && strncmp(host, "[::1]", len) == 0) ||
	       (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == len);
}

static enum MHD_Result
send_page(struct http *http, struct MHD_Connection *conn, const struct http_route *route)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	struct MHD_Response *response;
	enum MHD_Result result;
	int r;

	if (reading == NULL)
		return say(conn, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
	reading->asks = http->asks;
	http_page_init(&reading->page, route,
		       MHD_lookup_connection_value(conn, MHD_GET_ARGUMENT_KIND, route->argument),
		       MHD_lookup_connection_value(conn, MHD_GET_ARGUMENT_KIND, "tenant"));
	r = more(reading); /* the status depends on the first piece */
	if (r < 0) {
		reading_free(reading);
		return say(conn, MHD_HTTP_SERVICE_UNAVAILABLE,
			   r == -ETIMEDOUT ? "the master is busy\n" : "the master can't answer\n");
	}
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_some,
						     reading, reading_free);
	if (response == NULL) {
		reading_free(reading);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, route->content_type);
	result = MHD_queue_response(conn, (unsigned)reading->page.status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result
on_request(void *arg, struct MHD_Connection *conn, const char *url, const char *method,
	   const char *version, const char *body, size_t *body_len, void **state)
{
	struct http *http = arg;
	const struct http_route *route;

	(void)version, (void)body, (void)body_len, (void)state;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return say(conn, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD alone\n");
	if (!is_host_ours(http, conn))
		return say(conn, MHD_HTTP_FORBIDDEN,
			   "this address serves names of this machine alone\n");
	route = http_route_find(url);
	if (route == NULL)
		return say(conn, MHD_HTTP_NOT_FOUND, "no such page; see tiffin-metrics(7)\n");
	if (route->argument != NULL &&
	    MHD_lookup_connection_value(conn, MHD_GET_ARGUMENT_KIND, route->argument) == NULL)
		return say(conn, MHD_HTTP_BAD_REQUEST, route->usage);
	return send_page(http, conn, route);
}

/* ---- life ---- */

/* why_not -- the library does not say why it can't begin: version 1.0 loses errno on its way out.
 */
static int
why_not(const struct sock_addr *addr, int err)
{
	int fd, r;

	r = sock_listen(addr, 0, &fd, NULL);
	if (r == SOCK_E_IN_USE)
		return HTTP_E_IN_USE;
	if (r < 0)
		return err_up(r);
	close(fd);
	return err_new(err != 0 ? -err : -ENOMEM);
}

static int
start(struct http *http, const struct sock_addr *addr)
{
	const union MHD_DaemonInfo *info;

	errno = 0;
	http->daemon =
		MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD |
					 (addr->any.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0),
				 0, NULL, NULL, on_request, http, MHD_OPTION_SOCK_ADDR, &addr->any,
				 MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
				 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_END);
	if (http->daemon == NULL)
		return why_not(addr, errno);
	info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT);
	http->port = info != NULL ? info->port : 0;
	return 0;
}

int
http_new(struct asks *asks, const char *listen, bool is_insecure, struct http **ret_http, char *why,
	 size_t why_cap)
{
	cleanup_with(http_free_at) struct http *http = calloc(1, sizeof(*http));
	struct sock_addr addr;
	int r;

	snprintf(why, why_cap, "out of memory");
	if (http == NULL)
		return err_new(-ENOMEM);
	snprintf(why, why_cap, "%s: not an address for HTTP (host:port)", listen);
	if (sock_addr_parse(listen, &addr) != 0 || sock_addr_is_unix(&addr))
		return HTTP_E_BAD_ADDRESS;
	snprintf(why, why_cap,
		 "%s: beyond this machine everybody could read the names of all keys by HTTP: give "
		 "an address of this machine, or --insecure",
		 listen);
	http->asks = asks;
	http->is_local = sock_addr_is_local(&addr);
	if (!http->is_local && !is_insecure)
		return HTTP_E_OPEN;
	r = start(http, &addr);
	snprintf(why, why_cap, "%s: %s", listen,
		 r == HTTP_E_IN_USE ? "somebody listens there already" : strerror(r < 0 ? -r : 0));
	if (r != 0)
		return r;
	*ret_http = take(&http);
	return 0;
}

void
http_free(struct http *http)
{
	if (http == NULL)
		return;

	if (http->daemon != NULL)
		MHD_stop_daemon(http->daemon);
	free(http);
}

uint16_t
http_port(const struct http *http)
{
	return http->port;
}
