/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "master/journal.h"
#include "tests/unit/allocs.h"

static const struct extent runs[] = {{0, 100}, {512, 28}, {4096, 128}};
static const struct replica_record replicas[] = {{7, 2, &runs[0]}, {9, 1, &runs[2]}};

static const struct record full_object = {
	.kind = RECORD_OBJECT_ADD,
	.object_id = 5,
	.tenant_id = 1,
	.len_bytes = 128,
	.put_at_ms = 1234,
	.crc = 0xdeadbeef,
	.has_crc = true,
	.key = (const uint8_t *)"a/key",
	.key_len = 5,
	.attr = (const uint8_t *)"\0\1\2",
	.attr_len = 3,
	.n_replicas = 2,
	.replicas = replicas,
};

static const struct record full_segment = {
	.kind = RECORD_SEGMENT_ADD,
	.segment_id = INT64_MAX,
	.segment_epoch = 3,
	.client_id = 4,
	.len_bytes = 1 << 20,
	.put_at_ms = 77,
	.medium = 2,
	.name = "box",
	.name_len = 3,
	.host = "here",
	.host_len = 4,
	.endpoint = "tcp:1",
	.endpoint_len = 5,
};

static void
assert_same_object(const struct record *a, const struct record *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->object_id, b->object_id);
	assert_int_equal(a->tenant_id, b->tenant_id);
	assert_int_equal(a->len_bytes, b->len_bytes);
	assert_int_equal(a->put_at_ms, b->put_at_ms);
	assert_int_equal(a->crc, b->crc);
	assert_int_equal(a->has_crc, b->has_crc);
	assert_int_equal(a->key_len, b->key_len);
	assert_memory_equal(a->key, b->key, b->key_len);
	assert_int_equal(a->attr_len, b->attr_len);
	assert_memory_equal(a->attr, b->attr, b->attr_len);
	assert_int_equal(a->n_replicas, b->n_replicas);
	for (size_t i = 0; i < a->n_replicas; i++) {
		assert_int_equal(a->replicas[i].segment_id, b->replicas[i].segment_id);
		assert_int_equal(a->replicas[i].n_extents, b->replicas[i].n_extents);
		assert_memory_equal(a->replicas[i].extents, b->replicas[i].extents,
				    b->replicas[i].n_extents * sizeof(struct extent));
	}
}

static void
record__comes_back_as_it_went_in(void **state)
{
	struct journal_scratch scratch;
	struct journal journal;
	struct record record;
	size_t at = 0;

	(void)state;
	journal_init(&journal);
	assert_int_equal(journal_add(&journal, &full_object), 0);

	assert_true(journal_next(&journal, &at, &scratch, &record));
	assert_same_object(&record, &full_object);
	assert_false(journal_next(&journal, &at, &scratch, &record));
	journal_fini(&journal);
}

static void
segment__comes_back_with_its_words(void **state)
{
	struct journal_scratch scratch;
	struct journal journal;
	struct record record;
	size_t at = 0;

	(void)state;
	journal_init(&journal);
	assert_int_equal(journal_add(&journal, &full_segment), 0);

	assert_true(journal_next(&journal, &at, &scratch, &record));
	assert_int_equal(record.segment_id, INT64_MAX);
	assert_int_equal(record.segment_epoch, 3);
	assert_int_equal(record.medium, 2);
	assert_memory_equal(record.name, "box", 3);
	assert_memory_equal(record.host, "here", 4);
	assert_memory_equal(record.endpoint, "tcp:1", 5);
	journal_fini(&journal);
}

static void
tenant__comes_back_with_its_quotas(void **state)
{
	const struct record tenant = {
		.kind = RECORD_TENANT_SET,
		.tenant_id = 7,
		.quota_bytes = INT64_MAX,
		.quota_objects = 3,
		.name = "llama",
		.name_len = 5,
	};
	struct journal_scratch scratch;
	struct journal journal;
	struct record record;
	size_t at = 0;

	(void)state;
	journal_init(&journal);
	assert_int_equal(journal_add(&journal, &tenant), 0);

	assert_true(journal_next(&journal, &at, &scratch, &record));
	assert_int_equal(record.kind, RECORD_TENANT_SET);
	assert_int_equal(record.tenant_id, 7);
	assert_int_equal(record.quota_bytes, INT64_MAX);
	assert_int_equal(record.quota_objects, 3);
	assert_int_equal(record.name_len, 5);
	assert_memory_equal(record.name, "llama", 5);
	journal_fini(&journal);
}

static void
task_and_job__come_back_with_their_rows(void **state)
{
	struct task_row task = {.task_id = 9, .job_id = 8, .object_id = 7, .kind = 2, .state = 5};
	struct job_row job = {.job_id = 8, .concurrency = 4, .n_segments = 2, .n_targets = 1};
	struct journal_scratch scratch;
	struct journal journal;
	struct record record;
	size_t at = 0;

	(void)state;
	job.ids[0] = 11;
	job.ids[2] = 13;
	journal_init(&journal);
	assert_int_equal(journal_add(&journal, &(struct record){.kind = RECORD_TASK_SET,
								.task = &task,
								.key = (const uint8_t *)"k",
								.key_len = 1}),
			 0);
	assert_int_equal(
		journal_add(&journal, &(struct record){.kind = RECORD_JOB_SET, .job = &job}), 0);

	assert_true(journal_next(&journal, &at, &scratch, &record));
	assert_int_equal(record.kind, RECORD_TASK_SET);
	assert_memory_equal(record.task, &task, sizeof(task));
	assert_memory_equal(record.key, "k", 1);
	assert_null(record.job);
	assert_true(journal_next(&journal, &at, &scratch, &record));
	assert_null(record.task);
	assert_int_equal(record.job->n_segments, 2);
	assert_int_equal(record.job->ids[0], 11);
	assert_int_equal(record.job->ids[2], 13);
	assert_false(journal_next(&journal, &at, &scratch, &record));
	journal_fini(&journal);
}

static void
records__come_back_in_order__whatever_their_lengths(void **state)
{
	struct journal_scratch scratch;
	struct journal journal;
	struct record record;
	uint8_t key[1024];
	size_t at = 0;

	(void)state;
	memset(key, 'k', sizeof(key));
	journal_init(&journal);
	for (uint16_t len = 1; len <= 1024; len++) {
		record = full_object;
		record.object_id = len;
		record.key = key;
		record.key_len = len;
		assert_int_equal(journal_add(&journal, &record), 0);
	}

	assert_int_equal(journal.n_records, 1024);
	for (uint16_t len = 1; len <= 1024; len++) {
		assert_true(journal_next(&journal, &at, &scratch, &record));
		assert_int_equal(record.object_id, len);
		assert_int_equal(record.key_len, len);
		assert_memory_equal(record.key, key, len);
		assert_int_equal(record.replicas[1].extents[0].offset_bytes, 4096);
	}
	assert_false(journal_next(&journal, &at, &scratch, &record));
	journal_fini(&journal);
}

static void
replica__may_have_no_extents_at_all(void **state)
{
	const struct replica_record none = {7, 0, NULL};
	struct record empty = {.kind = RECORD_OBJECT_ADD,
			       .object_id = 1,
			       .tenant_id = 1,
			       .key = (const uint8_t *)"e",
			       .key_len = 1,
			       .n_replicas = 1,
			       .replicas = &none};
	struct journal_scratch scratch;
	struct journal journal;
	struct record record;
	size_t at = 0;

	(void)state;
	journal_init(&journal);
	assert_int_equal(journal_add(&journal, &empty), 0);

	assert_true(journal_next(&journal, &at, &scratch, &record));
	assert_int_equal(record.n_replicas, 1);
	assert_int_equal(record.replicas[0].n_extents, 0);
	journal_fini(&journal);
}

static void
clear__leaves_nothing_to_read_and_no_wish_to_sync(void **state)
{
	struct journal_scratch scratch;
	struct journal journal;
	struct record record;
	size_t at = 0;

	(void)state;
	journal_init(&journal);
	assert_int_equal(journal_add(&journal, &full_object), 0);
	journal.wants_sync = true;

	journal_clear(&journal);

	assert_int_equal(journal.n_records, 0);
	assert_false(journal.wants_sync);
	assert_false(journal_next(&journal, &at, &scratch, &record));
	journal_fini(&journal);
}

static void
add__when_memory_runs_out__changes_nothing(void **state)
{
	struct journal_scratch scratch;
	struct journal journal;
	struct record record;
	size_t n = 0, at = 0;
	int r;

	(void)state;
	journal_init(&journal);
	assert_int_equal(journal_add(&journal, &full_object), 0);
	allocs_fail_after(0);
	do {
		r = journal_add(&journal, &full_object);
	} while (r == 0);
	allocs_succeed();

	assert_int_equal(r, -ENOMEM);
	while (journal_next(&journal, &at, &scratch, &record)) {
		assert_same_object(&record, &full_object);
		n++;
	}
	assert_int_equal(n, journal.n_records);
	journal_fini(&journal);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record__comes_back_as_it_went_in),
		cmocka_unit_test(segment__comes_back_with_its_words),
		cmocka_unit_test(task_and_job__come_back_with_their_rows),
		cmocka_unit_test(tenant__comes_back_with_its_quotas),
		cmocka_unit_test(records__come_back_in_order__whatever_their_lengths),
		cmocka_unit_test(replica__may_have_no_extents_at_all),
		cmocka_unit_test(clear__leaves_nothing_to_read_and_no_wish_to_sync),
		cmocka_unit_test(add__when_memory_runs_out__changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
