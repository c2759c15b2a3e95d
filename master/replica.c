/* SPDX-License-Identifier: Apache-2.0 */
#include "master/replica.h"

#include <errno.h>
#include <string.h>

#include "master/segment.h"
#include "transfer/base/err.h"

#define REPLICA_BIT(name) (1u << REPLICA_##name)

static const struct {
	const char *name;
	unsigned next;
} states[REPLICA_N_STATES] = {
#define X(name, next) [REPLICA_##name] = {#name, next},
	REPLICA_STATES(X)
#undef X
};

const char *
replica_state_name(enum replica_state state)
{
	assert(state < REPLICA_N_STATES);
	return states[state].name;
}

bool
replica_may_move(enum replica_state from, enum replica_state to)
{
	assert(from < REPLICA_N_STATES && to < REPLICA_N_STATES);
	return states[from].next & (1u << to);
}

void
replica_check(const struct replica *rep)
{
	assert(rep->state < REPLICA_N_STATES);
	assert(rep->object != NULL && rep->segment != NULL);
	assert(rep->n_extents > 0);
	assert(list_link_is_on(&rep->at_segment));
	if (!paranoid)
		return;

	for (uint32_t i = 0; i < rep->n_extents; i++) {
		struct extent ext = replica_extents(rep)[i];

		assert(ext.len_bytes > 0);
		assert(ext.offset_bytes + ext.len_bytes <= rep->segment->size_bytes);
	}
}

void
replica_move(struct replica *rep, enum replica_state to)
{
	replica_check(rep);
	assert(replica_may_move((enum replica_state)rep->state, to));

	rep->state = (uint8_t)to;
	replica_check(rep);
}

int
replica_init(struct replica *rep, struct object *object, struct segment *segment,
	     const struct extent *extents, uint32_t n_extents)
{
	bool is_embedded = rep->is_embedded;

	assert(n_extents > 0);

	*rep = (struct replica){
		.object = object,
		.segment = segment,
		.n_extents = n_extents,
		.state = REPLICA_INITIALIZED,
		.is_embedded = is_embedded,
	};
	if (n_extents == 1) {
		rep->one = extents[0];
	} else {
		rep->many = malloc(n_extents * sizeof(*extents));
		if (rep->many == NULL)
			return err_new(-ENOMEM);
		memcpy(rep->many, extents, n_extents * sizeof(*extents));
	}
	list_link_init(&rep->at_segment);
	list_push_back(&segment->replicas, &rep->at_segment);
	segment->n_replicas++;
	replica_check(rep);
	return 0;
}

void
replica_fini(struct replica *rep)
{
	assert(rep->state == REPLICA_REMOVED || rep->state == REPLICA_FAILED);

	if (rep->n_extents > 1)
		free(rep->many);
	list_remove(&rep->at_segment);
	rep->segment->n_replicas--;
	if (rep->stuck_round != 0 && rep->stuck_round == rep->segment->drain_round)
		rep->segment->n_stuck--;
}
