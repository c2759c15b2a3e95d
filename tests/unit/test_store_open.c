/* SPDX-License-Identifier: Apache-2.0 */

/* The door of the books: new, known, foreign, newer, taken, unreachable. */
#include "tests/unit/store_box.h"

#include <fcntl.h>

#include "tests/unit/allocs.h"

static int
setup(void **state)
{
	struct box *box = malloc(sizeof(*box));

	assert_non_null(box);
	box_init(box);
	*state = box;
	return 0;
}

static int
teardown(void **state)
{
	box_fini(*state);
	free(*state);
	return 0;
}

static void
write_file(const char *path, const char *text)
{
	FILE *to = fopen(path, "w");

	assert_non_null(to);
	fputs(text, to);
	fclose(to);
}

static int
count_record(void *arg, const struct record *record)
{
	*(int *)arg += record->kind == RECORD_OBJECT_ADD;
	return 0;
}

static mode_t
mode_of(const struct box *box, const char *suffix)
{
	char name[128];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", box->path, suffix);
	assert_int_equal(stat(name, &st), 0);
	return st.st_mode & 07777;
}

static void
new_file__begins_with_the_first_epoch_and_the_first_id(void **state)
{
	struct box *box = *state;
	char *text;

	assert_int_equal(box_open(box, NULL), 0);

	assert_int_equal(store_epoch(box->store), 1);
	assert_int_equal(store_next_object_id(box->store), 1);
	text = box_dump(box);
	assert_string_equal(text, "");
	assert_check_finds_nothing(box);
	free(text);
}

static void
epoch__grows_with_each_start(void **state)
{
	struct box *box = *state;

	for (uint64_t epoch = 1; epoch <= 4; epoch++) {
		assert_int_equal(box_open(box, NULL), 0);
		assert_int_equal(store_epoch(box->store), epoch);
		box_close(box);
	}
}

static void
cluster_id__stays_with_the_books_and_is_new_when_a_backup_is_put_back(void **state)
{
	struct box *box = *state;
	uint64_t id;

	assert_int_equal(box_open(box, NULL), 0);
	id = store_cluster_id(box->store);
	assert_int_not_equal(id, 0);
	box_close(box);
	assert_int_equal(box_open(box, NULL), 0);
	assert_int_equal(store_cluster_id(box->store), id);
	box_close(box);

	box_sql(box, "PRAGMA user_version = 1");
	assert_int_equal(box_open(box, NULL), 0);
	assert_true(store_was_put_back(box->store));
	assert_int_not_equal(store_cluster_id(box->store), 0);
	assert_int_not_equal(store_cluster_id(box->store), id);
}

static void
next_object_id__is_beyond_every_object_and_every_id_said_to_be_used(void **state)
{
	struct box *box = *state;

	assert_int_equal(box_open(box, NULL), 0);
	box_add_segment(box, 1);
	box_add_object(box, 70, 1, 1);
	box_commit(box);
	box_close(box);
	assert_int_equal(box_open(box, NULL), 0);
	assert_int_equal(store_next_object_id(box->store), 71);

	box_add(box, &(struct record){.kind = RECORD_NEXT_OBJECT_ID, .object_id = 500});
	box_add(box, &(struct record){.kind = RECORD_NEXT_OBJECT_ID, .object_id = 300});
	box_commit(box);
	box_close(box);
	assert_int_equal(box_open(box, NULL), 0);
	assert_int_equal(store_next_object_id(box->store), 500);
}

static void
files__keep_others_out__whatever_the_umask(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".reserve"};
	static const mode_t umasks[] = {0, 0777, 022};
	struct box *box = *state;

	for (size_t i = 0; i < array_len(umasks); i++) {
		mode_t old = umask(umasks[i]);
		int r = box_open(box, NULL);

		umask(old);
		assert_int_equal(r, 0);
		for (size_t k = 0; k < array_len(suffixes); k++)
			assert_int_equal(mode_of(box, suffixes[k]), 0600);
		box_close(box);
		box_empty(box);
	}
}

static void
second_master__is_refused_and_told_who_has_it(void **state)
{
	struct box *box = *state;
	struct store *second = NULL;
	char pid[32];

	assert_int_equal(box_open(box, NULL), 0);
	snprintf(pid, sizeof(pid), "process %ld", (long)getpid());

	assert_int_equal(store_open(&box->config, &second, box->why, sizeof(box->why)),
			 STORE_E_IN_USE);
	assert_null(second);
	assert_non_null(strstr(box->why, box->path));
	assert_non_null(strstr(box->why, pid));

	/* The first one is unharmed. */
	box_tell(box, 1);
	assert_int_equal(box_progress(box).committed, 1);
}

static void
second_master__once_the_first_is_gone__may_start(void **state)
{
	struct box *box = *state;

	assert_int_equal(box_open(box, NULL), 0);
	box_close(box);

	assert_int_equal(box_open(box, NULL), 0);
}

static void
file__that_can_t_be_opened__is_told_with_the_system_s_reason(void **state)
{
	struct box *box = *state;
	char name[128];

	assert_int_equal(box_open(box, NULL), 0);
	box_close(box);
	snprintf(name, sizeof(name), "%s-wal", box->path);
	assert_int_equal(mkdir(name, 0700), 0);

	assert_int_equal(box_open(box, NULL), -EISDIR);
	assert_non_null(strstr(box->why, box->path));
	assert_non_null(strstr(box->why, "unable to open database file: Is a directory"));

	assert_int_equal(rmdir(name), 0);
	assert_int_equal(box_open(box, NULL), 0);
}

static void
newer_version__is_refused__changes_nothing_and_names_the_cure(void **state)
{
	struct box *box = *state;
	char sql[128];

	assert_int_equal(box_open(box, NULL), 0);
	box_close(box);
	box_sql(box, "UPDATE cluster SET schema_version = 99, master_epoch = 7");

	assert_int_equal(box_open(box, NULL), STORE_E_NEWER);
	assert_non_null(strstr(box->why, box->path));
	assert_non_null(strstr(box->why, "schema 99"));
	assert_non_null(strstr(box->why, "tiffin restore"));

	snprintf(sql, sizeof(sql), "UPDATE cluster SET schema_version = %zu WHERE master_epoch = 7",
		 n_sql_schemas);
	box_sql(box, sql);
	assert_int_equal(box_open(box, NULL), 0);
	assert_int_equal(store_epoch(box->store), 8);
}

static void
newer_version__that_has_other_tables__is_refused_all_the_same(void **state)
{
	struct box *box = *state;

	assert_int_equal(box_open(box, NULL), 0);
	box_close(box);
	box_sql(box, "DROP VIEW v_extent; DROP TABLE open_chunk; CREATE TABLE later (x);"
		     "UPDATE cluster SET schema_version = schema_version + 1");

	assert_int_equal(box_open(box, NULL), STORE_E_NEWER);
}

static void
assert_damaged(struct box *box, const char *word)
{
	assert_int_equal(box_open(box, NULL), STORE_E_DAMAGED);
	assert_non_null(strstr(box->why, box->path));
	assert_non_null(strstr(box->why, "tiffin check --db "));
	assert_null(strchr(box->why, '\n'));
	if (strstr(box->why, word) == NULL)
		fail_msg("no \"%s\" in: %s", word, box->why);
}

static void
longest_lease__grows_with_the_start__and_shrinks_by_a_record_only(void **state)
{
	static const uint64_t lease_ms[] = {5000, 60000, 1000};
	static const uint64_t longest_ms[] = {5000, 60000, 60000};
	struct box *box = *state;

	for (size_t i = 0; i < array_len(lease_ms); i++) {
		box->config.lease_ms = lease_ms[i];
		assert_int_equal(box_open(box, NULL), 0);
		assert_int_equal(store_longest_lease_ms(box->store), longest_ms[i]);
		if (i + 1 < array_len(lease_ms))
			box_close(box);
	}
	box_add(box, &(struct record){.kind = RECORD_LONGEST_LEASE, .count = 1000});
	box_submit(box);
	store_step(box->store);
	box_close(box);
	assert_int_equal(box_open(box, NULL), 0);
	assert_int_equal(store_longest_lease_ms(box->store), 1000);
}

/* A database as the first version left it, with two objects in it. */
static void
make_version_1(struct box *box)
{
	write_file(box->path, "");
	box_sql(box, "PRAGMA application_id = 0x54494631");
	box_sql(box, sql_schemas[0].text);
	box_sql(box, "INSERT INTO cluster VALUES (1, 1, 6, 100, 5, 5, 0);"
		     "INSERT INTO segment VALUES (7, 1, 42, 1, 1048576, 5, 'box', 'here', 'tcp:1');"
		     "INSERT INTO object VALUES (3, 1, CAST('old' AS BLOB), 600, 5, NULL, NULL);"
		     "INSERT INTO replica VALUES (24, 7, 4096);"
		     "INSERT INTO object VALUES (4, 1, CAST('older' AS BLOB), 0, 5, NULL, x'61')");
}

static void
version_1__becomes_the_newest__and_loses_nothing(void **state)
{
	struct box *box = *state;
	char *text = NULL;

	make_version_1(box);
	assert_int_equal(box_open(box, NULL), 0);
	assert_int_equal(store_epoch(box->store), 7);
	assert_int_equal(store_longest_lease_ms(box->store), LEASE_MS_MAX);
	assert_int_equal(box_load(box, &text), 0);

	assert_non_null(strstr(text, "segment 7 epoch 1 len 1048576 client 42 medium 1 box here"));
	assert_non_null(strstr(text, "object 3 tenant 1 len 600 at 5 crc 0 0 key old attr \n"
				     "  on 7: 4096+600\n"));
	assert_non_null(strstr(text, "object 4 tenant 1 len 0 at 5 crc 0 0 key older attr a\n"));
	free(text);
	assert_check_finds_nothing(box);
	box_sql(box, "CREATE TEMP TABLE none (n CHECK (n = 0));"
		     "INSERT INTO none SELECT count(*) FROM v_task;"
		     "INSERT INTO none SELECT count(*) FROM v_job;"
		     "INSERT INTO none SELECT sum(drain) FROM segment");
	box_sql(box, "CREATE TEMP TABLE one (n CHECK (n = 1));"
		     "INSERT INTO one SELECT count(*) FROM v_tenant WHERE n_objects = 2 AND "
		     "object_bytes = 600 AND stored_bytes = 1024;"
		     "INSERT INTO one SELECT 1 + count(*) FROM v_pin");
}

static void
version_below_one__is_damage(void **state)
{
	struct box *box = *state;

	assert_int_equal(box_open(box, NULL), 0);
	box_close(box);
	box_sql(box,
		"PRAGMA ignore_check_constraints = ON; UPDATE cluster SET schema_version = -3");

	assert_damaged(box, "version");
}

static void
text_file__is_no_database(void **state)
{
	struct box *box = *state;

	write_file(box->path, "This is the key of the larder, and has been for a hundred years.\n");

	assert_damaged(box, "not a database");
}

static void
database_of_somebody_else__is_refused_unchanged(void **state)
{
	struct box *box = *state;

	write_file(box->path, "");
	box_sql(box, "CREATE TABLE recipe (name TEXT)");

	assert_damaged(box, "not a database of Tiffin");
	box_sql(box, "INSERT INTO recipe VALUES ('bread')");
}

static void
empty_file__becomes_a_new_database(void **state)
{
	struct box *box = *state;

	write_file(box->path, "");

	assert_int_equal(box_open(box, NULL), 0);
	assert_int_equal(store_epoch(box->store), 1);
}

static void
table_that_lacks__or_was_changed__is_damage(void **state)
{
	static const char *const changes[] = {
		"DROP TABLE open_chunk",
		"CREATE INDEX by_key ON object (key)",
		"DROP VIEW v_object",
		"CREATE TRIGGER t AFTER INSERT ON object BEGIN DELETE FROM replica; END",
		"ALTER TABLE segment ADD COLUMN colour TEXT",
	};
	struct box *box = *state;

	for (size_t i = 0; i < array_len(changes); i++) {
		box_empty(box);
		assert_int_equal(box_open(box, NULL), 0);
		box_close(box);
		box_sql(box, changes[i]);
		assert_damaged(box, "tables");
	}
}

static void
folder_that_is_not_there__is_a_failure_with_its_name(void **state)
{
	struct box *box = *state;

	snprintf(box->path, sizeof(box->path), "%s/no/books.db", box->dir);

	assert_int_equal(box_open(box, NULL), -ENOENT);
	assert_non_null(strstr(box->why, box->path));
}

static void
folder_in_place_of_the_file__is_a_failure(void **state)
{
	struct box *box = *state;

	assert_int_equal(mkdir(box->path, 0700), 0);

	assert_true(box_open(box, NULL) < 0);
	assert_non_null(strstr(box->why, box->path));
	rmdir(box->path);
}

static void
vfs_that_does_not_exist__is_a_failure(void **state)
{
	struct box *box = *state;

	assert_true(box_open(box, "no such vfs") != 0);
	assert_non_null(strstr(box->why, box->path));
}

static void
failed_open__gives_the_lock_back(void **state)
{
	struct box *box = *state;

	write_file(box->path,
		   "no database, and certainly none that is long enough to be one ......");
	assert_int_equal(box_open(box, NULL), STORE_E_DAMAGED);
	unlink(box->path);

	assert_int_equal(box_open(box, NULL), 0);
}

static void
open__when_any_allocation_fails__says_so_and_may_be_tried_again(void **state)
{
	struct box *box = *state;
	int r = -1;

	for (unsigned n = 0; r != 0; n++) {
		assert_true(n < 1000);
		box_empty(box);
		allocs_fail_after(n);
		r = box_open(box, NULL);
		allocs_succeed();
		if (r != 0) {
			assert_int_equal(r, -ENOMEM);
			assert_non_null(strstr(box->why, box->path));
		}
	}
}

static void
load__when_any_allocation_fails__says_so(void **state)
{
	struct box *box = *state;
	int r = -1, n_records = 0;

	assert_int_equal(box_open(box, NULL), 0);
	for (unsigned k = 1; k <= 5; k++)
		box_tell(box, k);
	for (unsigned n = 0; r != 0; n++) {
		assert_true(n < 1000);
		allocs_fail_after(n);
		r = store_load(box->store, count_record, &n_records, box->why, sizeof(box->why));
		allocs_succeed();
		if (r != 0)
			assert_int_equal(r, -ENOMEM);
	}
}

static void
submit__when_memory_runs_out__leaves_the_records_where_they_are(void **state)
{
	struct box *box = *state;
	char *text;

	assert_int_equal(box_open(box, NULL), 0);
	box_add_segment(box, 1);
	allocs_fail_after(0);
	assert_int_equal(store_submit(box->store, &box->journal, &box->batch), -ENOMEM);
	allocs_succeed();

	assert_int_equal(box->journal.n_records, 1);
	box_commit(box);
	assert_int_equal(box->batch, 1);
	text = box_dump(box);
	assert_non_null(strstr(text, "segment 1 "));
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(new_file__begins_with_the_first_epoch_and_the_first_id),
		TEST(epoch__grows_with_each_start),
		TEST(cluster_id__stays_with_the_books_and_is_new_when_a_backup_is_put_back),
		TEST(next_object_id__is_beyond_every_object_and_every_id_said_to_be_used),
		TEST(files__keep_others_out__whatever_the_umask),
		TEST(second_master__is_refused_and_told_who_has_it),
		TEST(second_master__once_the_first_is_gone__may_start),
		TEST(file__that_can_t_be_opened__is_told_with_the_system_s_reason),
		TEST(newer_version__is_refused__changes_nothing_and_names_the_cure),
		TEST(newer_version__that_has_other_tables__is_refused_all_the_same),
		TEST(longest_lease__grows_with_the_start__and_shrinks_by_a_record_only),
		TEST(version_1__becomes_the_newest__and_loses_nothing),
		TEST(version_below_one__is_damage),
		TEST(text_file__is_no_database),
		TEST(database_of_somebody_else__is_refused_unchanged),
		TEST(empty_file__becomes_a_new_database),
		TEST(table_that_lacks__or_was_changed__is_damage),
		TEST(folder_that_is_not_there__is_a_failure_with_its_name),
		TEST(folder_in_place_of_the_file__is_a_failure),
		TEST(vfs_that_does_not_exist__is_a_failure),
		TEST(failed_open__gives_the_lock_back),
		TEST(open__when_any_allocation_fails__says_so_and_may_be_tried_again),
		TEST(load__when_any_allocation_fails__says_so),
		TEST(submit__when_memory_runs_out__leaves_the_records_where_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
