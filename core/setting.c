/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/ask.h"
#include "core/statuses.h"
#include "core/why.h"

static const char *
text(char to[TEXT_MAX + 1], struct span from)
{
	snprintf(to, TEXT_MAX + 1, "%.*s", (int)from.len, (const char *)from.at);
	return to;
}

static int
ask_settings(struct ask *ask, const struct msg_settings *msg, struct rep_settings *ret_rep)
{
	int r = ask_call(ask, MSG_settings, msg_settings_encode(&ask->payload, msg),
			 client_until(ask->client));

	if (r == 0)
		r = ask_read(ask,
			     rep_settings_decode(ask->reply.payload, ask->reply.arena, ret_rep));
	return r == 0 ? ask_count(ask, ret_rep->n_fates, msg->n_sets) : r;
}

static int
tell_all(struct tiffin_client *client, int (*fn)(void *arg, const struct tiffin_setting *setting),
	 void *arg)
{
	const struct msg_settings msg = {0};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_settings rep = {0};
	int r;

	ask_init(&ask, client);
	r = ask_settings(&ask, &msg, &rep);
	for (uint32_t i = 0; r == 0 && i < rep.n_settings; i++) {
		const struct rec_setting_state *rec = &rep.settings[i];
		char name[TEXT_MAX + 1], unit[TEXT_MAX + 1], help[TEXT_MAX + 1];
		const struct tiffin_setting setting = {
			.name = text(name, rec->name),
			.unit = text(unit, rec->unit),
			.help = text(help, rec->help),
			.value = rec->value,
			.configured = rec->configured,
			.least = rec->least,
			.most = rec->most,
		};

		r = fn(arg, &setting);
	}
	return r;
}

int
tiffin_settings(struct tiffin_client *client,
		int (*fn)(void *arg, const struct tiffin_setting *setting), void *arg)
{
	int r = client_enter(client);

	return r != 0 ? r : client_leave(client, tell_all(client, fn, arg));
}

static int
set_one(struct tiffin_client *client, const char *name, const char *value)
{
	struct rec_setting_set set = {span_of(name, strlen(name)), span_of(value, strlen(value))};
	const struct msg_settings msg = {.n_sets = 1, .sets = &set};
	cleanup_with(ask_fini) struct ask ask;
	struct rep_settings rep;
	char words[TEXT_MAX + 1];
	int r;

	ask_init(&ask, client);
	r = ask_settings(&ask, &msg, &rep);
	if (r == 0 && rep.fates[0].status != STATUS_OK)
		r = why_set(statuses_code(rep.fates[0].status), "%s",
			    text(words, rep.fates[0].words));
	return r;
}

static bool
is_name(const char *name)
{
	for (const char *at = name; *at != '\0'; at++)
		if (*at <= ' ' || *at > '~')
			return false;
	return name[0] != '\0' && strlen(name) <= NAME_MAX_BYTES;
}

int
tiffin_set(struct tiffin_client *client, const char *name, const char *value)
{
	int r = client_enter(client);

	if (r != 0)
		return r;
	if (name == NULL || value == NULL || !is_name(name) || strlen(value) > TEXT_MAX)
		return client_leave(client, why_set(TIFFIN_E_INVALID, "a setting has a name and a "
								      "value"));
	return client_leave(client, set_one(client, name, value));
}
