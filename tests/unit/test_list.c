/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "transfer/base/list.h"

struct put {
	int id;
	struct list_link at;
};

static void
put_init(struct put *put, int id)
{
	put->id = id;
	list_link_init(&put->at);
}

/* shape -- the ids in order as one number: 1, 2, 3 is 123. */
static int
shape(const struct list *list)
{
	int ids = 0;

	list_each(list, link)
		ids = ids * 10 + list_of(link, const struct put, at)->id;
	return ids;
}

static void
empty_list__has_no_first_and_no_last(void **state)
{
	struct list list;

	(void)state;
	list_init(&list);

	assert_true(list_is_empty(&list));
	assert_null(list_first(&list));
	assert_null(list_last(&list));
	assert_int_equal(shape(&list), 0);
}

static void
push__goes_to_the_end_it_names(void **state)
{
	struct put puts[3];
	struct list list;

	(void)state;
	list_init(&list);
	for (int i = 0; i < 3; i++)
		put_init(&puts[i], i + 1);

	list_push_back(&list, &puts[0].at);
	list_push_back(&list, &puts[1].at);
	list_push_front(&list, &puts[2].at);

	assert_int_equal(shape(&list), 312);
	assert_ptr_equal(list_first(&list), &puts[2].at);
	assert_ptr_equal(list_last(&list), &puts[1].at);
}

static void
insert_after__stands_behind_its_neighbour(void **state)
{
	struct put puts[3];
	struct list list;

	(void)state;
	list_init(&list);
	for (int i = 0; i < 3; i++)
		put_init(&puts[i], i + 1);
	list_push_back(&list, &puts[0].at);
	list_push_back(&list, &puts[1].at);

	list_insert_after(&puts[0].at, &puts[2].at);

	assert_int_equal(shape(&list), 132);
}

static void
remove__twice__is_as_good_as_once(void **state)
{
	struct put puts[3];
	struct list list;

	(void)state;
	list_init(&list);
	for (int i = 0; i < 3; i++) {
		put_init(&puts[i], i + 1);
		list_push_back(&list, &puts[i].at);
	}

	list_remove(&puts[1].at);
	list_remove(&puts[1].at);

	assert_int_equal(shape(&list), 13);
	assert_false(list_link_is_on(&puts[1].at));
	assert_true(list_link_is_on(&puts[0].at));
}

static void
removed_link__may_be_pushed_again(void **state)
{
	struct list list, other;
	struct put put;

	(void)state;
	list_init(&list);
	list_init(&other);
	put_init(&put, 7);
	list_push_back(&list, &put.at);

	list_remove(&put.at);
	list_push_back(&other, &put.at);

	assert_true(list_is_empty(&list));
	assert_int_equal(shape(&other), 7);
}

static void
each_safe__may_remove_the_link_it_stands_on(void **state)
{
	struct put puts[4];
	struct list list;

	(void)state;
	list_init(&list);
	for (int i = 0; i < 4; i++) {
		put_init(&puts[i], i + 1);
		list_push_back(&list, &puts[i].at);
	}

	list_each_safe(&list, link)
		if (list_of(link, struct put, at)->id % 2 == 0)
			list_remove(link);

	assert_int_equal(shape(&list), 13);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_list__has_no_first_and_no_last),
		cmocka_unit_test(push__goes_to_the_end_it_names),
		cmocka_unit_test(insert_after__stands_behind_its_neighbour),
		cmocka_unit_test(remove__twice__is_as_good_as_once),
		cmocka_unit_test(removed_link__may_be_pushed_again),
		cmocka_unit_test(each_safe__may_remove_the_link_it_stands_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
