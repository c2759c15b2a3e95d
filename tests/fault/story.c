/* SPDX-License-Identifier: Apache-2.0 */

/*
 * story.c -- fault_story: every call of the C API once or more, and what must be true after it.
 *
 *      fault_story run MASTER PREFIX LEDGER     tell it; LEDGER gets what was acknowledged
 *      fault_story verify MASTER LEDGER         with nothing failing: is it all there?
 *      fault_story clear MASTER SECONDS N       remove everything; then nothing may be used,
 * nothing rest, and N segments be left
 *
 * Ends with 0 when no law was broken, and says "STEPS steps, FAILED failed"; with 1 when one was;
 * with 98 when a step did not end in time.
 */
#include "tests/fault/story.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fault/page.h"

#define STEP_SECONDS 20 /* every call has a limit of 2 s; the machine may be busy */
#define CALL_MS      2000

static char step_words[160];
static uint8_t arenas[2][STORY_ARENA_BYTES];

static void
on_alarm(int number)
{
	(void)number;
	(void)!write(STDOUT_FILENO, "stuck: ", 7);
	(void)!write(STDOUT_FILENO, step_words, strlen(step_words));
	(void)!write(STDOUT_FILENO, "\n", 1);
	_exit(98);
}

void
story_step(const char *words, const char *key)
{
	snprintf(step_words, sizeof(step_words), "%s %s", words, key);
	alarm(STEP_SECONDS);
}

void
story_broken(const char *words, const char *key)
{
	printf("broken: %s: %s %s (%s)\n", step_words, words, key, tiffin_why());
	_exit(1);
}

int
story_told(struct story *story, int r)
{
	alarm(0);
	story->n_steps++;
	if (r >= 0)
		return r;
	story->n_failed++;
	if (getenv("STORY_TELLS") != NULL)
		printf("%s: %s: %s\n", step_words, tiffin_errname(r), tiffin_why());
	switch (r) {
	case TIFFIN_E_NOT_FOUND: /* judged by who asked */
	case TIFFIN_E_EXISTS:
	case TIFFIN_E_NO_SPACE:
	case TIFFIN_E_UNREACHABLE:
	case TIFFIN_E_SYSTEM:
	case TIFFIN_E_TIMEOUT:
	case TIFFIN_E_LEASE:
	case TIFFIN_E_BUSY:
		return r;
	default: /* the arguments, bytes and rights were right */
		story_broken("an error that says something else:", tiffin_errname(r));
	}
}

const char *
story_key(const struct story *story, const char *name)
{
	static char keys[4][LEDGER_KEY_BYTES];
	static unsigned turn;
	char *key = keys[turn++ % 4];

	snprintf(key, LEDGER_KEY_BYTES, "%s%s", story->prefix, name);
	return key;
}

struct value
story_next(struct story *story, uint64_t len_bytes)
{
	return (struct value){++story->seed, len_bytes};
}

size_t
story_scatter(int arena, uint64_t len_bytes, struct iovec *ret_slices)
{
	static const size_t cuts[] = {1, 7, 4096, 0, 511, 70001};
	uint8_t *at = arenas[arena];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
		size_t len = cuts[i] < len_bytes ? cuts[i] : (size_t)len_bytes;

		ret_slices[n++] = (struct iovec){at, len};
		at += len + 13;
		len_bytes -= len;
	}
	ret_slices[n++] = (struct iovec){at, (size_t)len_bytes};
	return n;
}

/* ---- the program --------------------------------------------------------------------------- */

static int
join(struct story *story, const char *master)
{
	struct tiffin_options options = {
		.struct_bytes = sizeof(options),
		.master = master,
		.name = "story",
		.open_ms = CALL_MS,
		.timeout_ms = CALL_MS,
		.transfer_ms = CALL_MS,
	};

	story_step("open", master);
	return story_told(story, tiffin_open(&options, &story->client));
}

static void
tell(struct story *story)
{
	struct tiffin_space space;

	story_put(story);
	story_get(story);
	story_batch(story);
	story_stream(story);
	story_view(story);
	story_list(story);
	story_names(story);
	story_lend(story);
	story_step("space", "");
	story_told(story, tiffin_space(story->client, &space));
	story_step("ping", "");
	story_told(story, tiffin_ping(story->client));
}

static void
leave(struct story *story)
{
	story_step("close", "");
	tiffin_close(story->client);
	alarm(0);
}

/* call_off -- what comes now is the test's own and must not fail. */
static void
call_off(void)
{
	const char *path = getenv("TIFFIN_FAULT_FILE");
	struct page *page = path != NULL ? page_map(path, false) : NULL;

	if (page != NULL)
		atomic_store(&page->is_armed, false);
}

static int
usage(void)
{
	fputs("usage: fault_story run MASTER PREFIX LEDGER | verify MASTER LEDGER |"
	      " clear MASTER SECONDS SEGMENTS\n",
	      stderr);
	return 2;
}

int
main(int argc, char **argv)
{
	static struct story story;
	static char out[4096];
	const char *word = argc > 2 ? argv[1] : "";
	int r;

	setvbuf(stdout, out, _IOLBF, sizeof(out)); /* else it would be taken from the heap */
	signal(SIGALRM, on_alarm);
	if (strcmp(word, "run") == 0 && argc == 5) {
		story.prefix = argv[3];
		if (join(&story, argv[2]) == 0) {
			tell(&story);
			leave(&story);
		}
		call_off();
		r = ledger_save(&story.ledger, argv[4]) < 0;
	} else if (strcmp(word, "verify") == 0 && argc == 4) {
		if (ledger_load(&story.ledger, argv[3]) < 0 || join(&story, argv[2]) < 0)
			story_broken("cannot begin to verify", argv[3]);
		r = story_verify(&story);
		leave(&story);
	} else if (strcmp(word, "clear") == 0 && argc == 5) {
		if (join(&story, argv[2]) < 0)
			story_broken("cannot begin to clear", argv[2]);
		r = story_clear(&story, (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]));
		leave(&story);
	} else {
		return usage();
	}
	printf("%u steps, %u failed\n", story.n_steps, story.n_failed);
	return r;
}
