/* SPDX-License-Identifier: Apache-2.0 */

/* serve_rdma.c -- what serve.c does with RDMA: listen, register, tell, cut (rdma_serve.h). */
#include <stdio.h>
#include <string.h>

#include "transfer/base/err.h"
#include "transfer/base/log.h"
#include "transfer/rdma_serve.h"

int
serve_listen_rdma(struct serve *serve, const char *addresses)
{
	int r;

	if (addresses == NULL)
		return 0;
	serve->must_have_rdma = strcmp(addresses, "auto") != 0;
	r = rdma_serve_new(serve, addresses, &serve->rdma);
	if (r == RDMA_SERVE_E_NONE && !serve->must_have_rdma)
		return 0;
	return r > 0 ? SERVE_E_NO_RDMA : err_up(r);
}

/* tell_rdma -- its addresses come behind the others, if there is room for them. */
static void
tell_rdma(struct serve *serve)
{
	const char *more = rdma_serve_endpoint(serve->rdma);
	size_t len = strlen(serve->endpoint);

	if (serve->tells_rdma)
		return;
	if (len + 1 + strlen(more) >= sizeof(serve->endpoint)) {
		log_event(LOG_WARN, "rdma_not_told", "why=\"the endpoint is too long\"");
		return;
	}
	snprintf(serve->endpoint + len, sizeof(serve->endpoint) - len, " %s", more);
	serve->tells_rdma = true;
	log_event(LOG_INFO, "rdma_served", "endpoint=\"%s\"", more);
}

int
serve_register_rdma(struct serve *serve, struct lent *lent)
{
	int r;

	if (serve->rdma == NULL || lent->bytes == NULL) /* on a disk */
		return 0;
	r = rdma_serve_add(serve->rdma, lent, serve->why, sizeof(serve->why));
	if (r == 0)
		tell_rdma(serve);
	if (r != RDMA_SERVE_E_NO_ROOM)
		return err_up(r);
	if (serve->must_have_rdma)
		return SERVE_E_NO_RDMA;
	log_event(LOG_WARN, "rdma_not_served", "segment=%lu why=\"%s\"", lent->segment_id,
		  serve->why);
	return 0;
}

/* mark_rdma -- those of a client (0: any) to a segment (NULL: any) are to be destroyed.  Gives
 * their number. */
static unsigned
mark_rdma(struct serve *serve, uint64_t client_id, const struct lent *lent, bool only_writers)
{
	unsigned n = 0;

	list_each(&serve->rdma_conns, link) {
		struct rdma_serve_conn *conn = list_of(link, struct rdma_serve_conn, at);

		if ((client_id != 0 && conn->client_id != client_id) ||
		    (lent != NULL && conn->row->lent != lent) || (only_writers && !conn->may_write))
			continue;
		conn->is_dying = true;
		n++;
	}
	return n;
}

void
serve_cut_rdma(struct serve *serve, uint64_t client_id, const struct lent *lent, bool only_writers)
{
	while (mark_rdma(serve, client_id, lent, only_writers) > 0) {
		rdma_serve_wake(serve->rdma);
		lock_wait(&serve->lock, &serve->changed);
	}
}

void
serve_cut_writers(struct serve *serve, uint64_t client_id)
{
	lock_take(&serve->lock);
	serve_cut_rdma(serve, client_id, NULL, /* only_writers= */ true);
	lock_drop(&serve->lock);
}
