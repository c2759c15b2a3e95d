/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/path_stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
path_table_init(struct path_table *table)
{
	*table = (struct path_table){.others = {.transport = "other"}};
	list_init(&table->all);
	list_link_init(&table->others.at);
}

void
path_table_fini(struct path_table *table)
{
	list_each_safe(&table->all, link) {
		list_remove(link);
		free(list_of(link, struct path_stats, at));
	}
}

bool
path_is(const struct path_stats *path, const char *address)
{
	if (address[0] == '\0' && path->address[0] == '\0')
		return true;
	return strncmp(path->address, address, PATH_ADDRESS_MAX) == 0 || path->peer[0] == '\0';
}

struct path_stats *
path_table_find(struct path_table *table, const struct target_desc *desc, const char *transport,
		const char *address)
{
	struct path_stats *path;

	list_each(&table->all, link) {
		path = list_of(link, struct path_stats, at);
		if (path->transport == transport && path_is(path, address) &&
		    strcmp(path->host, desc->host) == 0 && strcmp(path->peer, desc->endpoint) == 0)
			return path;
	}
	path = table->n < PATH_STATS_MAX ? calloc(1, sizeof(*path)) : NULL;
	if (path == NULL)
		return &table->others;
	path->transport = transport;
	memcpy(path->host, desc->host, sizeof(path->host));
	memcpy(path->peer, desc->endpoint, sizeof(path->peer));
	snprintf(path->address, sizeof(path->address), "%s", address);
	list_link_init(&path->at);
	list_push_back(&table->all, &path->at);
	table->n++;
	return path;
}

uint64_t
path_n_done(const struct path_stats *path, enum op_kind kind)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		n += atomic_load_explicit(&path->n_ns[kind][i], memory_order_relaxed);
	return n;
}

static void
count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

void
path_note(struct path_stats *path, const struct op *op, enum op_result result, uint64_t len_ns)
{
	if (op->n_moves > 0)
		count(&path->n_moved, op->n_moves);
	switch (result) {
	case OP_DONE:
		count(&path->bytes[op->kind], op->len_bytes);
		count(&path->n_ns[op->kind][hist_bucket_of(len_ns)], 1);
		count(&path->sum_ns, len_ns);
		break;
	case OP_E_LOST:
		count(&path->n_lost, 1);
		break;
	case OP_E_TIMEOUT:
		count(&path->n_timeout, 1);
		break;
	case OP_E_REFUSED:
		count(&path->n_refused, 1);
		break;
	case OP_E_PENDING:
	case OP_E_INVALID:
	case OP_E_IO:
	case OP_E_CANCELLED:
		count(&path->n_failed, 1);
		break;
	}
}
