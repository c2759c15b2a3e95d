/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A record as it lies in a journal; everything begins at a multiple of 8 bytes:
 *
 *      | struct written | replicas: segment, count | extents | task, job | key attr name host
 * endpoint | pad |
 *      |<------------------------------ len_bytes
 * --------------------------------------------------->|
 *
 * It never leaves the process, so it is in the machine's own byte order.
 */
#include "master/journal.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "master/proto/limits.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

struct written {
	size_t len_bytes;
	struct record record; /* pointers are of no meaning here */
};

struct written_replica {
	uint64_t segment_id;
	uint64_t n_extents;
};

_Static_assert(sizeof(struct written) % 8 == 0, "what follows is aligned");
_Static_assert(sizeof(struct extent) == 16, "extents are read where they lie");

void
journal_init(struct journal *journal)
{
	*journal = (struct journal){0};
	buf_init(&journal->bytes);
}

void
journal_fini(struct journal *journal)
{
	buf_fini(&journal->bytes);
}

void
journal_clear(struct journal *journal)
{
	buf_clear(&journal->bytes);
	journal->n_records = 0;
	journal->wants_sync = false;
}

/* Every law that the books' CHECKs would refuse: here the culprit is still on the stack. */
static void
check_object_add(const struct record *record)
{
	assert(record->object_id > 0 && record->object_id <= JOURNAL_OBJECT_ID_MAX);
	assert(record->key_len > 0 && record->key_len <= KEY_MAX);
	assert(record->attr_len <= ATTR_MAX && record->name_len <= GROUP_MAX);
	assert(record->len_bytes <= OBJECT_LEN_MAX);
	assert(record->tenant_id > 0 && record->tenant_id <= INT64_MAX);
	assert(record->n_replicas <= REPLICAS_MAX);
	assert(implies(record->len_bytes > 0, record->n_replicas > 0));
	if (!paranoid)
		return;

	assert(memchr(record->key, 0, record->key_len) == NULL);
	for (size_t i = 0; i < record->n_replicas; i++) {
		const struct replica_record *replica = &record->replicas[i];
		uint64_t sum = 0;

		assert(replica->n_extents <= EXTENTS_MAX);
		for (size_t k = 0; k < replica->n_extents; k++)
			sum += replica->extents[k].len_bytes;
		assert(sum == record->len_bytes);
	}
}

static void
check_job(const struct job_row *job)
{
	assert(job->job_id > 0 && job->job_id <= JOURNAL_OBJECT_ID_MAX);
	assert(job->n_segments <= JOB_SEGMENTS_MAX && job->n_targets <= JOB_SEGMENTS_MAX);
}

static void
check_replica_add(const struct record *record)
{
	assert(record->object_id > 0 && record->n_replicas == 1 && record->len_bytes > 0);
	assert(record->replicas[0].segment_id > 0 && record->replicas[0].n_extents > 0);
}

static void
check_record(const struct record *record)
{
	assert(record->kind >= RECORD_OBJECT_ADD && record->kind <= RECORD_KIND_MAX);
	assert((record->task != NULL) == (record->kind == RECORD_TASK_SET));
	assert((record->job != NULL) == (record->kind == RECORD_JOB_SET));
	assert(record->object_id <= JOURNAL_OBJECT_ID_MAX + 1);
	assert(record->segment_id <= INT64_MAX && record->segment_epoch <= INT64_MAX);
	assert(record->client_id <= INT64_MAX && record->put_at_ms <= INT64_MAX);
	assert(record->len_bytes <= INT64_MAX);
	if (record->kind == RECORD_OBJECT_ADD)
		check_object_add(record);
	if (record->kind == RECORD_OBJECT_RENAME)
		assert(record->key_len > 0 && record->key_len <= KEY_MAX);
	if (record->kind == RECORD_REPLICA_ADD)
		check_replica_add(record);
	if (record->kind == RECORD_JOB_SET)
		check_job(record->job);
	if (record->kind == RECORD_SEGMENT_ADD)
		assert(record->segment_id > 0 && record->len_bytes > 0);
	if (record->kind == RECORD_EVENT)
		assert(record->object_id > 0 && record->count > 0 && record->name_len > 0);
	if (record->kind == RECORD_LONGEST_LEASE)
		assert(record->count <= LEASE_MS_MAX);
	if (record->kind == RECORD_TENANT_SET)
		assert(record->tenant_id > 0 && record->name_len > 0);
	assert(record->tenant_id <= INT64_MAX);
	assert(record->quota_bytes <= INT64_MAX && record->quota_objects <= INT64_MAX);
}

/* Of a job only the ids that it has. */
static size_t
job_len_bytes(const struct job_row *job)
{
	return offsetof(struct job_row, ids) +
	       ((size_t)job->n_segments + job->n_targets) * sizeof(job->ids[0]);
}

static size_t
record_len_bytes(const struct record *record)
{
	size_t len = sizeof(struct written);

	len += record->n_replicas * sizeof(struct written_replica);
	for (size_t i = 0; i < record->n_replicas; i++)
		len += record->replicas[i].n_extents * sizeof(struct extent);
	if (record->task != NULL)
		len += sizeof(*record->task);
	if (record->job != NULL)
		len += job_len_bytes(record->job);
	len += (size_t)record->key_len + record->attr_len;
	len += (size_t)record->name_len + record->host_len + record->endpoint_len;
	return num_align_up(len, 8);
}

static uint8_t *
write_bytes(uint8_t *to, const void *bytes, size_t len_bytes)
{
	if (len_bytes > 0)
		memcpy(to, bytes, len_bytes);
	return to + len_bytes;
}

int
journal_add(struct journal *journal, const struct record *record)
{
	struct written head;
	uint8_t *to;
	int r;

	check_record(record);
	assert(journal->bytes.start == 0);

	head = (struct written){record_len_bytes(record), *record};
	r = buf_reserve(&journal->bytes, head.len_bytes);
	if (r < 0)
		return err_up(r);

	to = write_bytes(journal->bytes.at + journal->bytes.end, &head, sizeof(head));
	for (size_t i = 0; i < record->n_replicas; i++) {
		struct written_replica replica = {record->replicas[i].segment_id,
						  record->replicas[i].n_extents};

		to = write_bytes(to, &replica, sizeof(replica));
	}
	for (size_t i = 0; i < record->n_replicas; i++)
		to = write_bytes(to, record->replicas[i].extents,
				 record->replicas[i].n_extents * sizeof(struct extent));
	if (record->task != NULL)
		to = write_bytes(to, record->task, sizeof(*record->task));
	if (record->job != NULL)
		to = write_bytes(to, record->job, job_len_bytes(record->job));
	to = write_bytes(to, record->key, record->key_len);
	to = write_bytes(to, record->attr, record->attr_len);
	to = write_bytes(to, record->name, record->name_len);
	to = write_bytes(to, record->host, record->host_len);
	write_bytes(to, record->endpoint, record->endpoint_len);

	journal->bytes.end += head.len_bytes;
	journal->n_records++;
	return 0;
}

/* read_replicas -- gives the first byte behind them and their extents. */
static const uint8_t *
read_replicas(const uint8_t *from, size_t n, struct replica_record *ret)
{
	const struct written_replica *replicas = (const void *)from;
	const struct extent *extents = (const void *)(replicas + n);

	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct replica_record){replicas[i].segment_id,
						 (uint32_t)replicas[i].n_extents, extents};
		extents += replicas[i].n_extents;
	}
	return (const uint8_t *)extents;
}

/* read_rows -- what a task or job says, out into scratch.  Gives the first byte behind it. */
static const uint8_t *
read_rows(const uint8_t *from, struct journal_scratch *scratch, struct record *record)
{
	if (record->task != NULL) {
		memcpy(&scratch->task, from, sizeof(scratch->task));
		record->task = &scratch->task;
		from += sizeof(scratch->task);
	}
	if (record->job != NULL) {
		memcpy(&scratch->job, from, offsetof(struct job_row, ids));
		memcpy(&scratch->job, from, job_len_bytes(&scratch->job));
		record->job = &scratch->job;
		from += job_len_bytes(&scratch->job);
	}
	return from;
}

bool
journal_next(const struct journal *journal, size_t *at, struct journal_scratch *scratch,
	     struct record *ret_record)
{
	const struct written *head;
	const uint8_t *from;

	if (*at == journal->bytes.end)
		return false;

	assert(*at < journal->bytes.end);
	head = (const void *)(journal->bytes.at + *at);
	*at += head->len_bytes;

	*ret_record = head->record;
	assert(ret_record->n_replicas <= array_len(scratch->replicas));
	from = read_replicas((const uint8_t *)(head + 1), ret_record->n_replicas,
			     scratch->replicas);
	ret_record->replicas = scratch->replicas;
	ret_record->key = read_rows(from, scratch, ret_record);
	ret_record->attr = ret_record->key + ret_record->key_len;
	ret_record->name = (const char *)(ret_record->attr + ret_record->attr_len);
	ret_record->host = ret_record->name + ret_record->name_len;
	ret_record->endpoint = ret_record->host + ret_record->host_len;
	return true;
}
