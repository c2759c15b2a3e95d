/* SPDX-License-Identifier: Apache-2.0 */
#include "master/proto/status.h"

static const struct status_text {
	const char *name;
	const char *retry; /* "yes" or "no" */
	const char *meaning;
} texts[] = {
#define STATUS(number, name, retry, meaning) [number] = {#name, retry, meaning},
#include "master/proto/status.def"
#undef STATUS
};

/* text_of -- NULL for a number that is none. */
static const struct status_text *
text_of(uint32_t status)
{
	if (status >= array_len(texts) || texts[status].name == NULL)
		return NULL;
	return &texts[status];
}

const char *
status_name(uint32_t status)
{
	const struct status_text *text = text_of(status);

	return text != NULL ? text->name : "UNKNOWN";
}

const char *
status_meaning(uint32_t status)
{
	const struct status_text *text = text_of(status);

	return text != NULL ? text->meaning : "an answer that this version does not know";
}

bool
status_may_retry(uint32_t status)
{
	const struct status_text *text = text_of(status);

	return text != NULL && text->retry[0] == 'y';
}
