/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A free run of n grains hangs in the list of class_of(n): one class for each length
 * up to 32, above that 32 for each power of two, so that two runs of one class differ
 * by less than 1/32:
 *
 *     class   1  2 ... 31  32 ... 63   64      65      66   ...
 *     grains  1  2     31  32     63  64-65   66-67   68-69 ...
 *
 * Whoever asks for n grains gets a run of the same class when one of the first few
 * there is long enough, else one of the next class that has any: all of its runs are.
 * Only when that fails is the list of class_of(n) looked through; `longest` then learns
 * the truth, so that it is not done again in vain.
 */
#include "master/alloc.h"

#include <errno.h>

#include "master/extent.h"
#include "master/run.h"
#include "transfer/base/err.h"
#include "transfer/base/num.h"

#define FINE_BITS 5 /* classes for each power of two */
#define N_FINE    (1u << FINE_BITS)
#define N_CLASSES ((64 - FINE_BITS + 1) * N_FINE)
#define N_WORDS   (N_CLASSES / 64)

/* The whole books are checked at each step (paranoid) when they are no larger. */
#define SMALL_GRAINS 65536

/* How many runs of a list are looked at for a better fit. */
#define N_TRIED 4

struct alloc {
	struct runs runs;
	uint64_t used_grains;
	size_t n_free_runs;
	uint64_t has_any[N_WORDS]; /* a bit for each class */
	run_id heads[N_CLASSES];
	uint64_t longest[N_CLASSES]; /* no run of the class is longer (nor need any be so long) */
};

/* ---- classes ------------------------------------------------------------------- */

static unsigned
class_of(uint64_t len_grains)
{
	unsigned power;

	if (len_grains < N_FINE)
		return (unsigned)len_grains;
	power = 63 - (unsigned)__builtin_clzll(len_grains) - FINE_BITS;
	return (power << FINE_BITS) + (unsigned)(len_grains >> power);
}

/* class_from -- the first class not below this one that has any, or N_CLASSES. */
static unsigned
class_from(const struct alloc *alloc, unsigned class)
{
	uint64_t bits;
	unsigned word = class / 64;

	if (word >= N_WORDS)
		return N_CLASSES;
	bits = alloc->has_any[word] & (UINT64_MAX << (class % 64));
	while (bits == 0) {
		if (++word == N_WORDS)
			return N_CLASSES;
		bits = alloc->has_any[word];
	}
	return word * 64 + (unsigned)__builtin_ctzll(bits);
}

/* class_last -- the highest class that has any, or N_CLASSES. */
static unsigned
class_last(const struct alloc *alloc)
{
	for (unsigned word = N_WORDS; word-- > 0;)
		if (alloc->has_any[word] != 0)
			return word * 64 + 63 - (unsigned)__builtin_clzll(alloc->has_any[word]);
	return N_CLASSES;
}

/* hang -- a free run into its class: at the head unless that is longer, else behind it. */
static void
hang(struct alloc *alloc, run_id id)
{
	struct run *run = run_at(&alloc->runs, id), *head;
	unsigned class = class_of(run->len_grains);
	run_id head_id = alloc->heads[class];

	run->class_prev = 0;
	run->class_next = head_id;
	alloc->n_free_runs++;
	alloc->longest[class] = num_max(alloc->longest[class], run->len_grains);
	if (head_id == 0) {
		alloc->heads[class] = id;
		alloc->has_any[class / 64] |= (uint64_t)1 << (class % 64);
		return;
	}

	head = run_at(&alloc->runs, head_id);
	if (run->len_grains >= head->len_grains) {
		head->class_prev = id;
		alloc->heads[class] = id;
		return;
	}
	run->class_prev = head_id;
	run->class_next = head->class_next;
	head->class_next = id;
	if (run->class_next != 0)
		run_at(&alloc->runs, run->class_next)->class_prev = id;
}

static void
unhang(struct alloc *alloc, run_id id)
{
	struct run *run = run_at(&alloc->runs, id);
	unsigned class = class_of(run->len_grains);

	assert(!run_is_taken(run));
	alloc->n_free_runs--;
	if (run->class_next != 0)
		run_at(&alloc->runs, run->class_next)->class_prev = run->class_prev;
	if (run->class_prev != 0)
		run_at(&alloc->runs, run->class_prev)->class_next = run->class_next;
	else
		alloc->heads[class] = run->class_next;
	if (alloc->heads[class] == 0) {
		alloc->has_any[class / 64] &= ~((uint64_t)1 << (class % 64));
		alloc->longest[class] = 0;
	}
}

/* is_better -- shorter, or as long and further to the left. */
static bool
is_better(const struct run *run, const struct run *than)
{
	if (run->len_grains != than->len_grains)
		return run->len_grains < than->len_grains;
	return run->offset_grains < than->offset_grains;
}

/* best_of_first -- the best fit among the first few of a class, or 0. */
static run_id
best_of_first(const struct alloc *alloc, unsigned class, uint64_t len_grains)
{
	run_id best = 0, id = alloc->heads[class];

	for (unsigned i = 0; id != 0 && i < N_TRIED; i++) {
		const struct run *run = run_at(&alloc->runs, id);

		if (run->len_grains >= len_grains &&
		    (best == 0 || is_better(run, run_at(&alloc->runs, best))))
			best = id;
		id = run->class_next;
	}
	return best;
}

/* longest_of -- the longest run of a class that has any; none is longer than `longest` says. */
static run_id
longest_of(const struct alloc *alloc, unsigned class)
{
	run_id best = alloc->heads[class];
	uint64_t best_grains = 0;

	for (run_id id = best; id != 0 && best_grains < alloc->longest[class];) {
		const struct run *run = run_at(&alloc->runs, id);

		if (run->len_grains > best_grains) {
			best = id;
			best_grains = run->len_grains;
		}
		id = run->class_next;
	}
	return best;
}

/* find_longest -- the same, and `longest` learns the truth. */
static run_id
find_longest(struct alloc *alloc, unsigned class)
{
	run_id id = longest_of(alloc, class);

	alloc->longest[class] = run_at(&alloc->runs, id)->len_grains;
	return id;
}

/* find_fit -- a free run of at least that length, or 0. */
static run_id
find_fit(struct alloc *alloc, uint64_t len_grains)
{
	unsigned class = class_of(len_grains), above;
	bool is_hopeful = alloc->longest[class] >= len_grains;
	run_id id = is_hopeful ? best_of_first(alloc, class, len_grains) : 0;

	if (id != 0)
		return id;
	above = class_from(alloc, class + 1);
	if (above < N_CLASSES)
		return best_of_first(alloc, above, len_grains);
	if (!is_hopeful)
		return 0;

	id = find_longest(alloc, class);
	return alloc->longest[class] >= len_grains ? id : 0;
}

/* ---- take and give ------------------------------------------------------------- */

struct span { /* of grains */
	uint64_t begin, end;
};

/* cut -- take a part out of a free run.  needs: a run is reserved for each end left over. */
static void
cut(struct alloc *alloc, run_id id, struct span part)
{
	struct runs *runs = &alloc->runs;
	struct run *run = run_at(runs, id);
	uint64_t end = run->offset_grains + run->len_grains;
	uint64_t part_grains = part.end - part.begin;
	run_id taken = id;

	unhang(alloc, id);
	if (part.begin > run->offset_grains) {
		run_id next = run->next;

		run->len_grains = part.begin - run->offset_grains;
		hang(alloc, id);
		if (part.end < end) {
			next = run_insert(runs, next, part.end, end - part.end);
			hang(alloc, next);
		}
		taken = run_insert(runs, next, part.begin, part_grains);
	} else if (part.end < end) {
		run_move_begin(runs, id, part.end);
		hang(alloc, id);
		taken = run_insert(runs, id, part.begin, part_grains);
	}
	run_mark_taken(runs, taken);
	alloc->used_grains += part_grains;
}

static void
check(const struct alloc *alloc)
{
	assert(alloc->used_grains <= alloc->runs.size_grains);
	assert(alloc->n_free_runs + alloc->runs.n_taken == alloc->runs.n);
	if (paranoid && alloc->runs.n <= 64 && alloc->runs.size_grains <= SMALL_GRAINS)
		alloc_check(alloc);
}

int
alloc_new(uint64_t size_bytes, struct alloc **ret_alloc)
{
	struct alloc *alloc;
	int r;

	assert(size_bytes > 0 && size_bytes % ALLOC_GRAIN == 0);
	alloc = calloc(1, sizeof(*alloc));
	if (alloc == NULL)
		return err_new(-ENOMEM);
	r = runs_init(&alloc->runs, size_bytes / ALLOC_GRAIN);
	if (r < 0) {
		free(alloc);
		return err_up(r);
	}
	hang(alloc, alloc->runs.first);
	check(alloc);
	*ret_alloc = alloc;
	return 0;
}

void
alloc_free(struct alloc *alloc)
{
	if (alloc == NULL)
		return;
	runs_fini(&alloc->runs);
	free(alloc);
}

int
alloc_take(struct alloc *alloc, uint64_t len_bytes, struct extent *ret_extent)
{
	uint64_t begin, len_grains;
	run_id id;
	int r;

	assert(len_bytes > 0);
	if (len_bytes > alloc_size_bytes(alloc))
		return ALLOC_E_FULL;
	len_grains = extent_grains(len_bytes);
	id = find_fit(alloc, len_grains);
	if (id == 0)
		return ALLOC_E_FULL;
	r = runs_reserve(&alloc->runs, 1);
	if (r < 0)
		return err_up(r);

	begin = run_at(&alloc->runs, id)->offset_grains;
	cut(alloc, id, (struct span){begin, begin + len_grains});
	*ret_extent = (struct extent){begin * ALLOC_GRAIN, len_bytes};
	check(alloc);
	return 0;
}

/* take_longest -- the longest free run, whole.  needs: there is one. */
static struct extent
take_longest(struct alloc *alloc)
{
	run_id id = find_longest(alloc, class_last(alloc));
	const struct run *run = run_at(&alloc->runs, id);
	struct span whole = {run->offset_grains, run->offset_grains + run->len_grains};

	cut(alloc, id, whole);
	return (struct extent){whole.begin * ALLOC_GRAIN, (whole.end - whole.begin) * ALLOC_GRAIN};
}

/* take_pieces -- gives in *ret_n how many were taken, whatever the result. */
static int
take_pieces(struct alloc *alloc, uint64_t len_bytes, struct extent *ret, size_t cap, size_t *ret_n)
{
	int r;

	for (*ret_n = 0; *ret_n < cap; (*ret_n)++) {
		r = alloc_take(alloc, len_bytes, &ret[*ret_n]);
		if (r == 0)
			(*ret_n)++;
		if (r <= 0)
			return r;
		if (alloc->n_free_runs == 0)
			break;
		ret[*ret_n] = take_longest(alloc);
		len_bytes -= ret[*ret_n].len_bytes;
	}
	return ALLOC_E_FULL;
}

int
alloc_take_pieces(struct alloc *alloc, uint64_t len_bytes, struct extent *ret, size_t cap,
		  size_t *ret_n)
{
	size_t n;
	int r;

	assert(len_bytes > 0);
	if (len_bytes > alloc_size_bytes(alloc) - alloc_used_bytes(alloc))
		return ALLOC_E_FULL;

	r = take_pieces(alloc, len_bytes, ret, cap, &n);
	if (r != 0) {
		while (n-- > 0)
			alloc_give(alloc, ret[n]);
		return r < 0 ? err_up(r) : r;
	}
	*ret_n = n;
	return 0;
}

/* add_free -- a free run behind all others, if there is anything between. */
static void
add_free(struct alloc *alloc, uint64_t begin, uint64_t end)
{
	if (begin < end)
		hang(alloc, run_insert(&alloc->runs, 0, begin, end - begin));
}

int
alloc_take_all(struct alloc *alloc, struct extent *extents, size_t n, struct extent *ret_bad)
{
	struct runs *runs = &alloc->runs;
	size_t n_gaps, bad;
	uint64_t at = 0;
	int r;

	assert(alloc->used_grains == 0 && runs->n == 1);
	r = extents_sort(extents, n);
	if (r < 0)
		return err_up(r);
	bad = extents_gaps(extents, n, alloc_size_bytes(alloc), &n_gaps);
	if (bad < n) {
		*ret_bad = extents[bad];
		return ALLOC_E_TAKEN;
	}
	r = runs_expect(runs, n + n_gaps, n);
	if (r < 0)
		return err_up(r);

	unhang(alloc, runs->first);
	run_remove(runs, runs->first);
	for (size_t i = 0; i < n; i++) {
		uint64_t begin = extents[i].offset_bytes / ALLOC_GRAIN;
		uint64_t len_grains = extent_grains(extents[i].len_bytes);

		add_free(alloc, at, begin);
		run_mark_taken(runs, run_insert(runs, 0, begin, len_grains));
		alloc->used_grains += len_grains;
		at = begin + len_grains;
	}
	add_free(alloc, at, runs->size_grains);
	check(alloc);
	return 0;
}

/* taken_run -- of an extent that was taken as such. */
static run_id
taken_run(const struct alloc *alloc, struct extent extent)
{
	run_id id = run_taken_at(&alloc->runs, extent.offset_bytes / ALLOC_GRAIN);

	assert(extent.offset_bytes % ALLOC_GRAIN == 0 && id != 0);
	assert(run_at(&alloc->runs, id)->len_grains == extent_grains(extent.len_bytes));
	return id;
}

/* is_free -- a neighbour, which need not be there. */
static bool
is_free(const struct alloc *alloc, run_id id)
{
	return id != 0 && !run_is_taken(run_at(&alloc->runs, id));
}

void
alloc_give(struct alloc *alloc, struct extent extent)
{
	struct runs *runs = &alloc->runs;
	run_id id = taken_run(alloc, extent);
	struct run *run = run_at(runs, id);
	run_id prev = run->prev, next = run->next;

	alloc->used_grains -= run->len_grains;
	run_mark_free(runs, id);
	if (is_free(alloc, prev)) {
		unhang(alloc, prev);
		run_at(runs, prev)->len_grains += run->len_grains;
		run_remove(runs, id);
		id = prev;
		run = run_at(runs, id);
	}
	if (is_free(alloc, next)) {
		unhang(alloc, next);
		run->len_grains += run_at(runs, next)->len_grains;
		run_remove(runs, next);
	}
	hang(alloc, id);
	check(alloc);
}

int
alloc_shrink(struct alloc *alloc, struct extent extent, uint64_t len_bytes)
{
	struct runs *runs = &alloc->runs;
	uint64_t left_grains = extent_grains(len_bytes);
	run_id id = taken_run(alloc, extent), next;
	struct run *run = run_at(runs, id);
	int r;

	assert(len_bytes > 0 && len_bytes <= extent.len_bytes);
	if (left_grains == run->len_grains)
		return 0;

	next = run->next;
	if (is_free(alloc, next)) {
		unhang(alloc, next);
		run_move_begin(runs, next, run->offset_grains + left_grains);
	} else {
		r = runs_reserve(runs, 1);
		if (r < 0)
			return err_up(r);
		next = run_insert(runs, next, run->offset_grains + left_grains,
				  run->len_grains - left_grains);
	}
	alloc->used_grains -= run->len_grains - left_grains;
	run->len_grains = left_grains;
	hang(alloc, next);
	check(alloc);
	return 0;
}

int
alloc_take_gaps(struct alloc *alloc, uint64_t from_bytes, uint64_t to_bytes,
		void (*took)(void *arg, struct extent extent), void *arg)
{
	struct span gaps = {from_bytes / ALLOC_GRAIN,
			    num_min(to_bytes, alloc_size_bytes(alloc)) / ALLOC_GRAIN};
	run_id id;
	int r;

	assert(from_bytes % ALLOC_GRAIN == 0);
	if (gaps.begin >= gaps.end)
		return 0;
	r = runs_reserve(&alloc->runs, 2);
	if (r < 0)
		return err_up(r);

	r = run_around(&alloc->runs, gaps.begin, &id);
	if (r < 0)
		return err_up(r);
	while (id != 0 && run_at(&alloc->runs, id)->offset_grains < gaps.end) {
		const struct run *run = run_at(&alloc->runs, id);
		struct span gap = {num_max(run->offset_grains, gaps.begin),
				   num_min(run->offset_grains + run->len_grains, gaps.end)};

		if (!run_is_taken(run)) {
			cut(alloc, id, gap);
			took(arg, (struct extent){gap.begin * ALLOC_GRAIN,
						  (gap.end - gap.begin) * ALLOC_GRAIN});
			id = run_taken_at(&alloc->runs, gap.begin);
		}
		id = run_at(&alloc->runs, id)->next;
	}
	check(alloc);
	return 0;
}

/* ---- figures ------------------------------------------------------------------- */

uint64_t
alloc_size_bytes(const struct alloc *alloc)
{
	return alloc->runs.size_grains * ALLOC_GRAIN;
}

uint64_t
alloc_used_bytes(const struct alloc *alloc)
{
	return alloc->used_grains * ALLOC_GRAIN;
}

uint64_t
alloc_hole_bytes(const struct alloc *alloc)
{
	unsigned class = class_last(alloc);

	if (class == N_CLASSES)
		return 0;
	return run_at(&alloc->runs, longest_of(alloc, class))->len_grains * ALLOC_GRAIN;
}

size_t
alloc_n_runs(const struct alloc *alloc)
{
	return alloc->runs.n;
}

size_t
alloc_ram_bytes(const struct alloc *alloc)
{
	return sizeof(*alloc) + runs_ram_bytes(&alloc->runs);
}

/* ---- laws ---------------------------------------------------------------------- */

/* check_class -- gives how many runs hang there. */
static size_t
check_class(const struct alloc *alloc, unsigned class)
{
	run_id prev = 0;
	size_t n = 0;

	for (run_id id = alloc->heads[class]; id != 0; n++) {
		const struct run *run = run_at(&alloc->runs, id);

		assert(!run_is_taken(run) && run->class_prev == prev);
		assert(class_of(run->len_grains) == class);
		assert(run->len_grains <= alloc->longest[class]);
		prev = id;
		id = run->class_next;
	}
	assert((n > 0) == (alloc->has_any[class / 64] >> (class % 64) & 1));
	return n;
}

void
alloc_check(const struct alloc *alloc)
{
	uint64_t used_grains = 0;
	size_t n_free_runs = 0, n_hanging = 0;

	runs_check(&alloc->runs);
	for (run_id id = alloc->runs.first; id != 0; id = run_at(&alloc->runs, id)->next) {
		const struct run *run = run_at(&alloc->runs, id);

		if (run_is_taken(run)) {
			used_grains += run->len_grains;
		} else {
			assert(!is_free(alloc, run->next));
			n_free_runs++;
		}
	}
	for (unsigned class = 0; class < N_CLASSES; class ++)
		n_hanging += check_class(alloc, class);
	assert(used_grains == alloc->used_grains);
	assert(n_free_runs == alloc->n_free_runs && n_hanging == n_free_runs);
}
