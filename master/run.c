/* SPDX-License-Identifier: Apache-2.0 */

#include "master/run.h"

#include <errno.h>

#include "transfer/base/err.h"

#define CACHE_LINE_BYTES 64 /* two runs */
#define PAGE_RUNS        (1u << RUN_PAGE_BITS)
#define LINE_HEADS       16
#define BLOCK_GRAINS     64 /* whose runs share a line of heads: 32 KiB */
#define N_AHEAD          16
#define HEADS_PER_RUN    2 /* so that most lists have one run at most */
#define PAGE_HEADS       1024u
#define GRANULE_BITS     7 /* at least: 64 KiB */
#define N_GRANULES       (1u << 20)

/* ---- the ladder: which granules have a run that begins in them -------------- */

static size_t
n_words(const struct runs *runs, unsigned level)
{
	size_t n = runs->n_granules;

	for (unsigned i = 0; i <= level; i++)
		n = (n + 63) / 64;
	return n;
}

static void
ladder_set(struct runs *runs, size_t at)
{
	for (unsigned level = 0; level < RUN_N_LADDER; level++, at /= 64) {
		uint64_t *word = &runs->ladder[level][at / 64], before = *word;

		*word |= (uint64_t)1 << (at % 64);
		if (before != 0)
			return;
	}
}

static void
ladder_clear(struct runs *runs, size_t at)
{
	for (unsigned level = 0; level < RUN_N_LADDER; level++, at /= 64) {
		uint64_t *word = &runs->ladder[level][at / 64];

		*word &= ~((uint64_t)1 << (at % 64));
		if (*word != 0)
			return;
	}
}

/* ladder_before -- the last one that is set, left of at.  needs: there is one. */
static size_t
ladder_before(const struct runs *runs, size_t at)
{
	unsigned level = 0;
	uint64_t bits;

	for (;; level++, at /= 64) {
		assert(level < RUN_N_LADDER);
		bits = runs->ladder[level][at / 64] & (((uint64_t)1 << (at % 64)) - 1);
		if (bits != 0)
			break;
	}
	for (;;) {
		at = at / 64 * 64 + 63 - (size_t)__builtin_clzll(bits);
		if (level == 0)
			return at;
		level--;
		bits = runs->ladder[level][at];
		at *= 64;
	}
}

/* ---- the granules ---------------------------------------------------------- */

static size_t
granule_of(const struct runs *runs, uint64_t offset_grains)
{
	return (size_t)(offset_grains >> runs->granule_bits);
}

/* note_begin -- run id begins where it says. */
static void
note_begin(struct runs *runs, run_id id)
{
	uint64_t offset_grains = run_at(runs, id)->offset_grains;
	size_t granule = granule_of(runs, offset_grains);
	run_id *begins;

	if (runs->begins == NULL)
		return;
	begins = &runs->begins[granule];
	if (*begins == 0)
		ladder_set(runs, granule);
	if (*begins == 0 || offset_grains < run_at(runs, *begins)->offset_grains)
		*begins = id;
}

/* forget_begin -- run id, still linked to its neighbours, begins there no longer. */
static void
forget_begin(struct runs *runs, run_id id)
{
	const struct run *run = run_at(runs, id);
	size_t granule = granule_of(runs, run->offset_grains);
	run_id *begins = runs->begins != NULL ? &runs->begins[granule] : NULL;

	if (begins == NULL || *begins != id)
		return;
	*begins = run->next;
	if (run->next == 0 || granule_of(runs, run_at(runs, run->next)->offset_grains) != granule) {
		*begins = 0;
		ladder_clear(runs, granule);
	}
}

static void
granules_drop(struct runs *runs)
{
	for (unsigned i = 0; i < RUN_N_LADDER; i++) {
		free(runs->ladder[i]);
		runs->ladder[i] = NULL;
	}
	free(runs->begins);
	runs->begins = NULL;
}

static int
granules_make(struct runs *runs)
{
	bool is_whole = true;

	for (unsigned i = 0; i < RUN_N_LADDER; i++) {
		runs->ladder[i] = calloc(n_words(runs, i), sizeof(**runs->ladder));
		is_whole = is_whole && runs->ladder[i] != NULL;
	}
	runs->begins = calloc(runs->n_granules, sizeof(*runs->begins));
	if (!is_whole || runs->begins == NULL) {
		granules_drop(runs);
		return err_new(-ENOMEM);
	}

	for (run_id id = runs->first; id != 0; id = run_at(runs, id)->next)
		note_begin(runs, id);
	return 0;
}

/* around -- needs: the granules are made. */
static run_id
around(const struct runs *runs, uint64_t offset_grains)
{
	size_t granule = granule_of(runs, offset_grains);
	run_id id = runs->begins[granule];

	if (id != 0 && run_at(runs, id)->offset_grains > offset_grains)
		return run_at(runs, id)->prev;
	if (id == 0)
		id = runs->begins[ladder_before(runs, granule)];
	for (;;) {
		const struct run *run = run_at(runs, id);

		if (offset_grains - run->offset_grains < run->len_grains)
			return id;
		id = run->next;
	}
}

int
run_around(struct runs *runs, uint64_t offset_grains, run_id *ret_id)
{
	int r = runs->begins == NULL ? granules_make(runs) : 0;

	assert(offset_grains < runs->size_grains);
	if (r < 0)
		return err_up(r);
	runs->n_unasked = 0;
	*ret_id = around(runs, offset_grains);
	return 0;
}

/* ---- the table of hashes ---------------------------------------------------- */

static run_id *
head_at(const struct runs *runs, size_t at)
{
	return &runs->heads.at[at / PAGE_HEADS][at % PAGE_HEADS];
}

/*
 * hash_of -- runs that begin near each other hang in lists near each other: who takes and gives, or
 * parts lists, one after the other, finds the next ones in memory that it has fetched already.
 */
static uint64_t
hash_of(uint64_t offset_grains)
{
	uint64_t block = offset_grains / BLOCK_GRAINS * 0x9e3779b97f4a7c15u >> 32;
	uint64_t at = offset_grains % BLOCK_GRAINS / (BLOCK_GRAINS / LINE_HEADS);

	return block ^ at;
}

/* power_above -- the smallest power of two that is not smaller. */
static size_t
power_above(size_t n)
{
	return n <= 1 ? 1 : (size_t)1 << (64 - __builtin_clzll(n - 1));
}

/* head_of -- lists from n_heads on are not there yet: their runs still hang half as far. */
static run_id *
head_of(const struct runs *runs, uint64_t offset_grains)
{
	uint64_t hash = hash_of(offset_grains);
	size_t all = power_above(runs->n_heads);
	size_t at = hash & (all - 1);

	return head_at(runs, at < runs->n_heads ? at : at - all / 2);
}

/* add_heads -- memory for a page of lists.  0 or -ENOMEM. */
static int
add_heads(struct runs *runs)
{
	run_id *page = NULL;

	if (vec_reserve(&runs->heads, 1) == 0)
		page = calloc(PAGE_HEADS, sizeof(*page));
	if (page == NULL)
		return -ENOMEM;
	runs->heads.at[runs->heads.n++] = page;
	return 0;
}

/* grow_heads -- one list more, when there is memory; without it the lists just grow longer. */
static void
grow_heads(struct runs *runs)
{
	size_t all = power_above(runs->n_heads + 1), fresh = runs->n_heads;
	run_id *from, *to;

	if (fresh == runs->heads.n * PAGE_HEADS && add_heads(runs) < 0)
		return;

	/* The next ones to be parted are fetched meanwhile. */
	__builtin_prefetch(run_at(runs, *head_at(runs, fresh - all / 2 + N_AHEAD)));
	runs->n_heads++;
	from = head_at(runs, fresh - all / 2);
	to = head_at(runs, fresh);
	while (*from != 0) {
		struct run *run = run_at(runs, *from);

		if ((hash_of(run->offset_grains) & (all - 1)) == fresh) {
			*to = *from;
			*from = run->class_next;
			run->class_next = 0;
			to = &run->class_next;
		} else {
			from = &run->class_next;
		}
	}
}

/* late_of -- where among the late ones, or NULL. */
static run_id *
late_of(struct runs *runs, run_id id)
{
	for (unsigned i = 0; i < RUN_N_LATE; i++)
		if (runs->late[i] == id)
			return &runs->late[i];
	return NULL;
}

void
run_mark_taken(struct runs *runs, run_id id)
{
	struct run *run = run_at(runs, id);
	run_id *late = &runs->late[runs->late_at++ % RUN_N_LATE];

	for (unsigned i = 0; i < HEADS_PER_RUN && runs->n_taken * HEADS_PER_RUN >= runs->n_heads;
	     i++)
		grow_heads(runs);
	if (*late != 0) {
		struct run *before = run_at(runs, *late);
		run_id *head = head_of(runs, before->offset_grains);

		before->class_next = *head;
		*head = *late;
	}
	*late = id;
	run->class_prev = RUN_IS_TAKEN;
	run->class_next = 0;
	__builtin_prefetch(head_of(runs, run->offset_grains), 1);
	runs->n_taken++;
}

void
run_mark_free(struct runs *runs, run_id id)
{
	struct run *run = run_at(runs, id);
	run_id *at = late_of(runs, id);

	assert(run_is_taken(run));
	if (at == NULL) {
		at = head_of(runs, run->offset_grains);
		while (*at != id)
			at = &run_at(runs, *at)->class_next;
	}
	*at = run->class_next;
	run->class_prev = 0;
	run->class_next = 0;
	runs->n_taken--;
}

run_id
run_taken_at(const struct runs *runs, uint64_t offset_grains)
{
	run_id id = *head_of(runs, offset_grains);

	while (id != 0 && run_at(runs, id)->offset_grains != offset_grains)
		id = run_at(runs, id)->class_next;
	for (unsigned i = 0; i < RUN_N_LATE && id == 0; i++)
		if (runs->late[i] != 0 &&
		    run_at(runs, runs->late[i])->offset_grains == offset_grains)
			id = runs->late[i];
	return id;
}

/* ---- the runs ---------------------------------------------------------------- */

static int
add_page(struct runs *runs)
{
	struct run *page;
	int r;

	r = vec_reserve(&runs->pages, 1);
	if (r < 0)
		return err_up(r);
	page = aligned_alloc(CACHE_LINE_BYTES, PAGE_RUNS * sizeof(*page));
	if (page == NULL)
		return err_new(-ENOMEM);
	runs->pages.at[runs->pages.n++] = (struct run_page){.runs = page};
	return 0;
}

int
runs_reserve(struct runs *runs, size_t n)
{
	int r;

	/* Number 0 is nobody's. */
	while (runs->n_unused + runs->pages.n * PAGE_RUNS < (size_t)runs->n_ever + 1 + n) {
		if (runs->pages.n * PAGE_RUNS > UINT32_MAX - PAGE_RUNS)
			return err_new(-ENOMEM);
		r = add_page(runs);
		if (r < 0)
			return err_up(r);
	}
	return 0;
}

int
runs_expect(struct runs *runs, size_t n_runs, size_t n_taken)
{
	size_t n_heads = n_taken * HEADS_PER_RUN;
	int r = runs_reserve(runs, n_runs);

	assert(runs->n_taken == 0 && n_taken <= n_runs);
	if (r < 0)
		return err_up(r);
	while (runs->heads.n * PAGE_HEADS < n_heads)
		if (add_heads(runs) < 0)
			return err_new(-ENOMEM);
	if (runs->n_heads < n_heads)
		runs->n_heads = n_heads;
	return 0;
}

static run_id
number_new(struct runs *runs)
{
	struct run_page *page;
	run_id id;

	if (runs->reusable == 0)
		return ++runs->n_ever;
	page = &runs->pages.at[runs->reusable - 1];
	id = page->unused;
	page->unused = run_at(runs, id)->class_next;
	runs->n_unused--;
	if (page->unused == 0)
		runs->reusable = page->below;
	else /* it is the next one's */
		__builtin_prefetch(run_at(runs, page->unused), 1);
	return id;
}

static void
number_give(struct runs *runs, run_id id)
{
	struct run_page *page = &runs->pages.at[id >> RUN_PAGE_BITS];

	run_at(runs, id)->class_next = page->unused;
	if (page->unused == 0) {
		page->below = runs->reusable;
		runs->reusable = (id >> RUN_PAGE_BITS) + 1;
	}
	page->unused = id;
	runs->n_unused++;
}

run_id
run_insert(struct runs *runs, run_id next, uint64_t offset_grains, uint64_t len_grains)
{
	run_id id = number_new(runs), prev = next != 0 ? run_at(runs, next)->prev : runs->last;

	*run_at(runs, id) = (struct run){
		.offset_grains = offset_grains,
		.len_grains = len_grains,
		.prev = prev,
		.next = next,
	};
	*(prev != 0 ? &run_at(runs, prev)->next : &runs->first) = id;
	*(next != 0 ? &run_at(runs, next)->prev : &runs->last) = id;
	note_begin(runs, id);
	runs->n++;
	if (runs->begins != NULL && ++runs->n_unasked > runs->n + PAGE_RUNS)
		granules_drop(runs);
	return id;
}

void
run_remove(struct runs *runs, run_id id)
{
	struct run *run = run_at(runs, id);

	assert(!run_is_taken(run));
	forget_begin(runs, id);
	*(run->prev != 0 ? &run_at(runs, run->prev)->next : &runs->first) = run->next;
	*(run->next != 0 ? &run_at(runs, run->next)->prev : &runs->last) = run->prev;
	number_give(runs, id);
	runs->n--;
}

void
run_move_begin(struct runs *runs, run_id id, uint64_t offset_grains)
{
	struct run *run = run_at(runs, id);
	bool same = granule_of(runs, run->offset_grains) == granule_of(runs, offset_grains);

	assert(!run_is_taken(run));
	if (!same)
		forget_begin(runs, id);
	run->len_grains = run->offset_grains + run->len_grains - offset_grains;
	run->offset_grains = offset_grains;
	if (!same)
		note_begin(runs, id);
}

/* ---- life ---------------------------------------------------------------------- */

static void
choose_granule(struct runs *runs)
{
	runs->granule_bits = GRANULE_BITS;
	while ((runs->size_grains - 1) >> runs->granule_bits >= N_GRANULES)
		runs->granule_bits++;
	runs->n_granules = granule_of(runs, runs->size_grains - 1) + 1;
}

int
runs_init(struct runs *runs, uint64_t size_grains)
{
	*runs = (struct runs){.size_grains = size_grains};
	choose_granule(runs);
	if (vec_reserve(&runs->heads, 1) == 0)
		runs->heads.at[0] = calloc(PAGE_HEADS, sizeof(run_id));
	runs->heads.n = runs->heads.cap > 0 && runs->heads.at[0] != NULL;
	runs->n_heads = runs->heads.n * PAGE_HEADS;
	if (runs->n_heads == 0 || runs_reserve(runs, 1) < 0) {
		runs_fini(runs);
		return err_new(-ENOMEM);
	}
	run_insert(runs, 0, 0, size_grains);
	return 0;
}

void
runs_fini(struct runs *runs)
{
	for (size_t i = 0; i < runs->pages.n; i++)
		free(runs->pages.at[i].runs);
	for (size_t i = 0; i < runs->heads.n; i++)
		free(runs->heads.at[i]);
	vec_fini(&runs->pages);
	vec_fini(&runs->heads);
	granules_drop(runs);
	*runs = (struct runs){0};
}

size_t
runs_ram_bytes(const struct runs *runs)
{
	size_t bytes = 0;

	if (runs->begins != NULL)
		bytes += runs->n_granules * sizeof(*runs->begins);
	for (unsigned i = 0; runs->begins != NULL && i < RUN_N_LADDER; i++)
		bytes += n_words(runs, i) * sizeof(uint64_t);
	bytes += runs->pages.n * PAGE_RUNS * sizeof(struct run);
	bytes += runs->heads.n * PAGE_HEADS * sizeof(run_id);
	bytes += runs->pages.cap * sizeof(struct run_page);
	return bytes + runs->heads.cap * sizeof(run_id *);
}

/* ---- laws ---------------------------------------------------------------------- */

static void
check_run(const struct runs *runs, run_id id, uint64_t offset_grains)
{
	const struct run *run = run_at(runs, id);

	assert(run->offset_grains == offset_grains && run->len_grains > 0);
	assert(run->len_grains <= runs->size_grains - offset_grains);
	assert(run_taken_at(runs, offset_grains) == (run_is_taken(run) ? id : 0));
	if (runs->begins == NULL)
		return;
	assert(around(runs, offset_grains) == id);
	assert(around(runs, offset_grains + run->len_grains - 1) == id);
}

static void
check_granules(const struct runs *runs)
{
	for (size_t i = 0; i < runs->n_granules; i++) {
		run_id id = runs->begins[i];

		assert((id != 0) == (runs->ladder[0][i / 64] >> (i % 64) & 1));
		assert(implies(id != 0, granule_of(runs, run_at(runs, id)->offset_grains) == i));
	}
	for (unsigned level = 1; level < RUN_N_LADDER; level++)
		for (size_t i = 0; i < n_words(runs, level - 1); i++)
			assert((runs->ladder[level - 1][i] != 0) ==
			       (runs->ladder[level][i / 64] >> (i % 64) & 1));
}

static void
check_unused(const struct runs *runs)
{
	size_t n = 0;

	for (uint32_t at = runs->reusable; at != 0; at = runs->pages.at[at - 1].below) {
		assert(runs->pages.at[at - 1].unused != 0);
		for (run_id id = runs->pages.at[at - 1].unused; id != 0;
		     id = run_at(runs, id)->class_next) {
			assert(id >> RUN_PAGE_BITS == at - 1);
			n++;
		}
	}
	assert(n == runs->n_unused);
}

void
runs_check(const struct runs *runs)
{
	uint64_t offset_grains = 0;
	size_t n = 0, n_taken = 0;
	run_id prev = 0;

	for (run_id id = runs->first; id != 0; id = run_at(runs, id)->next) {
		const struct run *run = run_at(runs, id);

		assert(run->prev == prev);
		check_run(runs, id, offset_grains);
		offset_grains += run->len_grains;
		n_taken += run_is_taken(run);
		n++;
		prev = id;
	}
	assert(offset_grains == runs->size_grains);
	assert(runs->last == prev);
	assert(n == runs->n && n_taken == runs->n_taken);
	assert(runs->n + runs->n_unused == runs->n_ever);
	check_unused(runs);
	if (runs->begins != NULL)
		check_granules(runs);
}
