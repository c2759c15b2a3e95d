/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/rdma_lend.h"

#include <errno.h>

#include "transfer/base/err.h"

static int
domain_open(struct rdma_domain *domain, const struct lent *lent, struct ibv_context *verbs,
	    enum rdma_right right)
{
	const struct memory memory = {
		.at = lent->bytes, .len_bytes = lent->size_bytes, .dmabuf_fd = -1};
	int access = IBV_ACCESS_REMOTE_READ;

	if (right == RDMA_WRITING)
		access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
	domain->pd = ibv_alloc_pd(verbs);
	if (domain->pd == NULL)
		return err_new(errno > 0 ? -errno : -EIO);
	return rdma_mr_open(&domain->mr, domain->pd, &memory, access);
}

int
rdma_lend_new(struct lent *lent, const struct rdma_hca *hcas, unsigned n, unsigned *ret_bad_hca,
	      struct rdma_lend **ret_lend)
{
	struct rdma_lend *lend = calloc(1, sizeof(*lend));
	int r = 0;

	assert(n <= RDMA_HCAS_MAX);

	if (lend == NULL)
		return err_new(-ENOMEM);
	list_link_init(&lend->at);
	lend->lent = lent;
	lend->n_hcas = n;
	for (unsigned i = 0; i < n && r == 0; i++) {
		*ret_bad_hca = i;
		r = domain_open(&lend->domains[i][RDMA_WRITING], lent, hcas[i].verbs, RDMA_WRITING);
		if (r == 0 && rdma_hca_is_split(&hcas[i]))
			r = domain_open(&lend->domains[i][RDMA_READING], lent, hcas[i].verbs,
					RDMA_READING);
	}
	if (r != 0) {
		rdma_lend_free(lend);
		return r;
	}
	*ret_lend = lend;
	return 0;
}

void
rdma_lend_free(struct rdma_lend *lend)
{
	if (lend == NULL)
		return;
	for (unsigned i = 0; i < lend->n_hcas * RDMA_N_RIGHTS; i++) {
		struct rdma_domain *domain = &lend->domains[i / RDMA_N_RIGHTS][i % RDMA_N_RIGHTS];

		if (domain->pd == NULL)
			continue;
		rdma_mr_close(&domain->mr);
		ibv_dealloc_pd(domain->pd);
	}
	free(lend);
}

const struct rdma_domain *
rdma_lend_domain(const struct rdma_lend *lend, unsigned hca, enum rdma_right right)
{
	const struct rdma_domain *own = &lend->domains[hca][right];

	assert(hca < lend->n_hcas);

	return own->pd != NULL ? own : &lend->domains[hca][RDMA_WRITING];
}

struct rdma_welcome
rdma_lend_welcome(const struct rdma_lend *lend, const struct rdma_domain *domain)
{
	struct rdma_welcome welcome = {
		.address = (uintptr_t)lend->lent->bytes,
		.size_bytes = lend->lent->size_bytes,
		.piece_bytes = domain->mr.piece_bytes,
		.n_pieces = domain->mr.n,
	};

	for (uint32_t i = 0; i < domain->mr.n; i++)
		welcome.rkeys[i] = domain->mr.mrs[i]->rkey;
	return welcome;
}
