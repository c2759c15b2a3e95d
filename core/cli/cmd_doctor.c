/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/command.h"
#include "core/cli/doctor.h"
#include "transfer/base/json.h"

static const char *const levels[] = {
	[DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_BAD] = "bad"};

static void
print(const struct cli *cli, struct json *json, const char *name,
      const struct doctor_finding *finding)
{
	if (cli->json) {
		json_open_object(json, NULL);
		json_text(json, "name", name);
		json_text(json, "level", levels[finding->level]);
		json_text(json, "text", finding->text);
		if (finding->cure[0] != '\0')
			json_text(json, "cure", finding->cure);
		json_close(json);
		return;
	}
	if (cli->quiet && finding->level == DOCTOR_OK)
		return;
	printf("%-4s  %-18s  %s", levels[finding->level], name, finding->text);
	if (finding->cure[0] != '\0')
		printf("  [%s]", finding->cure);
	putchar('\n');
	fflush(stdout);
}

static int
run(struct cli *cli, const void *opts, struct operands words)
{
	const struct doctor_examination *examination;
	struct json json;
	bool has_bad = false;

	(void)opts;
	(void)words;
	json_init(&json, stdout);
	if (cli->json)
		json_open_list(&json, NULL);
	for (size_t i = 0; (examination = doctor_at(i)) != NULL; i++) {
		struct doctor_finding finding = {.level = DOCTOR_OK};

		examination->look(cli, &finding);
		print(cli, &json, examination->name, &finding);
		has_bad = has_bad || finding.level == DOCTOR_BAD;
	}
	if (cli->json)
		json_close(&json);
	return has_bad ? CLI_NOT_FOUND : CLI_OK;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.run = run,
	.synopsis = "",
	.summary = "does this machine have what is needed",
	.help = "Looks at kernel, limits, directories, memory, programs and master, one line each: "
		"ok,\n"
		"warn (works, but with less) or bad (will not work), with the cure in brackets.  "
		"Changes\n"
		"nothing.  Ends with status 1 when something is bad.",
	.opts_bytes = 0,
	.min_words = 0,
	.max_words = 0,
};
