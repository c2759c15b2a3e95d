/* SPDX-License-Identifier: Apache-2.0 */

/*
 * steps -- one user's puts, removals, renames and gets, one after the other, who knows what must be
 * there.
 *
 *      steps run SEED COUNT LEDGER       go on from what the ledger says, if there is one; write it
 * anew steps check LEDGER                look at every key
 *
 * SIGUSR1 says that the master has died.  The step at hand may then have come to be or not, but
 * whole; every other key is looked at at once, and the steps go on: whoever starts the master again
 * need not stop us.
 *
 * Ends with 0 when each look found what was acknowledged, and the right bytes.
 */
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "tests/script/tools/tool.h"

#define N_KEYS   24
#define LEN_MAX  40000
#define PATIENCE 1000 /* looks at what can't be read yet: its provider is on its way back */
#define PAUSE_NS 20000000L
#define NAME_CAP 16

struct value {
	uint64_t seed; /* 0: no object */
	size_t len_bytes;
};

struct story {
	struct tiffin_client *client;
	struct value values[N_KEYS];
	uint64_t random, n_shaken;
	int n_seen; /* of the deaths */
	uint8_t *bytes;
};

static volatile sig_atomic_t n_deaths;

static void
note_death(int number)
{
	(void)number;
	n_deaths++;
}

static uint64_t
draw(struct story *story, uint64_t below)
{
	story->random = tool_mix(story->random + 0x9e3779b97f4a7c15u);
	return (story->random >> 11) % below;
}

static void
name_key(size_t at, char name[NAME_CAP])
{
	snprintf(name, NAME_CAP, "steps/%02zu", at);
}

/* look -- the object at a key is one of two values, or both say that there is none. */
static bool
look(struct story *story, size_t at, struct value either, struct value other,
     struct value *ret_found)
{
	const struct timespec pause = {0, PAUSE_NS};
	struct iovec slice = {story->bytes, LEN_MAX};
	char name[NAME_CAP];
	uint64_t len = 0;
	int r = TIFFIN_E_BUSY;

	name_key(at, name);
	for (int i = 0; i < PATIENCE && r != 0 && r != TIFFIN_E_NOT_FOUND; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		r = tiffin_get(story->client, name, &slice, 1, &len);
	}
	if (r != 0 && r != TIFFIN_E_NOT_FOUND)
		tool_die("%s can't be read: %s, %s", name, tiffin_errname(r), tiffin_why());
	for (int i = 0; i < 2; i++, either = other) {
		bool is_it = either.seed == 0 ? r == TIFFIN_E_NOT_FOUND
					      : r == 0 && len == either.len_bytes &&
							tool_is(story->bytes, len, either.seed);

		if (is_it) {
			*ret_found = either;
			return true;
		}
	}
	fprintf(stderr, "%s: %s, %llu bytes\n", name, tiffin_errname(r), (unsigned long long)len);
	return false;
}

static void
look_at_all(struct story *story, const char *when)
{
	struct value found;

	for (size_t i = 0; i < N_KEYS; i++)
		if (!look(story, i, story->values[i], story->values[i], &found))
			tool_die("%s: key %zu is not what was acknowledged: %zu bytes", when, i,
				 story->values[i].seed == 0 ? 0 : story->values[i].len_bytes);
}

/* ---- steps -------------------------------------------------------------------------- */

/* A step: what two keys were, and what they are once it is done. */
struct step {
	const char *what;
	size_t at[2];
	struct value then[2];
	int wanted; /* its result */
	uint32_t flags;
};

static struct step
choose(struct story *story, uint64_t number)
{
	size_t from = draw(story, N_KEYS), to = draw(story, N_KEYS);
	uint64_t lot = draw(story, 100);
	struct value was = story->values[from];
	struct step step = {.at = {from, from}, .then = {was, was}};

	if (lot < 50) {
		struct value put = {tool_mix(number + 1) | 1,
				    100 + draw(story, lot < 5 ? 39000 : 4000)};

		step.what = "put";
		step.flags = lot % 2 == 0 ? TIFFIN_REPLACE : 0;
		step.wanted = step.flags == 0 && was.seed != 0 ? TIFFIN_E_EXISTS : 0;
		if (step.wanted == 0)
			step.then[0] = step.then[1] = put;
	} else if (lot < 65) {
		step.what = "remove";
		step.flags = TIFFIN_FORCE;
		step.wanted = was.seed == 0 ? TIFFIN_E_NOT_FOUND : 0;
		step.then[0] = step.then[1] = (struct value){0};
	} else if (lot < 80 && from != to && was.seed != 0) {
		step.what = "rename";
		step.at[1] = to;
		step.then[0] = (struct value){0};
		step.then[1] = was;
	} else {
		step.what = "get";
		step.wanted = was.seed == 0 ? TIFFIN_E_NOT_FOUND : 0;
	}
	return step;
}

static int
take(struct story *story, const struct step *step)
{
	struct tiffin_put_options options = {.struct_bytes = sizeof(options), .flags = step->flags};
	struct iovec slice = {story->bytes, step->then[0].len_bytes};
	char from[NAME_CAP], to[NAME_CAP];
	struct value found;

	name_key(step->at[0], from);
	name_key(step->at[1], to);
	switch (step->what[0]) {
	case 'p':
		tool_fill(story->bytes, slice.iov_len, step->then[0].seed);
		return tiffin_put(story->client, from, &slice, 1, &options, NULL);
	case 'r':
		return step->what[2] == 'm' ? tiffin_remove(story->client, from, step->flags)
					    : tiffin_rename(story->client, from, to, 0);
	default:
		if (!look(story, step->at[0], step->then[0], step->then[0], &found))
			tool_die("get of key %zu", step->at[0]);
		return step->wanted;
	}
}

/* shaken -- the master died in this step: both keys are old, or both are new. */
static void
shaken(struct story *story, const struct step *step, int r)
{
	struct value found[2];
	bool is_new = true, is_old = true;

	for (int i = 0; i < 2; i++) {
		struct value was = story->values[step->at[i]];

		if (!look(story, step->at[i], step->then[i], was, &found[i]))
			tool_die("%s of key %zu: neither old nor new", step->what, step->at[i]);
		is_new &= found[i].seed == step->then[i].seed;
		is_old &= found[i].seed == was.seed;
	}
	if (!is_new && !is_old)
		tool_die("%s of key %zu: half done", step->what, step->at[0]);
	if (r == 0 && !is_new)
		tool_die("%s of key %zu was acknowledged, and is not so", step->what, step->at[0]);
	for (int i = 0; i < 2; i++)
		story->values[step->at[i]] = found[i];
	story->n_shaken++;
	look_at_all(story, "after the master's death");
}

static void
make_step(struct story *story, uint64_t number)
{
	struct step step = choose(story, number);
	const struct timespec pause = {0, PAUSE_NS};
	int r = take(story, &step);

	/* The provider may not have come, or not have come back: such a step has not been made. */
	for (int i = 0; i < PATIENCE && r == TIFFIN_E_NO_SPACE && n_deaths == story->n_seen; i++) {
		nanosleep(&pause, NULL);
		r = take(story, &step);
	}
	if (n_deaths != story->n_seen) {
		story->n_seen = n_deaths;
		shaken(story, &step, r);
		return;
	}
	if (r != step.wanted)
		tool_die("step %llu, %s of key %zu: %s, not %s (%s)", (unsigned long long)number,
			 step.what, step.at[0], tiffin_errname(r), tiffin_errname(step.wanted),
			 tiffin_why());
	for (int i = 0; i < 2; i++)
		story->values[step.at[i]] = step.then[i];
}

/* ---- the ledger ------------------------------------------------------------------------ */

static void
read_ledger(struct story *story, const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned long long seed;

	if (file == NULL)
		return;
	for (size_t i = 0; i < N_KEYS; i++) {
		tool_demand(fscanf(file, "%llu %zu", &seed, &story->values[i].len_bytes) == 2);
		story->values[i].seed = seed;
	}
	fclose(file);
}

static void
write_ledger(const struct story *story, const char *path)
{
	FILE *file = fopen(path, "w");

	tool_demand(file != NULL);
	for (size_t i = 0; i < N_KEYS; i++)
		fprintf(file, "%llu %zu\n", (unsigned long long)story->values[i].seed,
			story->values[i].len_bytes);
	tool_demand(fclose(file) == 0);
}

int
main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = note_death};
	struct story story = {.bytes = tool_alloc(LEN_MAX)};
	bool is_run = argc == 5 && strcmp(argv[1], "run") == 0;
	uint64_t n = is_run ? strtoull(argv[3], NULL, 10) : 0;

	sigaction(SIGUSR1, &action, NULL);
	tool_demand(is_run || (argc == 3 && strcmp(argv[1], "check") == 0));
	story.random = is_run ? strtoull(argv[2], NULL, 10) : 0;
	read_ledger(&story, argv[argc - 1]);
	story.client = tool_open();
	look_at_all(&story, "at first");
	for (uint64_t i = 0; i < n; i++)
		make_step(&story, story.random + i);
	look_at_all(&story, "at last");
	if (is_run)
		write_ledger(&story, argv[4]);
	printf("steps=%llu shaken=%llu\n", (unsigned long long)n,
	       (unsigned long long)story.n_shaken);
	tiffin_close(story.client);
	free(story.bytes);
	return 0;
}
