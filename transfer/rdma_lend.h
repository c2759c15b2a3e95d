/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rdma_lend.h -- a lent segment as the devices of this machine know it.
 *
 *      segment x device x right --> protection domain with one registration (rdma_mr.h)
 *
 *      RDMA_READING   REMOTE_READ
 *      RDMA_WRITING   REMOTE_READ and REMOTE_WRITE; no atomics anywhere
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

struct rdma_lend {
	struct list_link at;
	struct lent *lent;
	bool is_leaving; /* guarded by the serve's lock */
	unsigned n_hcas;
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

/* rdma_lend_welcome -- what to tell whoever may come into that domain. */
struct rdma_welcome rdma_lend_welcome(const struct rdma_lend *lend,
				      const struct rdma_domain *domain);

#endif
