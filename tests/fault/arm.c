/* SPDX-License-Identifier: Apache-2.0 */

/*
 * arm.c -- fault_arm: from the shell, a word with a program under tiffin_fault.so.
 *
 *      fault_arm FILE make             a fresh page
 *      fault_arm FILE arm SPEC         from now on; see page.h
 *      fault_arm FILE narrow           only calls of the program itself
 *      fault_arm FILE off              no more failures
 *      fault_arm FILE show             "SEEN FAILED WHERE"
 *      fault_arm FILE calls            every counter that is not 0
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/fault/page.h"

static void
show_calls(struct page *page)
{
	for (enum page_call call = 0; call < PAGE_N_CALLS; call++)
		if (atomic_load(&page->n_calls[call]) > 0)
			printf("%s %" PRIu64 "\n", page_name(call),
			       (uint64_t)atomic_load(&page->n_calls[call]));
}

int
main(int argc, char **argv)
{
	const char *word = argc >= 3 ? argv[2] : "";
	struct page *page = argc >= 3 ? page_map(argv[1], strcmp(word, "make") == 0) : NULL;

	if (page == NULL) {
		fprintf(stderr, "fault_arm: %s: no such page\n", argc >= 2 ? argv[1] : "nothing");
		return 2;
	}
	if (strcmp(word, "make") == 0)
		return 0;
	if (strcmp(word, "arm") == 0 && argc == 4 && page_arm(page, argv[3]) == 0)
		return 0;
	if (strcmp(word, "narrow") == 0) {
		page->is_narrow = true;
	} else if (strcmp(word, "off") == 0) {
		atomic_store(&page->is_armed, false);
	} else if (strcmp(word, "show") == 0) {
		printf("%u %u %.1000s\n", (unsigned)atomic_load(&page->n_seen),
		       (unsigned)atomic_load(&page->n_failed), page->where);
	} else if (strcmp(word, "calls") == 0) {
		show_calls(page);
	} else {
		fprintf(stderr, "fault_arm: %s: no such word or spec\n", argv[argc - 1]);
		return 2;
	}
	return 0;
}
