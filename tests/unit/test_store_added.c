/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Objects that are added become rows together; what the books then say must not hang on how many
 * records were one transaction, nor on what came between them.
 */
#include "tests/unit/store_box.h"

#define N_RECORDS 600u

static const char *const tables[] = {
	"SELECT * FROM object ORDER BY object_id",
	"SELECT * FROM replica ORDER BY replica_id",
	"SELECT * FROM extent ORDER BY extent_id",
	"SELECT * FROM object_group ORDER BY object_id",
};

/* One that was added, and on which of segments 1..3 its copies lie. */
struct told {
	bool is_live;
	bool on[4];
	uint32_t n_extents;
};

static void
add_one(struct box *box, uint64_t id, struct told *told)
{
	uint8_t n_replicas = (uint8_t)rand_below(&box->rand, 4);
	uint32_t n_extents = (uint32_t)rand_below(&box->rand, 4);
	struct replica_record replicas[3];
	struct extent runs[4];
	char key[32], group[16];
	int len = snprintf(key, sizeof(key), "key-%llu", (unsigned long long)id);
	int group_len = snprintf(group, sizeof(group), "group-%llu", (unsigned long long)id % 3);

	if (n_replicas == 0)
		n_extents = 0;
	for (uint32_t i = 0; i < n_extents; i++)
		runs[i] = (struct extent){id * 65536 + i * 8192ull, 1000};
	for (uint8_t i = 0; i < n_replicas; i++)
		replicas[i] = (struct replica_record){i + 1u, n_extents, runs};
	*told = (struct told){.is_live = true, .n_extents = n_extents};
	for (uint8_t i = 0; i < n_replicas; i++)
		told->on[i + 1] = true;
	box_add(box, &(struct record){
			     .kind = RECORD_OBJECT_ADD,
			     .object_id = id,
			     .tenant_id = 1,
			     .len_bytes = 1000ull * n_extents,
			     .put_at_ms = 1790000000000 + id,
			     .has_crc = id % 3 != 0,
			     .crc = id % 3 != 0 ? (uint32_t)id * 77777u : 0,
			     .key = (const uint8_t *)key,
			     .key_len = (uint16_t)len,
			     .attr = (const uint8_t *)"attr",
			     .attr_len = id % 5 == 0 ? 4 : 0,
			     .pinned_until_s = id % 7 == 0 ? (uint32_t)id : 0,
			     .name = group,
			     .name_len = id % 4 == 0 ? (uint16_t)group_len : 0,
			     .n_replicas = n_replicas,
			     .replicas = replicas,
		     });
}

/* Its copy on segment 1 goes, or one comes there. */
static void
change_copy(struct box *box, uint64_t id, struct told *told)
{
	struct extent runs[4];
	struct replica_record replica = {1, told->n_extents, runs};

	if (told->n_extents == 0)
		return;
	for (uint32_t i = 0; i < told->n_extents; i++)
		runs[i] = (struct extent){id * 65536 + i * 8192ull + 4096, 1000};
	if (!told->on[1])
		box_add(box, &(struct record){.kind = RECORD_REPLICA_ADD,
					      .object_id = id,
					      .len_bytes = 1000ull * told->n_extents,
					      .n_replicas = 1,
					      .replicas = &replica});
	else if (told->on[2] || told->on[3])
		box_add(box, &(struct record){.kind = RECORD_REPLICA_REMOVE,
					      .object_id = id,
					      .segment_id = 1});
	else
		return;
	told->on[1] = !told->on[1];
}

static void
change_one(struct box *box, uint64_t id)
{
	char key[32];
	int len = snprintf(key, sizeof(key), "renamed-%llu", (unsigned long long)id);
	struct record record = {.object_id = id};

	switch (rand_below(&box->rand, 3)) {
	case 0:
		record.kind = RECORD_OBJECT_RENAME;
		record.key = (const uint8_t *)key;
		record.key_len = (uint16_t)len;
		break;
	case 1:
		record.kind = RECORD_OBJECT_ATTR;
		record.attr = (const uint8_t *)key;
		record.attr_len = (uint16_t)(len % 2 == 0 ? len : 0);
		break;
	default:
		record.kind = RECORD_OBJECT_PIN;
		record.pinned_until_s = id % 2 == 0 ? 77 : 0;
	}
	box_add(box, &record);
}

/* tell -- the same records each time, a transaction after each `per_batch` of them. */
static void
tell(struct box *box, size_t per_batch)
{
	struct told told[N_RECORDS + 4] = {0};
	uint64_t n = 0;

	box_story_begin(box);
	for (uint64_t id = 1; id <= 3; id++)
		box_add_segment(box, id);
	box_commit(box);
	for (unsigned i = 0; i < N_RECORDS; i++) {
		/* Nearly always of the last few, which may not be rows yet. */
		uint64_t back = rand_below(&box->rand, 40), id = n - num_min(n, back);
		uint64_t what = rand_below(&box->rand, 20);

		if (n < 10 || what < 13) {
			/* Two puts may end in the other order. */
			uint64_t next = n + 1 + (what == 0 && !told[n + 2].is_live);

			add_one(box, next, &told[next]);
			while (told[n + 1].is_live)
				n++;
		} else if (told[id].is_live && what < 16) {
			box_remove_object(box, id);
			told[id].is_live = false;
		} else if (told[id].is_live && what < 18) {
			change_copy(box, id, &told[id]);
		} else if (told[id].is_live) {
			change_one(box, id);
		}
		if (box->journal.n_records >= per_batch)
			box_commit(box);
	}
	box_commit(box);
	assert_int_equal(box_progress(box).committed, box->batch);
}

/* rows_of -- all that stands in the four tables, to be freed. */
static char *
rows_of(struct box *box)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	sqlite3 *conn;

	assert_non_null(to);
	assert_int_equal(sqlite3_open_v2(box->path, &conn, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	for (size_t i = 0; i < array_len(tables); i++) {
		fprintf(to, "%s\n", tables[i]);
		box_statements(conn, tables[i], box_print_finding, to);
	}
	sqlite3_close(conn);
	fclose(to);
	return text;
}

static char *
rows_after(size_t per_batch)
{
	struct box box;
	char *rows, *dump;

	box_init(&box);
	assert_int_equal(box_open(&box, NULL), 0);
	tell(&box, per_batch);
	rows = rows_of(&box);
	assert_check_finds_nothing(&box);
	dump = box_dump(&box); /* every sum is right, every law holds */
	assert_null(strstr(dump, "spoilt"));
	free(dump);
	box_fini(&box);
	return rows;
}

static void
rows__are_the_same__however_many_records_are_one_transaction(void **state)
{
	static const size_t sizes[] = {2, 31, 32, 33, 200, N_RECORDS};
	char *wanted = rows_after(1);

	(void)state;
	for (size_t i = 0; i < array_len(sizes); i++) {
		char *rows = rows_after(sizes[i]);

		assert_string_equal(rows, wanted);
		free(rows);
	}
	free(wanted);
}

/* books_of -- a store with segment 1. */
static void
books_of(struct box *box)
{
	box_init(box);
	assert_int_equal(box_open(box, NULL), 0);
	box_add_segment(box, 1);
	box_commit(box);
}

static void
object__added_and_removed_in_one_transaction__leaves_no_row(void **state)
{
	struct box box;
	char *rows;

	(void)state;
	books_of(&box);
	for (uint64_t id = 1; id <= 40; id++)
		box_add_object(&box, id, 1, 3);
	for (uint64_t id = 40; id >= 1; id--)
		box_remove_object(&box, id);
	box_commit(&box);
	rows = rows_of(&box);
	assert_string_equal(rows, "SELECT * FROM object ORDER BY object_id\n"
				  "SELECT * FROM replica ORDER BY replica_id\n"
				  "SELECT * FROM extent ORDER BY extent_id\n"
				  "SELECT * FROM object_group ORDER BY object_id\n");
	free(rows);
	box_fini(&box);
}

/* What a transaction that failed had gathered is not written with the next attempt a second time.
 */
static void
objects__whose_transaction_failed__are_added_once(void **state)
{
	struct box box;
	sqlite3 *other;
	char *dump;

	(void)state;
	books_of(&box);
	assert_int_equal(sqlite3_open_v2(box.path, &other, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	for (uint64_t id = 1; id <= 40; id++)
		box_add_object(&box, id, 1, 1);
	box_commit(&box);
	assert_true(box_progress(&box).committed < box.batch);
	sqlite3_close(other);
	clock_fake_advance_ms(&box.clock, 2000);
	store_step(box.store);
	assert_int_equal(box_progress(&box).committed, box.batch);
	dump = box_dump(&box);
	assert_non_null(strstr(dump, "object 40 "));
	free(dump);
	box_fini(&box);
}

int
main(void)
{
	static const struct CMUnitTest all[] = {
		cmocka_unit_test(rows__are_the_same__however_many_records_are_one_transaction),
		cmocka_unit_test(object__added_and_removed_in_one_transaction__leaves_no_row),
		cmocka_unit_test(objects__whose_transaction_failed__are_added_once),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}
