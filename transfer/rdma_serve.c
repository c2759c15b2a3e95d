/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_serve.c -- the thread: connection requests, completions, and what is to end.
 *
 *      poll( woken?  connection manager  completions, one channel a device )  until the next end
 */
#include "transfer/rdma_serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/base/num.h"
#include "transfer/base/sock.h"
#include "transfer/rdma_guest.h"

#define BACKLOG   64
#define NAP_MS    1000 /* a clock that is not the machine's may have moved */
#define WHY_BYTES 256

/* ---- the thread ---- */

static void
on_event(struct rdma_serve *rdma, struct rdma_cm_event *event)
{
	enum rdma_cm_event_type type = event->event;
	struct rdma_conn_param param = event->param.conn;
	uint8_t bytes[UINT8_MAX];
	struct rdma_cm_id *id = event->id;
	struct rdma_guest *guest;

	/* An id can be destroyed only when its events are acknowledged, and then they are gone. */
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		if (param.private_data == NULL)
			param.private_data_len = 0;
		else
			memcpy(bytes, param.private_data, param.private_data_len);
		param.private_data = bytes;
	}
	rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		rdma_guest_let_in(rdma, id, &param);
		return;
	}
	guest = id->context;
	switch (type) {
	case RDMA_CM_EVENT_ESTABLISHED:
		if (guest != NULL)
			guest->is_up = true;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		if (guest != NULL)
			rdma_guest_destroy(guest);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		log_event(LOG_ERROR, "rdma_device_removed", "device=%s",
			  id->verbs != NULL ? ibv_get_device_name(id->verbs->device) : "");
		if (guest != NULL)
			rdma_guest_destroy(guest);
		break;
	default:
		break;
	}
}

static void
hear_events(struct rdma_serve *rdma)
{
	struct rdma_cm_event *event;

	while (rdma_get_cm_event(rdma->events, &event) == 0)
		on_event(rdma, event);
}

static void
hear_completions(struct rdma_hca *hca)
{
	struct rdma_cq *cq;

	while ((cq = rdma_cq_event(hca->channel)) != NULL) {
		struct rdma_guest *guest = container_of(cq, struct rdma_guest, cq);

		if (!rdma_guest_hear(guest))
			rdma_guest_destroy(guest);
	}
}

/* is_over -- has it come to its end, and when will it? */
static bool
is_over(const struct serve *serve, const struct rdma_guest *guest, uint64_t now_ms,
	uint64_t *ret_end_ms)
{
	*ret_end_ms = guest->until_ms;
	if (!guest->is_up)
		*ret_end_ms = num_min(*ret_end_ms, num_add_sat(guest->since_ms, serve->idle_ms));
	return guest->base.is_dying || now_ms >= *ret_end_ms;
}

static struct rdma_guest *
find_over(struct serve *serve, uint64_t now_ms, uint64_t *ret_next_ms)
{
	struct rdma_guest *found = NULL;

	*ret_next_ms = UINT64_MAX;
	lock_take(&serve->lock);
	list_each(&serve->rdma_conns, link) {
		struct rdma_serve_conn *base = list_of(link, struct rdma_serve_conn, at);
		struct rdma_guest *guest = container_of(base, struct rdma_guest, base);
		uint64_t end_ms;

		if (is_over(serve, guest, now_ms, &end_ms))
			found = guest;
		*ret_next_ms = num_min(*ret_next_ms, end_ms);
	}
	lock_drop(&serve->lock);
	return found;
}

/* end_those_over -- gives how long nobody else will be, in ms, at most NAP_MS. */
static int
end_those_over(struct serve *serve)
{
	struct rdma_guest *guest;
	uint64_t now_ms = clock_ms(serve->clock), next_ms;

	while ((guest = find_over(serve, now_ms, &next_ms)) != NULL)
		rdma_guest_destroy(guest);
	return (int)num_min(next_ms - num_min(now_ms, next_ms), (uint64_t)NAP_MS);
}

static bool
is_stopping(struct serve *serve)
{
	bool yes;

	lock_take(&serve->lock);
	yes = serve->is_stopping && list_is_empty(&serve->rdma_conns);
	lock_drop(&serve->lock);
	return yes;
}

static void *
thread_main(void *arg)
{
	struct rdma_serve *rdma = arg;
	struct pollfd pollfds[RDMA_HCAS_MAX + 2];
	nfds_t n = 0;

	pollfds[n++] = (struct pollfd){.fd = rdma->wake_fd, .events = POLLIN};
	pollfds[n++] = (struct pollfd){.fd = rdma->events->fd, .events = POLLIN};
	for (unsigned i = 0; i < rdma->n_hcas; i++)
		pollfds[n++] = (struct pollfd){.fd = rdma->hcas[i].channel->fd, .events = POLLIN};

	while (!is_stopping(rdma->serve)) {
		int nap_ms = end_those_over(rdma->serve);
		eventfd_t rung;

		if (poll(pollfds, n, nap_ms) <= 0)
			continue;
		if (pollfds[0].revents != 0)
			(void)eventfd_read(rdma->wake_fd, &rung);
		if (pollfds[1].revents != 0)
			hear_events(rdma);
		for (unsigned i = 0; i < rdma->n_hcas; i++)
			if (pollfds[i + 2].revents != 0)
				hear_completions(&rdma->hcas[i]);
	}
	return NULL;
}

/* ---- listening ---- */

static bool
knows_hca(const struct rdma_serve *rdma, const struct ibv_context *verbs)
{
	for (unsigned i = 0; i < rdma->n_hcas; i++)
		if (rdma->hcas[i].verbs == verbs)
			return true;
	return false;
}

static int
add_hca(struct rdma_serve *rdma, struct ibv_context *verbs)
{
	struct rdma_hca *hca = &rdma->hcas[rdma->n_hcas];
	int e, r;

	if (knows_hca(rdma, verbs))
		return 0;
	if (rdma->n_hcas == RDMA_HCAS_MAX)
		return RDMA_SERVE_E_NONE;
	e = ibv_query_device(verbs, &hca->attr);
	if (e != 0)
		return err_new(-e);
	hca->verbs = verbs;
	r = rdma_channel_open(verbs, &hca->channel);
	if (r == 0)
		rdma->n_hcas++;
	return err_up(r);
}

/* tell -- add the listener's address to the endpoint. */
static int
tell(struct rdma_serve *rdma, struct rdma_cm_id *id)
{
	struct sock_addr addr = {0};
	char text[SOCK_ADDR_TEXT_MAX];
	size_t len = strlen(rdma->endpoint);
	const struct sockaddr *own = rdma_get_local_addr(id);
	int n;

	addr.len_bytes = own->sa_family == AF_INET ? sizeof(struct sockaddr_in)
						   : sizeof(struct sockaddr_in6);
	memcpy(&addr.storage, own, addr.len_bytes);
	sock_addr_show(&addr, text, sizeof(text));
	n = snprintf(rdma->endpoint + len, sizeof(rdma->endpoint) - len, "%srdma:%s",
		     len > 0 ? " " : "", text);
	if (n > 0 && (size_t)n < sizeof(rdma->endpoint) - len)
		return 0;
	rdma->endpoint[len] = '\0';
	return RDMA_SERVE_E_NONE;
}

/* listen_with -- 0; NONE: the address is no RDMA device's; BAD_ADDRESS, IN_USE, -errno. */
static int
listen_with(struct rdma_serve *rdma, struct rdma_cm_id *id, struct sockaddr *addr)
{
	int r;

	if (rdma_bind_addr(id, addr) != 0) {
		if (errno == ENODEV || errno == EADDRNOTAVAIL)
			return RDMA_SERVE_E_NONE;
		return errno == EADDRINUSE ? RDMA_SERVE_E_IN_USE : err_new(-errno);
	}
	if (id->verbs == NULL)
		return RDMA_SERVE_E_NONE;
	r = add_hca(rdma, id->verbs);
	if (r != 0)
		return r;
	if (rdma_listen(id, BACKLOG) != 0)
		return errno == EADDRINUSE ? RDMA_SERVE_E_IN_USE : err_new(-errno);
	return tell(rdma, id);
}

static int
listen_at(struct rdma_serve *rdma, struct sockaddr *addr)
{
	struct rdma_cm_id *id;
	int r;

	if (rdma->n_listeners == array_len(rdma->listeners))
		return RDMA_SERVE_E_NONE;
	if (rdma_create_id(rdma->events, &id, NULL, RDMA_PS_TCP) != 0)
		return err_new(errno > 0 ? -errno : -EIO);
	r = listen_with(rdma, id, addr);
	if (r != 0) {
		rdma_destroy_id(id);
		return r;
	}
	rdma->listeners[rdma->n_listeners++] = id;
	return 0;
}

/* is_worth_asking -- an address of this machine that others can reach? */
static bool
is_worth_asking(const struct ifaddrs *own)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)own->ifa_addr;

	if (own->ifa_addr == NULL || (own->ifa_flags & IFF_UP) == 0 ||
	    (own->ifa_flags & IFF_LOOPBACK) != 0)
		return false;
	return own->ifa_addr->sa_family == AF_INET ||
	       (own->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr));
}

static int
listen_auto(struct rdma_serve *rdma)
{
	struct ifaddrs *all;
	int r = 0;

	if (getifaddrs(&all) != 0)
		return err_new(-errno);
	for (struct ifaddrs *own = all; own != NULL && r >= 0; own = own->ifa_next)
		if (is_worth_asking(own))
			r = listen_at(rdma, own->ifa_addr);
	freeifaddrs(all);
	if (r < 0)
		return err_up(r);
	return rdma->n_listeners > 0 ? 0 : RDMA_SERVE_E_NONE;
}

static int
listen_named(struct rdma_serve *rdma, const char *addresses)
{
	char *words = strdup(addresses), *rest = words;
	int r = 0;

	if (words == NULL)
		return err_new(-ENOMEM);
	for (char *word; r == 0 && (word = strsep(&rest, " ")) != NULL;) {
		struct sock_addr addr;

		if (*word == '\0')
			continue;
		if (sock_addr_parse(word, &addr) != 0 || sock_addr_is_unix(&addr))
			r = RDMA_SERVE_E_BAD_ADDRESS;
		else
			r = listen_at(rdma, &addr.any);
		if (r == RDMA_SERVE_E_NONE)
			r = RDMA_SERVE_E_BAD_ADDRESS;
	}
	free(words);
	if (r == 0 && rdma->n_listeners == 0)
		r = RDMA_SERVE_E_BAD_ADDRESS;
	return r;
}

/* ---- life ---- */

static int
start(struct rdma_serve *rdma, const char *addresses)
{
	int r, e;

	rdma->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (rdma->wake_fd < 0)
		return err_new(-errno);
	rdma->events = rdma_create_event_channel();
	if (rdma->events == NULL) /* no kernel module: there is none */
		return strcmp(addresses, "auto") == 0 ? RDMA_SERVE_E_NONE : err_new(-errno);
	r = sock_set_blocking(rdma->events->fd, false);
	if (r == 0)
		r = strcmp(addresses, "auto") == 0 ? listen_auto(rdma)
						   : listen_named(rdma, addresses);
	if (r != 0)
		return err_up(r);
	e = pthread_create(&rdma->thread, NULL, thread_main, rdma);
	if (e != 0)
		return err_new(-e);
	rdma->is_running = true;
	return 0;
}

int
rdma_serve_new(struct serve *serve, const char *addresses, struct rdma_serve **ret_rdma)
{
	struct rdma_serve *rdma = calloc(1, sizeof(*rdma));
	int r;

	if (rdma == NULL)
		return err_new(-ENOMEM);
	(void)ibv_fork_init(); /* before anything is registered; kernels since 5.12 don't need it */
	rdma->serve = serve;
	rdma->wake_fd = -1;
	list_init(&rdma->lends);
	r = start(rdma, addresses);
	if (r != 0) {
		rdma_serve_free(rdma);
		return r;
	}
	*ret_rdma = rdma;
	return 0;
}

void
rdma_serve_free(struct rdma_serve *rdma)
{
	if (rdma == NULL)
		return;
	if (rdma->is_running) {
		rdma_serve_wake(rdma);
		pthread_join(rdma->thread, NULL);
	}
	while (!list_is_empty(&rdma->lends)) {
		struct list_link *link = list_first(&rdma->lends);

		list_remove(link);
		rdma_lend_free(list_of(link, struct rdma_lend, at));
	}
	for (unsigned i = 0; i < rdma->n_listeners; i++)
		rdma_destroy_id(rdma->listeners[i]);
	for (unsigned i = 0; i < rdma->n_hcas; i++)
		ibv_destroy_comp_channel(rdma->hcas[i].channel);
	if (rdma->events != NULL)
		rdma_destroy_event_channel(rdma->events);
	fd_close_at(&rdma->wake_fd);
	free(rdma);
}

const char *
rdma_serve_endpoint(const struct rdma_serve *rdma)
{
	return rdma->endpoint;
}

int
rdma_serve_add(struct rdma_serve *rdma, struct lent *lent, char *why, size_t why_cap)
{
	struct rdma_lend *lend;
	unsigned bad = 0;
	int r = rdma_lend_new(lent, rdma->hcas, rdma->n_hcas, &bad, &lend);

	if (r != 0) {
		char text[WHY_BYTES];

		snprintf(why, why_cap, "%s: %s", ibv_get_device_name(rdma->hcas[bad].verbs->device),
			 rdma_mr_why(text, sizeof(text), r, rdma->hcas[bad].verbs,
				     lent->size_bytes));
		return r == -ENOMEM && rdma->n_hcas == 0 ? err_up(r) : RDMA_SERVE_E_NO_ROOM;
	}
	lock_take(&rdma->serve->lock);
	list_push_back(&rdma->lends, &lend->at);
	lock_drop(&rdma->serve->lock);
	return 0;
}

struct rdma_lend *
rdma_serve_find_lend(struct rdma_serve *rdma, const struct lent *lent)
{
	assert(lock_held(&rdma->serve->lock));

	list_each(&rdma->lends, link) {
		struct rdma_lend *lend = list_of(link, struct rdma_lend, at);

		if (lend->lent == lent)
			return lend;
	}
	return NULL;
}

void
rdma_serve_leave(struct rdma_serve *rdma, const struct lent *lent)
{
	struct rdma_lend *lend = rdma_serve_find_lend(rdma, lent);

	if (lend != NULL)
		lend->is_leaving = true;
}

void
rdma_serve_forget(struct rdma_serve *rdma, const struct lent *lent)
{
	struct rdma_lend *lend;

	lock_take(&rdma->serve->lock);
	lend = rdma_serve_find_lend(rdma, lent);
	if (lend != NULL)
		list_remove(&lend->at);
	lock_drop(&rdma->serve->lock);
	rdma_lend_free(lend);
}

void
rdma_serve_wake(struct rdma_serve *rdma)
{
	if (rdma != NULL)
		(void)eventfd_write(rdma->wake_fd, 1);
}
