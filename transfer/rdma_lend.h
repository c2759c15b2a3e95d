/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_lend.h -- a lent segment as the devices of this machine know it.
 *
 *      segment x device --> protection domain with one registration (rdma_mr.h), REMOTE_READ and
 *                           REMOTE_WRITE; no atomics anywhere
 *
 *      RDMA_READING   queue pairs that answer READs alone, whatever the memory allows
 *      RDMA_WRITING   queue pairs that answer WRITEs, too
 *
 * On iWARP nobody but the memory itself says what may be done with it (of what a queue pair may
 * answer its devices take no notice), so there each right has a domain and a registration of its
 * own, and the reading one is REMOTE_READ.
 */
#ifndef TRANSFER_RDMA_LEND_H
#define TRANSFER_RDMA_LEND_H

#include "transfer/lent.h"
#include "transfer/rdma_mr.h"

#define RDMA_HCAS_MAX 8

enum rdma_right { RDMA_READING, RDMA_WRITING, RDMA_N_RIGHTS };

/* A device that we listen on; context as librdmacm opened it. */
struct rdma_hca {
	struct ibv_context *verbs;
	struct ibv_comp_channel *channel; /* of all queue pairs on it */
	struct ibv_device_attr attr;
};

struct rdma_domain {
	struct ibv_pd *pd;
	struct rdma_mr mr;
};

/* rdma_hca_is_split -- has each right memory of its own there? */
static inline bool
rdma_hca_is_split(const struct rdma_hca *hca)
{
	return hca->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

struct rdma_lend {
	struct list_link at;
	struct lent *lent;
	bool is_leaving; /* guarded by the serve's lock */
	unsigned n_hcas;
	/* Where both rights share one, it is the writing one, and the other is empty. */
	struct rdma_domain domains[RDMA_HCAS_MAX][RDMA_N_RIGHTS];
};

/*
 * rdma_lend_new -- register with all of hcas[0..n).
 *
 * result:  0; what rdma_mr_open() says, with *ret_bad_hca; -errno.
 */
int rdma_lend_new(struct lent *lent, const struct rdma_hca *hcas, unsigned n, unsigned *ret_bad_hca,
		  struct rdma_lend **ret_lend) MUST_CHECK;

/* rdma_lend_free -- needs: no queue pair is left in its domains.  NULL is nothing. */
void rdma_lend_free(struct rdma_lend *lend);

/* rdma_lend_domain -- where queue pairs with that right lie; hca: one of those it was made with. */
const struct rdma_domain *rdma_lend_domain(const struct rdma_lend *lend, unsigned hca,
					   enum rdma_right right);

/* rdma_lend_welcome -- what to tell whoever may come into that domain. */
struct rdma_welcome rdma_lend_welcome(const struct rdma_lend *lend,
				      const struct rdma_domain *domain);

#endif
