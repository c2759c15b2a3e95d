/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fake_fabric.c -- WRITEs whose requester is gone, and that are under way all the same.
 *
 * Only the responder's device decides now: its queue pair, its keys.  It does not know, and would
 * not care, that nobody waits for the answer.
 */
#include <string.h>

#include "tests/mock/verbs/fake_inner.h"
#include "transfer/base/num.h"

#define LATE_NS_MAX (5 * NS_PER_MS)

void
fake_abandon(struct fake_qp *qp, const struct fake_send *send)
{
	struct fake_late *late = calloc(1, sizeof(*late) + send->len_bytes);

	assert(late != NULL);
	if (!fake_gather(qp, send, late->bytes)) {
		free(late);
		return;
	}
	list_link_init(&late->at);
	late->peer_num = qp->peer_num;
	late->rkey = send->rkey;
	late->remote_addr = send->remote_addr;
	late->len_bytes = send->len_bytes;
	late->is_held = world.do_hold;
	late->act_ns = num_max(send->act_ns, fake_now() + rand_below(&qp->rand, LATE_NS_MAX));
	list_push_back(&world.lates, &late->at);
	fake_moved();
}

static void
land(const struct fake_late *late)
{
	struct fake_qp *peer = fake_qp_find(late->peer_num);
	struct fake_mr *mr = NULL;

	if (peer != NULL && fake_qp_can_respond(peer) && !fake_device_of(peer->qp.context)->is_cut)
		mr = fake_mr_find(late->rkey, peer->qp.pd, late->remote_addr, late->len_bytes,
				  IBV_ACCESS_REMOTE_WRITE);
	if (mr == NULL) {
		world.counts.n_fenced++;
		return;
	}
	memcpy(fake_mr_at(mr, late->remote_addr), late->bytes, late->len_bytes);
	world.counts.n_late++;
}

uint64_t
fake_fabric_tick(uint64_t now_ns)
{
	uint64_t next_ns = FAKE_NEVER;

	list_each_safe(&world.lates, link) {
		struct fake_late *late = list_of(link, struct fake_late, at);

		if (late->is_held && world.do_hold)
			continue;
		/* What was held comes at once when it is let go. */
		if (!late->is_held && late->act_ns > now_ns) {
			next_ns = num_min(next_ns, late->act_ns);
			continue;
		}
		list_remove(&late->at);
		land(late);
		free(late);
	}
	return next_ns;
}

void
fake_fabric_fini(void)
{
	list_each_safe(&world.lates, link)
		free(list_of(link, struct fake_late, at));
	list_each_safe(&world.qps, at) {
		struct fake_qp *qp = list_of(at, struct fake_qp, at);

		if (qp->is_ghost)
			free(qp);
	}
}
